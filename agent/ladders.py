"""The ladders of a session's requests, kept so that each record costs only what it added.

Not a ladder's meaning (that is `compaction.cache`), and no state: all of it can be made anew from the log.

Invariants
 1. `now` and `sent` give what `cache.ladder` gives for the same view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from compaction import cache
from compaction.records import AssistantSaid, Record
from compaction.tokens import Ruler
from compaction.view import Item, View, fold, step

# Ladders of answered requests that are kept: the meter compares the last with the one before it.
KEPT = 2


@dataclass
class Ladders:
    """The ladder of the view as it stands, and those of the last requests that were answered."""

    ruler: Ruler
    _newest: tuple[tuple[Item, ...], cache.Ladder] | None = None
    _latest: tuple[tuple[Item, ...], cache.Ladder] | None = None
    _sent: dict[int, cache.Ladder] = field(default_factory=dict)
    _first: tuple[int, cache.Ladder] | None = None
    _walked: View = field(default_factory=View)
    _to: int = 0

    def now(self, view: View) -> cache.Ladder:
        """The ladder of the request this view would be sent as."""
        found = cache.ladder(view, self.ruler, self._newest)
        self._newest = (view.items, found)
        return found

    def sent(self, records: Sequence[Record], reply: Record) -> cache.Ladder:
        """The ladder of the request that `reply`, one of the log's `records`, answered."""
        found = self._sent.get(reply.id)
        if found is None:
            view = self.view_of(records, reply)
            found = self._sent[reply.id] = cache.ladder(view, self.ruler, self._latest)
            self._latest = (view.items, found)
            for old in sorted(self._sent)[:-KEPT]:
                if old != reply.id:
                    del self._sent[old]
        return found

    def first(self, records: Sequence[Record], reply: Record) -> cache.Ladder:
        """The same for a reply near the log's beginning, which is asked about again and again."""
        if self._first is None or self._first[0] != reply.id:
            assert isinstance(reply.body, AssistantSaid)
            view = fold(records[: up_to(records, reply.body.seen)])
            self._first = (reply.id, cache.ladder(view, self.ruler))
        return self._first[1]

    def view_of(self, records: Sequence[Record], reply: Record) -> View:
        """The view that `reply`'s request was made from, rewound since or not."""
        assert isinstance(reply.body, AssistantSaid)
        seen = reply.body.seen
        if seen < self._to:
            self._walked, self._to = View(), 0
        for record in records[up_to(records, self._to) : up_to(records, seen)]:
            self._walked = step(self._walked, record)
        self._to = seen
        return self._walked


def up_to(records: Sequence[Record], id: int) -> int:
    """How many records are numbered `id` or less."""
    return bisect_right(records, id, key=lambda record: record.id)
