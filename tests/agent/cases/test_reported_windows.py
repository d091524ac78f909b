"""Public reports about other agents: what is called the window, what an answer's end is called, what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.models.scripted import Say, ScriptedModel
from agent.models.stub_server import StubServer
from agent.reading import Reading
from agent.wire import Compact, Opened, SetBudget, SetModel
from compaction.records import Compacted, Pruned, Started, Usage
from tests.agent.cache.provider import Provider
from tests.agent.loop.harness import NAME, Story, reads, scripted, summary
from tui.headless import objects
from tui.meter import meter_lines, plain

over_http = pytest.mark.asyncio(loop_scope="module")


def shown(story: Story, width: int = 120) -> str:
    """The meter's first line, as both screens draw it."""
    return plain(meter_lines(story.meter, width)[0])


def as_json(story: Story) -> dict[str, Any]:
    """The meter as `--json` says it."""
    return json.loads(json.dumps(objects.meter(story.meter)))  # type: ignore[no-any-return]


# ── 13: an output cap below what the window would allow ──


@pytest.mark.parametrize("cap", [131_072, 4_096])
async def test_case_13_no_request_asks_for_more_output_than_the_model_gives(tmp_path: Path, cap: int) -> None:
    model = scripted(["word " * 900] * 4 + ["on"], [summary()])
    async with Story(tmp_path, model, window=1_000_000, max_output=cap) as story:
        for n in range(4):
            await story.say(f"q{n}")
        assert (await story.wish(Compact())).committed
        await story.say("on")
        assert len(story.turns) == 5 and len(story.summaries) == 1
        assert {request.max_tokens for request in story.turns} == {min(cap, 32_000)}
        assert all(request.max_tokens is not None and 0 < request.max_tokens <= cap for request in story.summaries)


@over_http
async def test_case_13_a_claim_above_what_the_server_gives_costs_one_refusal(
    provider: Provider, tmp_path: Path
) -> None:
    provider.server.max_output = 900
    try:
        async with provider.story(tmp_path, {"text": "one"}, {"text": "two"}, model="openai/scripted") as story:
            assert [(await story.say(text)).stop for text in ("hi", "on")] == ["done", "done"]
            assert [request.body["max_tokens"] for request in provider.server.asked] == [4_000, 900, 900]
    finally:
        provider.server.max_output = None


# ── 20: one name at two addresses ──


def at(story: Story, port: int) -> Story:
    """The same user in a new process, with the model at another port."""
    later = story.again(first=None)
    text = later.places.settings.read_text()
    before = text[text.index("http://127.0.0.1:") :].split("/v1")[0]
    later.places.settings.write_text(text.replace(before, f"http://127.0.0.1:{port}"))
    return later


async def test_case_20_the_same_model_at_two_addresses_keeps_a_window_at_each(tmp_path: Path) -> None:
    def small(window: int) -> ScriptedModel:
        return scripted([*reads(18), "done"], window=window)

    first = Story(tmp_path, small(14_000), window=None, more='api_base = "http://127.0.0.1:9/v1"')
    async with first:
        await first.say("go")
        assert (first.meter.window, first.meter.window_source) == (14_000, "learned")
    second = at(first, 10)
    second.model = small(22_000)
    async with second:
        assert second.meter.window is None
        await second.say("go")
        assert (second.meter.window, second.meter.window_source) == (22_000, "learned")
    for port, window in ((9, 14_000), (10, 22_000), (11, None)):
        async with at(second, port) as again:
            assert again.meter.window == window, port


async def test_case_20_a_switch_to_the_same_name_at_another_address_takes_that_ones_window(tmp_path: Path) -> None:
    # Two settings' entries, one model behind both: nothing of one is believed of the other.
    more = 'api_base = "http://127.0.0.1:9/v1"\n[models."groq/scripted"]\napi_base = "http://127.0.0.1:10/v1"\n'
    async with Story(tmp_path, scripted([*reads(9), "done"], window=14_000), window=None, more=more) as story:
        await story.say("go")
        assert story.meter.window == 14_000
        await story.wish(SetModel("groq/scripted"))
        assert story.meter.window is None
        await story.wish(SetModel(NAME))
        assert (story.meter.window, story.meter.window_source) == (14_000, "learned")


async def test_case_20_two_servers_that_say_their_own_window_of_one_name_are_believed_each(tmp_path: Path) -> None:
    def says(window: int) -> dict[str, Any]:
        return {"data": [{"id": "scripted", "max_model_len": window}]}

    async with StubServer(models=says(16_384)) as one, StubServer(models=says(65_536)) as other:
        for server, window in ((one, 16_384), (other, 65_536), (one, 16_384)):
            story = Story(tmp_path, "hi", window=None, flags={"api_base": server.base})
            async with story:
                await story.say("hi")
                assert (story.meter.window, story.meter.window_source) == (window, "probed")


