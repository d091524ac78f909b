"""The worker: sessions opened and left, faults of our own, disks that fail, rules that changed."""

from __future__ import annotations

import asyncio
import errno
import os
import queue
from pathlib import Path

import pytest

from agent.model import Request
from agent.models.scripted import Say
from agent.opening import Opening
from agent.session_log import SessionLog
from agent.wire import (
    Appended,
    Busy,
    Crashed,
    Event,
    Finished,
    Idle,
    Inspect,
    Inspected,
    Open,
    Opened,
    Quit,
    Reload,
    Rename,
    Returned,
    Rewind,
    SetBudget,
    SetMode,
    SetModel,
    Shell,
    Steer,
    Submit,
    Told,
    ToolRunning,
    Undo,
)
from agent.worker import Worker
from compaction.records import Noted, Reloaded, Rewound, SettingsChanged, Started, ToolReturned, UserSaid
from tests.agent.failing_disk import FailingDisk
from tests.agent.loop.harness import PATIENCE, Story, call, calls, is_prefix, last_text, scripted, spoken


async def test_opening_tells_all_there_is_and_a_resume_looks_the_same(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one"])) as story:
        await story.say("hi")
        live = [e.record for e in story.said(Appended)]
    async with story.again() as later:
        assert [e.record for e in later.said(Appended)] == live
        assert all(e.replay for e in later.said(Appended))
        assert [e.resumed for e in later.said(Opened)] == [True]
        assert [type(e).__name__ for e in later.events] == ["Busy", "Opened", *["Appended"] * 3, "Metered", "Idle"]


async def test_what_the_opening_itself_wrote_is_news(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one"])) as story:
        await story.say("hi")
    (story.folder / "AGENTS.md").write_text("be brief")
    story.clock.now += 3_600
    async with story.again(clock=story.clock) as later:
        news = [e.record.body for e in later.said(Appended) if not e.replay]
        assert [type(body).__name__ for body in news] == ["Reloaded"]


async def test_every_busy_is_followed_by_one_idle(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["x"])) as story:
        for command in (Submit("a"), Shell("true"), Rename("n"), Reload(), Rewind(99)):
            await story.do(command)
        order = [type(e).__name__ for e in story.events if isinstance(e, (Busy, Idle))]
        assert order == ["Busy", "Idle"] * 6


class ValueErrorOnce:
    """A fault of our own."""

    def __call__(self, request: Request) -> Say:
        raise ValueError("ours")


async def test_a_fault_of_ours_ends_the_worker_with_the_log_whole(tmp_path: Path) -> None:
    story = Story(tmp_path, scripted([ValueErrorOnce()]), raises=False)
    async with story:
        story.send(Submit("hi"))
        with pytest.raises(ValueError, match="ours"):
            await story.until(Idle, after=story.mark())
        assert not story.session.log.writable
        log = SessionLog.open(story.session.log.path, True)
        assert [type(r.body) for r in log.records] == [Started, UserSaid]
        log.close()


def test_on_its_own_thread_a_fault_becomes_one_crashed_event(tmp_path: Path) -> None:
    story = Story(tmp_path, scripted([ValueErrorOnce()]))
    events: queue.Queue[Event] = queue.Queue()
    worker = Worker(Opening(story.kit(), story.folder), events.put)
    worker.send(Submit("sent before it was started"))
    worker.start()
    seen: list[Event] = []
    while not seen or not isinstance(seen[-1], Crashed):
        seen.append(events.get(timeout=PATIENCE))
    assert "ValueError: ours" in seen[-1].error
    assert "Traceback" in seen[-1].where
    assert worker.join(PATIENCE)
    worker.send(Submit("too late"))
    assert events.empty()


def test_a_fault_while_a_command_is_taken_is_no_silent_one(tmp_path: Path) -> None:
    story = Story(tmp_path, scripted([]))
    events: queue.Queue[Event] = queue.Queue()

    def emit(event: Event) -> None:
        if isinstance(event, Inspected):
            raise RuntimeError("a front end that raises")
        events.put(event)

    worker = Worker(Opening(story.kit(), story.folder), emit)
    worker.start()
    while not isinstance(events.get(timeout=PATIENCE), Idle):
        pass
    worker.send(Inspect())
    while not isinstance(last := events.get(timeout=PATIENCE), Crashed):
        pass
    assert "a front end that raises" in last.error
    assert worker.join(PATIENCE)


def test_commands_sent_before_the_session_is_open_are_carried_out_in_order(tmp_path: Path) -> None:
    story = Story(tmp_path, scripted(["a", "b"]))
    events: queue.Queue[Event] = queue.Queue()
    worker = Worker(Opening(story.kit(), story.folder), events.put)
    worker.send(SetMode("plan"))
    worker.send(Submit("one"))
    worker.send(Submit("two"))
    worker.start()
    idle = 0
    said: list[str] = []
    while idle < 3:
        event = events.get(timeout=PATIENCE)
        idle += isinstance(event, Idle)
        if isinstance(event, Appended) and isinstance(event.record.body, UserSaid):
            said.append(event.record.body.text)
    worker.send(Quit())
    assert worker.join(PATIENCE)
    assert said == ["one", "two"]


async def test_another_session_is_opened_and_the_first_ones_lock_is_given_back(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two"])) as story:
        await story.say("hi")
        first = story.session.log.path
        assert (await story.do(Open(None))).stop == "done"
        assert story.session.log.path != first
        SessionLog.open(first, True).close()
        await story.say("in the second")
        assert (await story.do(Open(str(first)))).stop == "done"
        assert [b.text for b in story.bodies(UserSaid)] == ["hi"]
        assert story.said(Opened)[-1].resumed


async def test_a_wish_that_has_to_wait_for_the_turn_is_heard_at_once(tmp_path: Path) -> None:
    begun, hold = asyncio.Event(), asyncio.Event()
    async with Story(tmp_path, scripted([Say("one", started=begun, wait=hold)])) as story:
        story.send(Submit("go"))
        await begun.wait()
        story.send(SetModel("openai/other-model"), Undo(), Submit("and then"))
        await story.until(Told, lambda e: e.text.startswith("undoing"))
        assert [e.text for e in story.said(Told)] == [
            "the other model waits until what runs has ended",
            "undoing waits until what runs has ended",
        ]
        hold.set()
        await story.until(Finished, lambda e: e.wish == "model")
        assert story.session.view.model == "openai/other-model"


async def test_a_new_session_goes_on_with_the_model_and_the_budget_of_the_one_before(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two"])) as story:
        await story.do(SetModel("openai/other-model"))
        await story.do(SetBudget("30k"))
        await story.do(Open(None))
        assert story.session.view.model == "openai/other-model"
        assert story.session.budget.policy.rule == "30k"
        started = story.session.view.started
        assert started is not None and (started.model, started.rule) == ("openai/other-model", "30k")


async def test_a_session_in_use_is_said_and_the_open_one_stays(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two"])) as story:
        await story.say("hi")
        await story.do(Open(None))
        other = story.sessions[0].log.path
        held = SessionLog.open(other, True)
        (other.parent / "session.lock").write_text("424242\n")
        idle = await story.do(Open(str(other)))
        assert (idle.stop, idle.code) == ("failed", 1)
        assert "in use by process 424242" in str(idle.error)
        held.close()
        assert (await story.say("still here")).stop == "done"


async def test_opening_the_session_that_is_open_says_so(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two"])) as story:
        await story.say("hi")
        idle = await story.do(Open(str(story.session.log.path)))
        assert "is open here" in str(idle.error)
        assert (await story.say("on")).stop == "done"


async def test_without_a_session_a_message_comes_back(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([]), first="nothing-of-that-name") as story:
        idle = story.said(Idle)[0]
        assert (idle.stop, idle.code) == ("failed", 2)
        await story.say("precious")
        assert [r.text for r in story.said(Returned)] == ["precious"]
        assert (await story.do(Open(None))).stop == "done"
        assert (await story.say("precious")).stop == "done"


# ── disks ──


async def test_a_prompt_that_cannot_be_written_comes_back_and_the_session_says_what_to_do(tmp_path: Path) -> None:
    disk = FailingDisk()
    async with Story(tmp_path, scripted(["ok"]), disk=disk) as story:
        await story.say("hello")
        disk.at = disk.operations + 1
        idle = await story.say("precious")
        assert (idle.stop, idle.code) == ("failed", 1)
        assert "No space left on device" in str(idle.error)
        assert "open the session again" in str(idle.error)
        assert story.tags == ["asked.log_failed"]
        assert [r.text for r in story.said(Returned)] == ["precious"]
        assert len(story.requests) == 1
        again = await story.say("more")
        assert again.stop == "failed"
    async with story.again(scripted(["better"])) as later:
        assert (await later.say("precious")).stop == "done"


async def test_a_word_that_steers_and_cannot_be_written_comes_back(tmp_path: Path) -> None:
    disk = FailingDisk()
    async with Story(tmp_path, scripted([calls(call("bash", command="cat go")), "ok"]), disk=disk) as story:
        os.mkfifo(story.folder / "go")
        await story.until(ToolRunning, sent=Submit("work"))
        story.send(Steer("precious"))
        told = await story.until(Told, lambda told: "joins the turn" in told.text)
        # The result of the call is one write and one fsync; the next write fails.
        disk.at = disk.operations + 3
        await asyncio.to_thread((story.folder / "go").write_text, "now")
        assert (await story.until(Idle, after=told)).stop == "failed"
        assert [returned.text for returned in story.said(Returned)] == ["precious"]


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_result_that_cannot_be_written_ends_the_turn_as_failed(tmp_path: Path, parallel: int) -> None:
    disk = FailingDisk()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a").write_text("text")

    def reply(request: Request) -> Say:
        # The reply is written and synced, then the first result's write fails.
        disk.at = disk.operations + 3
        return calls(*[call("read", path="a")] * parallel)

    async with Story(tmp_path, scripted([reply]), disk=disk) as story:
        idle = await story.say("go")
        assert (idle.stop, idle.code) == ("failed", 1)
        assert story.tags[-1] == "asked.log_failed"
        assert not [e for e in story.events if isinstance(e, Crashed)]
        assert story.said(Returned) == []
    async with story.again(scripted(["on"])) as later:
        assert all(b.failed for b in later.bodies(ToolReturned))
        assert (await later.say("go on")).stop == "done"


async def test_an_output_whose_file_cannot_be_written_is_cut_and_said(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(call("bash", command="seq 1 20000")), "ok"])) as story:
        story.session.log.folder.mkdir(parents=True)
        (story.session.log.folder / "spill").write_text("a file where the folder should be")
        assert (await story.say("go")).stop == "done"
        (result,) = story.bodies(ToolReturned)
        assert result.spilled is None
        assert len(result.text) < 5_000
        assert "could not be stored" in result.text
        assert "could not be stored" in story.told


async def test_a_first_message_that_cannot_be_written_comes_back_and_the_session_says_what_to_do(
    tmp_path: Path,
) -> None:
    class Full:
        def write(self, fd: int, data: bytes) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def fsync(self, fd: int) -> None:
            return None

    async with Story(tmp_path, scripted([]), disk=Full()) as story:
        idle = await story.say("precious")
        assert (idle.stop, idle.code) == ("failed", 1)
        assert "No space left" in str(idle.error)
        assert [r.text for r in story.said(Returned)] == ["precious"]
        assert story.requests == []


async def test_a_session_left_without_a_word_leaves_nothing_on_a_screen_and_its_first_line_without_one(
    tmp_path: Path,
) -> None:
    async with Story(tmp_path, scripted(["one"])) as story:
        assert story.said(Opened)[0].path == str(story.session.log.path)
    assert not [*story.places.sessions.glob("*/*")]
    async with Story(tmp_path / "script", scripted(["one"]), interactive=False) as script:
        assert script.session.log.path.exists()


async def test_a_place_where_no_session_can_be_is_a_sentence_at_once(tmp_path: Path) -> None:
    story = Story(tmp_path, scripted([]))
    story.kit().places.data.parent.mkdir(parents=True, exist_ok=True)
    story.kit().places.data.write_text("a file where the folder should be")
    async with story:
        idle = story.said(Idle)[0]
        assert (idle.stop, idle.code) == ("failed", 1)
        assert "a new session cannot be stored in" in str(idle.error)


# ── instructions ──


def rules(tmp_path: Path, text: str, below: str = "") -> Path:
    file = tmp_path / "project" / below / "AGENTS.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


async def test_changed_rules_are_taken_in_by_a_resume_whose_cache_is_cold(tmp_path: Path) -> None:
    rules(tmp_path, "Old rule.")
    async with Story(tmp_path, scripted(["one"])) as story:
        await story.say("hi")
    rules(tmp_path, "New rule.")
    later = story.again(scripted(["two"]))
    later.clock.now += 3_600
    async with later:
        assert "taken in" in later.said(Opened)[0].notices[-1]
        await later.say("on")
        assert "New rule." in spoken(later.requests[0])
        assert len(later.bodies(Reloaded)) == 1
        assert later.meter.cache.broken == "reloaded"


async def test_changed_rules_wait_while_the_cache_is_warm_and_reload_takes_them_in(tmp_path: Path) -> None:
    rules(tmp_path, "Old rule.")
    async with Story(tmp_path, scripted(["one"])) as story:
        await story.say("hi")
        before = story.requests[0]
    rules(tmp_path, "New rule.")
    later = story.again(scripted(["two", "three"]))
    later.clock.now += 30
    async with later:
        (notice,) = [n for n in later.said(Opened)[0].notices if "/reload" in n]
        assert "cached tokens are read anew" in notice
        await later.say("on")
        assert is_prefix(before, later.requests[0])
        finished = await later.wish(Reload())
        assert (finished.committed, finished.code) == (True, 0)
        await later.say("on")
        assert "New rule." in spoken(later.requests[1])
        assert (await later.wish(Reload())).code == 4


async def test_a_folders_own_rules_join_at_the_end_when_a_call_first_touches_it(tmp_path: Path) -> None:
    rules(tmp_path, "Nested rule.", "sub")
    (tmp_path / "project" / "sub" / "a.py").write_text("x = 1\n")
    replies = [
        calls(call("read", path="sub/a.py"), call("read", path="sub/a.py")),
        calls(call("read", path="sub/a.py")),
    ]
    async with Story(tmp_path, scripted([*replies, "done", "more"])) as story:
        await story.say("read it")
        await story.say("again")
        assert "Nested rule." not in spoken(story.requests[0])
        assert "Nested rule." in last_text(story.requests[1])
        assert len([b for b in story.bodies(Noted) if b.topic == "nested"]) == 1
        for before, after in zip(story.requests, story.requests[1:], strict=False):
            assert is_prefix(before, after)
    async with story.again(scripted([replies[1], "ok"])) as later:
        await later.say("once more")
        assert len([b for b in later.bodies(Noted) if b.topic == "nested"]) == 1


async def test_a_call_that_was_refused_or_failed_brings_no_rules_in(tmp_path: Path) -> None:
    rules(tmp_path, "Nested rule.", "sub")
    made = calls(call("write", path="sub/b", content="x"), call("read", path="sub/missing"))
    async with Story(tmp_path, scripted([made, "ok"]), mode="plan") as story:
        await story.say("write it")
        assert story.bodies(Noted) == []


# ── wishes ──


async def test_a_shell_commands_output_waits_for_the_next_request(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        await story.do(Shell("printf 'a\\033[31mred'"))
        assert story.requests == []
        (said,) = story.bodies(UserSaid)
        assert said.how == "shell"
        assert "ared" in said.text and "\x1b" not in said.text
        await story.do(Shell("echo private", join=False))
        assert any("private" in e.output for e in story.said(ToolRunning))
        await story.say("look")
        assert "ared" in spoken(story.requests[0])
        assert "private" not in spoken(story.requests[0])


async def test_a_shell_command_that_was_stopped_leaves_what_it_had_printed(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        story.send(Shell("echo half of it; exec sleep 600"))
        await story.until(ToolRunning, lambda e: "half" in e.output)
        await story.stop()
        (said,) = story.bodies(UserSaid)
        assert "stopped it" in said.text and "half of it" in said.text
        await story.say("look")
        assert "half of it" in spoken(story.requests[0])


async def test_a_rewind_goes_on_from_before_a_message_and_erases_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two", "three"])) as story:
        await story.say("first")
        await story.say("second")
        log = story.session.log.path.read_bytes()
        second = next(r.id for r in story.records if isinstance(r.body, UserSaid) and r.body.text == "second")
        assert (await story.wish(Rewind(second))).code == 0
        assert (await story.wish(Rewind(3))).code == 4
        assert story.session.log.path.read_bytes().startswith(log)
        await story.say("other")
        assert [m["content"] for m in story.requests[-1].messages[1:]] == ["first", "one", "other"]
        assert len(story.bodies(Rewound)) == 1


async def test_a_name_is_kept(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([])) as story:
        assert (await story.wish(Rename("the parser"))).code == 0
        assert [b.name for b in story.bodies(SettingsChanged)] == ["the parser"]
