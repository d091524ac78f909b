"""What a provider's prompt cache was expected to give each request, told from the log: meter and timeline say the same.

Not the rule of what two requests share (that is `compaction.cache`) and no clock: times come from records or are handed
in. A forecast uses nothing that the reply itself said.

Invariants
 1. The forecast of an answered request is a function of the records before the reply, the ladders and the lifetime.
 2. A cache that nobody asked for longer than its lifetime gives nothing, and that is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from agent.ladders import Ladders, up_to
from agent.models.providers import takes_marks
from compaction import cache
from compaction.records import (
    AssistantSaid,
    Compacted,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
)
from compaction.tokens import CALIBRATE_OVER, calibration
from compaction.view import View

# What is said where no record broke the prefix but time did.
COLD = "cold"

_BREAKING = (Compacted, Pinned, Pruned, Reloaded, Reverted, Rewound, SettingsChanged)


@dataclass(frozen=True, slots=True)
class Forecast:
    """`tokens` of a request that the provider may read from its cache, and `why` not all of the request before."""

    tokens: int = 0
    why: str | None = None


def replies(records: Sequence[Record], before: int | None = None) -> Iterator[Record]:
    """The replies of a log, newest first; `before` leaves out that record and all later ones."""
    end = len(records) if before is None else up_to(records, before - 1)
    for place in range(end - 1, -1, -1):
        if isinstance(records[place].body, AssistantSaid):
            yield records[place]


def forecast(records: Sequence[Record], ladders: Ladders, reply: Record, warm_s: float) -> Forecast:
    """What the request that `reply` answered was expected to read. `warm_s` is the cache's lifetime, seconds."""
    assert isinstance(reply.body, AssistantSaid)
    earlier = next(replies(records, reply.id), None)
    if earlier is None:
        return Forecast()
    ladders.sent(records, earlier)  # the older one first: ladders are walked forwards
    then = ladders.sent(records, reply)
    left = warm_s - (at(records, reply.body.seen) - earlier.at)
    return _between(records, ladders, earlier, then, ladders.view_of(records, reply), reply.id, left)


def forecast_next(records: Sequence[Record], ladders: Ladders, view: View, warm_s: float, now: float) -> Forecast:
    """What the request that would go out at `now` (seconds) may read."""
    earlier = next(replies(records), None)
    if earlier is None:
        return Forecast()
    left = warm_s - (now - earlier.at)
    return _between(records, ladders, earlier, ladders.now(view), view, records[-1].id + 1, left)


def _between(
    records: Sequence[Record],
    ladders: Ladders,
    earlier: Record,
    then: cache.Ladder,
    view: View,
    reply: int,
    left: float,
) -> Forecast:
    """`left` are the seconds the cache still had, `reply` the record that this forecast must know nothing of."""
    body = earlier.body
    assert isinstance(body, AssistantSaid)
    before = ladders.sent(records, earlier)
    broken = cache.cause(before, then, view.records)
    why = None if broken is None else str(broken)
    if left < 0:
        return Forecast(0, why or COLD)
    if cache.equal_segments(before, then) == len(before.segments) and body.usage is not None and body.usage.input:
        answer = body.usage.output if keeps_answers(records, reply) else 0
        return Forecast(body.usage.input + answer, why)
    marked = takes_marks(body.model) is not None
    found = cache.predicted_counted(before, then, _counts(records, ladders, earlier, before), marked=marked)
    if found is None:
        found = cache.predicted(before, then, marked=marked) * calibration(view)
    return Forecast(round(found), why)


def _counts(
    records: Sequence[Record], ladders: Ladders, earlier: Record, before: cache.Ladder
) -> Iterator[tuple[int, int]]:
    """What the provider counted of a request's leading parts: all of it, and what was the first request.

    The first request is mostly the fixed part, whose tokens are the furthest from any estimate.
    """
    for reply in (earlier, ladders.first_reply(records, earlier)):
        assert isinstance(reply.body, AssistantSaid)
        if reply.body.usage is None or not reply.body.usage.input:
            continue
        held = before if reply is earlier else ladders.first(records, reply)
        if cache.equal_segments(held, before) == len(held.segments):
            yield len(held.segments), reply.body.usage.input


def keeps_answers(records: Sequence[Record], before: int) -> bool:
    """Whether the server was seen to keep what it wrote itself: local ones do, most others only what they were sent.

    Seen: a request that continued another read more from the cache than that other one had held.
    """
    for later, earlier in pairwise(islice(replies(records, before), CALIBRATE_OVER + 1)):
        assert isinstance(later.body, AssistantSaid)
        assert isinstance(earlier.body, AssistantSaid)
        if later.body.usage is None or earlier.body.usage is None or later.body.model != earlier.body.model:
            continue
        between = records[up_to(records, earlier.id) : up_to(records, later.id)]
        continued = not any(isinstance(r.body, _BREAKING) for r in between)
        if continued and later.body.usage.cache_read > earlier.body.usage.input:
            return True
    return False


def at(records: Sequence[Record], id: int) -> float:
    """When the record `id`, or the newest before it, was written; seconds since the epoch."""
    return records[max(0, up_to(records, id) - 1)].at
