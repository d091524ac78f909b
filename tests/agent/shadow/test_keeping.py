"""What files were before a change, kept by a git of our own or by copies, and given back."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.shadow import git as shadow_git
from agent.shadow.differences import differences
from agent.shadow.keeping import Change, Keeper
from agent.shadow.restoring import Given, give_back

ENVIRON = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}


class Place:
    """A project, and a session that changes it."""

    def __init__(self, folder: Path, *, git: str | None = "git", environ: Mapping[str, str] = ENVIRON) -> None:
        self.root = folder / "project"
        self.root.mkdir(exist_ok=True)
        self.environ = environ
        self.keeper = Keeper(folder / "session" / "shadow", self.root, environ, git=git)
        self.record = 1
        self.said: list[str] = []

    def write(self, path: str, text: str | bytes) -> Path:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def message(self) -> int:
        self.record += 1
        return self.record

    def before(self, *paths: str) -> None:
        self.record += 1
        self.said += self.keeper.before(self.record, [self.root / path for path in paths])

    def after(self) -> None:
        self.record += 1
        self.said += self.keeper.after(self.record)

    def changes(self, since: int = 0) -> tuple[Change, ...]:
        with self.keeper.looking() as looking:
            return looking.changes(since)

    def changed(self, since: int = 0) -> dict[str, tuple[int | None, int | None]]:
        with self.keeper.looking() as looking:
            found = differences(looking, looking.changes(since))
        return {file.path: (file.added, file.removed) for file in found}

    def back(self, since: int) -> Given:
        with self.keeper.looking() as looking:
            changes = looking.changes(since)
            rights = {c.path: bits for c in changes if (bits := looking.rights(c.path, since)) is not None}
        given = give_back(self.keeper, changes, self.record, rights, lambda folder: looking.was_folder(folder, since))
        self.keeper.settled(self.record, {c.path: c.was for c in changes})
        return given

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.root, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout


def test_files_hold_again_what_they_held_and_created_ones_are_gone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("a.txt", "one\n")
    place.write("gone.txt", "here\n")
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.write("new/b.txt", "made\n")
    (place.root / "gone.txt").unlink()
    place.after()
    assert place.changed(message) == {"a.txt": (1, 1), "gone.txt": (0, 1), "new/b.txt": (1, 0)}
    assert place.back(message) == Given(("a.txt", "gone.txt", "new/b.txt"), ())
    assert (place.root / "a.txt").read_text() == "one\n"
    assert (place.root / "gone.txt").read_text() == "here\n"
    assert not (place.root / "new/b.txt").exists()
    assert place.changes(message) == ()


def test_folders_that_were_not_there_go_when_they_are_left_empty_and_no_others(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("kept/a.txt", "one\n")
    (place.root / "empty" / "inner").mkdir(parents=True)
    place.write(".gitignore", "ignored/\n")
    place.write("ignored/deep/x.o", "x")
    place.write("crowd/other.txt", "theirs")
    message = place.message()
    place.before()
    for path in ("new/deep/b.txt", "new/c.txt", "kept/sub/d.txt", "empty/e.txt", "empty/inner/f.txt", "shared/g.txt"):
        place.write(path, "made\n")
    place.before("ignored/fresh/h.o")
    place.write("ignored/fresh/h.o", "made\n")
    (place.root / "crowd/other.txt").unlink()
    place.after()
    place.write("shared/mine.txt", "the user's own, made since\n")
    assert place.back(message).left == ()
    assert not (place.root / "new").exists() and not (place.root / "kept/sub").exists()
    assert (place.root / "kept/a.txt").exists() and (place.root / "crowd/other.txt").exists()
    assert list((place.root / "empty" / "inner").iterdir()) == [], "an empty folder was there, and is"
    assert [path.name for path in (place.root / "shared").iterdir()] == ["mine.txt"]
    assert (place.root / "ignored/deep/x.o").exists() and not (place.root / "ignored/fresh").exists()


def test_a_folder_is_left_where_nobody_knows_whether_it_was_there(tmp_path: Path) -> None:
    place = Place(tmp_path, git=None)
    message = place.message()
    (place.root / "bash" / "made").mkdir(parents=True)
    place.before("bash/made/a.txt")
    place.write("bash/made/a.txt", "x")
    place.before("tool/made/b.txt")
    place.write("tool/made/b.txt", "x")
    place.after()
    assert place.back(message).left == ()
    assert (place.root / "bash" / "made").is_dir() and not (place.root / "tool").exists()


def test_what_is_known_of_folders_survives_a_restart(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.root / "empty").mkdir()
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("empty/b.txt", "made\n")
    place.write("new/c.txt", "made\n")
    place.after()
    again = Place(tmp_path)
    assert again.back(message).left == ()
    assert (again.root / "empty").is_dir() and not (again.root / "new").exists()


def test_the_bytes_survive_whatever_the_project_says_of_line_endings_and_filters(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write(".gitattributes", "* text=auto eol=lf\n*.bin filter=lfs\nutf.txt working-tree-encoding=UTF-16\n")
    crlf, latin, raw = b"one\r\ntwo\r\n", "gr\u00fc\u00df".encode("latin-1"), bytes(range(256))
    place.write("crlf.txt", crlf)
    place.write("utf.txt", latin)
    place.write("raw.bin", raw)
    message = place.message()
    place.before()
    for name in ("crlf.txt", "utf.txt", "raw.bin"):
        place.write(name, "other\n")
    place.after()
    assert place.back(message).left == ()
    assert (place.root / "crlf.txt").read_bytes() == crlf
    assert (place.root / "utf.txt").read_bytes() == latin
    assert (place.root / "raw.bin").read_bytes() == raw


@pytest.mark.parametrize("why", ["gone", "too slow"])
def test_a_git_that_is_gone_or_too_slow_later_makes_no_file_one_that_was_not_there(tmp_path: Path, why: str) -> None:
    """Rewinding removes files that were not there; what cannot be looked up any more must not be taken for those."""
    place = Place(tmp_path)
    place.write("a.txt", "one\n")
    message = place.message()
    place.before("b.txt")
    place.write("b.txt", "made\n")
    place.after()
    if why == "gone":
        place.keeper = Keeper(tmp_path / "session" / "shadow", place.root, ENVIRON, git=None)
    else:
        slow = tmp_path / "slow"
        slow.write_text('#!/bin/sh\ncase "$*" in *ls-files*) exec sleep 60;; esac\nexec git "$@"\n')
        slow.chmod(0o755)
        place.keeper = Keeper(tmp_path / "session" / "shadow", place.root, ENVIRON, git=str(slow))
        assert place.keeper._git is not None
        place.keeper._git.patience = 1.0
    place.before("a.txt")
    place.write("a.txt", "two\n")
    place.after()
    assert place.back(message).left == ()
    assert (place.root / "a.txt").read_text() == "one\n"
    # Only git knew that this one was not there.
    assert (place.root / "b.txt").exists() == (why == "gone")


def test_links_and_rights_survive(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    place.write("secret", "s\n").chmod(0o600)
    (place.root / "link").symlink_to("run.sh")
    (place.root / "dangling").symlink_to("nowhere")
    message = place.message()
    place.before()
    (place.root / "run.sh").chmod(0o644)
    (place.root / "secret").unlink()
    (place.root / "link").unlink()
    place.write("link", "a file now\n")
    (place.root / "dangling").unlink()
    place.after()
    assert place.back(message).left == ()
    assert (place.root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (place.root / "secret").stat().st_mode & 0o777 == 0o600
    assert os.readlink(place.root / "link") == "run.sh"
    assert os.readlink(place.root / "dangling") == "nowhere"


def test_the_projects_own_git_is_untouched_and_its_hooks_and_settings_are_ignored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f"[commit]\n gpgsign = true\n[core]\n hooksPath = {home}\n excludesFile = {home}/ignored\n autocrlf = true\n"
    )
    (home / "ignored").write_text("a.txt\n")
    spoiled = {**ENVIRON, "HOME": str(home), "GIT_DIR": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent/index"}
    place = Place(tmp_path, environ=spoiled)
    place.write("a.txt", "one\r\n")
    place.git("init", "-q")
    place.git("add", ".")
    place.git("commit", "-q", "-m", "first")
    for hook in ("post-index-change", "pre-commit", "post-checkout"):
        path = place.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        path.chmod(0o755)
        (home / hook).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (home / hook).chmod(0o755)
    before = {p: p.read_bytes() for p in sorted((place.root / ".git").rglob("*")) if p.is_file()}
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.after()
    assert list(place.changed(message)) == ["a.txt"]
    place.back(message)
    assert (place.root / "a.txt").read_bytes() == b"one\r\n"
    assert {p: p.read_bytes() for p in sorted((place.root / ".git").rglob("*")) if p.is_file()} == before
    assert not (tmp_path / "ran").exists()


def test_what_git_ignores_is_left_alone_unless_a_tool_named_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write(".gitignore", "build/\n.env\n")
    place.write("build/out.o", "old\n")
    place.write(".env", "A=1\n")
    message = place.message()
    place.before()
    place.before(".env", "build/made")
    place.write("build/out.o", "new\n")
    place.write("build/other.o", "new\n")
    place.write("build/made", "made\n")
    place.write(".env", "A=2\n")
    place.after()
    assert sorted(place.changed(message)) == [".env", "build/made"]
    place.back(message)
    assert (place.root / ".env").read_text() == "A=1\n"
    assert (place.root / "build/out.o").read_text() == "new\n"
    assert (place.root / "build/other.o").exists()
    assert not (place.root / "build/made").exists()


def test_a_file_that_was_ignored_then_is_not_taken_for_one_that_was_not_there(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write(".gitignore", "notes.txt\n")
    place.write("notes.txt", "mine\n")
    message = place.message()
    place.before()
    place.write(".gitignore", "")
    place.after()
    assert list(place.changed(message)) == [".gitignore"]
    place.back(message)
    assert (place.root / "notes.txt").read_text() == "mine\n"


def test_large_files_and_crowded_folders_are_left_out_and_that_is_said_once(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("big.bin", b"x" * (shadow_git.LARGEST + 1))
    for n in range(shadow_git.MOST_BESIDE + 1):
        place.write(f"data/{n}", "")
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.write("data/1", "changed\n")
    place.write("big.bin", b"small now")
    place.after()
    place.before()
    place.after()
    assert len(place.said) == 2
    assert "data/" in place.said[0] and "big.bin" in place.said[1]
    assert list(place.changed(message)) == ["a.txt"]
    place.back(message)
    assert (place.root / "big.bin").read_bytes() == b"small now"
    assert (place.root / "data/1").read_text() == "changed\n"


def test_what_somebody_else_changed_alone_is_left_and_what_they_changed_too_is_marked(tmp_path: Path) -> None:
    place = Place(tmp_path)
    for name in ("mine.txt", "theirs.txt", "both.txt"):
        place.write(name, "one\n")
    message = place.message()
    place.before()
    place.write("mine.txt", "two\n")
    place.write("both.txt", "two\n")
    place.after()
    place.write("theirs.txt", "by hand\n")
    place.message()
    place.before()
    place.write("mine.txt", "three\n")
    place.after()
    place.write("both.txt", "by hand\n")
    place.write("theirs too.txt", "by hand\n")
    assert [(c.path, c.outside) for c in place.changes(message)] == [("both.txt", True), ("mine.txt", False)]
    place.back(message)
    assert (place.root / "theirs.txt").read_text() == "by hand\n"
    assert (place.root / "theirs too.txt").exists()
    assert (place.root / "both.txt").read_text() == "one\n"


def test_a_later_message_gives_back_what_was_there_then(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("a.txt", "one\n")
    first = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.after()
    second = place.message()
    place.before()
    place.write("a.txt", "three\n")
    place.after()
    third = place.message()
    assert place.changes(third) == ()
    place.back(second)
    assert (place.root / "a.txt").read_text() == "two\n"
    place.back(first)
    assert (place.root / "a.txt").read_text() == "one\n"


def test_a_turn_that_was_cut_off_by_a_crash_is_known_all_the_same(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    again = Place(tmp_path)
    assert list(again.changed(message)) == ["a.txt"]
    again.record = place.record + 5
    again.back(message)
    assert (place.root / "a.txt").read_text() == "one\n"


def test_without_git_what_write_and_edit_change_comes_back(tmp_path: Path) -> None:
    place = Place(tmp_path, git=None)
    place.write("a.txt", "one\r\n").chmod(0o640)
    place.write("b.txt", "one\n")
    message = place.message()
    place.before("a.txt", "new.txt")
    place.write("a.txt", "two\n")
    place.write("new.txt", "made\n")
    place.write("b.txt", "by a command\n")
    place.after()
    assert sorted(place.changed(message)) == ["a.txt", "new.txt"]
    assert place.back(message) == Given(("a.txt", "new.txt"), ())
    assert (place.root / "a.txt").read_bytes() == b"one\r\n"
    assert (place.root / "a.txt").stat().st_mode & 0o777 == 0o640
    assert not (place.root / "new.txt").exists()
    assert (place.root / "b.txt").read_text() == "by a command\n"
    assert len(place.said) == 1 and "git is not installed" in place.said[0]


def test_a_git_that_fails_stops_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path, git="/bin/false")
    place.write("a.txt", "one\n")
    message = place.message()
    place.before("a.txt")
    place.write("a.txt", "two\n")
    place.after()
    assert len(place.said) == 1 and "could not be kept" in place.said[0]
    assert list(place.changed(message)) == ["a.txt"]


def test_a_git_that_takes_too_long_is_asked_once(tmp_path: Path) -> None:
    slow = tmp_path / "slow-git"
    slow.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\nexec sleep 60\n")
    slow.chmod(0o755)
    place = Place(tmp_path, git=str(slow))
    assert place.keeper._git is not None
    place.keeper._git.patience = 0.2
    place.write("a.txt", "one\n")
    message = place.message()
    for text in ("two\n", "three\n"):
        place.before("a.txt")
        place.write("a.txt", text)
        place.after()
    assert (tmp_path / "asked").read_text() == "x\n"
    assert len(place.said) == 1 and "took more than" in place.said[0]
    assert list(place.changed(message)) == ["a.txt"]


def test_a_project_of_too_many_files_is_kept_without_its_largest_folders(tmp_path: Path) -> None:
    place = Place(tmp_path)
    each = shadow_git.MOST_BESIDE - 1
    for top in ("one", "two", "three", "four"):
        for n in range(each):
            place.write(f"{top}/{n}", "")
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.after()
    assert len(place.said) == 1 and "too many files" in place.said[0]
    assert list(place.changed(message)) == ["a.txt"]


def test_nothing_is_written_through_a_link_or_out_of_the_project(tmp_path: Path) -> None:
    place = Place(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    place.write("sub/a.txt", "one\n")
    message = place.message()
    place.before()
    (place.root / "sub/a.txt").unlink()
    (place.root / "sub").rmdir()
    (place.root / "sub").symlink_to(outside)
    place.after()
    given = place.back(message)
    assert any("sub/a.txt" in left for left in given.left)
    assert list(outside.iterdir()) == []


def test_a_file_that_changes_while_it_is_looked_at_is_left(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("a.txt", "two\n")
    place.after()
    changes = place.changes(message)
    place.write("a.txt", "three, just now\n")
    given = give_back(place.keeper, changes, 9, {})
    assert given.paths == () and "just now" in given.left[0]
    assert (place.root / "a.txt").read_text() == "three, just now\n"


def test_a_nested_repository_is_left_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.write("inner/file", "one\n")
    subprocess.run(["git", "init", "-q"], cwd=place.root / "inner", check=True)
    place.write("a.txt", "one\n")
    message = place.message()
    place.before()
    place.write("inner/file", "two\n")
    place.write("a.txt", "two\n")
    place.after()
    place.before()
    assert list(place.changed(message)) == ["a.txt"]
    assert len(place.said) == 1 and "inner/" in place.said[0]


def test_names_of_every_kind_come_back(tmp_path: Path) -> None:
    place = Place(tmp_path)
    names = ["with space", "tab\there", "line\nfeed", "-dash", "*star", "\u00fcmlaut", os.fsdecode(b"\xff\xfe")]
    for name in names:
        place.write(name, "one\n")
    message = place.message()
    place.before()
    for name in names:
        (place.root / name).unlink()
    place.after()
    assert sorted(place.back(message).paths) == sorted(names)
    assert all((place.root / name).read_text() == "one\n" for name in names)


def test_a_turn_that_only_looks_keeps_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.after()
    assert not place.keeper.shelf.folder.exists()


def test_where_we_keep_things_ourselves_is_never_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    ours = place.root / "data"
    keeper = Keeper(ours / "s1" / "shadow", place.root, ENVIRON, git="git", outside=(ours,))
    place.write("a.txt", "one\n")
    keeper.before(3)
    place.write("data/s1/session.jsonl", "line\n")
    place.write("a.txt", "two\n")
    keeper.after(5)
    with keeper.looking() as looking:
        assert [c.path for c in looking.changes(2)] == ["a.txt"]
