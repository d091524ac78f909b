"""A fork: another session with the same log, what it points to reachable, the original as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import sessions
from agent.forking import LogError, fork
from agent.session_log import SessionLog, load
from agent.verify import verify
from agent.wire import Fork, Idle, Opened, Rewind, Submit
from compaction.records import SettingsChanged, UserSaid
from tests.agent.loop.harness import Story, call, calls, is_prefix, output, spoken


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


async def test_a_fork_goes_on_with_the_same_bytes_and_leaves_the_original_as_it_was(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="echo hi")), "Said.", "In the original.", "In the fork."]
    async with Story(tmp_path, replies) as story:
        await story.say("greet")
        original, id = story.session.log.path, story.session.id
        await story.say("go on")
        at_fork = original.read_bytes()
        last = story.requests[-1]
        idle = await story.until(Idle, sent=Fork())
        assert idle.session != id
        opened = story.said(Opened)[-1]
        assert (opened.session, opened.resumed) == (idle.session, True)
        assert f"/resume {id}" in story.told
        await story.say("and on")
        assert is_prefix(last, story.requests[-1])
        assert original.read_bytes() == at_fork
        assert sessions.look(story.session.log.path).title == "greet (fork)"
        assert verify(story.session.log.path).lines() == ()
        assert [r.id for r in story.records] == list(range(1, len(story.records) + 1))
        forked = story.session.log.path
    async with story.again(["Again."], first=id) as later:
        await later.say("still here")
        assert "In the original." in spoken(later.requests[-1]) and "and on" not in spoken(later.requests[-1])
    assert forked.exists()


async def test_a_fork_may_end_before_a_record(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One.", "Two.", "Three."]) as story:
        await story.say("first")
        await story.say("second")
        second = next(r.id for r in story.records if isinstance(r.body, UserSaid) and r.body.text == "second")
        await story.do(Fork(second))
        await story.say("other")
        assert "second" not in spoken(story.requests[-1]) and "first" in spoken(story.requests[-1])
        assert verify(story.session.log.path).lines() == ()


async def test_a_fork_inside_a_step_closes_its_calls(tmp_path: Path) -> None:
    async with Story(tmp_path, [calls(call("bash", command="echo hi")), "Said.", "On."]) as story:
        await story.say("greet")
        result = next(r.id for r in story.records if type(r.body).__name__ == "ToolReturned")
        await story.do(Fork(result))
        assert (await story.say("go on")).stop == "done"
        assert verify(story.session.log.path).faults == ()


async def test_what_was_spilled_and_what_files_were_is_reachable_when_the_original_is_gone(tmp_path: Path) -> None:
    replies = [calls(output(60_000, "end")), calls(call("write", path="a.txt", content="two\n")), "Done.", "On."]
    async with Story(tmp_path, replies) as story:
        (story.folder / "a.txt.orig").write_text("one\n")
        await story.say("make much")
        original = story.session.log.folder
        spilled = files(original / "spill")
        assert spilled
        await story.do(Fork())
        for path in sorted(original.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        assert files(story.session.log.folder / "spill") == spilled
        message = next(r.id for r in story.records if isinstance(r.body, UserSaid))
        await story.wish(Rewind(message, "both"))
        assert not (story.folder / "a.txt").exists()


async def test_forks_of_forks_are_named_once(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        await story.say("hello")
        await story.do(Fork())
        await story.do(Fork())
        names = [r.body.name for r in story.records if isinstance(r.body, SettingsChanged)]
        assert names == ["hello (fork)", "hello (fork)"]


async def test_a_record_that_is_not_there_ends_no_fork(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        await story.say("hello")
        id = story.session.id
        idle = await story.do(Fork(99))
        assert idle.code == 1 and "no record 99" in (idle.error or "")
        assert story.session.id == id
        await story.do(Submit("still open"))


async def test_a_torn_log_is_forked_up_to_its_last_whole_line(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        await story.say("hello")
        path, places = story.session.log.path, story.places
    whole = load(path).count
    with path.open("ab") as file:
        file.write(b'{"id":99,"at":1')
    made = fork(places, path, None, 1_800_000_000.0)
    assert verify(made).lines() == () and load(made).count == whole + 1
    log = SessionLog.open(made, False)
    assert log.view.started is not None and log.view.started.session == made.parent.name.rsplit("-", 1)[-1]
    with pytest.raises(LogError):
        fork(places, tmp_path / "nothing" / "session.jsonl", None, 0.0)


async def test_a_last_line_without_its_end_is_a_record_of_the_fork(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        await story.say("hello")
        path, places = story.session.log.path, story.places
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert load(fork(places, path, None, 0.0)).count == load(path).count + 1
