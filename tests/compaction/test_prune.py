"""Pruning: what is protected, what is kept, what goes, and why nothing does."""

from __future__ import annotations

import pytest

from compaction.errors import BadTarget
from compaction.prune import plan_prune
from compaction.records import Body
from tests.compaction.build_log import (
    budget,
    calls,
    compacted,
    pinned,
    pruned,
    returned,
    ruler,
    says,
    step_of,
    user,
    view_of,
)


def many(n: int) -> str:
    return "w " * n


def turn(text: str, *sizes: int) -> list[Body]:
    """A turn: the user's message, a step for each size, a closing answer."""
    steps = [body for n, size in enumerate(sizes) for body in step_of(f"{text}{n}", many(size))]
    return [user(text), *steps, says("done")]


# B = 160,000: kept up to 40,000, minimum 20,000.
BUDGET = budget()


def test_the_result_that_crosses_the_kept_line_and_all_older_ones_go() -> None:
    view = view_of(*turn("a", 15_000, 15_000, 15_000, 15_000, 15_000), *turn("b", 9), *turn("c", 9))
    plan = plan_prune(view, ruler(), BUDGET, inside_turn=False)
    # Two newest of turn a are kept (30,000), the third crosses 40,000.
    assert plan.records == (4, 6, 8)
    assert plan.freed == sum(s.freed for s in plan.rows)
    assert 44_000 < plan.freed < 45_012
    assert plan.why_nothing is None


def test_the_last_two_turns_are_protected_at_a_turns_start() -> None:
    view = view_of(*turn("a", 50_000, 50_000), user("b"))
    plan = plan_prune(view, ruler(), BUDGET, inside_turn=False)
    assert plan.records == ()
    assert "protected" in (plan.why_nothing or "")
    view = view_of(*turn("a", 50_000, 50_000), *turn("b", 9), user("c"))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == (4, 6)


def test_inside_a_turn_its_newest_three_steps_are_protected() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(50_000)) for n in range(5)])
    assert plan_prune(view, ruler(), BUDGET, inside_turn=True).records == (4, 6)
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == ()


def test_inside_a_turn_results_of_older_turns_may_go() -> None:
    view = view_of(*turn("a", 50_000, 50_000), user("b"), step_of("x", many(50_000)))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=True).records == (4, 6)
    assert plan_prune(view, ruler(), BUDGET, inside_turn=True, asked=True).records == ()


def test_too_little_is_not_pruned_unless_forced() -> None:
    view = view_of(*turn("a", 19_000, 39_000), *turn("b", 9), *turn("c", 9))
    plan = plan_prune(view, ruler(), BUDGET, inside_turn=False)
    assert plan.records == ()
    assert "18,9" in (plan.why_nothing or "")
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False, force=True).records == (4,)


def test_exactly_the_kept_line_is_kept() -> None:
    # A result of 39,996 words counts 40,000 with its message's 4.
    view = view_of(*turn("a", 30_000, 39_996), *turn("b"), *turn("c"))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == (4,)
    view = view_of(*turn("a", 30_000, 39_997), *turn("b"), *turn("c"))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == (4, 6)


def test_all_ignores_the_kept_line_but_not_protected_turns() -> None:
    view = view_of(*turn("a", 15_000, 15_000), *turn("b", 50_000), *turn("c", 9))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, every=True).records == (4, 6)


def test_what_is_pruned_spilled_or_pinned_is_neither_pruned_nor_counted() -> None:
    steps = [step_of(f"c{n}", many(30_000)) for n in range(4)]
    done = calls("s"), returned("s", many(30_000), spilled="s.txt")
    rewrites = pinned(4), pruned(6)
    view = view_of(user("a"), *steps, done, *turn("b"), *turn("c"), *rewrites)
    # Left alive: 8 and 10; 10 alone is within the line, 8 crosses it.
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == (8,)


def test_a_result_no_larger_than_its_placeholder_stays() -> None:
    view = view_of(user("a"), step_of("x", "ok"), step_of("y", many(30_000)), *turn("b"), *turn("c"))
    plan = plan_prune(view, ruler(), BUDGET, inside_turn=False, every=True)
    assert plan.records == (6,)


def test_what_a_compaction_swallowed_is_in_no_plan() -> None:
    view = view_of(*turn("a", 50_000), *turn("b", 50_000), *turn("c"), *turn("d"), compacted(6))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False).records == (8,)
    with pytest.raises(BadTarget, match="compaction"):
        plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, records=(4,))


def test_named_records_ignore_line_and_turns_but_not_the_minimum() -> None:
    view = view_of(user("go"), step_of("x", many(30_000)), step_of("y", many(100)))
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, records=(4,)).records == (4,)
    assert plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, records=(6,)).records == ()
    forced = plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, records=(6, 4, 6), force=True)
    assert forced.records == (4, 6)


@pytest.mark.parametrize(
    ("record", "why"),
    [(99, "no such record"), (2, "not a tool result"), (4, "pinned"), (6, "pruned already"), (8, "spilled already"),
     (10, "placeholder"), (11, "answers no call")],
)  # fmt: skip
def test_a_named_record_that_cannot_be_pruned_is_refused_with_the_reason(record: int, why: str) -> None:
    view = view_of(
        user("go"),
        step_of("x", many(30_000)),
        step_of("y", many(30_000)),
        step_of("z", many(30_000), spilled="z.txt"),
        step_of("t", "ok"),
        returned("nobody", many(30_000)),
        pinned(4),
        pruned(6),
    )
    with pytest.raises(BadTarget, match=why) as caught:
        plan_prune(view, ruler(), BUDGET, inside_turn=False, asked=True, records=(record,))
    assert caught.value.record == record
    assert str(caught.value) == f"record {record}: {caught.value.why}"


def test_the_caps_by_the_budget_hold_on_small_windows() -> None:
    small = budget(8_192)
    assert small.prune_protect < 1_700
    assert small.prune_minimum < 900
    view = view_of(*turn("a", 1_000, 1_000, 1_000), *turn("b"), *turn("c"))
    assert plan_prune(view, ruler(), small, inside_turn=False).records == (4, 6)


def test_each_reason_for_pruning_nothing_is_the_true_one() -> None:
    older, newer = turn("a", 50_000), [*turn("b", 9), *turn("c", 9)]
    for bodies, why in (
        ([user("a"), says("b")], "there are no tool results in the view"),
        (newer, "all tool results are recent enough to be protected"),
        ([*older, *newer, pinned(4)], "every older tool result is pruned, spilled or pinned already"),
        (
            [*turn("a", 500), *newer],
            "the older tool results come to 504 tokens, and 40,000 are kept unless all are asked for",
        ),
    ):
        assert (plan_prune(view_of(*bodies), ruler(), BUDGET, inside_turn=False).why_nothing or "").startswith(why)
