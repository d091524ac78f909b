"""Summaries asked for inside the conversation: the cached prefix stays, calls are not run, both ways are paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.model import ContextOverflow, Overloaded, Request
from agent.models.scripted import Say, Scripted, ScriptedModel
from agent.wire import Compact, Plan, Planned
from compaction.cache import Prices, price_of_next, request_cost
from compaction.records import AssistantSaid, Compacted, CompactionFailed, ToolReturned, Usage
from tests.agent.loop.harness import Story, call, last_text, prefix, summary

PRICES = "prices.input = 3.0\nprices.output = 15.0\nprices.cached = 0.3\nprices.cache_write = 3.75\n"
INPUT = Prices(3.0, 15.0, 0.3, 3.75)

INSTRUCTION = "Pause the work here."


def in_context(request: Request) -> bool:
    return INSTRUCTION in last_text(request)


def answering(*summaries: Scripted) -> ScriptedModel:
    """Turns with some text in them; summaries, asked for either way, from a list."""
    left = list(summaries)

    def answer(request: Request) -> Say | str:
        if request.tools and not in_context(request):
            return "answer " * 300
        said = left.pop(0) if left else summary()
        assert isinstance(said, (Say, str))
        return said

    return ScriptedModel(default=answer)


def story_of(tmp_path: Path, *summaries: Scripted, mode: str = "in_context", more: str = PRICES) -> Story:
    return Story(tmp_path, answering(*summaries), context=f'summary_mode = "{mode}"\n', more=more)


async def talked(story: Story, turns: int = 5) -> None:
    for turn in range(turns):
        await story.say(f"question {turn}")


def compacted(story: Story) -> Compacted:
    return story.bodies(Compacted)[-1]


async def test_the_request_is_the_last_ones_bytes_with_one_instruction_behind_them(tmp_path: Path) -> None:
    async with story_of(tmp_path, summary("inside")) as story:
        await talked(story)
        last = story.requests[-1]
        done = await story.wish(Compact("the plan"))
        assert done.committed, done.text
        asked = story.requests[-1]
    assert prefix(asked).startswith(prefix(last))
    assert asked.tools == last.tools
    assert (asked.effort, asked.grammar, asked.extra) == (last.effort, None, {})
    assert not asked.thinking_off
    # The last request, its answer, and the instruction: nothing else.
    assert len(asked.messages) == len(last.messages) + 2
    assert asked.messages[-1]["role"] == "user"
    assert asked.messages[-1]["content"].endswith("Additional focus\nthe plan")
    assert "_cache" not in asked.messages[-1]
    assert "inside" in compacted(story).summary
    assert compacted(story).requests == 1


async def test_what_is_reported_read_is_all_of_the_last_request(tmp_path: Path) -> None:
    async with story_of(tmp_path) as story:
        await talked(story)
        last = story.bodies(AssistantSaid)[-1]
        await story.wish(Compact())
        usage = compacted(story).usage
    assert last.usage is not None
    assert usage is not None
    assert usage.cache_read >= last.usage.input


async def test_a_call_in_the_reply_is_never_run_and_a_request_of_its_own_follows(tmp_path: Path) -> None:
    marker = tmp_path / "project" / "ran"
    caller = Say(summary("not this"), calls=(call("bash", command=f"touch {marker}"),))
    async with story_of(tmp_path, caller, summary("apart")) as story:
        await talked(story)
        done = await story.wish(Compact())
        assert done.committed, done.text
        inside, apart = story.requests[-2:]
        assert in_context(inside)
        assert not apart.tools
        body = compacted(story)
        assert story.bodies(ToolReturned) == []
        assert story.meter.cost == pytest.approx(
            sum(b.cost or 0 for b in (*story.bodies(AssistantSaid), body)), abs=1e-6
        )
    assert not marker.exists()
    assert "apart" in body.summary
    assert body.requests == 2
    # Both attempts are in the record's usage and cost.
    sizes = (_size(story, inside), _size(story, apart))
    assert body.usage is not None
    assert body.usage.output > len(summary("apart")) // 4
    assert body.cost == pytest.approx(request_cost(body.usage, INPUT))
    assert body.usage.input > max(sizes)


def _size(story: Story, request: Request) -> int:
    asked = next(a for a in story.model.asked if a.request is request)
    return len(asked.text) // 4


@pytest.mark.parametrize(
    "first",
    [Say("no headings at all"), Say(summary(), stop="length"), Say(summary(), stop="filtered"), Say("", empty=True)],
)
async def test_the_judges_rules_are_the_same_and_what_it_rejects_is_asked_for_apart(tmp_path: Path, first: Say) -> None:
    async with story_of(tmp_path, first, summary("apart")) as story:
        await talked(story)
        assert (await story.wish(Compact())).committed
        assert [in_context(r) for r in story.requests[-2:]] == [True, False]
        assert "apart" in compacted(story).summary


@pytest.mark.parametrize("error", [ContextOverflow("too long", window=50_000), Overloaded("busy")])
async def test_a_refusal_inside_is_followed_by_a_request_of_its_own(
    tmp_path: Path, error: ContextOverflow | Overloaded
) -> None:
    async with story_of(tmp_path, Say(error=error), summary("apart")) as story:
        await talked(story)
        assert (await story.wish(Compact())).committed
        assert compacted(story).requests == 2


async def test_when_both_ways_fail_the_failure_holds_what_both_cost(tmp_path: Path) -> None:
    caller = Say("", calls=(call("bash", command="true"),))
    async with story_of(tmp_path, caller, Say(summary(), stop="length")) as story:
        await talked(story)
        before = story.meter.cost
        done = await story.wish(Compact())
        assert done.tag == "asked.summary_truncated.no_prior"
        failed = story.bodies(CompactionFailed)[-1]
        assert failed.usage is not None
        assert failed.usage.input > story.session.size().total // 2
        assert failed.cost == pytest.approx(request_cost(failed.usage, INPUT))
        assert before is not None
        assert story.meter.cost == pytest.approx(before + failed.cost, abs=1e-6)


async def test_the_proactive_gate_asks_inside_too(tmp_path: Path) -> None:
    story = story_of(tmp_path, summary("inside"))
    story.window, story.budget = 32_000, "8k"
    async with story:
        await talked(story, 14)
        inside = [r for r in story.requests if in_context(r)]
        assert inside
        assert "proactive.compacted" in story.tags
        assert all(r.tools == story.requests[0].tools for r in inside)


async def test_another_summariser_is_asked_apart(tmp_path: Path) -> None:
    story = story_of(tmp_path, summary("apart"), more=PRICES + '[models."openai/other"]\nwindow = 50_000\n')
    story.context += 'summariser = "openai/other"\n'
    async with story:
        await talked(story)
        plan = await previewed(story)
        assert (await story.wish(Compact())).committed
        assert not story.requests[-1].tools
        assert plan.price.way == "flattened"
        assert plan.price.in_context is None


async def previewed(story: Story) -> Plan:
    await story.wish(Compact(preview=True))
    return story.said(Planned)[-1].plan


async def test_auto_takes_the_cheaper_while_the_cache_is_warm(tmp_path: Path) -> None:
    async with story_of(tmp_path, mode="auto") as story:
        await talked(story)
        plan = await previewed(story)
        assert plan.price.in_context is not None
        assert plan.price.flattened is not None
        cheaper = "in_context" if plan.price.in_context < plan.price.flattened else "flattened"
        assert plan.price.way == cheaper == "in_context"
        assert (await story.wish(Compact())).committed
        assert in_context(story.requests[-1])


async def test_auto_asks_apart_when_the_cache_is_cold_or_no_price_is_known(tmp_path: Path) -> None:
    (tmp_path / "cold").mkdir()
    async with story_of(tmp_path / "cold", mode="auto") as story:
        await talked(story)
        story.clock.now += 301
        plan = await previewed(story)
        assert plan.price.way == "flattened"
        assert (await story.wish(Compact())).committed
        assert not story.requests[-1].tools
    (tmp_path / "free").mkdir()
    async with story_of(tmp_path / "free", mode="auto", more="") as story:
        await talked(story)
        plan = await previewed(story)
        assert (plan.price.way, plan.price.flattened, plan.price.in_context) == ("flattened", None, None)
        assert (await story.wish(Compact())).committed
        assert not story.requests[-1].tools


async def test_auto_asks_apart_when_that_is_cheaper_though_the_cache_is_warm(tmp_path: Path) -> None:
    """Results are cut to 2,000 characters in a request of their own: a long one makes the conversation the dearer."""
    story = story_of(tmp_path, mode="auto", more="prices.input = 3.0\nprices.output = 15.0\n")
    async with story:
        await talked(story)
        plan = await previewed(story)
        assert plan.price.in_context is not None
        assert plan.price.flattened is not None
        assert plan.price.flattened < plan.price.in_context
        assert plan.price.way == "flattened"


async def test_the_preview_says_both_prices_and_the_next_turns(tmp_path: Path) -> None:
    async with story_of(tmp_path, mode="flattened") as story:
        await talked(story)
        meter = story.meter
        plan = await previewed(story)
        size = story.session.size().total
    assert plan.price.way == "flattened"
    assert meter.next_cost == pytest.approx(price_of_next(size, meter.cache.next_cached, 500, INPUT), abs=1e-6)
    assert plan.price.keep == pytest.approx(meter.next_cost, abs=1e-6)
    assert plan.price.flattened is not None
    # The rewrite's price holds the summary's and the next turn's, which answers 500 tokens like the one that keeps.
    assert plan.price.rewrite is not None
    assert plan.price.rewrite > plan.price.flattened + 500 * 15.0 / 1e6


async def test_flattened_is_what_happens_when_nothing_is_said(tmp_path: Path) -> None:
    async with Story(tmp_path, answering(summary("apart")), more=PRICES) as story:
        await talked(story)
        assert (await story.wish(Compact())).committed
        assert not story.requests[-1].tools


def test_usages_add_up_by_bucket() -> None:
    from agent.summarising import Spent

    spent = Spent()
    spent.add(Usage(1, 2, 3, 4, 5))
    spent.add(None)
    spent.add(Usage(10, 20, 30, 40, 50))
    assert spent.usage == Usage(11, 22, 33, 44, 55)
