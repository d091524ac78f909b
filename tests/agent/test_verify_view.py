"""What is said of a view that the fold would never give: items taken out of it, doubled or changed by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from agent.verify.view import invalid
from compaction.records import Compacted, Gate, Pinned, Pruned, Record, UserSaid
from compaction.view import Item, View
from tests.agent.record_examples import returned, says, started

BODIES = (
    started(), UserSaid("first"), says("", "a"), returned("a", "one"), says("ok"), UserSaid("second"), says("", "b"),
    returned("b", "two"), says("ok"), UserSaid("third"), says("", "c"), returned("c", "three"), Pinned(4),
    Pruned((12,), "pruned", Gate.ASKED, 900, 800), Compacted("## Goal\nx", "", 11, 2, None, "", Gate.ASKED, 9, 5, ""),
)  # fmt: skip

Change = Callable[[Item], tuple[Item, ...]]


def view(change: Change) -> View:
    """The view of that log, its items put through a change: primer, pins, summary, newest message, call, result."""
    made = View(tuple(Record(n, 0.0, body) for n, body in enumerate(BODIES, 1)))
    assert [i.record for i in made.items] == [2, 4, 15, 10, 11, 12]
    made.__dict__["items"] = tuple(new for item in made.items for new in change(item))
    return made


def only(record: int, change: Change) -> Change:
    return lambda item: change(item) if item.record == record else (item,)


def test_the_view_as_it_is_lacks_nothing() -> None:
    assert list(invalid(view(lambda item: (item,)))) == []


@pytest.mark.parametrize(
    ("record", "change", "says_so"),
    [
        (12, lambda i: (), "has a call without its result (record 11, c)"),
        (12, lambda i: (i, i), "has a result without its call (record 12)"),
        (11, lambda i: (), "has a result without its call (record 12)"),
        (12, lambda i: (replace(i, text="three"),), "shows record 12 again, which was pruned"),
        (2, lambda i: (), "lacks the session's first message"),
        (2, lambda i: (replace(i, text="fir"),), "lacks the session's first message, word for word"),
        (10, lambda i: (), "lacks the user's newest message, word for word"),
        (10, lambda i: (replace(i, text="thi"),), "lacks the user's newest message, word for word"),
        (4, lambda i: (), "lacks the pinned record 4"),
    ],
)
def test_what_is_wrong_is_said(record: int, change: Change, says_so: str) -> None:
    assert list(invalid(view(only(record, change)))) == [says_so]
