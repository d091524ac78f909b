"""Cut points: each rule by itself, then the cut that is chosen."""

from __future__ import annotations

import pytest

from compaction import cut
from compaction.cut import choose_cut, legal_cuts, spill_candidates
from compaction.records import Gate
from compaction.view import Item, Kind, View
from tests.compaction.build_log import (
    budget,
    calls,
    compacted,
    notice,
    pinned,
    returned,
    ruler,
    says,
    step_of,
    user,
    view_of,
)


def many(n: int) -> str:
    return "w " * n


def records(view: View, positions: tuple[int, ...]) -> list[int]:
    return [view.conversation[p].record for p in positions]


def a(step: int, *, thinking: str | None = None, called: tuple[str, ...] = ()) -> Item:
    made = calls(*called).calls
    return Item(step, Kind.ASSISTANT, "assistant", "t", "t", 1, step, calls=made, thinking=thinking)


def r(step: int, call: str) -> Item:
    return Item(step, Kind.TOOL, "tool", "t", "t", 1, step, call=call)


def test_a_tail_never_starts_with_a_result() -> None:
    items = (a(1, called=("x",)), r(2, "x"), a(3))
    assert [cut.starts_at_a_message(items, at) for at in (0, 1, 2)] == [True, False, True]


def test_a_call_before_the_cut_has_no_result_after_it() -> None:
    items = (a(1, called=("x",)), r(2, "x"), a(3))
    assert [cut.call_stays_with_results(items, at) for at in (0, 1, 2)] == [True, False, True]


def test_a_repeated_call_id_ties_no_distant_steps_together() -> None:
    view = view_of(user("go"), step_of("x"), step_of("x"), step_of("x"))
    assert records(view, legal_cuts(view)) == [3, 5, 7]


def test_a_parallel_group_is_not_cut_after_two_of_three() -> None:
    items = (a(1, called=("x", "y", "z")), r(2, "x"), r(3, "y"), r(4, "z"), a(5))
    assert [cut.group_stays_whole(items, at) for at in range(5)] == [True, False, False, False, True]


def test_signed_thinking_is_not_parted_from_what_its_call_waits_for() -> None:
    signed = (a(1, thinking="{}", called=("x",)), r(2, "x"), a(3))
    plain = (a(1, thinking="{}"), a(2))
    assert [cut.thinking_stays_with_call(signed, at) for at in (0, 1, 2)] == [True, False, True]
    assert cut.thinking_stays_with_call(plain, 1)


def test_no_tail_begins_with_a_summary() -> None:
    items = (a(1), Item(2, Kind.SUMMARY, "user", "s", "s", 0, 0), a(3))
    assert [cut.outside_a_summary(items, at) for at in (0, 1, 2)] == [True, False, True]


def test_legal_cuts_start_after_the_last_tails_start() -> None:
    view = view_of(user("go"), step_of("a"), step_of("b"), step_of("c"), compacted(5), step_of("d"))
    assert view.prefix_from == 5
    assert records(view, legal_cuts(view)) == [7, 10]


def test_after_an_emergency_the_prefix_starts_where_the_emergencys_did() -> None:
    emergency = compacted(7, "", gate=Gate.EMERGENCY, prefix_from=2)
    view = view_of(user("go"), step_of("a"), step_of("b"), step_of("c"), emergency, step_of("d"))
    chosen = choose_cut(view, ruler(), budget(), Gate.ASKED)
    assert chosen is not None
    assert chosen.prefix_from == 2
    assert records(view, legal_cuts(view)) == [7, 10]


def test_a_second_emergency_cuts_behind_the_first_or_not_at_all() -> None:
    emergency = compacted(7, "", gate=Gate.EMERGENCY, prefix_from=2)
    steps = user("go"), step_of("a"), step_of("b"), step_of("c", many(30_000)), emergency
    assert choose_cut(view_of(*steps), ruler(), budget(), Gate.EMERGENCY) is None
    chosen = choose_cut(view_of(*steps, step_of("d")), ruler(), budget(), Gate.EMERGENCY, room=100)
    assert chosen is not None
    assert (chosen.first_kept, chosen.prefix_from) == (10, 2)


def test_the_cut_is_the_first_legal_point_back_at_which_the_tail_holds_enough() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(6_000)) for n in range(10)])
    chosen = choose_cut(view, ruler(), budget(), Gate.PROACTIVE)
    assert chosen is not None
    # 20,000 tokens to keep: three steps of about 6,000 do not reach it, four do.
    assert (chosen.steps, chosen.first_kept) == (4, 15)
    assert chosen.prefix + chosen.tail == view.conversation
    assert chosen.tail_tokens == sum(map(ruler().item, chosen.tail))


def test_twenty_small_steps_are_a_tail() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}") for n in range(30)])
    chosen = choose_cut(view, ruler(), budget(), Gate.PROACTIVE)
    assert chosen is not None
    assert chosen.steps == 20


def test_an_automatic_cut_keeps_three_steps_while_they_fit() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(30_000)) for n in range(5)])
    chosen = choose_cut(view, ruler(), budget(), Gate.PROACTIVE)
    assert chosen is not None
    assert (chosen.steps, chosen.lowered) == (3, False)


