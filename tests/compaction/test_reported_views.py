"""Public reports about other agents, as small inputs to the engine: windows, meter, rules, pairs (20 to 54)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from compaction.budget import Policy, Window, budget_for
from compaction.cut import Cut, choose_cut
from compaction.gates import Place
from compaction.records import (
    AssistantSaid,
    Compacted,
    Gate,
    Noted,
    SettingsChanged,
    Usage,
    UserSaid,
    WindowSource,
)
from compaction.tokens import measure
from compaction.view import NESTED, NO_RESULT, View
from tests.compaction.build_log import calls, returned
from tests.compaction.simulation import (
    PROMPTS,
    Simulation,
    check_pairs,
    drops_everything,
    short_summary,
)


def test_case_23_a_budget_above_the_model_is_cut_to_the_limit_and_says_who_said_so() -> None:
    b = budget_for(Window(32_000, None, WindowSource.CATALOGUE), Policy("200k"))
    assert b.budget == b.limit == 28_000
    assert b.trigger < b.budget


def test_case_22_a_window_of_unknown_size_has_no_limit_and_no_percentage_of_nothing() -> None:
    b = budget_for(Window(None), Policy("min(200k, 80%)"))
    assert (b.limit, b.budget, b.trigger) == (None, 200_000, 183_616)


def test_case_25_and_53_a_budget_is_what_was_written_whatever_the_window() -> None:
    assert budget_for(Window(400_000), Policy("250k")).budget == 250_000
    for tokens in (128_000, 200_000, 1_000_000):
        assert budget_for(Window(tokens), Policy("100000")).budget == 100_000


def test_case_27_the_size_is_the_last_request_not_the_sum_of_all() -> None:
    s = Simulation()
    for _ in range(3):
        s.turn("hello there", [])
    body = s.log[-1].body
    assert isinstance(body, AssistantSaid) and body.usage is not None
    assert measure(s.view, s.ruler).total == body.usage.context


def test_case_28_a_switch_to_a_model_that_counts_less_is_never_negative() -> None:
    s = Simulation(factor=2.0)
    s.turn("hello " * 500, [["r" * 1_000]])
    s.append(SettingsChanged(model="other"))
    size = measure(s.view, s.ruler)
    assert size.known == 0 and size.estimated > 0


def test_case_29_after_a_compaction_the_size_is_smaller_at_once_and_not_exact() -> None:
    s = Simulation(claimed=32_000)
    while not any(isinstance(r.body, Compacted) for r in s.log):
        s.turn("question " * 300, [["r" * 4_000]] * 3)
    at = next(r.id for r in s.log if isinstance(r.body, Compacted))
    before, after = View(tuple(s.log[: at - 1])), View(tuple(s.log[:at]))
    assert measure(after, s.ruler).total < measure(before, s.ruler).total
    assert not measure(after, s.ruler).exact


def test_case_31_at_the_trigger_while_idle_the_next_prompt_compacts_before_it_is_sent() -> None:
    s = Simulation(claimed=32_000)
    while measure(s.view, s.ruler).total < s.budget.trigger:
        s.turn("question", [], "answer " * 1_000)
    assert not any(isinstance(r.body, Compacted) for r in s.log)
    sent = s.requests
    s.turn("next", [])
    first = next(r.id for r in s.log if isinstance(r.body, Compacted))
    replies = [r.id for r in s.log if isinstance(r.body, AssistantSaid)]
    assert first < replies[-1] and s.requests == sent + 1


def test_case_38_the_newest_message_is_whole_and_last_of_the_users_after_a_compaction_in_its_middle() -> None:
    s = Simulation(claimed=16_000)
    s.turn("do X", [["r" * 2_000]] * 2)
    assert s.turn("now do Y, carefully", [["r" * 300]] * 25, "thinking aloud " * 120) == "done"
    assert any(isinstance(r.body, Compacted) for r in s.log)
    own = [i for i in s.view.items if i.kind == "user"]
    assert own[-1].text == "now do Y, carefully"


def test_case_37_the_projects_rules_are_in_every_view_and_in_no_summary_request() -> None:
    s = Simulation(claimed=16_000)
    s.append(Noted("Always write tests first.", NESTED, to_model=True))
    for n in range(12):
        s.turn(f"part {n}", [["r" * 400]], "a " * 900)
    assert s.compactions()
    assert sum(i.text == "Always write tests first." for i in s.view.items) == 1
    assert all("tests first" not in request.user_text for request, _, _ in s.summary_requests)


def test_case_39_a_plan_of_turn_1_is_in_the_second_summarys_request_and_stays_word_for_word_when_pinned() -> None:
    def keeps(cut: Cut, view: View) -> str:
        plan = next((i.text for i in cut.prefix if "PLAN-7" in i.text), "")
        return f"## Goal\n- work\n## Decisions\n- {plan}" if plan else "## Goal\n- work\n## Done\n- more"

    s = Simulation(claimed=16_000, summariser=keeps)
    s.turn("make a plan", [], "PLAN-7: first the store, then the web")
    plan = next(r.id for r in s.log if isinstance(r.body, AssistantSaid))
    pinned = "the plan is settled: store before web"
    s.turn(pinned, [])
    assert s.pin(next(r.id for r in s.log if isinstance(r.body, UserSaid) and r.body.text == pinned))
    assert plan
    while len(s.compactions()) < 2:
        s.turn("go on", [["r" * 400]], "a " * 900)
    second, previous, _ = s.summary_requests[1]
    assert "PLAN-7: first the store, then the web" in previous
    assert previous in second.user_text
    assert "PLAN-7" in s.compactions()[-1].summary  # a section the reply leaves out is carried over
    assert pinned in "\n".join(i.text for i in s.view.items)


def test_case_40_a_summary_request_has_a_system_prompt_of_its_own_and_one_message() -> None:
    s = Simulation(claimed=16_000, system="You are a coding agent.")
    for n in range(18):
        s.turn(f"part {n}", [], "a " * 1_500)
    request, _, _ = s.summary_requests[0]
    assert request.system == PROMPTS.system
    assert "You are a coding agent." not in request.user_text
    assert request.user_text.startswith("<conversation>")


def test_case_41_a_cut_that_would_part_a_call_from_its_result_moves_to_a_legal_point() -> None:
    s = Simulation(claimed=16_000)
    for n in range(6):
        s.turn(f"part {n}", [["r" * 400]] * 3, "a " * 150)
    items = s.view.conversation
    for room in range(0, 3_000, 50):
        cut = choose_cut(s.view, s.ruler, s.budget, Gate.PRE_FLIGHT, room=room)
        assert cut is not None
        assert items[cut.position].role != "tool"
        assert not items[cut.position - 1].calls


def test_case_42_of_three_parallel_calls_none_is_cut_off() -> None:
    s = Simulation(claimed=16_000)
    for n in range(6):
        s.turn(f"part {n}", [["r" * 900, "r" * 900, "r" * 900]] * 2)
    for room in range(0, 4_000, 50):
        cut = choose_cut(s.view, s.ruler, s.budget, Gate.PRE_FLIGHT, room=room)
        assert cut is not None
        for part in (cut.prefix, cut.tail):
            calls = [c.id for i in part for c in i.calls]
            assert [i.call for i in part if i.role == "tool"] == calls


def test_case_43_a_call_that_was_killed_is_closed_and_a_compaction_works() -> None:
    s = Simulation(claimed=16_000)
    s.turn("first", [["r"]] * 3)
    s.append(UserSaid("run it"))
    assert s.request(["slow", "slower"], Place(), arrive=1) is None
    s.resume()
    closed = s.view.items[-1]
    assert closed.text == NO_RESULT and closed.failed
    assert s.ask_compact()
    check_pairs(s.view)


def test_case_44_a_signed_thinking_block_stays_unchanged_with_its_call_in_the_tail() -> None:
    s = Simulation(claimed=16_000)
    for n in range(4):
        s.turn(f"part {n}", [["r" * 100]], "a " * 400)
    s.append(UserSaid("think"))
    signed = '[{"type":"thinking","thinking":"hm","signature":"c2ln"}]'
    s.append(replace(calls("t1", thinking=signed), seen=s.view.last), returned("t1", "found"))
    s.append(UserSaid("and?"))
    assert s.ask_compact()
    kept = [i for i in s.view.items if i.thinking]
    assert [i.thinking for i in kept] == [signed]
    at = s.view.items.index(kept[0])
    assert s.view.items[at + 1].call == "t1"


def test_case_50_no_record_of_a_hundred_compactions_holds_the_conversation() -> None:
    s = Simulation(claimed=8_192)
    while sum(isinstance(r.body, Compacted) for r in s.log) < 100:
        assert s.turn("go on with the work", [["r" * 100]] * 3, "an answer " * 300) == "done"
    largest = max(len(r.body.summary + r.body.fact_sheet) for r in s.log if isinstance(r.body, Compacted))
    assert largest < 4 * (s.budget.summary_cap + s.budget.fact_cap)


def test_case_51_with_automatic_off_an_overflow_ends_the_turn_without_a_rewrite() -> None:
    s = Simulation(claimed=100_000, real=9_000, automatic=False)
    ended = s.turn("go", [["r" * 6_000]] * 8)
    assert ended == "refused"
    assert not s.rewrites() and s.summary_calls == 0
    assert "automatic" in s.refusals[-1].text


def test_case_54_cache_writes_are_counted_once_in_their_own_bucket() -> None:
    usage = Usage(uncached=10, cache_read=70, cache_write=20, output=5)
    assert (usage.input, usage.context) == (100, 105)


def test_steered_and_typed_messages_of_a_running_turn_do_not_reset_the_reactive_retry() -> None:
    s = Simulation(claimed=200_000, real=10, states_window=False)
    s.append(UserSaid("first"))
    s.pass_gates(Place())
    s.learn(None, 100, 100, None)
    s.append(UserSaid("and this", "steered"))
    s.learn(None, 100, 100, None)
    assert s.pass_gates(Place()) is None


def test_a_budget_of_12k_on_100k_keeps_a_turn_of_twelve_results_near_the_trigger() -> None:
    s = Simulation(claimed=100_000, rule="12k")
    assert s.turn("read them all", [["r" * 5_000]] * 12) == "done"
    sizes = [measure(v, s.ruler).total for v in s.sent]
    assert max(sizes) <= s.budget.budget
    assert s.rewrites()


def test_a_summary_that_drops_everything_still_leaves_files_and_recall_in_the_view() -> None:
    s = Simulation(claimed=16_000, summariser=drops_everything)
    while not any(isinstance(r.body, Compacted) for r in s.log):
        s.turn("go", [["r" * 3_000]] * 4)
    text = "\n".join(i.text for i in s.view.items)
    assert "recall" in text and ".py" in text


def test_short_summaries_keep_every_automatic_gate_apart_on_large_windows() -> None:
    s = Simulation(claimed=128_000, summariser=short_summary)
    for _ in range(30):
        s.turn("work", [["r" * 30_000]] * 6)
    steps_at: list[int] = []
    steps = 0
    for r in s.log:
        if isinstance(r.body, AssistantSaid):
            steps += 1
        elif isinstance(r.body, Compacted):
            steps_at.append(steps)
    assert all(b - a > 3 for a, b in pairwise(steps_at))
