"""Whether user and assistant take turns is read from the log, and the ladder knows where that changes a request."""

from __future__ import annotations

from collections.abc import Sequence

from compaction.cache import Break, cause, equal_items, ladder
from compaction.records import Body, Noted, Record, SettingsChanged, UserSaid
from compaction.tokens import Ruler
from compaction.turns import alternates, seams
from compaction.view import View, fold
from tests.agent.record_examples import returned, says, started

TALK = (UserSaid("a"), says("", "c"), returned("c"), Noted("told", "steps", to_model=True), UserSaid("b"), says("d"))
KEPT = SettingsChanged(alternate=True)
LEFT = SettingsChanged(alternate=False)


def view_of(*bodies: Body, alternate: bool = False) -> View:
    all_: Sequence[Body] = (started(alternate=alternate), *bodies)
    return fold([Record(n, 0.0, body) for n, body in enumerate(all_, 1)])


def test_the_first_record_says_it_until_a_later_one_says_otherwise() -> None:
    assert not alternates(view_of())
    assert alternates(view_of(alternate=True))
    assert alternates(view_of(KEPT, SettingsChanged(budget="20k")))
    assert not alternates(view_of(KEPT, LEFT))
    assert not alternates(view_of(SettingsChanged(alternate=False), alternate=True))


def test_a_user_message_is_joined_to_one_before_it_and_kept_off_a_result() -> None:
    items = view_of(*TALK).items
    assert [item.role for item in items] == ["user", "assistant", "tool", "user", "user", "assistant"]
    assert seams(items, 0, on=True) == ("", "", "", "bridged", "joined", "")
    assert seams(items, 4, on=True) == ("joined", "")
    assert seams(items, 0, on=False) == ("",) * 6


def test_the_ladder_breaks_where_the_first_message_changes_and_says_why() -> None:
    ruler = Ruler(len)
    before, after = view_of(*TALK), view_of(*TALK, KEPT)
    one, other = ladder(before, ruler), ladder(after, ruler)
    assert equal_items(one, other) == 3
    assert cause(one, other, after.records) == Break(3, "turns kept")
    back = view_of(*TALK, KEPT, LEFT)
    assert cause(other, ladder(back, ruler), back.records) == Break(3, "turns no longer kept")


def test_where_nothing_stands_in_a_row_keeping_turns_breaks_nothing() -> None:
    ruler = Ruler(len)
    talk = (UserSaid("a"), says("b"), UserSaid("c"))
    one, after = ladder(view_of(*talk), ruler), view_of(*talk, KEPT)
    assert cause(one, ladder(after, ruler), after.records) is None


def test_a_ladder_grown_from_one_of_before_is_the_one_made_anew() -> None:
    ruler = Ruler(len)
    before, after = view_of(*TALK[:4]), view_of(*TALK, KEPT)
    assert ladder(after, ruler, (before.items, ladder(before, ruler))) == ladder(after, ruler)
    kept = view_of(*TALK[:4], alternate=True)
    grown = view_of(*TALK, alternate=True)
    assert ladder(grown, ruler, (kept.items, ladder(kept, ruler))) == ladder(grown, ruler)
