"""Esc at every await: what ran is stopped, calls are closed, the queue stays, nothing half done is kept."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from agent.log_file import OsDisk
from agent.models.scripted import Say
from agent.session_log import open_calls
from agent.toolbox import CUT_SHORT
from agent.wire import (
    Asking,
    Busy,
    Compact,
    Finished,
    Idle,
    Interrupt,
    Pin,
    Progress,
    Queued,
    Quit,
    Returned,
    SetBudget,
    Steer,
    Streaming,
    Submit,
    ToolRunning,
    Unqueue,
)
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Pinned,
    SettingsChanged,
    ToolReturned,
    UserSaid,
)
from compaction.view import NO_RESULT
from tests.agent.loop.harness import PATIENCE, Story, call, calls, is_prefix, pairs_are_valid, scripted, spoken, summary


async def test_during_the_stream_what_had_come_is_kept(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with Story(tmp_path, scripted([Say("Half of it, " * 5, hold=never), "whole"])) as story:
        story.send(Submit("go"))
        await story.until(Streaming)
        idle = await story.stop()
        assert (idle.stop, idle.code) == ("interrupted", 130)
        (partial,) = story.bodies(AssistantSaid)
        assert (partial.stop, partial.calls) == ("aborted", ())
        assert partial.text and partial.text != "Half of it, " * 5
        assert story.model.cancelled == 1
        await story.say("again")
        assert is_prefix(story.requests[0], story.requests[1])


async def test_before_the_first_word_nothing_but_the_prompt_stays(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with Story(tmp_path, scripted([Say("never", started=begun, wait=asyncio.Event()), "ok"])) as story:
        story.send(Submit("go"))
        await begun.wait()
        assert (await story.stop()).stop == "interrupted"
        assert story.bodies(AssistantSaid) == []
        assert (await story.say("again")).stop == "done"


async def test_during_a_tool_its_process_ends_and_all_calls_are_closed(tmp_path: Path) -> None:
    command = "echo so far; echo $$ > pid; exec sleep 60"  # no shell is left to say that it was stopped
    replies = [calls(call("bash", command=command), call("bash", command="touch never")), "ok"]
    async with Story(tmp_path, scripted(replies)) as story:
        story.send(Submit("go"))
        await story.until(ToolRunning)
        pid = story.folder / "pid"
        while not (pid.exists() and pid.read_text().strip()):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        assert (await story.stop()).stop == "interrupted"
        assert not (Path("/proc") / (story.folder / "pid").read_text().strip()).exists()
        assert [(b.failed, b.title, b.text) for b in story.bodies(ToolReturned)] == [
            (True, f"bash {command}", f"so far\n{CUT_SHORT}"),
            (True, "bash touch never", NO_RESULT),
        ]
        assert story.session.workspace.cut_short == {}
        assert open_calls(story.session.view) == ()
        assert not (story.folder / "never").exists()
        await story.say("again")
        assert pairs_are_valid(story.requests[-1])
        assert is_prefix(story.requests[0], story.requests[1])


async def test_during_a_question_the_question_is_withdrawn(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(call("bash", command="touch made")), "ok"]), mode="ask") as story:
        story.send(Submit("go"))
        await story.until(Asking)
        assert (await story.stop()).stop == "interrupted"
        await story.answer("once")
        assert open_calls(story.session.view) == ()
        assert (await story.say("again")).stop == "done"
        assert not (story.folder / "made").exists()


@pytest.mark.parametrize("arrived", [False, True])
async def test_during_a_compaction_the_view_stays_and_the_provider_is_left_alone(tmp_path: Path, arrived: bool) -> None:
    never = asyncio.Event()
    said = Say(summary(), hold=never) if arrived else Say(summary(), wait=never)
    async with Story(tmp_path, scripted(["word " * 700] * 4 + ["on"], [said])) as story:
        for n in range(4):
            await story.say(f"q{n}")
        before = story.session.view.items
        story.send(Compact())
        await story.until(Progress, lambda p: p.tokens > 0 or not arrived)
        finished = await story.wish(Interrupt())
        assert (finished.code, finished.tag) == (130, "asked.interrupted.no_prior")
        assert story.tags == ["asked.interrupted.no_prior"]
        assert story.session.view.items == before
        assert story.model.cancelled == 1
        assert [b.outcome for b in story.bodies(CompactionFailed)] == ["interrupted"]
        assert (await story.say("on")).stop == "done"
        assert is_prefix(story.turns[-2], story.turns[-1])


async def test_during_an_automatic_compaction_the_turn_ends_and_backs_off_without_a_failure(tmp_path: Path) -> None:
    slow = Say(summary(), wait=asyncio.Event())
    async with Story(tmp_path, scripted(["word " * 700] * 9, [slow]), budget="8k") as story:
        story.send(*(Submit(f"q{n}") for n in range(7)))
        await story.until(Progress)
        held = story.session.view.last
        idle = await story.stop()
        assert idle.stop == "interrupted"
        assert story.tags[-1] == "proactive.interrupted.no_prior"
        assert story.bodies(Compacted) == []
        assert held < story.session.view.last


class SlowDisk(OsDisk):
    """A write waits while `open` is cleared; `waiting` is set when one does."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.waiting = threading.Event()

    def write(self, fd: int, data: bytes) -> int:
        if not self.open.is_set():
            self.waiting.set()
        self.open.wait(PATIENCE)
        return super().write(fd, data)


