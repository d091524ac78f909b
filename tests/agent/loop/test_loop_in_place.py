"""A summary asked for inside the conversation, where the settings say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.models.scripted import Say
from agent.wire import Compact
from compaction.records import Compacted, ToolReturned, Usage
from tests.agent.loop.harness import Story, call, is_prefix, last_text, scripted, summary

PRICES = "prices = { input = 3.0, cached = 0.3, output = 15.0 }"
TALK: list[Say | str] = ["word " * 600] * 4


async def worked(story: Story) -> None:
    for n in range(4):
        await story.say(f"question {n}")


async def test_it_continues_the_last_request_with_one_instruction_and_the_same_tools(tmp_path: Path) -> None:
    async with Story(
        tmp_path, scripted([*TALK, summary("inside"), "on"]), context='summary_mode = "in_context"'
    ) as story:
        await worked(story)
        assert (await story.wish(Compact("the parser"))).committed
        asked = story.requests[-1]
        assert story.summaries == []
        assert is_prefix(story.requests[-2], asked)
        assert asked.tools == story.requests[-2].tools
        assert asked.effort == story.requests[-2].effort
        assert last_text(asked).startswith("Pause the work here.")
        assert last_text(asked).endswith("the parser")
        assert "inside" in story.bodies(Compacted)[0].summary
        await story.say("on")
        assert "Pause the work here." not in str(story.requests[-1].messages)


async def test_a_call_in_the_reply_is_never_run_and_the_other_way_follows(tmp_path: Path) -> None:
    called = Say(summary("no"), calls=(call("bash", command="touch made"),), usage=Usage(70, 30, 0, 10))
    apart = Say(summary("apart"), usage=Usage(50, 0, 0, 20))
    async with Story(tmp_path, scripted([*TALK, called], [apart]), context='summary_mode = "in_context"') as story:
        await worked(story)
        assert (await story.wish(Compact())).committed
        (body,) = story.bodies(Compacted)
        assert "apart" in body.summary
        assert (body.usage, body.requests) == (Usage(120, 30, 0, 30), 2)
        assert not (story.folder / "made").exists()
        assert story.bodies(ToolReturned) == []


@pytest.mark.parametrize(("waited", "apart"), [(10, False), (3_600, True)])
async def test_auto_takes_the_cheaper_way_while_the_cache_is_warm(tmp_path: Path, waited: float, apart: bool) -> None:
    replies = [*TALK, "word " * 600, "word " * 600, summary()]
    async with Story(tmp_path, scripted(replies), context='summary_mode = "auto"', more=PRICES) as story:
        await worked(story)
        await story.say("more")
        await story.say("more")
        story.clock.now += waited
        assert (await story.wish(Compact())).committed
        assert bool(story.summaries) is apart


async def test_a_gate_the_turn_depends_on_does_not_ask_inside(tmp_path: Path) -> None:
    replies: list[Say | str] = ["word " * 600] * 30
    async with Story(
        tmp_path, scripted(replies), window=8_000, budget="100%", max_output=300,
        context='summary_mode = "in_context"\nreserve = 1',
    ) as story:  # fmt: skip
        while not story.tags:
            await story.say("go on")
        assert story.tags == ["pre-flight.compacted"]
        assert len(story.summaries) == 1
