"""The gates rung by rung, and what the log says of earlier attempts."""

from __future__ import annotations

import pytest

from compaction.attempts import MOST_FAILURES, backoff, is_reset, regrown, retry_spent
from compaction.budget import Policy, Window, budget_for
from compaction.gates import Compact, Emergency, Fail, Place, Proceed, Prune, Refuse, Spill, check_prompt, decide
from compaction.records import (
    Body,
    CompactionFailed,
    Gate,
    Outcome,
    SettingsChanged,
    ToolCall,
    UserSaid,
    WindowLearned,
    WindowSource,
)
from compaction.room import k, over_budget, primer_cap, refuse_fixed, unshrinkable, window_full
from compaction.tokens import measure
from compaction.view import View
from tests.compaction.build_log import budget, calls, compacted, log, pinned, pruned, returned, reverted, says, user
from tests.compaction.simulation import Said, Simulation

BUDGET = budget(40_000)  # budget 32,000, trigger 24,000, landing 16,000, limit 35,000


def failed(size: int, outcome: Outcome = Outcome.SUMMARY_EMPTY, gate: Gate = Gate.PROACTIVE) -> CompactionFailed:
    return CompactionFailed(gate, outcome, "why", size, after_summary_call=True)


def chat(tokens: int, **more: object) -> Simulation:
    """A conversation of answers alone, of so many tokens, that a question has just joined."""
    s = Simulation(claimed=40_000, **more)  # type: ignore[arg-type]
    while measure(s.view, s.ruler).total < tokens - 40:
        s.append(UserSaid("next"), says("a" * 4_000, seen=s.view.last))
    s.append(UserSaid("and now?"))
    return s


def test_nothing_happens_below_the_trigger_and_with_automatic_off() -> None:
    assert decide(chat(20_000).view, chat(20_000).ruler, BUDGET, Place()) == Proceed()
    s = chat(36_000, automatic=False)
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()


def test_each_mark_opens_its_own_gate() -> None:
    for tokens, place, gate in (
        (24_100, Place(), Gate.PROACTIVE),
        (36_000, Place(inside_turn=True), Gate.PRE_FLIGHT),
        (36_000, Place(inside_turn=True, last=True), Gate.FORCE_STOP),
    ):
        s = chat(tokens)
        decision = decide(s.view, s.ruler, s.budget, place)
        assert isinstance(decision, Compact) and decision.gate is gate
        assert decision.target == (BUDGET.landing if gate is Gate.PROACTIVE else BUDGET.limit)


def test_a_window_of_unknown_size_has_a_trigger_and_no_limit() -> None:
    s = Simulation(claimed=None)
    while measure(s.view, s.ruler).total < 400_000:
        s.append(UserSaid("next"), says("a" * 80_000, seen=s.view.last))
    decision = decide(s.view, s.ruler, s.budget, Place())
    assert isinstance(decision, Compact) and decision.gate is Gate.PROACTIVE


def test_fewer_than_four_steps_are_spilled_and_never_compacted() -> None:
    s = Simulation(claimed=40_000)
    s.append(UserSaid("go"))
    for n in range(3):
        s.append(calls(f"c{n}"), returned(f"c{n}", "r" * 56_000))
    assert measure(s.view, s.ruler).total > 35_000
    assert s.pass_gates(Place(inside_turn=True)) is not None
    assert [type(d) for d in s.decisions] == [Spill] and s.summary_calls == 0


def test_an_overflow_of_old_results_is_pruned_without_a_summary() -> None:
    s = Simulation(claimed=40_000)
    for n in range(9):
        s.append(UserSaid("go"), calls(f"c{n}"), returned(f"c{n}", "r" * 12_000), says("ok"))
    assert measure(s.view, s.ruler).total >= BUDGET.trigger
    assert s.pass_gates(Place()) is not None
    assert [type(d) for d in s.decisions] == [Prune]


def test_when_a_prune_is_not_enough_the_summary_follows_at_the_same_place() -> None:
    s = chat(26_000)
    for n in range(3):
        s.append(calls(f"c{n}"), returned(f"c{n}", "r" * 7_000))
    s.append(UserSaid("x"), says("ok"), UserSaid("y"), says("ok"), UserSaid("z"))
    s.pass_gates(Place())
    assert [type(d) for d in s.decisions][-1] is Compact