def test_the_newest_message_takes_its_room_wherever_it_stands_but_as_primer_or_pin() -> None:
    """It stays behind the summary when the cut is after it, so a tail has that much less room."""
    question = user(many(20_000))
    steps = [step_of(f"c{n}", many(30_000)) for n in range(5)]
    for room, bodies, fits in (
        (105_000, (user("go"), says("ok"), question, *steps), 2),
        (105_000, (question, *steps), 3),
        (105_000, (user("go"), says("ok"), question, *steps, pinned(4)), 3),
        (105_000, (user("go"), *steps[:2], question, *steps[2:]), 2),
        (105_000, (user("go"), *steps, question), 2),
        (111_000, (user("go"), *steps, question), 3),  # in the tail it is counted once
    ):
        chosen = choose_cut(view_of(*bodies), ruler(), budget(), Gate.PRE_FLIGHT, room=room)
        assert chosen is not None
        assert (chosen.steps, chosen.lowered) == (fits, fits < 3), (room, bodies[-1])


def test_how_much_too_much_is_left_is_told_exactly() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(30_000)) for n in range(5)])
    one, three = (sum(map(ruler().item, view.conversation[at:])) for at in (-2, -6))
    for room, beyond, excess in ((three, 0, 0), (one, 0, three - one), (one - 1, 1, three - one + 1)):
        chosen = choose_cut(view, ruler(), budget(), Gate.PRE_FLIGHT, room=room)
        assert chosen is not None
        assert (chosen.beyond, chosen.excess) == (beyond, excess)


@pytest.mark.parametrize(("room", "steps"), [(100_000, 3), (70_000, 2), (40_000, 1), (10, 1)])
def test_steps_that_do_not_fit_leave_the_floor_but_never_the_last(room: int, steps: int) -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(30_000)) for n in range(5)])
    chosen = choose_cut(view, ruler(), budget(), Gate.PRE_FLIGHT, room=room)
    assert chosen is not None
    assert (chosen.steps, chosen.lowered) == (steps, steps < 3)


def test_a_user_who_asks_gets_a_compaction_from_two_steps_on() -> None:
    view = view_of(user("go"), step_of("a"), step_of("b"))
    chosen = choose_cut(view, ruler(), budget(), Gate.ASKED)
    assert chosen is not None
    assert (chosen.steps, chosen.first_kept) == (1, 5)


def test_when_asked_at_most_half_of_the_conversation_stays() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(100)) for n in range(10)])
    chosen = choose_cut(view, ruler(), budget(), Gate.ASKED)
    assert chosen is not None
    assert chosen.tail_tokens <= sum(map(ruler().item, view.conversation)) // 2
    assert chosen.steps == 5 or chosen.steps == 4


def test_one_step_is_nothing_to_compact() -> None:
    assert choose_cut(view_of(user("go"), step_of("a")), ruler(), budget(), Gate.ASKED) is None
    assert choose_cut(view_of(user("go"), says("hi"), user("more")), ruler(), budget(), Gate.ASKED) is None
    assert choose_cut(View(), ruler(), budget(), Gate.ASKED) is None


def test_a_prefix_of_nothing_but_primer_and_pins_gives_nothing() -> None:
    view = view_of(user("go"), says("pinned words"), says("last"), pinned(3))
    assert choose_cut(view, ruler(), budget(), Gate.ASKED) is None


def test_a_small_conversation_is_no_proactive_cut_but_makes_room_before_a_refusal() -> None:
    view = view_of(user("go"), *[step_of(f"c{n}", many(100)) for n in range(6)])
    assert choose_cut(view, ruler(), budget(), Gate.PROACTIVE) is None
    chosen = choose_cut(view, ruler(), budget(), Gate.REACTIVE)
    assert chosen is not None
    assert chosen.steps == 3


def test_up_to_a_record_cuts_at_the_nearest_legal_point_from_there() -> None:
    view = view_of(user("go"), step_of("a"), step_of("b"), step_of("c"))
    cuts = [choose_cut(view, ruler(), budget(), Gate.ASKED, up_to=n) for n in (3, 4, 5, 6, 7, 8)]
    assert [c.first_kept if c else None for c in cuts] == [5, 5, 5, 7, 7, None]


def test_a_text_only_conversation_can_be_cut() -> None:
    talk = [body for n in range(10) for body in (user(f"q{n}"), says(many(500)))]
    chosen = choose_cut(view_of(*talk), ruler(), budget(4_096), Gate.PROACTIVE)
    assert chosen is not None
    assert chosen.steps == 3


def test_a_message_steered_into_a_group_does_not_part_it() -> None:
    view = view_of(user("go"), calls("x", "y"), returned("x"), user("faster", how="steered"), returned("y"), says("ok"))
    assert [i.role for i in view.conversation] == ["user", "assistant", "tool", "tool", "user", "assistant"]
    assert records(view, legal_cuts(view)) == [3, 5, 7]


def test_the_largest_live_results_are_offered_for_spilling_first() -> None:
    big, huge = "x" * 5_000 + many(4_000), "y" * 9_000 + many(8_000)
    view = view_of(user("go"), step_of("a", huge), step_of("b", big), step_of("c"), notice("n"), step_of("d", huge))
    found = spill_candidates(view, ruler())
    assert [s.record for s in found] == [4, 11, 6]
    assert [s.record for s in spill_candidates(view, ruler(), newest_steps=1)] == [11]
    assert found[0].freed < found[0].tokens


def test_pinned_pruned_and_spilled_results_are_not_offered() -> None:
    from tests.compaction.build_log import pruned

    huge = "y" * 9_000 + many(8_000)
    steps = [step_of(c, huge) for c in "abc"]
    view = view_of(user("go"), *steps, calls("d"), returned("d", huge, spilled="d.txt"), pinned(4), pruned(6))
    assert [s.record for s in spill_candidates(view, ruler())] == [8]
