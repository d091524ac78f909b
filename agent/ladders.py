"""The ladders of a session's requests, kept so that each record costs only what it added.

Not a ladder's meaning (that is `compaction.cache`), and no state: all of it can be made anew from the log.

Invariants
 1. `now` and `sent` give what `cache.ladder` gives for the same view.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compaction import cache
from compaction.records import AssistantSaid, Record
from compaction.tokens import Ruler
from compaction.view import Item, View

# Ladders of answered requests that are kept: the meter compares the last with the one before it.
KEPT = 2


@dataclass
class Ladders:
    """The ladder of the view as it stands, and those of the last requests that were answered."""

    ruler: Ruler
    _newest: tuple[tuple[Item, ...], cache.Ladder] | None = None
    _sent: dict[int, cache.Ladder] = field(default_factory=dict)

    def now(self, view: View) -> cache.Ladder:
        """The ladder of the request this view would be sent as."""
        found = cache.ladder(view, self.ruler, self._newest)
        self._newest = (view.items, found)
        return found

    def sent(self, view: View, reply: Record) -> cache.Ladder:
        """The ladder of the request that `reply`, a record of `view`, answered."""
        found = self._sent.get(reply.id)
        if found is None:
            found = self._sent[reply.id] = cache.ladder(view_of(view, reply), self.ruler)
            for old in sorted(self._sent)[:-KEPT]:
                if old != reply.id:
                    del self._sent[old]
        return found

    def note(self, reply: int, ladder: cache.Ladder) -> None:
        """Keeps the ladder of the request that the record `reply` answers."""
        self._sent[reply] = ladder


def view_of(view: View, reply: Record) -> View:
    """The view that `reply`'s request was made from."""
    assert isinstance(reply.body, AssistantSaid)
    seen = reply.body.seen
    return View(tuple(r for r in view.records if r.id <= seen))