async def hold(disk: SlowDisk) -> None:
    while not disk.waiting.is_set():  # noqa: ASYNC110 - set by the log's own thread
        await asyncio.sleep(0.005)


async def test_while_the_prompt_is_written_it_is_logged_once_and_not_asked(tmp_path: Path) -> None:
    disk = SlowDisk()
    async with Story(tmp_path, scripted(["ok"]), disk=disk) as story:
        disk.open.clear()
        mark = story.mark()
        story.send(Submit("go"))
        await hold(disk)
        story.send(Interrupt(), Interrupt())
        await asyncio.sleep(0)
        disk.open.set()
        assert (await story.until(Idle, after=mark)).stop == "interrupted"
        assert [b.text for b in story.bodies(UserSaid)] == ["go"]
        assert story.requests == []


async def test_while_an_answer_is_written_its_calls_are_closed_once(tmp_path: Path) -> None:
    disk = SlowDisk()
    async with Story(tmp_path, scripted([]), disk=disk) as story:

        def reply(request: object) -> Say:
            disk.open.clear()
            return calls(call("bash", command="true"), call("bash", command="true"))

        story.model.default = reply
        mark = story.mark()
        story.send(Submit("go"))
        await hold(disk)
        story.send(Interrupt())
        await asyncio.sleep(0.02)
        disk.open.set()
        assert (await story.until(Idle, after=mark)).stop == "interrupted"
        assert len(story.bodies(AssistantSaid)) == 1
        assert [b.failed for b in story.bodies(ToolReturned)] == [True, True]
        assert open_calls(story.session.view) == ()


async def test_while_a_result_is_written_it_is_not_closed_a_second_time(tmp_path: Path) -> None:
    disk = SlowDisk()
    async with Story(tmp_path, scripted([calls(call("bash", command="echo out; touch ran"))]), disk=disk) as story:
        mark = story.mark()
        story.send(Submit("go"))
        await story.until(ToolRunning)
        disk.open.clear()
        await hold(disk)
        story.send(Interrupt())
        await asyncio.sleep(0.02)
        disk.open.set()
        assert (await story.until(Idle, after=mark)).stop == "interrupted"
        (result,) = story.bodies(ToolReturned)
        assert "out" in result.text


async def test_while_a_compaction_is_written_it_is_committed_and_said_once(tmp_path: Path) -> None:
    disk = SlowDisk()
    async with Story(tmp_path, scripted(["word " * 700] * 4), disk=disk) as story:
        for n in range(4):
            await story.say(f"q{n}")

        def last(request: object) -> Say:
            disk.open.clear()
            return Say(summary())

        story.model.default = last
        mark = story.mark()
        story.send(Compact())
        await hold(disk)
        story.send(Interrupt())
        await asyncio.sleep(0.02)
        disk.open.set()
        finished = await story.until(Finished, after=mark)
        assert story.tags == ["asked.compacted"]
        assert len(story.bodies(Compacted)) == 1
        assert story.bodies(CompactionFailed) == []
        assert (finished.committed, finished.code) == (True, 0)