# ── 21: the user's claim ──

CLAUDE = "anthropic/claude-sonnet-4-5"


@pytest.mark.parametrize("claim", [128_000, 150_000])
async def test_case_21_a_window_the_user_sets_below_the_catalogues_is_the_one_in_meter_gates_and_json(
    tmp_path: Path, claim: int
) -> None:
    more = f'[models."{CLAUDE}"]\nwindow = {claim}\n'
    model = scripted(["word" * 12_000] * 13)
    story = Story(tmp_path, model, window=None, more=more, flags={"model": CLAUDE}, context='budget = "100%"')
    async with story:
        assert story.session.budget.window.tokens == claim
        for n in range(13):
            assert (await story.say(f"q{n}")).stop == "done"
        assert {e.meter.window for e in story.events if hasattr(e, "meter")} == {claim}
        assert (story.meter.window_source, story.meter.limit) == ("user", claim - 8_192)
        assert (as_json(story)["window"], as_json(story)["limit"]) == (claim, claim - 8_192)
        assert f"window {claim // 1_000}k" in shown(story)
        # The gate stood where the claim puts it: nothing before its trigger, something at the first request beyond it.
        first = next(b for r in story.records if isinstance(b := r.body, (Compacted, Pruned)))
        trigger = claim - 8_192 - 16_384
        assert trigger <= first.before < trigger + 13_000
        assert Reading(story.kit(), story.folder).inspected(story.session.log.path).meter.window == claim
    rows = Reading(story.kit(), story.folder).models()
    assert [(r["window"], r["source"]) for r in rows if r["model"] == CLAUDE] == [(claim, "user")]


# ── 24: an answer that was cut ──


@pytest.mark.parametrize("window", [1_000_000, 200_000, None])
async def test_case_24_an_answer_cut_at_its_output_limit_is_called_that_and_no_full_context(
    tmp_path: Path, window: int | None
) -> None:
    cut = Say("a long answer", stop="length", usage=Usage(uncached=7_000, output=4_000))
    more = Say("and on", usage=Usage(uncached=11_100, output=10))
    async with Story(tmp_path, [cut, more], window=window) as story:
        idle = await story.say("hi")
        assert (idle.stop, idle.error) == ("done", None)
        assert "the answer was cut at its output limit" in story.told
        assert "window" not in story.told and "full" not in story.told
        assert story.tags == [] and story.meter.used == 11_000
        assert (await story.say("go on")).stop == "done"


@over_http
@pytest.mark.parametrize("model", [CLAUDE, "openai/scripted"])
async def test_case_24_whatever_the_provider_calls_it_a_cut_answer_is_a_cut_answer(
    provider: Provider, tmp_path: Path, model: str
) -> None:
    finish = "max_tokens" if model == CLAUDE else "length"
    story = provider.story(tmp_path, {"text": "a long answer", "finish": finish}, window=1_000_000, model=model)
    async with story:
        assert (await story.say("hi")).stop == "done"
        assert "the answer was cut at its output limit" in story.told
        assert "full" not in story.told


async def test_case_24_an_answer_cut_by_the_end_of_the_window_is_not_called_cut_at_its_own_limit(
    tmp_path: Path,
) -> None:
    cut = Say("a long answer", stop="length", usage=Usage(uncached=9_000, output=1_000))
    async with Story(tmp_path, [cut, "and on"], window=10_000) as story:
        await story.say("hi")
        assert "output limit" not in story.told
        assert "the model's window is full" in story.told


# ── 26: reasoning past the window ──


@pytest.mark.parametrize(
    ("window", "uncached", "output", "reasoning"), [(10_000, 7_000, 500, 4_500), (32_000, 20_000, 1_000, 43_000)]
)
async def test_case_26_reasoning_that_passes_the_window_is_shown_as_it_is_above_a_hundred_percent(
    tmp_path: Path, window: int, uncached: int, output: int, reasoning: int
) -> None:
    peak = uncached + output + reasoning
    thinks = Say("so it is", usage=Usage(uncached=uncached, output=output, reasoning=reasoning))
    on = Say("on", usage=Usage(uncached=uncached + output + 20, output=5))
    async with Story(tmp_path, [thinks, on], window=window, budget="100%") as story:
        await story.say("think")
        assert (story.meter.used, story.meter.reasoning, story.meter.exact) == (peak, reasoning, True)
        assert (as_json(story)["used"], as_json(story)["reasoning"]) == (peak, reasoning)
        share = round(peak * 100 / window)
        assert share > 100 and f"({share}%)" in shown(story) and "of reasoning" in shown(story)
        assert sum(tokens for _, tokens in story.meter.parts) == peak
        inspected = Reading(story.kit(), story.folder).inspected(story.session.log.path)
        assert inspected.meter.used == peak
        # No gate counts what is not sent again: the next prompt goes out as it is.
        await story.say("and now?")
        assert story.tags == []
        assert (story.meter.used, story.meter.reasoning) == (uncached + output + 25, 0)


