"""Public reports about other agents, as small inputs to the gates: loops, failing summaries, sizes (1 to 19)."""

from __future__ import annotations

import pytest

from compaction.attempts import thrash
from compaction.budget import Window, answer_room
from compaction.cut import Cut
from compaction.gates import Compact, Emergency, Place, Prune, Spill
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    UserSaid,
    WindowSource,
)
from compaction.room import largest_fixed
from compaction.tokens import measure
from compaction.view import View
from tests.compaction.simulation import (
    Result,
    Said,
    Simulation,
    fails,
    short_summary,
)


def test_case_1_a_fixed_part_that_fills_the_window_is_named_and_not_compacted() -> None:
    s = Simulation(claimed=2_000, system="s" * 4_000, tools=("t" * 3_600,))
    assert s.turn("hello", []) == "refused before"
    assert s.summary_calls == 0 and s.requests == 0
    text = s.refusals[0].text
    assert "system prompt 1,004" in text and "tool schemas" in text
    assert len(largest_fixed(s.view, s.ruler)) == 2  # nothing else there is to name


def test_case_2_refilling_after_each_of_three_compactions_stops_the_automatic_ones_and_says_so_once() -> None:
    s = Simulation(claimed=40_000)
    # Every step fills a third of the budget with words of the model's own, which no prune can take.
    for _ in range(12):
        assert s.turn("go on", [["r"]] * 4, "a" * 24_000) == "done"
    stops = [n for n, r in enumerate(s.log) if getattr(r.body, "outcome", None) is Outcome.STOPPED]
    assert len(stops) == 1
    stopped = s.log[stops[0]].body
    assert isinstance(stopped, CompactionFailed) and "3 compactions in a row" in stopped.detail
    later = [r.body for r in s.log[stops[0] :] if isinstance(r.body, Compacted)]
    assert later and {body.gate for body in later} == {Gate.EMERGENCY}  # no model is asked any more, no turn is lost
    calls = s.summary_calls
    assert s.ask_compact() and s.summary_calls == calls + 1
    assert thrash(s.view, 40_000) is None


def rereads(s: Simulation, huge: Result, most: int, answer: str) -> int:
    """Steps of which the first after each compaction asks for `huge` again. How many were taken before a stop."""
    s.append(UserSaid("go on"))
    known = 0
    for taken in range(most):
        again = len(s.compactions()) > known
        known = len(s.compactions())
        assert s.request([huge] if again or not taken else ["r"], Place(taken > 0), answer) is None
        if any(f.outcome is Outcome.STOPPED for f in s.failures()):
            return taken
    return most


def test_case_3_a_result_of_nine_tenths_of_the_window_is_spilled_and_its_repeat_noticed_by_the_second_time() -> None:
    s = Simulation(claimed=40_000)
    huge = Result("r" * 4 * 36_000, "read", "read big.log", '{"path":"big.log"}')
    assert rereads(s, huge, 100, "a" * 12_000) < 100
    assert len(s.compactions(Gate.PROACTIVE)) == 2
    assert "the same read" in next(f.detail for f in s.failures() if f.outcome is Outcome.STOPPED)
    assert all(i.state == "spilled" for i in s.view.items if i.title == "read big.log")


@pytest.mark.parametrize("window", [8_000, 16_000, 40_000])
def test_a_model_that_does_nothing_but_read_the_same_again_is_stopped_after_two_compactions_at_every_window(
    window: int,
) -> None:
    s = Simulation(claimed=window)
    huge = Result("r" * 4 * window, "read", "read big.log", '{"path":"big.log"}')
    s.append(UserSaid("understand it"))
    for taken in range(400):
        assert s.request([huge], Place(taken > 0), "a" * 1_200) is None
        if s.failures():
            break
    assert [f.outcome for f in s.failures()] == [Outcome.STOPPED]
    assert len(s.compactions(Gate.PROACTIVE)) == 2


def test_the_same_read_after_compactions_with_much_work_between_is_no_sign_of_thrash() -> None:
    s = Simulation(claimed=40_000)
    assert rereads(s, Result("r", arguments='{"path":"plan.md"}'), 120, "a" * 3_000) == 120
    assert len(s.compactions()) > 3 and not s.failures()


def test_case_4_a_switch_from_a_million_to_eight_thousand_with_five_small_messages_is_one_decision() -> None:
    s = Simulation(claimed=1_000_000)
    for _ in range(5):
        assert s.turn("a small message", []) == "done"
    s.switch(8_000)
    before = len(s.decisions)
    assert s.turn("and now?", []) == "done"
    assert len(s.decisions) - before <= 1


