"""Prunes, pins, undo, budgets and models in mid-session: what is shown is what is done, and nothing is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agent.metering import inspected
from agent.models.scripted import Say
from agent.wire import (
    Compact,
    Gated,
    Metered,
    Opened,
    Pin,
    Planned,
    Prune,
    SetBudget,
    SetModel,
    Submit,
    Undo,
)
from compaction.records import (
    AssistantSaid,
    Compacted,
    Pinned,
    Pruned,
    Reverted,
    SettingsChanged,
    ToolReturned,
    Usage,
    UserSaid,
)
from tests.agent.loop.harness import (
    NAME,
    Story,
    calls,
    is_prefix,
    output,
    pairs_are_valid,
    scripted,
    spoken,
)

BIG = """
[models."openai/big"]
window = 1000000
max_output = 8000
[models."openai/small"]
window = 8000
max_output = 1000
"""


async def gathered(story: Story, turns: int = 5) -> list[int]:
    """Turns that each bring a result in; the results' record ids."""
    for turn in range(turns):
        await story.say(f"question {turn}")
    return [r.id for r in story.records if isinstance(r.body, ToolReturned)]


def gathering(turns: int = 5, characters: int = 8_000) -> list[Say | str]:
    """Replies for `gathered`."""
    letters = "xyzabcdefgh"
    return [reply for n in range(turns) for reply in (calls(output(characters, n, letters[n])), f"answer {n}")]


async def test_a_turn_of_twelve_results_stays_near_the_trigger_with_valid_pairs(tmp_path: Path) -> None:
    steps = [calls(output(5_000, n), text=f"step {n} " + "note " * 100) for n in range(12)]
    async with Story(tmp_path, scripted([*steps, "done"]), budget="12k") as story:
        assert (await story.say("look at all of it")).stop == "done"
        trigger, widest = story.meter.trigger, 5_000 // 4 + 300
        sizes = [b.usage.input for b in story.bodies(AssistantSaid) if b.usage]
        assert max(sizes) < trigger + widest
        assert story.tags
        assert all(tag in ("proactive.pruned", "proactive.compacted") for tag in story.tags)
        assert all(map(pairs_are_valid, story.requests))
        breaks = 0
        for before, after in pairwise(story.turns):
            breaks += not is_prefix(before, after)
        assert breaks == len({r.id for r in story.records if isinstance(r.body, (Pruned, Compacted))})


async def test_a_prune_commits_exactly_the_records_of_its_plan(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(6, 6_000)), budget="16k") as story:
        ids = await gathered(story, 6)
        finished = await story.wish(Prune(dry_run=True))
        plan = story.said(Planned)[-1].plan
        assert (finished.committed, finished.code) == (False, 0)
        assert plan.records and set(plan.records) <= set(ids)
        assert story.bodies(Pruned) == []
        assert (await story.wish(Prune(records=plan.records))).committed
        (body,) = story.bodies(Pruned)
        assert body.records == plan.records
        assert body.before - body.after == plan.freed
        assert story.tags == ["asked.pruned"]
        await story.say("on")
        assert "output removed" in spoken(story.requests[-1])
        assert story.meter.cache.broken == f"pruned at #{plan.records[0]}"


async def test_nothing_to_prune_is_said_with_its_own_exit_status(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        await story.say("hi")
        finished = await story.wish(Prune())
        assert (finished.committed, finished.code, finished.tag) == (False, 4, "asked.nothing_to_do")
        assert (await story.wish(Prune(records=(99,)))).code == 4


async def test_undo_takes_back_the_last_rewrite_first_at_any_depth(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(9)), budget="60k") as story:
        ids = await gathered(story, 5)
        whole = story.session.view.items
        await story.wish(Prune(records=(ids[0],), force=True))
        once = story.session.view.items
        await story.wish(Prune(records=(ids[1],), force=True))
        await story.wish(Compact())
        for expected in (None, once, whole):
            finished = await story.wish(Undo())
            assert (finished.committed, finished.code) == (True, 0)
            if expected is not None:
                assert story.session.view.items == expected
        assert (await story.wish(Undo())).code == 4
        targets = [b.target for b in story.bodies(Reverted)]
        assert targets == sorted(targets, reverse=True)
        await story.say("on")
        assert is_prefix(story.turns[-2], story.turns[-1])