async def test_the_queue_outlives_an_interrupt_and_its_next_message_is_sent(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with Story(tmp_path, scripted([Say("slow", started=begun, wait=asyncio.Event()), "second"])) as story:
        story.send(Submit("first"))
        await begun.wait()
        story.send(Submit("second"), Submit("third"))
        queued = await story.until(Queued, lambda q: len(q.texts) == 2)
        assert queued.texts == ("second", "third")
        mark = story.mark()
        story.send(Interrupt())
        await story.until(Idle, lambda i: i.stop == "interrupted", after=mark)
        await story.until(Queued, lambda q: q.texts == (), after=mark)
        await story.until(Idle, lambda i: i.stop == "done", after=story.mark())
        assert [b.text for b in story.bodies(UserSaid)] == ["first", "second", "third"]


async def test_the_newest_waiting_message_can_be_taken_back(tmp_path: Path) -> None:
    never = asyncio.Event()
    async with Story(tmp_path, scripted([Say("slow", wait=never), "x"])) as story:
        story.send(Submit("first"))
        await story.until(Busy, lambda b: b.what == "turn")
        story.send(Submit("same"), Submit("other"), Submit("same"), Unqueue())
        returned = await story.until(Returned)
        assert (returned.text, returned.why, returned.code) == ("same", "", 0)
        assert story.said(Queued)[-1].texts == ("same", "other")
        assert len(story.said(Returned)) == 1
        story.send(Unqueue(), Unqueue(), Unqueue())
        assert (await story.stop()).stop == "interrupted"
        assert [b.text for b in story.bodies(UserSaid)] == ["first"]


async def test_case_46_a_message_typed_while_compacting_is_in_no_plan_and_is_sent_after_it(tmp_path: Path) -> None:
    go = asyncio.Event()
    model = scripted([*["word " * 700] * 4, "fresh"], [Say(summary(), wait=go)])
    async with Story(tmp_path, model) as story:
        for n in range(4):
            await story.say(f"q{n}")
        mark = story.mark()
        story.send(Compact())
        await story.until(Progress, after=mark)
        story.send(Submit("typed while compacting"), Steer("steered while compacting"))
        await story.until(Queued, lambda q: len(q.texts) == 2, after=mark)
        go.set()
        await story.until(Finished, after=mark)
        await story.until(Idle, after=mark)
        await story.until(Queued, lambda q: q.texts == (), after=mark)
        await story.until(Idle, after=story.mark())
        assert "while compacting" not in spoken(story.summaries[0])
        assert [b.text for b in story.bodies(UserSaid)][-2:] == ["typed while compacting", "steered while compacting"]
        kinds = [type(r.body).__name__ for r in story.records]
        assert kinds.index("Compacted") < len(kinds) - 4


async def test_a_message_steered_into_a_turn_that_is_stopped_opens_the_next(tmp_path: Path) -> None:
    begun = asyncio.Event()
    async with Story(tmp_path, scripted([Say("slow", started=begun, wait=asyncio.Event()), "answered"])) as story:
        story.send(Submit("go"))
        await begun.wait()
        story.send(Steer("not like that"))
        mark = story.mark()
        story.send(Interrupt())
        await story.until(Idle, lambda i: i.stop == "done", after=mark)
        assert [(b.text, b.how) for b in story.bodies(UserSaid)] == [("go", "typed"), ("not like that", "typed")]
        assert story.answers == ["answered"]


async def test_a_pin_and_a_budget_given_while_a_turn_runs_act_at_the_steps_end(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([])) as story:

        def first(request: object) -> Say:
            story.send(Pin(2), SetBudget("20k"))
            return calls(call("bash", command="true"))

        story.model.default = scripted([first, "done"]).default
        await story.say("remember this")
        kinds = [type(r.body) for r in story.records]
        assert kinds.index(ToolReturned) < kinds.index(Pinned) < kinds.index(SettingsChanged)
        assert [type(r.body) for r in story.records][-1] is AssistantSaid
        assert [(f.wish, f.code) for f in story.said(Finished)] == [("pin", 0), ("budget", 0)]
        assert story.meter.budget == 20_000
        assert is_prefix(story.requests[0], story.requests[1])


async def test_a_pin_given_to_a_turn_that_is_stopped_is_carried_out_all_the_same(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([Say("slow", wait=asyncio.Event())])) as story:
        story.send(Submit("go"))
        await story.until(Busy, lambda b: b.what == "turn")
        story.send(Pin(2))
        await asyncio.sleep(0)
        await story.stop()
        assert [b.target for b in story.bodies(Pinned)] == [2]


async def test_an_interrupt_while_nothing_runs_does_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        story.send(Interrupt(), Interrupt())
        assert (await story.say("hi")).stop == "done"


async def test_quitting_while_busy_ends_the_worker_and_the_log_is_whole(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(call("bash", command="sleep 60"))])) as story:
        story.send(Submit("go"))
        await story.until(ToolRunning)
        story.send(Quit())
        await asyncio.wait_for(story.running, PATIENCE)
        assert open_calls(story.session.view) == ()
        assert not story.session.log.writable
        assert story.model.closed