def test_the_back_off_waits_for_half_the_way_to_the_budget_and_above_it_by_the_reserve() -> None:
    assert regrown(24_000, BUDGET) == 28_000
    assert regrown(31_999, BUDGET) == 32_000
    assert regrown(32_000, BUDGET) == 40_000
    s = chat(24_100)
    size = measure(s.view, s.ruler).total
    s.append(failed(size))
    s.append(UserSaid("more"))
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
    while measure(s.view, s.ruler).total < regrown(size, BUDGET):
        assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
        s.append(says("a" * 1_000), UserSaid("more"))
    assert isinstance(decide(s.view, s.ruler, s.budget, Place()), Compact)


def test_the_newest_failure_counts_and_an_interrupt_waits_without_counting() -> None:
    view = View(log(user("a"), failed(10_000), failed(24_000, Outcome.INTERRUPTED)))
    assert (backoff(view, BUDGET).failures, backoff(view, BUDGET).until) == (1, 28_000)
    for outcome in (Outcome.NOTHING_TO_DO, Outcome.REFUSED_FIXED, Outcome.STOPPED):
        assert backoff(View(log(failed(24_000, outcome))), BUDGET).failures == 0
    assert backoff(View(log(failed(24_000, gate=Gate.ASKED))), BUDGET).until == 0


def test_three_failures_in_a_row_send_the_gates_to_the_emergency_without_asking() -> None:
    s = chat(36_000)
    for _ in range(MOST_FAILURES):
        s.append(failed(20_000))
    s.append(UserSaid("more"))
    assert backoff(s.view, BUDGET).stopped
    assert isinstance(decide(s.view, s.ruler, s.budget, Place()), Emergency)
    under = chat(28_000)
    under.append(*[failed(1_000)] * MOST_FAILURES, UserSaid("more"))
    assert decide(under.view, under.ruler, under.budget, Place()) == Proceed()
    assert not backoff(View(log(*[failed(20_000)] * 2)), BUDGET).stopped


@pytest.mark.parametrize(
    "act",
    [
        compacted(2), pruned(3), reverted(3), SettingsChanged(model="x"), SettingsChanged(budget="60%"),
    ],
)  # fmt: skip
def test_the_users_own_act_ends_every_count(act: Body) -> None:
    view = View(log(*[failed(24_000)] * 3, act))
    assert backoff(view, BUDGET).failures == 0
    assert is_reset(view.records[-1])


@pytest.mark.parametrize(
    "act", [SettingsChanged(mode="plan"), SettingsChanged(name="n"), compacted(2, gate=Gate.EMERGENCY)]
)
def test_other_changes_end_none(act: Body) -> None:
    assert backoff(View(log(*[failed(24_000)] * 3, act)), BUDGET).failures == 3


def test_an_emergency_ends_the_wait_for_growth_and_not_the_count() -> None:
    view = View(log(failed(36_000), compacted(2, gate=Gate.EMERGENCY)))
    assert (backoff(view, BUDGET).failures, backoff(view, BUDGET).until) == (1, 0)


def test_after_an_undo_the_proactive_gate_waits_as_after_a_failure_and_pre_flight_does_not() -> None:
    s = chat(20_000)
    assert s.ask_compact() and s.undo()
    undone = s.log[-1].body
    while measure(s.view, s.ruler).total < BUDGET.trigger:
        s.append(says("a" * 1_000), UserSaid("more"))
    assert backoff(s.view, BUDGET).undone
    assert backoff(s.view, BUDGET).until == regrown(getattr(undone, "after", 0), BUDGET)
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
    while measure(s.view, s.ruler).total < 35_000:
        s.append(says("a" * 4_000), UserSaid("more"))
    assert isinstance(decide(s.view, s.ruler, s.budget, Place()), Compact)


def learned(window: int | None = None, asked: int | None = None, **more: object) -> WindowLearned:
    return WindowLearned("scripted", "default", window, None if window else 20_000, 20_000, asked, **more)  # type: ignore[arg-type]


def test_a_refusal_whose_input_fits_is_sent_again_with_a_smaller_answer_and_no_rewrite() -> None:
    s = chat(20_000)
    s.append(learned(40_000, 20_000))
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed(max_tokens=40_000 - 20_000 - 2_000)
    off = chat(20_000, automatic=False)
    off.append(learned(40_000, 20_000))
    assert decide(off.view, off.ruler, off.budget, Place()) == Proceed(max_tokens=18_000)


