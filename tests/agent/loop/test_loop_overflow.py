"""Refusals for length: learned from, answered with one rewrite and one retry, and kept for the next session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.model import ContextOverflow, RequestTooLarge
from agent.models.scripted import Say, ScriptedModel
from agent.reading import Reading
from agent.wire import Idle
from compaction.attempts import ceiling, refused_before, shares_window
from compaction.records import AssistantSaid, Noted, Usage, UserSaid, WindowLearned
from compaction.view import View
from tests.agent.loop.harness import NAME, Story, call, calls, pairs_are_valid, reads, scripted
from tests.compaction.build_log import log, pruned, user
from tui.costs import Costs


async def test_a_smaller_window_than_claimed_is_learned_by_one_rewrite_and_kept(tmp_path: Path) -> None:
    model = scripted([*reads(9), "done"], window=14_000)
    async with Story(tmp_path, model, window=200_000, max_output=500) as story:
        idle = await story.say("look at everything")
        assert idle.stop == "done"
        assert story.answers[-1] == "done"
        refused = story.bodies(WindowLearned)
        assert [b.window for b in refused] == [14_000]
        assert [t for t in story.tags if t.startswith("reactive")] == ["reactive.pruned"]
        assert story.summaries == []
        assert "its window is 14,000 tokens; it was 200,000 (user)" in story.told
        assert (story.meter.window, story.meter.window_source) == (14_000, "learned")
        assert all(map(pairs_are_valid, story.requests))
    later = story.again("fine", first=None)
    async with later:
        assert (later.meter.window, later.meter.window_source) == (14_000, "learned")
        assert later.meter.limit == 14_000 - 1_750
        rows = Reading(later.kit(), later.folder).models()
        assert [(r["window"], r["source"]) for r in rows if r["model"] == NAME] == [(14_000, "learned")]


async def test_what_was_learned_at_an_endpoint_of_a_flag_is_listed_without_that_flag(tmp_path: Path) -> None:
    refusal = ContextOverflow("too long", window=14_000, asked=15_000)
    flags = {"api_base": "http://127.0.0.1:8080/v1"}
    async with Story(tmp_path, scripted([*reads(6), refusal, "done"]), window=200_000, flags=flags) as story:
        await story.say("go")
    later = story.again("fine", first=None, flags={})
    rows = [r for r in Reading(later.kit(), later.folder).models() if r["model"] == NAME]
    assert [(r["window"], r["source"]) for r in rows] == [(14_000, "learned"), (200_000, "user")]
    assert rows[0]["endpoint"] == "http://127.0.0.1:8080/v1"


async def test_a_provider_that_always_refuses_is_asked_twice_a_turn(tmp_path: Path) -> None:
    refusal = ContextOverflow("too long")
    async with Story(tmp_path, ScriptedModel(default=refusal), window=None) as story:
        for turn in range(1, 4):
            idle = await story.say("word " * 200)
            assert (idle.stop, idle.code) == ("refused", 3)
            assert len(story.turns) <= 2 * turn
        assert story.bodies(Noted)
        assert story.meter.window is None


async def test_a_second_refusal_ends_the_turn_and_the_next_process_goes_on(tmp_path: Path) -> None:
    refusal = ContextOverflow("too long", window=9_000, asked=50_000)
    async with Story(tmp_path, scripted([*reads(5), refusal, refusal])) as story:
        idle = await story.say("go")
        assert (idle.stop, idle.code) == ("refused", 3)
        assert "2 times in this turn" in str(idle.error)
        assert len(story.turns) == 7
        assert story.bodies(UserSaid)[0].text == "go"
    later = story.again(scripted(["better"]))
    async with later:
        assert (await later.say("again")).stop == "done"
        assert later.answers[-1] == "better"


async def test_only_the_output_was_too_large_so_it_is_asked_again_for_less(tmp_path: Path) -> None:
    refusal = ContextOverflow("too long", window=12_000, asked=2_500)
    # As much as is left, and no more than the model says at once.
    for folder, most in (("a", 10_000), ("b", 4_000)):
        async with Story(tmp_path / folder, [refusal, "fine"], window=100_000, max_output=most) as story:
            assert (await story.say("hi")).stop == "done"
            first, second = story.requests
            assert first.messages == second.messages
            assert second.max_tokens == min(most, 12_000 - 2_500 - 600)
            assert story.tags == []


async def test_a_provider_that_counts_more_than_estimated_refuses_once_and_not_again_in_the_same_turn(
    tmp_path: Path,
) -> None:
    # Numbers on short lines: a fifth more tokens than they look, at a server that takes input and answer together.
    work = [calls(call("bash", command=f"seq {n} {n + 400}")) for n in range(1, 25)]
    async with Story(tmp_path, scripted([*work, "done"], window=8_000), window=8_000) as story:
        idle = await story.say("work")
        assert (idle.stop, story.answers[-1]) == ("done", "done")
        (refused,) = story.bodies(WindowLearned)
        assert refused.asked is not None and refused.asked > refused.refused
        at = next(n for n, r in enumerate(story.requests) if r.max_tokens != story.max_output)
        assert all(r.max_tokens is not None for r in story.requests[at:])


def test_only_this_models_refusal_for_length_makes_the_answers_shorter() -> None:
    refused = WindowLearned("scripted", "default", None, 4_000, 4_000)
    assert refused_before(View(log(user("u"), refused, user("v"))))
    assert refused_before(View(log(user("u"), refused)), unnumbered=True)
    assert refused_before(View(log(user("u"), replace(refused, window=8_000, asked=4_100))))
    assert refused_before(View(log(user("u"), replace(refused, asked=4_100))), unnumbered=True)
    assert not refused_before(View(log(user("u"), replace(refused, window=8_000))), unnumbered=True)
    for more in ({"model": "another"}, {"summary": True}, {"bytes": True}, {"silent": True}):
        assert not refused_before(View(log(user("u"), replace(refused, **more))))  # type: ignore[arg-type]


async def test_a_provider_that_refuses_without_a_number_what_input_and_answer_come_to_walls_nobody_in(
    tmp_path: Path,
) -> None:
    # A catalogue that gives the whole window as the longest answer, and a server that takes both together.
    work = [calls(call("bash", command=f"seq {n} {n + 400}")) for n in range(1, 9)]
    model = scripted([*work, "done", "on"], window=16_000)
    model.states_window = False
    async with Story(tmp_path, model, window=16_000, max_output=16_000) as story:
        idle = await story.say("work")
        assert (idle.stop, story.answers[-1]) == ("done", "done")
        (refused,) = story.bodies(WindowLearned)
        assert (refused.asked, refused.window, story.tags) == (None, None, [])
        # What was answered all the same bounds nothing any more: neither the answers nor the marks.
        assert all(r.max_tokens is not None and r.max_tokens > 8_000 for r in story.requests)
        assert (story.meter.ceiling, story.meter.limit) == (None, 14_000)
        assert (await story.say("go on")).stop == "done"


async def test_a_refusal_of_an_input_that_fits_says_that_the_answer_is_not_apart(tmp_path: Path) -> None:
    work = [calls(call("bash", command=f"seq {n} {n + 90}")) for n in range(1, 7)]
    model = scripted([*work, "done"], window=9_000)
    async with Story(tmp_path, model, window=64_000, max_output=8_000, more="output_apart = true\n") as story:
        assert (await story.say("work")).stop == "done"
        (refused,) = story.bodies(WindowLearned)
        assert refused.window == 9_000 and refused.asked is not None and refused.asked < 9_000
        assert "takes the answer from its window" in story.told
        assert story.meter.limit == 9_000 - 1_125


def test_only_an_input_below_the_stated_window_tells_that_it_is_shared() -> None:
    body = WindowLearned("scripted", "default", 8_000, None, 7_000, 7_500)
    assert shares_window(View(log(user("u"), body)), "scripted", "default")
    assert not shares_window(View(log(user("u"), body)), "scripted", "elsewhere")
    assert shares_window(View(log(user("u"), replace(body, asked=None, refused=5_999))), "scripted", "default")
    for more in ({"asked": 8_000}, {"asked": None}, {"window": None}, {"summary": True}, {"model": "another"}):
        assert not shares_window(View(log(user("u"), replace(body, **more))), "scripted", "default")  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [None, 1_700])
@pytest.mark.parametrize(("window", "more"), [(None, ""), (64_000, ""), (64_000, "output_apart = true\n")])
async def test_where_only_the_wish_can_be_smaller_the_one_that_was_refused_is_not_made_again(
    tmp_path: Path, window: int | None, more: str, asked: int | None
) -> None:
    work = [calls(call("bash", command=f"seq {n} {n + 90}")) for n in range(1, 7)]
    model = scripted([ContextOverflow("too long", asked=asked), *work, "done"])
    async with Story(tmp_path, model, window=window, max_output=8_000, more=more) as story:
        assert (await story.say("work")).stop == "done"
        assert len(story.bodies(WindowLearned)) == 1
        assert [r.max_tokens for r in story.requests] == [8_000, *[2_000] * 7]
        assert (story.meter.window, story.meter.ceiling) == (window, None)


async def test_a_second_refusal_without_a_number_ends_the_turn_as_before(tmp_path: Path) -> None:
    overflow = ContextOverflow("too long")
    async with Story(tmp_path, scripted([overflow, overflow, "later"]), window=16_000) as story:
        idle = await story.say("hi")
        assert (idle.stop, idle.code) == ("refused", 3)
        assert len(story.requests) == 2
        assert story.requests[1].max_tokens is not None and story.requests[1].messages == story.requests[0].messages
        assert (await story.say("again")).stop == "done"


def test_an_answer_to_the_same_request_takes_a_ceiling_back_and_one_after_a_rewrite_does_not() -> None:
    refused = WindowLearned("scripted", "default", None, 4_000, 4_000)
    answer = AssistantSaid("ok", (), Usage(3_900, 0, 0, 2, 0), "done", "scripted", 2)
    assert ceiling(View(log(user("u"), refused)), "scripted", "default") == 4_000
    assert ceiling(View(log(user("u"), refused, answer)), "scripted", "default") is None
    for between in (pruned(2), user("something else"), replace(refused, silent=True)):
        assert ceiling(View(log(user("u"), refused, between, answer)), "scripted", "default") == 4_000
    larger = replace(answer, usage=Usage(4_000, 0, 0, 2, 0))
    assert ceiling(View(log(user("u"), refused, pruned(2), larger)), "scripted", "default") is None
    assert ceiling(View(log(user("u"), refused, replace(answer, model="another"))), "scripted", "default") == 4_000
    assert ceiling(View(log(user("u"), refused)), "scripted", "elsewhere") is None


async def test_too_many_bytes_are_shortened_and_tried_once_more(tmp_path: Path) -> None:
    model = scripted([*reads(6), RequestTooLarge("413"), "fine"])
    async with Story(tmp_path, model, window=100_000) as story:
        assert (await story.say("go")).stop == "done"
        assert story.tags[0].startswith("reactive.")
        assert story.meter.window == 100_000
        refused = story.turns[-2]
        assert len(str(story.turns[-1].messages)) < len(str(refused.messages))


async def test_with_automatic_off_an_overflow_ends_the_turn_with_a_clear_error(tmp_path: Path) -> None:
    model = scripted([*reads(6), ContextOverflow("too long", window=9_000, asked=20_000)])
    async with Story(tmp_path, model, context="automatic = false") as story:
        idle = await story.say("go")
        assert (idle.stop, idle.code) == ("refused", 3)
        assert "automatic rewrites are off" in str(idle.error)
        assert story.summaries == []
        assert story.meter.automatic == "automatic off"


async def test_a_window_of_unknown_size_stays_unknown_and_the_refused_size_bounds_it(tmp_path: Path) -> None:
    model = scripted([*reads(8), ContextOverflow("too long"), "fine"])
    async with Story(tmp_path, model, window=None) as story:
        assert (await story.say("go")).stop == "done"
        assert story.meter.window is None
        assert story.meter.ceiling == story.bodies(WindowLearned)[0].refused
        assert story.meter.limit is not None


async def test_the_same_model_at_another_address_keeps_its_own_window(tmp_path: Path) -> None:
    model = scripted([*reads(9), "done"], window=14_000)
    async with Story(tmp_path, model, window=None, more='api_base = "http://127.0.0.1:9/v1"') as story:
        await story.say("go")
        assert story.meter.window == 14_000
    other = story.again("fine", first=None)
    text = other.places.settings.read_text()
    other.places.settings.write_text(text.replace("127.0.0.1:9/", "127.0.0.1:10/"))
    async with other:
        assert other.meter.window is None


async def test_what_the_server_dropped_without_a_word_is_an_overflow_and_calibrates_nothing(tmp_path: Path) -> None:
    counted = [Say("one", usage=Usage(uncached=9_000, output=5)), Say("lost", usage=Usage(uncached=2_000, output=5))]
    async with Story(tmp_path, ScriptedModel([*counted, "two"]), window=None) as story:
        await story.say("first")
        await story.say("second")
        assert "dropped the beginning without saying so" in story.told
        assert [b.silent for b in story.bodies(WindowLearned)] == [True]
        assert "lost" not in [b.text for b in story.bodies(AssistantSaid)]
        assert len(story.said(Idle)) == 3


async def test_an_overflow_in_the_middle_of_an_answer_takes_its_text_off_the_screen(tmp_path: Path) -> None:
    late = Say("half an ans", error=ContextOverflow("too long", window=12_000, asked=2_500))
    async with Story(tmp_path, [late, "fine"]) as story:
        await story.say("hi")
        assert story.answers == ["fine"]
        kinds = [type(e).__name__ for e in story.events]
        assert "Restreamed" in kinds


async def test_a_reply_to_a_beginning_that_was_dropped_is_paid_for_and_counted(tmp_path: Path) -> None:
    lost = Usage(uncached=100_000, output=1_000)
    replies = [Say("one", usage=Usage(uncached=500_000, output=0)), Say("lost", usage=lost), Say("two", usage=None)]
    prices = "prices = { input = 2.0, output = 10.0 }\n"
    async with Story(tmp_path, ScriptedModel(replies), window=None, more=prices) as story:
        await story.say("first")
        await story.say("second")
        (refused,) = story.bodies(WindowLearned)
        assert (refused.usage, refused.cost) == (lost, 0.21)
        assert story.meter.cost == 1.21
        costs = Costs()
        for record in story.records:
            costs.add(record)
        assert "dropped unread" in costs.table() and "$1.21" in costs.table()
