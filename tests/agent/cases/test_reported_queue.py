"""Public reports about other agents: what waits while the context is rewritten is neither lost nor sent too early."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.model import EmptyReply
from agent.models.scripted import Say
from agent.wire import Compact, Finished, Idle, Interrupt, Progress, Prune, Queued, Rename, Submit
from compaction.records import UserSaid
from tests.agent.loop.harness import Story, last_text, scripted, spoken, summary


@pytest.mark.parametrize("how", ["compacted", "failed", "stopped"])
async def test_case_46_however_the_compaction_ends_the_typed_message_is_sent_after_it(tmp_path: Path, how: str) -> None:
    go, never = asyncio.Event(), asyncio.Event()
    said = Say(
        summary(), wait=never if how == "stopped" else go, error=EmptyReply("empty") if how == "failed" else None
    )
    async with Story(tmp_path, scripted([*["word " * 700] * 4, "fresh"], [said])) as story:
        for n in range(4):
            await story.say(f"q{n}")
        mark = story.mark()
        story.send(Compact())
        await story.until(Progress, after=mark)
        story.send(Submit("typed while compacting"))
        await story.until(Queued, lambda q: q.texts == ("typed while compacting",), after=mark)
        sent = len(story.turns)
        go.set()
        if how == "stopped":
            story.send(Interrupt())
        finished = await story.until(Finished, after=mark)
        assert finished.committed == (how == "compacted")
        assert len(story.turns) == sent
        await story.until(Idle, lambda i: i.stop == "done" and len(story.turns) > sent, after=finished)
        assert last_text(story.turns[-1]) == "typed while compacting"
        assert story.answers[-1] == "fresh"


@pytest.mark.parametrize("wish", [Compact(), Compact("the tests"), Prune()])
@pytest.mark.parametrize("fails", [False, True])
async def test_case_47_a_queued_message_is_still_queued_after_a_compaction_and_is_sent_then(
    tmp_path: Path, fails: bool, wish: Compact | Prune
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    slow = Say("slow", started=begun, wait=go)
    model = scripted([*["word " * 700] * 4, slow, "second", "third"], [EmptyReply("empty") if fails else summary()])
    async with Story(tmp_path, model) as story:
        for n in range(4):
            await story.say(f"q{n}")
        mark = story.mark()
        story.send(Submit("first"))
        await begun.wait()
        story.send(Submit("second"), Submit("third"))
        await story.until(Queued, lambda q: q.texts == ("second", "third"), after=mark)
        story.send(wish)
        go.set()
        finished = await story.until(Finished, after=mark)
        # All that the queue said of itself up to here: nothing was lost, nothing went out before room was made.
        told = [e.texts for e in story.events[: story.events.index(finished)] if isinstance(e, Queued)]
        assert told[-1] == ("second", "third")
        assert "second" not in "".join(spoken(r) for r in story.requests)
        await story.until(Queued, lambda q: q.texts == (), after=finished)
        await story.until(Idle, lambda i: story.answers[-1] == "third", after=finished)
        assert [b.text for b in story.bodies(UserSaid)][-3:] == ["first", "second", "third"]
        if isinstance(wish, Compact) and not fails:
            kinds = [type(r.body).__name__ for r in story.records]
            assert kinds[kinds.index("Compacted") + 1 :].count("UserSaid") == 2


async def test_case_47_a_message_queued_before_the_session_rests_keeps_its_place_among_other_wishes(
    tmp_path: Path,
) -> None:
    begun, go = asyncio.Event(), asyncio.Event()
    async with Story(tmp_path, scripted([Say("slow", started=begun, wait=go), "second"])) as story:
        story.send(Submit("first"))
        await begun.wait()
        story.send(Rename("a name"), Submit("second"), Compact())
        go.set()
        await story.until(Idle, lambda i: story.answers[-1:] == ["second"])
        assert [e.wish for e in story.said(Finished)] == ["rename", "compact"]