@pytest.mark.parametrize("automatic", [True, False])
def test_a_stated_window_that_a_short_conversation_fits_means_that_the_wished_answer_did_not(automatic: bool) -> None:
    # "max_tokens cannot be greater than the model's length of 40,000": nothing is said of the input.
    s = Simulation(claimed=40_000, automatic=automatic)
    s.append(UserSaid("hi"), learned(40_000))
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
    s.append(learned(40_000))
    refusal = decide(s.view, s.ruler, s.budget, Place())
    assert isinstance(refusal, Refuse) and "2 times" in refusal.text


def test_a_refusal_of_bytes_or_above_the_limit_is_answered_by_a_rewrite() -> None:
    for refusal in (learned(40_000, 35_000), learned(None, None, bytes=True), learned(40_000, 20_000, bytes=True)):
        s = chat(20_000)
        s.append(refusal)
        decision = decide(s.view, s.ruler, s.budget, Place())
        assert isinstance(decision, Compact) and decision.gate is Gate.REACTIVE


def test_a_failed_attempt_is_no_reason_to_send_the_same_request_again() -> None:
    s = chat(20_000, summariser=lambda cut, view: Said(fault=Outcome.PROVIDER_FAILED))
    s.append(learned(40_000, 36_000))
    assert s.pass_gates(Place()) is not None
    assert [type(d) for d in s.decisions] == [Compact, Emergency]


def test_the_second_refusal_of_a_turn_ends_it_whatever_came_between() -> None:
    s = chat(20_000)
    s.append(learned(40_000, 20_000))
    assert not retry_spent(s.view)
    s.append(says("ok"), UserSaid("and", "steered"), learned(40_000, 20_000))
    assert retry_spent(s.view)
    decision = decide(s.view, s.ruler, s.budget, Place())
    assert isinstance(decision, Refuse) and "2 times in this turn" in decision.text
    s.append(UserSaid("a new turn"))
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
    summary = chat(20_000)
    summary.append(learned(40_000, 20_000), learned(40_000, 20_000, summary=True))
    assert not retry_spent(summary.view)


def test_what_cannot_be_shrunk_is_refused_at_once_and_names_the_three_largest() -> None:
    s = Simulation(claimed=40_000, system="s" * 80_000, tools=("t" * 70_000,))
    s.append(UserSaid("u" * 4_000), says("ok"), UserSaid("more"))
    decision = decide(s.view, s.ruler, s.budget, Place())
    assert isinstance(decision, Refuse) and decision.outcome is Outcome.REFUSED_FIXED
    assert "system prompt 20,004, tool schemas 17,508, first user message 1,004" in decision.text
    assert f"{BUDGET.limit:,}" in decision.text


def test_between_landing_and_limit_the_proactive_gate_says_so_once_and_pre_flight_still_works() -> None:
    s = Simulation(claimed=40_000, system="s" * 72_000)
    for _ in range(8):
        s.append(UserSaid("next"), says("a" * 4_000))
    s.append(UserSaid("more"))
    decision = decide(s.view, s.ruler, s.budget, Place())
    assert isinstance(decision, Fail) and decision.outcome is Outcome.REFUSED_FIXED
    assert f"more than the {BUDGET.landing:,}" in decision.detail
    s.pass_gates(Place())
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()


def test_a_prompt_that_no_rewrite_makes_fit_is_refused_with_both_numbers() -> None:
    s = chat(20_000)
    assert check_prompt(s.view, s.ruler, s.budget, 30_000) is None
    refusal = check_prompt(s.view, s.ruler, s.budget, 34_500)
    assert refusal is not None and refusal.outcome is Outcome.REFUSED_WINDOW
    assert f"{refusal.size:,}" in refusal.text and "35,000" in refusal.text and "40,000" in refusal.text
    s.append(says("a" * 80_000, seen=s.view.last))
    refusal = check_prompt(s.view, s.ruler, s.budget, 30_000)
    assert refusal is not None and "the last step alone takes 20,0" in refusal.text
    unknown = Simulation(claimed=None)
    assert check_prompt(unknown.view, unknown.ruler, unknown.budget, 10**9) is None


