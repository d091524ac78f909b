"""What a session changed in files, what differs from the last commit where nothing was kept, and the memory's page."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from agent.instructions import prompt
from agent.places import under
from agent.reading import Reading
from agent.reading.file_pages import COMMIT, OWN, changed_files, keep_memory, memory
from agent.wire import Init
from compaction.records import UserSaid
from tests.agent.loop.harness import Story, call, calls


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)


async def test_what_the_session_changed_is_told_and_not_what_was_changed_before(tmp_path: Path) -> None:
    replies = [
        calls(call("write", path="src/a.py", content="one\ntwo\n"), call("bash", command="echo x >> b.txt")),
        "Done.",
    ]
    async with Story(tmp_path, replies) as story:
        (story.folder / "b.txt").write_text("first\n")
        (story.folder / "other.txt").write_text("mine\n")
        await story.say("go")
        reading = Reading(story.kit(), story.folder)
        found = reading.changed_files(story.session.log.path)
        assert found.since == OWN
        assert [(f.path, f.what, f.added, f.removed) for f in found.files] == [
            ("b.txt", "changed", 1, 0), ("src/a.py", "created", 2, 0)
        ]  # fmt: skip
        assert "+two\n" in found.files[1].diff and found.files[1].diff.startswith("--- /dev/null\n+++ b/src/a.py\n")
        for only in ("src", "src/a.py", "@src/a.py", str(story.folder / "src")):
            assert [f.path for f in reading.changed_files(story.session.log.path, only).files] == ["src/a.py"]
        with pytest.raises(LookupError, match=r"other\.txt"):
            reading.changed_files(story.session.log.path, "other.txt")


async def test_where_nothing_was_kept_the_last_commit_is_compared_with(tmp_path: Path) -> None:
    async with Story(tmp_path, ["Hello."]) as story:
        with pytest.raises(LookupError, match="no git repository"):
            changed_files(story.session)
        for name in ("a b.txt", "gone.txt"):
            (story.folder / name).write_text("one\n")
        git(story.folder, "init", "-q")
        git(story.folder, "add", ".")
        git(story.folder, "commit", "-qm", "first")
        (story.folder / ".gitattributes").write_text("*.txt diff=evil\n")
        git(story.folder, "config", "diff.evil.textconv", f"touch {tmp_path}/ran; cat")
        git(story.folder, "config", "diff.external", f"touch {tmp_path}/ran")
        (story.folder / "a b.txt").write_text("two\n")
        (story.folder / "gone.txt").unlink()
        found = changed_files(story.session)
        assert found.since == COMMIT
        assert [(f.path, f.what, f.added, f.removed) for f in found.files] == [
            ("a b.txt", "changed", 1, 1), ("gone.txt", "removed", 0, 1)
        ]  # fmt: skip
        assert not (tmp_path / "ran").exists()


async def test_init_is_a_turn_with_its_prompt(tmp_path: Path) -> None:
    async with Story(tmp_path, [calls(call("write", path="AGENTS.md", content="# x\n")), "Written."]) as story:
        assert (await story.do(Init())).stop == "done"
        (said,) = story.bodies(UserSaid)
        assert said.text == prompt("init") and "AGENTS.md" in said.text
        assert (story.folder / "AGENTS.md").exists()


def test_an_edited_memory_is_written_unless_somebody_else_changed_it(tmp_path: Path) -> None:
    places, folder = under(tmp_path / "home"), tmp_path / "project"
    folder.mkdir()
    assert memory(places, folder).text == ""
    assert "is written" in keep_memory(places, folder, "", "- a fact\n")
    found = memory(places, folder)
    assert found.text == "- a fact\n" and found.path == places.memory(folder)
    said = keep_memory(places, folder, "- something else\n", "- mine\n")
    assert memory(places, folder).text == "- a fact\n"
    assert found.path.with_suffix(".edited.md").read_text() == "- mine\n"
    assert "meanwhile" in said
    blocked = replace(places, data=tmp_path / "file")
    (tmp_path / "file").write_text("")
    assert "could not be written" in keep_memory(blocked, folder, "", "x")