async def test_an_undo_above_the_limit_is_refused_with_both_numbers(tmp_path: Path) -> None:
    more = BIG
    async with Story(tmp_path, scripted(gathering(9)), more=more) as story:
        await gathered(story)
        await story.wish(Compact())
        await story.wish(SetModel("openai/small"))
        log = story.session.log.path.read_bytes()
        finished = await story.wish(Undo())
        assert (finished.committed, finished.code) == (False, 3)
        assert f"{finished.before and finished.after:,}" in finished.text and "at most 7,000" in finished.text
        assert story.session.log.path.read_bytes() == log


async def test_after_an_undo_no_proactive_gate_acts_until_it_has_grown(tmp_path: Path) -> None:
    talk = ["word " * 700] * 40
    async with Story(tmp_path, scripted(talk), budget="12k") as story:
        while not story.bodies(Compacted):
            await story.say("go on")
        assert (await story.wish(Undo())).committed
        assert story.meter.used >= story.meter.trigger
        assert "after an undo" in story.meter.automatic
        await story.say("go on")
        assert len(story.bodies(Compacted)) == 1
        while len(story.bodies(Compacted)) < 2:
            await story.say("go on")
        assert story.bodies(Compacted)[1].before > story.bodies(Reverted)[0].after


async def test_pinning_what_was_pruned_restores_it_and_keeps_it_through_a_compaction(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(9)), budget="60k") as story:
        ids = await gathered(story)
        await story.wish(Prune(records=(ids[0],), force=True))
        assert (await story.wish(Pin(ids[0]))).code == 0
        (item,) = [i for i in story.session.view.conversation if i.record == ids[0]]
        assert item.state == "pinned" and "x" * 8_000 in item.text
        await story.wish(Compact())
        await story.say("on")
        assert "x" * 8_000 in spoken(story.turns[-1])
        assert pairs_are_valid(story.turns[-1])
        assert (await story.wish(Pin(ids[0]))).code == 4
        assert (await story.wish(Pin(ids[0], on=False))).code == 0
        assert (await story.wish(Pin(999))).code == 4
        await story.say("on")
        assert "x" * 8_000 not in spoken(story.turns[-1])


async def test_a_pin_that_would_take_half_the_landing_is_refused_with_both_numbers(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"]), budget="12k") as story:
        await story.say("word " * 3_000)
        finished = await story.wish(Pin(2))
        assert (finished.committed, finished.code) == (False, 3)
        assert f"{story.meter.landing // 2:,}" in finished.text and f"{finished.before:,}" in finished.text
        assert story.bodies(Pinned) == []


async def test_a_smaller_model_changes_meter_and_gates_at_once(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["one", "two", "three"]), more=BIG) as story:
        await story.wish(SetModel("openai/big"))
        assert (story.meter.window, story.meter.budget) == (1_000_000, 200_000)
        for _ in range(2):
            await story.say("hello")
        finished = await story.wish(SetModel("openai/small"))
        assert (finished.committed, finished.code) == (True, 0)
        assert (story.meter.window, story.meter.limit, story.meter.model) == (8_000, 7_000, "openai/small")
        assert story.meter.cache.broken == "model switched"
        assert story.meter.used >= 0
        assert (await story.say("on")).stop == "done"
        assert story.model.asked[-1].endpoint.name == "openai/small"
        assert len(story.tags) <= 1


async def test_a_conversation_too_large_for_the_next_model_is_made_to_fit_before_it_is_asked(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(9, 12_000)), more=BIG) as story:
        await story.wish(SetModel("openai/big"))
        await gathered(story, 6)
        await story.wish(SetModel("openai/small"))
        story.model.default = scripted(["fits"]).default
        assert (await story.say("on")).stop == "done"
        assert story.tags[0].startswith("pre-flight.")
        assert len(spoken(story.turns[-1])) // 4 < 7_000


async def test_an_unknown_model_changes_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        finished = await story.wish(SetModel("claude-sonet-4-5"))
        assert (finished.committed, finished.code) == (False, 2)
        assert "claude-sonnet-4-5" in finished.text
        assert story.bodies(SettingsChanged) == []
        assert story.meter.model == NAME


