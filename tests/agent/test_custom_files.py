"""Commands of the user's own: what is read, what a message becomes, and files that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.custom_files import DEEPEST, MOST_BYTES, MOST_FILES, BadWords, Found, read_commands, typed_name
from agent.places import under


def made(root: Path, files: dict[str, str | bytes]) -> Found:
    """The commands of files named `user/…` and `project/…`."""
    places = under(root / "home")
    tops = {"user": places.config / "commands", "project": root / "work" / ".ullage" / "commands"}
    (root / "work" / ".git").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        whose, _, rest = name.partition("/")
        path = tops[whose] / rest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_commands(places, root / "work")


def test_files_become_commands_and_folders_their_names_beginnings(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "user/review.md": "---\ndescription: Look at the diff\narguments: [path]\n---\nReview $1.\n",
            "user/db/Migrate.md": "Migrate.",
            "project/ship.md": "\ufeffShip it.\r\nNow.\r\n",
        },
    )
    assert found.problems == []
    rows = {c.name: (c.description, c.arguments, c.text, c.theirs) for c in found.commands.values()}
    assert rows == {
        "review": ("Look at the diff", "[path]", "Review $1.", False),
        "db:migrate": ("", "", "Migrate.", False),
        "ship": ("", "", "Ship it.\nNow.", True),
    }


def test_the_projects_wins_over_the_users_and_says_so(tmp_path: Path) -> None:
    found = made(tmp_path, {"user/a.md": "mine", "project/a.md": "theirs", "user/b.md": "b"})
    rows = {c.name: (c.text, c.theirs, c.hides) for c in found.commands.values()}
    assert rows == {"a": ("theirs", True, True), "b": ("b", False, False)}


@pytest.mark.parametrize(
    ("text", "typed", "sent"),
    [
        ("Fix $ARGUMENTS now", "the bug", "Fix the bug now"),
        ("$1 and $2, $3.", "'a b' c", "a b and c, ."),
        ("$1|$ARGUMENTS", '"$2 $ARGUMENTS" x', '$2 $ARGUMENTS|"$2 $ARGUMENTS" x'),
        ("$10 $ARGUMENTSX $0", "x", "$10 $ARGUMENTSX $0\n\nx"),
        ("Say hello.", "", "Say hello."),
        ("Say hello.", "to 'Ada", "Say hello.\n\nto 'Ada"),
        ("All: $ARGUMENTS", "don't", "All: don't"),
        ("cost is 5$ and $HOME", "", "cost is 5$ and $HOME"),
        ("@src/a.py $1", "@b.py", "@src/a.py @b.py"),
    ],
)
def test_what_was_typed_is_put_in_once(tmp_path: Path, text: str, typed: str, sent: str) -> None:
    assert made(tmp_path, {"user/c.md": text}).commands["c"].message(typed) == sent


def test_a_quotation_left_open_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadWords, match="quotation mark"):
        made(tmp_path, {"user/c.md": "$1"}).commands["c"].message("don't")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("/review", ("review", "")),
        ("/db:Migrate  a b\nc", ("db:migrate", "a b\nc")),
        ("/tmp/x is broken", None),
        ("say /review", None),
        ("/ x", None),
        ("/a: b", None),
        ("", None),
    ],
)
def test_the_name_a_message_begins_with(text: str, named: tuple[str, str] | None) -> None:
    assert typed_name(text) == named


def test_files_that_are_no_commands_are_named_and_the_others_work(tmp_path: Path) -> None:
    found = made(
        tmp_path,
        {
            "user/latin.md": b"caf\xe9",
            "user/huge.md": "x" * (MOST_BYTES + 1),
            "user/empty.md": "---\ndescription: d\n---\n \n",
            "user/with space.md": "x",
            "user/UP.md": "x",
            "user/up.md": "x",
            "user/notes.txt": "not looked at",
            "user/good.md": "good",
            "project/good2.md": "good",
        },
    )
    assert {*found.commands} == {"up", "good", "good2"}
    said = "\n".join(found.problems)
    for name, why in (
        ("latin", "UTF-8 at byte 3"),
        ("huge", "longer than"),
        ("empty", "empty"),
        ("with space", "typed"),
    ):
        assert any(f"{name}.md" in p and why in p for p in found.problems), said
    assert len(found.problems) == 5


def test_links_loops_devices_and_locked_folders_end_soon(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("the user's secret")
    made(tmp_path, {"user/x.md": "x", "project/y.md": "y"})
    mine, theirs = tmp_path / "home" / "config" / "commands", tmp_path / "work" / ".ullage" / "commands"
    for top in (mine, theirs):
        (top / "loop").symlink_to(top)
        (top / "round.md").symlink_to(top / "round.md")
        os.mkfifo(top / "pipe.md")
        (top / "zero.md").symlink_to("/dev/zero")
        (top / "secret.md").symlink_to(secret)
        (top / "folder.md").mkdir()
    found = read_commands(under(tmp_path / "home"), tmp_path / "work")
    assert {name: c.theirs for name, c in found.commands.items()} == {"x": False, "y": True, "secret": False}
    assert any(str(theirs / "secret.md") in p and "link" in p for p in found.problems)


def test_a_projects_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "commands"
    elsewhere.mkdir(parents=True)
    (elsewhere / "a.md").write_text("a")
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / ".ullage").symlink_to(tmp_path / "elsewhere")
    found = read_commands(under(tmp_path / "home"), tmp_path / "work")
    assert found.commands == {} and "is a link" in found.problems[0]


def test_a_tree_of_files_is_read_to_its_bounds(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"user/{n // 250}/c{n}.md": "x" for n in range(MOST_FILES + 50)}
    deep = "/".join("d" * (DEEPEST + 2))
    found = made(tmp_path, {**files, f"user/{deep}/x.md": "x"})
    assert len(found.commands) == MOST_FILES
    assert sum("only the first" in p for p in found.problems) == 1
    assert not any(name.startswith("d:") for name in found.commands)