async def test_case_26_reasoning_that_goes_back_with_its_calls_is_part_of_the_size(tmp_path: Path) -> None:
    thinks = Say(
        calls=(("bash", '{"command": "true"}'),), thinking='{"reasoning": "hm"}',
        usage=Usage(uncached=2_000, output=100, reasoning=3_000),
    )  # fmt: skip
    async with Story(tmp_path, [thinks, "done"]) as story:
        await story.say("think")
        meters = [e.meter for e in story.events if hasattr(e, "meter")]
        assert any(5_100 <= m.used < 5_300 and m.reasoning == 0 for m in meters)


# ── 30: large tool schemas ──


@pytest.mark.parametrize("size", [160_000, 30_000])
async def test_case_30_tool_schemas_are_counted_and_a_part_of_their_own(tmp_path: Path, size: int) -> None:
    async with Story(tmp_path, "hi", window=1_000_000, interactive=False) as story:
        path = story.session.log.path
        own = dict(story.meter.parts)["tools"]
    head, *rest = path.read_text().splitlines()
    started = json.loads(head)
    started["tools"].append(json.dumps({"type": "function", "function": {"name": "x", "description": "t" * 4 * size}}))
    path.write_text("\n".join([json.dumps(started), *rest]) + "\n")
    async with story.again("hi") as later:
        parts = dict(later.meter.parts)
        assert abs(parts["tools"] - own - size) <= 100
        assert later.meter.used == sum(parts.values()) > size
        assert as_json(later)["parts"]["tools"] == parts["tools"]
        inspected = Reading(later.kit(), later.folder).inspected(path)
        assert inspected.largest_fixed[0] == ("tool schemas", parts["tools"])
        await later.say("hello")
        assert dict(later.meter.parts)["tools"] > size * 9 // 10


async def test_case_30_schemas_that_leave_no_room_are_named_with_their_size(tmp_path: Path) -> None:
    async with Story(tmp_path, "hi", window=1_000_000, interactive=False) as story:
        path = story.session.log.path
    head, *rest = path.read_text().splitlines()
    started = json.loads(head)
    assert isinstance(story.records[0].body, Started)
    started["tools"].append(json.dumps({"type": "function", "function": {"name": "x", "description": "t" * 640_000}}))
    path.write_text("\n".join([json.dumps(started), *rest]) + "\n")
    async with story.again("hi", window=100_000) as later:
        later.places.settings.write_text(later.places.settings.read_text().replace("1000000", "100000"))
    async with story.again("hi") as small:
        idle = await small.say("hello")
        assert (idle.stop, idle.code) == ("refused", 3)
        assert "tool schemas 16" in str(idle.error)
        assert small.requests == [] and small.summaries == []


# ── 52: a misspelt key ──


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ('[context]\nbugdet = "9k"', "context.bugdet; did you mean context.budget?"),
        ("[context]\nautomatik = false", "context.automatik; did you mean context.automatic?"),
        ('modell = "x"', "modell; did you mean model?"),
        ('[models."openai/x"]\nwindwo = 9', "windwo; did you mean"),
    ],
)
async def test_case_52_a_misspelt_key_is_named_at_the_start_with_the_nearest_right_key(
    tmp_path: Path, line: str, right: str
) -> None:
    story = Story(tmp_path, "hi")
    story.kit()
    given = story.places.settings.read_text()
    text = f"{line}\n{given}" if not line.startswith("[") else given.replace("[context]\n", f"{line}\n", 1)
    story.places.settings.write_text(text if line.startswith(("modell", "[context]")) else f"{given}\n{line}\n")
    async with story:
        (opened,) = story.said(Opened)
        named = [notice for notice in opened.notices if right in notice]
        assert len(named) == 1 and str(story.places.settings) in named[0]
        assert (await story.say("still works")).stop == "done"


# ── 53: a budget is what was said ──


@pytest.mark.parametrize("rule", ["100000", "100k"])
async def test_case_53_a_budget_of_100_000_stays_100_000_everywhere(tmp_path: Path, rule: str) -> None:
    async with Story(tmp_path, "Hello.", window=200_000, budget=rule) as story:
        await story.say("hi")
        assert story.bodies(Started)[0].budget == 100_000
        assert (story.meter.budget, as_json(story)["budget"], as_json(story)["limit"]) == (100_000, 100_000, 190_000)
        assert "of 100k budget" in shown(story)
        await story.wish(SetBudget("120k"))
        await story.wish(SetBudget(rule))
        assert (story.session.budget.budget, story.meter.budget) == (100_000, 100_000)
    async with story.again("Hello again.") as resumed:
        await resumed.say("on")
        assert (resumed.meter.budget, as_json(resumed)["budget"]) == (100_000, 100_000)