async def test_a_budget_is_kept_in_the_settings_and_a_bad_rule_is_not(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"])) as story:
        told = await story.wish(SetBudget("24k"))
        assert (told.code, told.text) == (0, f"working budget 24k (24k); kept for {NAME}")
        assert (story.meter.budget, story.meter.budget_rule) == (24_000, "24k")
        finished = await story.wish(SetBudget("lots"))
        assert (finished.committed, finished.code) == (False, 2)
        assert (story.meter.budget, len(story.bodies(SettingsChanged))) == (24_000, 1)
    async with story.again(first=None) as later:
        assert later.meter.budget == 24_000
        told = await later.wish(SetBudget("default"))
        assert told.code == 0 and "kept" not in told.text
        assert later.meter.budget_rule == "min(200k, 80%)"


async def test_a_budget_chosen_now_is_stronger_than_the_flag_this_run_was_started_with(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"]), flags={"context.budget": "30k"}) as story:
        assert story.meter.budget == 30_000
        await story.wish(SetBudget("24k"))
        assert story.meter.budget == 24_000
    async with story.again(flags={"context.budget": "28k"}) as later:
        assert later.meter.budget == 28_000


async def test_a_budget_above_the_limit_of_the_first_model_is_said_once_at_the_start(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok", "ok"]), window=32_000, budget="200k") as story:
        (opened,) = story.said(Opened)
        assert [n for n in opened.notices if "cut to what the window can take" in n]
        assert (story.meter.budget, story.meter.budget_rule) == (28_000, "200k")
        await story.say("hi")
        assert "cut to" not in story.told
    async with Story(tmp_path / "other", scripted(["ok"]), budget="100000", window=200_000) as story:
        assert (story.meter.budget, story.meter.budget_rule) == (100_000, "100000")
        assert not story.said(Opened)[0].notices


async def test_a_budget_above_the_limit_is_cut_and_said(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["ok"]), window=32_000) as story:
        finished = await story.wish(SetBudget("200k"))
        assert "cut to what the window can take" in finished.text
        assert story.meter.budget == story.meter.limit == 28_000


# ── the meter ──


async def test_parts_and_rows_sum_to_what_is_used_and_exact_is_only_said_when_true(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(6)), budget="60k") as story:
        ids = await gathered(story)
        await story.wish(Prune(records=(ids[0],), force=True))
        for words in ("on", "and on", "and on and on", "is it done?"):
            await story.say(words)
            shown = inspected(story.session)
            parts = dict(shown.meter.parts)
            every = (*shown.fixed, *shown.rows)
            assert sum(row.tokens for row in every) == shown.meter.used
            for kind in ("tools", "system", "tool", "assistant", "user"):
                assert sum(row.tokens for row in every if row.kind == kind) == parts[kind] > 0
        for meter in (e.meter for e in story.said(Metered)):
            assert sum(tokens for _, tokens in meter.parts) == meter.used == meter.known + meter.estimated
            assert all(tokens >= 0 for _, tokens in meter.parts)
            assert meter.exact is (meter.known > 0 and meter.estimated == 0)
            assert meter.cache.next_cached >= 0 and (meter.cache.warm_s or 0) >= 0
        assert {e.meter.exact for e in story.said(Metered)} == {True, False}


async def test_predicted_and_reported_reads_of_the_cache_agree_without_a_rewrite(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(gathering(6))) as story:
        await gathered(story)
        state = story.meter.cache
        assert state.broken is None
        assert state.reported is not None
        assert state.predicted == pytest.approx(state.reported, rel=0.1)
        story.clock.now += 10_000
        story.session.metered()
        assert (story.meter.cache.warm_s, story.meter.cache.next_cached) == (0, 0)


async def test_each_bucket_is_paid_once(tmp_path: Path) -> None:
    more = "prices = { input = 1.0, cached = 0.1, cache_write = 2.0, output = 10.0 }"
    said = Say("ok", usage=Usage(1_000, 10_000, 500, 200, 300))
    async with Story(tmp_path, scripted([said]), more=more) as story:
        await story.say("hi")
        assert story.meter.cost == pytest.approx((1_000 + 1_000 + 1_000 + 5_000) / 1_000_000)
        assert story.meter.used >= 11_500 + 200


async def test_a_meter_of_a_budget_below_the_window_shows_both(tmp_path: Path) -> None:
    said = Say("ok", usage=Usage(240_000, 0, 0, 0))
    async with Story(tmp_path, scripted([said]), window=400_000, budget="250k") as story:
        await story.say("hi")
        assert (story.meter.used, story.meter.budget, story.meter.window) == (240_000, 250_000, 400_000)


async def test_at_the_trigger_while_idle_the_next_prompts_gate_acts_before_it_is_sent(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["word " * 900] * 12), budget="8k") as story:
        while story.meter.used < story.meter.trigger:
            await story.say("go on")
        assert story.bodies(Compacted) == []
        before = len(story.turns)
        story.send(Submit("and now"))
        await story.until(Gated)
        assert len(story.turns) == before
        assert "working budget reached" in story.told
        assert isinstance(story.records[-2].body, (UserSaid, Compacted))