def test_case_5_input_output_and_window_of_the_same_size_leave_room_for_the_input() -> None:
    window = Window(1_000, 1_000, WindowSource.CATALOGUE)
    for size, estimated in ((600, 100), (0, 0), (870, 870)):
        asked = answer_room(window, size, estimated)
        assert asked is not None and asked + size <= 1_000
        assert asked >= 1_000 // 8 - 1
    s = Simulation(claimed=1_000, real=1_000)
    assert s.turn("hello " * 60, []) == "done" and not s.learned


def test_case_6_a_summariser_that_always_fails_is_asked_three_times_then_comes_the_emergency_rung() -> None:
    s = Simulation(claimed=8_000, summariser=fails)
    calls = []
    for _ in range(5):
        before = s.summary_calls
        assert s.turn("work " * 40, [["r" * 100]] * 6, "an answer " * 150) == "done"
        calls.append(s.summary_calls - before)
    assert s.summary_calls == 3
    assert calls[3:] == [0, 0]
    assert any(isinstance(d, Emergency) for d in s.decisions)


def test_case_7_a_measurement_older_than_the_compaction_does_not_compact_again() -> None:
    s = Simulation(claimed=32_000)
    while not any(isinstance(d, Compact) for d in s.decisions):
        assert s.turn("question " * 300, [["r" * 4_000]] * 3) == "done"
    after = len(s.decisions)
    assert s.turn("a small one", []) == "done"
    assert len(s.decisions) == after


def test_case_8_a_prompt_of_1700_on_a_window_of_2048_is_refused_with_both_numbers_or_answered() -> None:
    s = Simulation(claimed=2_048, system="s" * 800)
    ended = s.turn("p" * 6_800, [])
    assert ended in ("refused before", "done")
    if ended != "done":
        assert "1,7" in s.refusals[0].text or "1,9" in s.refusals[0].text
        assert "2,048" in s.refusals[0].text


def test_case_9_a_history_larger_than_the_window_is_shortened_until_the_request_for_its_summary_fits() -> None:
    s = Simulation(claimed=200_000)
    for n in range(9):
        assert s.turn(f"part {n}", [["r" * 1_000]], "words " * 3_000) == "done"
    s.switch(36_000)
    assert measure(s.view, s.ruler).total > 36_000
    assert s.ask_compact()
    request = s.summary_requests[-1][0]
    assert request.omitted > 0 and f"{request.omitted} earlier messages left out" in request.user_text
    assert request.characters <= 4 * 36_000
    assert s.turn("go on", []) == "done"


def test_case_9_a_summariser_that_refuses_for_length_is_asked_with_half_each_time_and_three_times_at_most() -> None:
    s = Simulation(claimed=200_000, summariser=lambda cut, view: Said(fault=Outcome.OVERFLOWED))
    for n in range(40):
        s.turn(f"part {n}", [], "words " * 700)
    assert not s.ask_compact()
    sizes = [request.characters for request, _, _ in s.summary_requests]
    assert len(sizes) == 4 and sizes == sorted(sizes, reverse=True) and sizes[-1] < sizes[0] // 4


def test_case_10_a_summariser_that_fails_changes_nothing_and_is_written_down() -> None:
    s = Simulation(claimed=32_000, summariser=lambda cut, view: Said(fault=Outcome.PROVIDER_FAILED))
    for _ in range(6):
        s.turn("go", [], "words " * 300)
    items = s.view.items
    assert not s.ask_compact()
    assert s.view.items == items and not s.compactions()
    assert s.failures()[-1].outcome is Outcome.PROVIDER_FAILED


def test_case_12_a_result_larger_than_the_window_already_in_the_log_is_no_dead_end() -> None:
    s = Simulation(claimed=1_000_000)
    s.turn("read it", [["x" * 40_000]])
    s.switch(8_000, real=8_000)
    assert s.turn("and now?", []) == "done"
    assert [type(d) for d in s.decisions] == [Spill]
    assert s.summary_calls == 0 and not s.learned
    result = next(i for i in s.view.items if i.role == "tool")
    assert result.state == "spilled" and "recall" in result.text


def test_case_15_a_refusal_of_bytes_is_an_overflow_answered_by_one_rewrite_and_one_retry() -> None:
    s = Simulation(claimed=200_000)
    for _ in range(5):
        assert s.turn("look", [["r" * 8_000]] * 6) == "done"
    asked, size = s.requests, s.counted(s.view)
    s.faults[:] = ["bytes"]
    assert s.turn("go on", []) == "done"
    assert s.requests == asked + 2
    assert s.window.ceiling is None and not s.learned
    assert {r.body.gate for r in s.rewrites() if isinstance(r.body, (Pruned, Compacted))} == {Gate.REACTIVE}
    assert s.counted(s.sent[-1]) < size * 3 // 4