def test_pins_nested_rules_and_a_short_primer_count_as_unshrinkable() -> None:
    s = Simulation(claimed=40_000)
    alone = unshrinkable(s.view, s.ruler, BUDGET)
    s.append(UserSaid("p" * 40_000), says("ok"), UserSaid("q" * 400))
    cap = primer_cap(s.view, BUDGET)
    assert cap == BUDGET.landing // 4
    assert unshrinkable(s.view, s.ruler, BUDGET) == alone + cap
    s.append(pinned(4))
    assert unshrinkable(s.view, s.ruler, BUDGET) == alone + cap + 104
    s.append(pinned(2))
    assert unshrinkable(s.view, s.ruler, BUDGET) == alone + 10_004 + 104


def test_a_pinned_result_counts_and_the_call_beside_a_pinned_reply_does_not() -> None:
    s = Simulation(claimed=40_000)
    s.append(UserSaid("q"), calls("x", text="a" * 400), returned("x", "r" * 4_000), calls("y", text="b" * 400))
    alone = unshrinkable(s.view, s.ruler, BUDGET)
    s.append(pinned(4))
    result = next(i for i in s.view.items if i.record == 4)
    assert unshrinkable(s.view, s.ruler, BUDGET) == alone + s.ruler.item(result)
    s.append(pinned(5))  # its call waits, and its answer bears its number
    reply = next(i for i in s.view.items if i.record == 5 and i.role == "assistant")
    assert unshrinkable(s.view, s.ruler, BUDGET) == alone + s.ruler.item(result) + s.ruler.item(reply)


def test_a_smaller_model_lowers_what_a_first_message_may_keep() -> None:
    s = Simulation(claimed=1_000_000)
    assert primer_cap(s.view, budget(1_000_000)) == budget(1_000_000).landing // 4
    assert primer_cap(s.view, budget(8_000)) == budget(8_000).landing // 4


def test_sentences_name_the_mark_and_never_call_the_budget_the_window() -> None:
    b = budget_for(Window(200_000, source=WindowSource.USER), Policy())
    assert over_budget(b) == "working budget reached (160k of a 200k window)"
    assert window_full(195_000, b) == "the model's window is full (195,000 tokens, at most 190,000 can be sent)"
    unknown = budget_for(Window(None), Policy())
    guessed = budget_for(Window(200_000, source=WindowSource.USER, ceiling=40_000), Policy())
    assert guessed.limit is not None
    said = window_full(41_000, guessed)
    assert "its size is unknown" in said and f"{guessed.limit:,} are taken to fit" in said and "can be sent" not in said
    assert "unknown window" in over_budget(unknown) and "its size is unknown" in window_full(9, unknown)
    assert [k(n) for n in (999, 1_000, 61_440)] == ["999", "1k", "61.4k"]
    s = Simulation()
    assert "window" not in refuse_fixed(s.view, s.ruler, b)
    assert ToolCall("a", "b", "{}").id == "a"


def test_three_steps_with_many_results_are_too_short_a_conversation_to_summarise() -> None:
    s = Simulation(claimed=40_000)
    words = "w" * 30_000
    assert s.turn(words, [["r" * 200] * 4, ["r" * 200] * 4]) == "done"
    s.append(UserSaid("n" * 76_000))
    assert s.budget.trigger <= measure(s.view, s.ruler).total < (s.budget.limit or 0)
    assert sum(item.role == "assistant" for item in s.view.items) == 3
    assert decide(s.view, s.ruler, s.budget, Place()) == Proceed()
    s.append(says("an answer", seen=s.view.last), UserSaid("more"))
    assert isinstance(decide(s.view, s.ruler, s.budget, Place()), Compact)


def test_what_a_mute_refusal_lets_one_guess_turns_no_message_away() -> None:
    s = Simulation(claimed=200_000, real=10, states_window=False)
    assert s.turn("hello " * 200, []) == "refused"
    asked = s.requests
    assert s.window.guessed
    assert s.turn("and again " * 200, []) == "refused"
    assert 1 <= s.requests - asked <= 2


def test_in_a_short_conversation_results_go_to_files_before_any_message_goes() -> None:
    s = Simulation(claimed=128_000)
    assert s.turn("read them", [["r" * 14_000] * 10]) == "done"
    s.switch(40_000, real=40_000)
    s.append(UserSaid("and now?"))
    assert measure(s.view, s.ruler).total >= (s.budget.limit or 0)
    assert isinstance(decide(s.view, s.ruler, s.budget, Place()), Spill)
