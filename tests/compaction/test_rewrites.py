"""Cuts and prunes of any session the program could have written."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.budget import Budget
from compaction.cut import Cut, choose_cut, legal_cuts, spill_candidates
from compaction.facts import fact_sheet
from compaction.prune import PROTECTED_STEPS, PROTECTED_TURNS, plan_prune
from compaction.records import Compacted, Gate, Pruned, Record
from compaction.summary import Prompts, SummaryRequest, build_request
from compaction.tokens import estimate
from compaction.view import View, step
from tests.compaction.arbitrary_logs import Session, check_valid, orderly_sessions
from tests.compaction.build_log import budget, ruler

FEW = settings(max_examples=80, deadline=None)
_GATES = st.sampled_from(list(Gate))
_BUDGETS = st.sampled_from([budget(), budget(32_000), budget(4_096), budget(None), budget(1_000_000)])
_ROOMS = st.none() | st.integers(0, 60_000)


def parts_are_valid(cut: Cut) -> None:
    """Both sides of a cut are conversations by themselves: no result on one side of its call."""
    for side in (cut.prefix, cut.tail):
        waiting: list[str] = []
        for item in side:
            if item.role == "tool":
                assert waiting
                assert item.call == waiting.pop(0)
            else:
                assert not waiting
                waiting = [call.id for call in item.calls]
        assert not waiting


def committed(view: View, cut: Cut, summary: str = "## Goal\ng", gate: Gate = Gate.ASKED) -> View:
    body = Compacted(summary, "", cut.first_kept, cut.prefix_from, None, "", gate, 0, 0, "")
    return step(view, Record(10_000, 0.0, body))


@FEW
@given(orderly_sessions, _GATES, _BUDGETS, _ROOMS)
def test_every_cut_is_legal_and_keeps_a_step(session: Session, gate: Gate, chosen: Budget, room: int | None) -> None:
    view = session.view
    cut = choose_cut(view, ruler(), chosen, gate, room=room)
    if cut is None:
        return
    assert cut.position in legal_cuts(view)
    parts_are_valid(cut)
    assert cut.prefix
    assert cut.steps == sum(i.role == "assistant" for i in cut.tail) >= 1
    assert cut.prefix + cut.tail == view.conversation[-len(cut.prefix + cut.tail) :]
    assert cut.tail == view.tail[len(view.tail) - len(cut.tail) :]
    assert cut.tail_tokens == ruler().items(cut.tail)


@FEW
@given(orderly_sessions, _GATES)
def test_a_committed_cut_keeps_exactly_its_tail_and_the_next_prefix_starts_there(session: Session, gate: Gate) -> None:
    cut = choose_cut(session.view, ruler(), budget(), gate)
    if cut is None:
        return
    after = committed(session.view, cut, gate=gate)
    check_valid(after)
    assert after.tail == cut.tail
    again = choose_cut(after, ruler(), budget(), Gate.ASKED)
    if again is not None:
        covered = again.prefix[0].record
        assert covered == (cut.prefix_from if gate is Gate.EMERGENCY else cut.first_kept)


@FEW
@given(orderly_sessions)
def test_two_compactions_pass_every_item_before_the_second_cut_to_a_summariser(session: Session) -> None:
    view = session.view
    first = choose_cut(view, ruler(), budget(), Gate.ASKED)
    if first is None:
        return
    second = choose_cut(committed(view, first), ruler(), budget(), Gate.ASKED)
    if second is None:
        return
    start = next(n for n, i in enumerate(view.conversation) if i is first.prefix[0])
    assert first.prefix + second.prefix == view.conversation[start : second.position]


@FEW
@given(orderly_sessions)
def test_a_user_who_asks_keeps_at_most_half_unless_one_step_is_more(session: Session) -> None:
    view = session.view
    cut = choose_cut(view, ruler(), budget(), Gate.ASKED)
    if cut is not None and cut.steps > 1:
        assert cut.tail_tokens <= ruler().items(view.tail) // 2


@FEW
@given(orderly_sessions, _GATES, _ROOMS)
def test_a_cut_fits_its_room_unless_nothing_smaller_is_legal(session: Session, gate: Gate, room: int | None) -> None:
    view = session.view
    cut = choose_cut(view, ruler(), budget(), gate, room=room)
    if cut is None or room is None or cut.tail_tokens <= room:
        return
    later = [p for p in legal_cuts(view) if p > cut.position]
    assert all(not any(i.role == "assistant" for i in view.conversation[p:]) for p in later)


@FEW
@given(orderly_sessions, st.booleans(), st.booleans(), st.booleans(), st.booleans(), _BUDGETS)
def test_a_prune_touches_nothing_protected_and_frees_what_it_says(
    session: Session, inside: bool, asked: bool, every: bool, force: bool, chosen: Budget
) -> None:
    view = session.view
    plan = plan_prune(view, ruler(), chosen, inside_turn=inside, asked=asked, every=every, force=force)
    assert (plan.why_nothing is None) == bool(plan.records)
    if not plan.records:
        assert (plan.rows, plan.freed) == ((), 0)
        return
    newest = view.conversation[-1]
    items = {i.record: i for i in view.tail if i.role == "tool"}
    for record in plan.records:
        item = items[record]
        assert item.state == "live"
        assert record not in view.pins
        if inside and not asked:
            assert item.turn < newest.turn or item.step <= newest.step - PROTECTED_STEPS
        else:
            assert item.turn <= newest.turn - PROTECTED_TURNS
    kept = [i for r, i in items.items() if i.state == "live" and r not in plan.records]
    after_last = [i for i in kept if view.tail.index(i) > view.tail.index(items[plan.records[-1]])]
    if not every:
        unprotected = [i for i in after_last if _may_go(i, newest.turn, newest.step, inside and not asked)]
        assert ruler().items(unprotected) <= chosen.prune_protect
    assert force or plan.freed >= chosen.prune_minimum
    assert all(row.freed > 0 for row in plan.rows)
    after = step(view, Record(10_000, 0.0, Pruned(plan.records, "pruned", Gate.ASKED, 0, 0)))
    assert estimate(view, ruler()) - estimate(after, ruler()) == plan.freed > 0


def _may_go(item: object, turn: int, last: int, inside: bool) -> bool:
    from compaction.view import Item

    assert isinstance(item, Item)
    if inside:
        return item.turn < turn or item.step <= last - PROTECTED_STEPS
    return item.turn <= turn - PROTECTED_TURNS


@FEW
@given(orderly_sessions)
def test_a_spill_frees_what_it_says_and_is_offered_once(session: Session) -> None:
    view = session.view
    offered = spill_candidates(view, ruler())
    assert [s.freed for s in offered] == sorted((s.freed for s in offered), reverse=True)
    if not offered:
        return
    body = Pruned((offered[0].record,), "spilled", Gate.PROACTIVE, 0, 0)
    after = step(view, Record(10_000, 0.0, body))
    assert estimate(view, ruler()) - estimate(after, ruler()) == offered[0].freed
    assert offered[0].record not in [s.record for s in spill_candidates(after, ruler())]


@FEW
@given(orderly_sessions, st.integers(500, 20_000), st.integers(0, 400))
def test_requests_and_sheets_of_any_session_stay_in_their_bounds(session: Session, characters: int, cap: int) -> None:
    cut = choose_cut(session.view, ruler(), budget(), Gate.ASKED)
    if cut is None:
        return
    prompts = Prompts("system", "first", "update", "here")
    built = build_request(
        cut, session.view, prompts, focus="focus", previous_summary="## Goal\nold", cap_tokens=10, characters=characters
    )
    if isinstance(built, SummaryRequest):
        assert built.characters <= characters
        assert "## Goal\nold" in built.user_text
        assert built.user_text.endswith("update\n\nAdditional focus\nfocus")
    assert ruler().count(fact_sheet(session.view, cut, "", ruler(), cap)) <= cap
