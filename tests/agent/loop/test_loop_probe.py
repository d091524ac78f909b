"""What a set of records would come to, asked while choosing them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agent.models.scripted import Say
from agent.wire import Busy, Compact, Finished, Pin, Planned, Prune, Submit
from compaction.records import Pruned, ToolReturned
from tests.agent.loop.harness import Story, call, calls, summary


def long_file(folder: Path, name: str) -> None:
    (folder / name).write_text("\n".join(f"line {n} of {name} says little" for n in range(300)))


def reading(*names: str) -> list[Say]:
    """One turn for each file: it is read, then a word is said about it."""
    return [reply for name in names for reply in (calls(call("read", path=name)), Say("Read."))]


async def test_a_probe_tells_what_can_go_and_why_the_rest_cannot_and_changes_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, [*reading("a.txt", "b.txt", "c.txt"), Say("Bye.")]) as story:
        for name in ("a.txt", "b.txt", "c.txt"):
            long_file(story.folder, name)
            await story.say(f"read {name}")
        results = [r.id for r in story.records if isinstance(r.body, ToolReturned)]
        await story.wish(Pin(results[1]))
        lines, mark = len(story.records), story.mark()
        probe = Prune((*results, 2, 99), dry_run=True, probe=True)
        planned = await story.until(Planned, sent=probe, after=mark)
        plan = planned.plan
        assert not planned.offered
        assert plan.records == (results[0], results[2])
        assert plan.breaks_record == results[0]
        assert [record for record, _ in plan.refused] == [2, results[1], 99]
        assert dict(plan.refused)[results[1]] == "it is pinned"
        assert len(story.records) == lines
        after = story.events[story.events.index(planned) :]
        assert not [e for e in after if isinstance(e, (Busy, Finished))]
        assert [r.body for r in story.records if isinstance(r.body, Pruned)] == []
        await story.wish(Prune(plan.records, force=True))
        assert [body.records for body in story.bodies(Pruned)] == [plan.records]


async def test_a_probe_is_answered_while_a_turn_runs(tmp_path: Path) -> None:
    started, hold = asyncio.Event(), asyncio.Event()
    replies = [*reading("a.txt"), Say("Slow.", started=started, hold=hold)]
    async with Story(tmp_path, replies) as story:
        long_file(story.folder, "a.txt")
        await story.say("read a.txt")
        (result,) = [r.id for r in story.records if isinstance(r.body, ToolReturned)]
        mark = story.mark()
        story.send(Submit("go on"))
        await started.wait()
        planned = await story.until(Planned, sent=Prune((result,), dry_run=True, probe=True), after=mark)
        assert planned.plan.records == (result,)
        hold.set()


async def test_a_probe_of_what_cannot_go_says_so(tmp_path: Path) -> None:
    async with Story(tmp_path, "Hello.") as story:
        await story.say("hi")
        planned = await story.until(Planned, sent=Prune((2, 3), dry_run=True, probe=True))
        assert planned.plan.records == ()
        assert dict(planned.plan.refused) == {2: "it is not a tool result", 3: "it is not a tool result"}


async def test_a_preview_carries_what_was_asked_so_that_it_can_be_asked_again(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One. " * 400, "Two. " * 400, "Three.", summary()]) as story:
        for text in ("first", "second", "third"):
            await story.say(text * 200)
        target = next(r.id for r in story.records if getattr(r.body, "text", "").startswith("second"))
        planned = await story.until(Planned, sent=Compact("the port", preview=True, up_to=target))
        assert (planned.plan.focus, planned.plan.up_to) == ("the port", target)
        finished = await story.wish(Compact(planned.plan.focus, up_to=planned.plan.up_to))
        assert finished.committed and finished.first_kept == planned.plan.first_kept
