"""What a provider's prompt cache can reuse, why it cannot, and what that costs.

Not a request (its bytes are `agent.request`'s) and no clock: whether a cache is still warm is for the caller to say.

Invariants
 1. Two ladders share a segment only where the same bytes are sent; what people see of an item (state, turn, title) is
    in no hash.
 2. The predicted cached prefix is a sum of whole leading segments, and zero across models.
 3. A break always has a cause; `UNNAMED` means that no record explains it, which is a bug in this program.
All sizes are uncalibrated tokens; all prices are dollars per million tokens; all costs are dollars.

Positions count the view's items from 0; the system prompt stands at `SYSTEM`, the tool schemas at `TOOLS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from math import ceil

from compaction.records import Compacted, Pinned, Pruned, Record, Reloaded, Reverted, Rewound, SettingsChanged, Usage
from compaction.tokens import Ruler, common, fixed_parts, tool_parts
from compaction.turns import Seam, alternates, seams
from compaction.view import Item, Kind, View

TOOLS, SYSTEM = -2, -1

# Segments that stand before the items: the tool schemas and the system prompt with its instructions.
FIXED_SEGMENTS = 2

UNNAMED = "unnamed"

# How a record says that no effort is asked for any more.
DEFAULT_EFFORT = "default"

# Marks one request may carry, and how many blocks before a mark the provider looks for a cached end. Both are
# Anthropic's; providers that cache by themselves take no notice.
MOST_MARKS = 4
LOOK_BACK = 20

# How many spelled items the hash remembers: more than a million-token session has.
_REMEMBERED = 8_192

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Segment:
    """One leading part of a request: what it is for people, the hash of what is sent, and its tokens.

    `record` is 0 for the fixed part; `kind` is None there.
    """

    label: str
    hash: str
    tokens: int
    record: int = 0
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Ladder:
    """A request as its segments: tools, system, then each item. `ids` are the records it was made from, ascending.

    `alternate`: user and assistant take turns in it.
    """

    segments: tuple[Segment, ...]
    model: str
    effort: str | None
    ids: tuple[int, ...]
    alternate: bool = False

    @property
    def last(self) -> int:
        """The newest record behind the request; 0 for none."""
        return self.ids[-1] if self.ids else 0


@dataclass(frozen=True, slots=True)
class Break:
    """Where a request stops being a continuation of another, and why."""

    position: int
    why: str

    def __str__(self) -> str:
        return self.why


def ladder(view: View, ruler: Ruler, known: tuple[tuple[Item, ...], Ladder] | None = None) -> Ladder:
    """The segments of the request this view would be sent as.

    `known` is an earlier view's items with their ladder: the segments of equal leading items are taken from it, so that
    a session that grows does not spell all of itself at every record.
    """
    schemas = sum(tokens for _, tokens in tool_parts(view, ruler))
    system = sum(tokens for _, tokens in fixed_parts(view, ruler)) - schemas
    fixed = (
        Segment("tools", _digest_of_texts(*view.tools), schemas),
        Segment("system", _digest_of_texts(view.system, *view.instructions), system),
    )
    turns = alternates(view)
    old, steps = known if known is not None and known[1].alternate == turns else ((), None)
    same = common(old, view.items)
    kept = steps.segments[FIXED_SEGMENTS : FIXED_SEGMENTS + same] if steps is not None else ()
    items = kept + tuple(
        Segment(f"#{i.record} {i.kind}", _hash(i, met), ruler.item(i), i.record, i.kind)
        for i, met in zip(view.items[same:], seams(view.items, same, turns), strict=True)
    )
    return Ladder(fixed + items, view.model, effort(view), view.ids, turns)


def effort(view: View) -> str | None:
    """The reasoning effort in force; None leaves it to the provider."""
    first = view.started.effort if view.started else None
    changes = (r.body.effort for r in reversed(view.deeds) if isinstance(r.body, SettingsChanged) and r.body.effort)
    found = next(changes, first)
    return None if found == DEFAULT_EFFORT else found


def _hash(item: Item, met: Seam) -> str:
    calls = tuple((c.id, c.name, c.arguments) for c in item.calls)
    return _hash_of(item.role, item.text, calls, item.call, item.thinking, item.images, *filter(None, [met]))


@lru_cache(maxsize=_REMEMBERED)
def _hash_of(*sent: object) -> str:
    return _digest(sent)


@lru_cache(maxsize=8)
def _digest_of_texts(*texts: str) -> str:
    """Of the fixed part, which is the same for a whole session."""
    return _digest(texts)


def _digest(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def equal_segments(before: Ladder, after: Ladder) -> int:
    """How many leading segments of `after` the provider may still have from `before`.

    Nothing is shared between models. Another effort changes how messages are read, not the fixed part.
    """
    if before.model != after.model:
        return 0
    most = min(len(before.segments), len(after.segments))
    if before.effort != after.effort:
        most = min(most, FIXED_SEGMENTS)
    if before.segments[:most] == after.segments[:most]:
        return most
    pairs = zip(before.segments[:most], after.segments[:most], strict=True)
    return next((n for n, (old, new) in enumerate(pairs) if old.hash != new.hash), most)


def equal_items(before: Ladder, after: Ladder) -> int:
    """How many leading items of the view behind `after` the provider may still have."""
    return max(0, equal_segments(before, after) - FIXED_SEGMENTS)


def predicted(before: Ladder, after: Ladder, *, marked: bool = False) -> int:
    """Tokens of `after` that the provider may read from its cache, when `before` was the request just sent.

    `marked`: it keeps only what ended at a mark: each request of a session's, and the fixed part.
    """
    return sum(segment.tokens for segment in after.segments[: _readable(before, after, marked)])


def predicted_counted(
    before: Ladder, after: Ladder, counts: Iterable[tuple[int, int]], *, marked: bool = False
) -> float | None:
    """The same in the model's own tokens, from what the provider counted: (leading segments of `before`, tokens) pairs.

    Between two counts the estimates of the segments say how far. None without a count as long as what is shared.
    """
    same = _readable(before, after, marked)
    low = (0, 0)
    for at, tokens in sorted(counts):
        if at >= same:
            whole = sum(segment.tokens for segment in before.segments[low[0] : at])
            part = sum(segment.tokens for segment in before.segments[low[0] : same])
            return low[1] + (tokens - low[1]) * (part / whole if whole else 0.0)
        low = (at, tokens)
    return None


def _readable(before: Ladder, after: Ladder, marked: bool) -> int:
    """Leading segments of `after` that are read from the cache."""
    same = equal_segments(before, after)
    if marked and same < len(before.segments):
        ends = (n for n in range(same, FIXED_SEGMENTS, -1) if before.segments[n].kind is Kind.ASSISTANT)
        same = next(ends, min(same, FIXED_SEGMENTS))
    return same


def cause(before: Ladder, after: Ladder, records: Iterable[Record]) -> Break | None:
    """Where and why `after` does not continue `before`; None when it does, or is itself its beginning.

    `records` are those of the log; the ones written since `before` are told from its own. `UNNAMED` as the why means
    that no record accounts for the break.
    """
    common = equal_segments(before, after)
    if before.model != after.model:
        return Break(TOOLS, "model switched")
    if common == len(before.segments) or common == len(after.segments):
        return None
    since = [record for record in records if record.id > before.last]
    old, new = before.segments[common], after.segments[common]
    position = common - FIXED_SEGMENTS
    if position < 0:
        reloaded = any(isinstance(record.body, Reloaded) for record in since)
        why = ("tools changed" if position == TOOLS else "reloaded") if reloaded else UNNAMED
    elif before.effort != after.effort and old.hash == new.hash:
        why = "effort changed"
    elif before.alternate != after.alternate and old.record == new.record:
        why = "turns kept" if after.alternate else "turns no longer kept"
    else:
        why = _why(old, new, since)
    if why == UNNAMED and (set(before.ids) - set(after.ids) or any(isinstance(r.body, Rewound) for r in since)):
        why = "rewound"
    return Break(position, why)


def _why(old: Segment, new: Segment, since: Sequence[Record]) -> str:
    """The record that made one item another."""
    ids = {record.id for record in since}
    undone = {record.body.target for record in since if isinstance(record.body, Reverted)}
    bodies = [record.body for record in since if record.id not in undone]
    # Taking back what was itself written since leaves no trace in the view.
    reverted = bool(undone - ids)
    if old.record == new.record and old.kind is new.kind:
        for body in bodies:
            match body:
                case Pruned(records=gone, how=how) if old.record in gone:
                    return f"pruned at #{old.record}" if how == "pruned" else f"shortened at #{old.record}"
                case Pinned(target=target) if target == old.record:
                    return "pinned"
                case Compacted(primer=most) if old.kind is Kind.USER and most is not None:
                    return "shortened"
                case _:
                    pass
    if any(isinstance(body, Compacted) for body in bodies):
        return "compacted"
    if reverted:
        return "undone"
    if any(isinstance(body, Pinned) for body in bodies):
        return "pinned"
    return UNNAMED


def marks(view: View, kept: int = 0) -> tuple[int, ...]:
    """Where cache marks go, ascending: at most four positions in `view.items`, `SYSTEM` and `TOOLS` included.

    `kept` is how many leading items a rewrite left of the request before; 0 when nothing was rewritten since.
    In order of worth: the last item; the last one that a rewrite kept, from where the provider looks back for what it
    has; the end of the request before, where the step since then is longer than it looks back; the summary; system;
    tools (whose mark the system's covers, unless only tools are shared).
    """
    items = view.items
    wanted: list[int] = []
    if items:
        wanted.append(len(items) - 1)
        if 0 < kept < len(items):
            wanted.append(kept - 1)
        replied = next((n for n in range(len(items) - 1, -1, -1) if items[n].role == "assistant"), 0)
        if not kept and replied > 0 and sum(map(_blocks, items[replied:])) >= LOOK_BACK:
            wanted.append(replied - 1)
        wanted.extend(n for n, item in enumerate(items) if item.kind is Kind.SUMMARY)
    if view.system or view.instructions:
        wanted.append(SYSTEM)
    if view.tools:
        wanted.append(TOOLS)
    return tuple(sorted(list(dict.fromkeys(wanted))[:MOST_MARKS]))


def _blocks(item: Item) -> int:
    """Content blocks an item becomes where messages are made of blocks; rather too many than too few."""
    thinking = 0 if item.thinking is None else max(1, item.thinking.count('"type":'))
    return max(1, bool(item.text) + len(item.calls) + len(item.images) + thinking)


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars per million tokens. None for a cache bucket: the provider charges it like any other input."""

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    @property
    def read(self) -> float:
        """A token read from the cache, dollars per million."""
        return self.input if self.cached is None else self.cached

    @property
    def write(self) -> float:
        """A token read for the first time and kept, dollars per million."""
        return self.input if self.cache_write is None else self.cache_write


def request_cost(usage: Usage, prices: Prices) -> float:
    """What one request cost, dollars. Reasoning is billed as output everywhere."""
    total = usage.uncached * prices.input + usage.cache_read * prices.read + usage.cache_write * prices.write
    return (total + (usage.output + usage.reasoning) * prices.output) / _MILLION


def price_of_next(size: int, cached: int, output: int, prices: Prices) -> float:
    """The next request's cost, dollars: `cached` of its `size` tokens are read, the rest written, `output` answered."""
    cached = max(0, min(cached, size))
    return (cached * prices.read + (size - cached) * prices.write + output * prices.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Payback:
    """The next turn with and without a rewrite, dollars, and the turns after which it has paid for itself.

    `turns` counts from 1, the turn the rewrite happens before; None: never.
    """

    keep: float
    rewrite: float
    turns: int | None


def breakeven(
    *,
    size: int,
    after: int,
    cached_now: int,
    cached_after: int,
    prices: Prices,
    output: int = 0,
    once: float = 0.0,
    requests: int = 1,
) -> Payback:
    """Whether a rewrite from `size` to `after` tokens pays for itself, and when.

    `cached_now` and `cached_after` tokens of either view are in the cache at this moment (0 when it is cold); `once` is
    what the rewrite itself costs (a summary's request, dollars).

    Assumed: each turn sends `requests` requests and answers `output` tokens a request; all but the first read the whole
    view from the cache; what turns append is the same either way and left out; the cache stays warm from now on; no
    other rewrite follows.
    """
    later = (output * prices.output * requests, (requests - 1) * prices.read)
    keep = price_of_next(size, cached_now, 0, prices) + (later[0] + later[1] * size) / _MILLION
    rewrite = price_of_next(after, cached_after, 0, prices) + (later[0] + later[1] * after) / _MILLION + once
    saved = (size - after) * prices.read * requests / _MILLION
    extra = rewrite - keep
    if extra <= 0:
        turns: int | None = 1
    else:
        turns = 1 + ceil(extra / saved) if saved > 0 else None
    return Payback(keep, rewrite, turns)


def summary_costs(*, size: int, cached: int, flattened: int, output: int, prices: Prices) -> tuple[float, float]:
    """A summary asked for inside the conversation and in a request of its own, dollars each.

    `size` tokens of conversation, of which `cached` are in the cache; `flattened` tokens of the separate request, which
    no cache knows and no later request repeats.
    """
    return price_of_next(size, cached, output, prices), (flattened * prices.input + output * prices.output) / _MILLION


__all__ = [
    "SYSTEM",
    "TOOLS",
    "UNNAMED",
    "Break",
    "Ladder",
    "Payback",
    "Prices",
    "Segment",
    "breakeven",
    "cause",
    "equal_items",
    "equal_segments",
    "ladder",
    "marks",
    "predicted",
    "predicted_counted",
    "price_of_next",
    "request_cost",
    "summary_costs",
]