def test_case_14_a_chat_without_tools_compacts_when_it_is_full() -> None:
    s = Simulation(claimed=4_096)
    for _ in range(14):
        assert s.turn("tell me more " * 40, [], "an answer " * 60) == "done"
    assert any(isinstance(d, Compact) for d in s.decisions)


def test_case_16_a_summary_larger_than_what_it_replaces_changes_nothing() -> None:
    def long(cut: Cut, view: View) -> str:
        return "## Goal\n" + "w" * 4 * (Simulation(claimed=32_000).budget.summary_cap - 100)

    s = Simulation(claimed=32_000, summariser=long)
    s.turn("hi", [])
    s.turn("hi", [])
    before = s.view
    cut = Cut(s.log[4].id, 2, before.conversation[:2], before.conversation[2:], 10, 1)
    s.compact(Compact(Gate.ASKED, cut, 10_000))
    body = s.log[-1].body
    assert isinstance(body, CompactionFailed) and body.outcome is Outcome.NOT_SMALLER
    assert s.view.items == before.items


def test_case_17_over_the_limit_with_a_useless_summary_takes_the_emergency_rung_and_goes_on() -> None:
    s = Simulation(claimed=8_192, real=8_192, summariser=fails)
    ends = {s.turn("work " * 100, [["r" * 1_900]] * 4, "a " * 500) for _ in range(6)}
    assert ends == {"done"}
    emergencies = s.compactions(Gate.EMERGENCY)
    assert emergencies and all(body.after < body.before for body in emergencies)
    assert all(body.after < (s.budget.limit or 0) for body in emergencies)


def test_case_17_an_emergency_keeps_the_previous_summary_and_the_next_prefix_starts_where_its_did() -> None:
    s = Simulation(claimed=8_192, real=8_192)
    while not s.compactions():
        s.turn("work", [["r" * 200]] * 2, "a " * 500)
    s.summariser = fails
    while not s.compactions(Gate.EMERGENCY):
        assert s.turn("work", [["r" * 200]] * 2, "a " * 500) == "done"
    kept = s.compactions()[0].summary
    assert s.compactions(Gate.EMERGENCY)[0].summary == kept
    s.summariser = short_summary
    assert s.ask_compact()
    assert s.compactions()[-1].prefix_from == s.compactions(Gate.EMERGENCY)[-1].prefix_from
    assert s.summary_requests[-1][1] == kept


def test_case_19_an_overflow_that_states_its_window_is_learned_with_one_rewrite_and_one_retry() -> None:
    s = Simulation(claimed=1_000_000, real=258_000, rule="100%")
    while not s.learned:
        assert s.turn("go " * 2_000, [["r" * 48_000]] * 12) == "done"
    assert s.learned == {"scripted": 258_000}
    assert s.window.source is WindowSource.LEARNED


def test_a_provider_that_always_refuses_gets_at_most_two_requests() -> None:
    s = Simulation(claimed=200_000, real=10, states_window=False)
    for _ in range(6):
        s.turn("hello " * 400, [])
        before = s.requests
        s.turn("again", [["r" * 4_000]])
        assert s.requests - before <= 2
    assert 1 <= s.requests <= 24
    assert s.refusals


def test_a_real_window_of_14000_behind_a_claim_of_200000_costs_one_rewrite_and_the_turn_ends_well() -> None:
    s = Simulation(claimed=200_000, real=14_000)
    assert s.turn("start", [["r" * 3_000]] * 25) == "done"
    reactive = [r for r in s.log if isinstance(r.body, (Pruned, Compacted)) and r.body.gate is Gate.REACTIVE]
    assert s.learned == {"scripted": 14_000} and len(reactive) == 1


def test_a_prune_that_brings_the_size_under_the_trigger_is_enough() -> None:
    s = Simulation(claimed=100_000, rule="12k")
    assert s.turn("read them " * 800, [["r" * 4_000]] * 8) == "done"
    first = next(n for n, decision in enumerate(s.decisions) if isinstance(decision, Prune))
    pruned = next(r for r in s.log if isinstance(r.body, Pruned))
    assert isinstance(pruned.body, Pruned)
    assert s.budget.landing < pruned.body.after < s.budget.trigger
    follows = s.log[pruned.id]
    assert isinstance(follows.body, AssistantSaid), "the request goes out; no summariser is asked at this place"
    assert not any(isinstance(d, Compact) for d in s.decisions[: first + 1])
