"""The ladders of a session's requests, kept so that each record costs only what it added.

Not a ladder's meaning (that is `compaction.cache`), and no state: all of it can be made anew from the log.

Invariants
 1. `now` and `sent` give what `cache.ladder` gives for the same view.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from compaction import cache
from compaction.records import AssistantSaid, Record, Reloaded
from compaction.tokens import Ruler
from compaction.view import Item, View, fold, step

# Ladders of answered requests that are kept: the meter compares the last with the one before it.
KEPT = 2

# Views with their ladders that are kept as the session goes: the next reply answers one of the newest. A step's calls
# and notices come between, each with a view of its own.
RECENT = 16

# Records from which on a view is made anew rather than grown one by one.
FAR = 64


@dataclass(slots=True)
class _Oldest:
    """The first reply with usage from `model` since the fixed part was last reloaded, over `read` leading records."""

    model: str
    read: int = 0
    reply: Record | None = None


@dataclass
class Ladders:
    """The ladder of the view as it stands, and those of the last requests that were answered."""

    ruler: Ruler
    _newest: tuple[tuple[Item, ...], cache.Ladder] | None = None
    _latest: tuple[tuple[Item, ...], cache.Ladder] | None = None
    _sent: dict[int, cache.Ladder] = field(default_factory=dict)
    _first: tuple[int, cache.Ladder] | None = None
    _recent: dict[int, tuple[View, cache.Ladder]] = field(default_factory=dict)
    _oldest: _Oldest = field(default_factory=lambda: _Oldest(""))
    _walked: View = field(default_factory=View)
    _to: int = 0

    def now(self, view: View) -> cache.Ladder:
        """The ladder of the request this view would be sent as."""
        known = self._recent.get(view.last)
        if known is not None and known[0] is view:
            return known[1]
        found = cache.ladder(view, self.ruler, self._newest or self._latest)
        self._newest = (view.items, found)
        self._recent[view.last] = (view, found)
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return found

    def sent(self, records: Sequence[Record], reply: Record) -> cache.Ladder:
        """The ladder of the request that `reply`, one of the log's `records`, answered."""
        found = self._sent.get(reply.id)
        if found is None:
            known = self._made(records, reply)
            if known is not None:
                found = self._sent[reply.id] = known[1]
            else:
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

    def first_reply(self, records: Sequence[Record], earlier: Record) -> Record:
        """The first reply whose request had the same fixed part and model as `earlier`'s."""
        assert isinstance(earlier.body, AssistantSaid)
        model, end = earlier.body.model, up_to(records, earlier.id)
        oldest = self._oldest
        if oldest.model != model or (end < oldest.read and (oldest.reply or earlier).id >= earlier.id):
            oldest = self._oldest = _Oldest(model)
        for place in range(oldest.read, end):
            record = records[place]
            match record.body:
                case Reloaded():
                    oldest.reply = None
                case AssistantSaid(usage=usage) as said if oldest.reply is None and usage and said.model == model:
                    oldest.reply = record
                case _:
                    pass
        oldest.read = max(oldest.read, end)
        return oldest.reply or earlier

    def view_of(self, records: Sequence[Record], reply: Record) -> View:
        """The view that `reply`'s request was made from, rewound since or not."""
        assert isinstance(reply.body, AssistantSaid)
        known = self._made(records, reply)
        if known is not None:
            return known[0]
        seen = reply.body.seen
        if seen < self._to:
            self._walked, self._to = View(), 0
        way = records[up_to(records, self._to) : up_to(records, seen)]
        self._walked = fold(way, self._walked) if len(way) > FAR else reduce(step, way, self._walked)
        self._to = seen
        return self._walked

    def _made(self, records: Sequence[Record], reply: Record) -> tuple[View, cache.Ladder] | None:
        """The view `reply`'s request was made from, with its ladder, where the session had them a moment ago.

        A view is told by its newest record: what was written before and is in force does not change.
        """
        assert isinstance(reply.body, AssistantSaid)
        known = self._recent.get(reply.body.seen)
        at = up_to(records, reply.body.seen)
        # The last record seen may be a rewind, whose view ends earlier: then this is not the one.
        return known if known is not None and at and records[at - 1].id == reply.body.seen else None


def up_to(records: Sequence[Record], id: int) -> int:
    """How many records are numbered `id` or less."""
    return bisect_right(records, id, key=lambda record: record.id)
