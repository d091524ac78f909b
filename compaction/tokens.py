"""How large things are, in tokens: the one place that sizes anything.

Not a counter (the counting function is handed in as a value) and not a limit (that is `budget`).

Invariants
 1. `measure` is the only size there is: gates, meter, tables and JSON read it.
 2. A provider's count holds only while what it counted is still the beginning of the view, and from this model only.
 3. Before and after of a rewrite are both calibrated estimates, never a count against an estimate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from compaction.records import (
    AssistantSaid,
    Compacted,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    ToolReturned,
    Usage,
    WindowLearned,
)
from compaction.view import Item, Kind, View

# What a message costs beside its text: role and separators, 3 to 5 tokens in the chat formats in use.
MESSAGE = 4
# A call's own framing: its id, its name's key, braces.
CALL = 8
# An image where the provider states no rule: about 1,600 tokens for a full-size picture.
IMAGE = 1_600

# The estimator and a model's own tokenizer differ by a near-constant factor; five replies smooth the rest out.
CALIBRATE_OVER = 5
# Beyond a factor of two something else is wrong (a proxy's cumulative counts, a truncated prompt): not believed.
CALIBRATE_LEAST, CALIBRATE_MOST = 0.5, 2.0

# The records a calibration is made from; the others are passed over at a glance.
_TELLING = frozenset({Reloaded, AssistantSaid, WindowLearned})

# How a text of the fixed part says where it comes from.
_PATH = re.compile(r'<\w+ path="(.*)">')

# What the schemas of our own tools are called together, and how those of a server are told: by its part of their names.
OUR_TOOLS = "tool schemas"
_SERVED = re.compile(r'\{"type":"function","function":\{"name":"mcp__([A-Za-z0-9_-]+?)__[A-Za-z0-9_-]')

# A longer name would wrap in every table that shows it; characters.
MOST_NAME = 60

# The names of the meter's parts, in the order it draws them.
PARTS = ("system", "tools", "summary", "user", "assistant", "tool")

# The part an item belongs to.
PART_OF = {
    Kind.SUMMARY: "summary",
    Kind.USER: "user",
    Kind.NOTICE: "user",
    Kind.ASSISTANT: "assistant",
    Kind.TOOL: "tool",
}


@dataclass(frozen=True, slots=True)
class Size:
    """Tokens the next request starts from: counted by the provider, and estimated since."""

    known: int
    estimated: int

    @property
    def total(self) -> int:
        """Known plus estimated, tokens."""
        return self.known + self.estimated

    @property
    def exact(self) -> bool:
        """True only when every token of it is the provider's own count."""
        return self.known > 0 and self.estimated == 0


@runtime_checkable
class CountsMany(Protocol):
    """A counting function that is asked for many texts at once where there are many: it may be far away."""

    def many(self, texts: Sequence[str]) -> Sequence[int]:
        """Tokens of each text."""
        ...


class Ruler:
    """Counts each item and text once and keeps the answer. `count` gives tokens for a text."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        # By value, and by identity for the newest object of each value (kept alive here, so that its id is its own):
        # hashing whole items at every look-up would be felt in long views.
        self._items: dict[Item, tuple[Item, int]] = {}
        self._newest: dict[int, tuple[Item, int]] = {}
        self._texts: dict[str, int] = {}
        asked: object = count
        self._many = asked.many if isinstance(asked, CountsMany) else None
        self._ahead: dict[str, int] = {}
        # The newest items that were summed, and their sums: a view that grew costs what it grew by.
        self._summed: tuple[Item, ...] = ()
        self._sums = dict.fromkeys(PARTS, 0)

    def text(self, text: str) -> int:
        """Tokens of a text, without a message around it."""
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = self.count(text)
        return found

    def item(self, item: Item) -> int:
        """Tokens of one item as a message: text, calls, thinking and images."""
        newest = self._newest.get(id(item))
        if newest is not None:
            return newest[1]
        known = self._items.get(item)
        if known is not None:
            del self._newest[id(known[0])]
            found = known[1]
        else:
            found = MESSAGE + sum(map(self._counted, _texts(item))) + CALL * len(item.calls) + IMAGE * len(item.images)
        # The value's key stays the first object; what must stay alive is the one whose id is looked up.
        self._items[item] = self._newest[id(item)] = (item, found)
        return found

    def items(self, items: Iterable[Item]) -> int:
        """Tokens of several items."""
        return sum(map(self.item, items))

    def sums(self, items: tuple[Item, ...]) -> dict[str, int]:
        """Tokens of a view's items by part of the meter."""
        same = common(self._summed, items)
        self._learn(items[same:])
        for item in self._summed[same:]:
            self._sums[PART_OF[item.kind]] -= self.item(item)
        for item in items[same:]:
            self._sums[PART_OF[item.kind]] += self.item(item)
        self._summed = items
        return dict(self._sums)

    def _learn(self, items: Sequence[Item]) -> None:
        """Counts what is not known yet of `items` in one go."""
        if self._many is None or len(items) < 2:
            return
        texts = {text for item in items if item not in self._items for text in _texts(item)}
        self._ahead = dict(zip(texts, self._many(list(texts)), strict=True))
        for item in items:
            self.item(item)
        self._ahead = {}

    def _counted(self, text: str) -> int:
        known = self._ahead.get(text)
        return self.count(text) if known is None else known


def _texts(item: Item) -> Iterator[str]:
    """All of an item that is counted."""
    yield item.text
    for call in item.calls:
        yield call.name
        yield call.arguments
    if item.thinking is not None:
        yield item.thinking


def common(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    """How many leading members are equal. Mostly all of the shorter, and that is seen without looking at each here."""
    most = min(len(one), len(other))
    if one[:most] == other[:most]:
        return most
    return next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a is not b and a != b)


def fixed_parts(view: View, ruler: Ruler) -> tuple[tuple[str, int], ...]:
    """The parts of the fixed part by name, uncalibrated tokens: system prompt, instructions, tool schemas."""
    named = [("system prompt", MESSAGE + ruler.text(view.system))]
    for index, text in enumerate(view.instructions):
        named.append((_source(text) or f"instructions {index + 1}", ruler.text(text)))
    return (*named, *tool_parts(view, ruler))


def tool_parts(view: View, ruler: Ruler) -> tuple[tuple[str, int], ...]:
    """The tool schemas by whose they are: ours, then each server's in the order sent; uncalibrated tokens."""
    parts = {OUR_TOOLS: 0}
    for text in view.tools:
        found = _SERVED.match(text)
        name = OUR_TOOLS if found is None else f"tools of {found[1]}"
        parts[name] = parts.get(name, 0) + CALL + ruler.text(text)
    return tuple(parts.items())


def _source(text: str) -> str:
    """The file a text of the fixed part says it is from, its end where it is long; else the text's first line."""
    first = text.split("\n", 1)[0].strip()
    found = _PATH.match(first)
    if found is None:
        return first[:MOST_NAME]
    return found[1] if len(found[1]) <= MOST_NAME else f"…{found[1][1 - MOST_NAME :]}"


def fixed(view: View, ruler: Ruler) -> int:
    """The fixed part, uncalibrated tokens."""
    return sum(tokens for _, tokens in fixed_parts(view, ruler))


def estimate_parts(view: View, ruler: Ruler) -> dict[str, int]:
    """Uncalibrated tokens by part of the meter."""
    parts = dict.fromkeys(PARTS, 0)
    parts["tools"] = sum(tokens for _, tokens in tool_parts(view, ruler))
    parts["system"] = fixed(view, ruler) - parts["tools"]
    for name, tokens in ruler.sums(view.items).items():
        parts[name] += tokens
    return parts


def estimate(view: View, ruler: Ruler) -> int:
    """The whole view, uncalibrated tokens."""
    return fixed(view, ruler) + sum(ruler.sums(view.items).values())


def calibration(view: View) -> float:
    """How many of the model's tokens one estimated token is worth, over its last replies with the same tools."""
    measured = estimated = counted = 0
    for record in reversed(view.records):
        if type(record.body) not in _TELLING:
            continue
        match record.body:
            case Reloaded():
                break
            case AssistantSaid(usage=usage) as said if usage is not None and _counts(said, view.model):
                measured += usage.input
                estimated += said.estimated
                counted += 1
            case WindowLearned(asked=int(asked), summary=False, silent=False) as refusal if (
                refusal.model == view.model and refusal.estimated
            ):
                # A refusal that states its count is as good a measurement as a reply, and the newest there is.
                measured += asked
                estimated += refusal.estimated
                counted += 1
            case _:
                pass
        if counted == CALIBRATE_OVER:
            break
    if not estimated:
        return 1.0
    return min(CALIBRATE_MOST, max(CALIBRATE_LEAST, measured / estimated))


def _counts(body: AssistantSaid, model: str) -> bool:
    """Whether a reply's usage says anything about sizes. An `estimated` of 0 marks one that must not be believed."""
    return (
        body.model == model
        and body.usage is not None
        and body.usage.input > 0
        and body.estimated > 0
        and body.stop not in ("aborted", "failed")
    )


def _measured(view: View) -> Record | None:
    """The newest reply that counts and whose request is still, byte for byte, the beginning of the view."""
    for record in reversed(view.records):
        body = record.body
        if _changes_what_was_sent(view, record):
            return None
        if isinstance(body, AssistantSaid) and _counts(body, view.model):
            return record
    return None


def _changes_what_was_sent(view: View, record: Record) -> bool:
    match record.body:
        case Pruned() | Compacted() | Reverted() | Reloaded():
            return True
        case Pinned(target=target):
            # A pin in the tail changes no byte, unless it brings back what was pruned.
            pruned = any(isinstance(r.body, Pruned) and target in r.body.records for r in view.deeds)
            return pruned or all(item.record != target for item in view.tail)
        case _:
            return False


def measure(view: View, ruler: Ruler) -> Size:
    """The size of the view as the next request starts from it, tokens."""
    factor = calibration(view)
    found = _measured(view)
    if found is None:
        return Size(0, round(estimate(view, ruler) * factor))
    assert isinstance(found.body, AssistantSaid) and found.body.usage is not None
    # What its request did not hold: all later records. Its own text is counted as output.
    seen = found.body.seen
    fresh = (i for i in _since(view, seen) if i.record > seen and (i.record != found.id or i.role == "tool"))
    known = found.body.usage.context + (found.body.usage.reasoning if _sent_back(found.body) else 0)
    return Size(known, round(ruler.items(fresh) * factor))


def passing(view: View) -> int:
    """The reasoning that filled the newest request and is not sent back, tokens; 0 as soon as anything follows it.

    No gate reads it: the next request does not hold it. A meter that left it out would show room where the model had
    none.
    """
    found = _measured(view)
    if found is None or not view.items or view.items[-1].record != found.id:
        return 0
    body = found.body
    assert isinstance(body, AssistantSaid) and body.usage is not None
    return 0 if _sent_back(body) else body.usage.reasoning


def _sent_back(body: AssistantSaid) -> bool:
    """Whether the next request holds a reply's reasoning: providers want it beside its calls, and drop it elsewhere."""
    return body.thinking is not None and bool(body.calls)


def _since(view: View, seen: int) -> Iterable[Item]:
    """The items from the end on, as far as one of a record after `seen` can stand."""
    if view.compaction is not None and seen < view.compaction.id:
        yield from view.items
        return
    # A result stands with its call, however late it came: all of them have to be found before the search may end.
    waiting: set[int] = set()
    for record in reversed(view.records):
        if record.id <= seen:
            break
        if isinstance(record.body, ToolReturned):
            waiting.add(record.id)
    for item in reversed(view.items):
        if item.role != "tool" and item.record <= seen and not waiting:
            return
        waiting.discard(item.record)
        yield item


def dropped_silently(view: View, usage: Usage, size: Size, estimated: int | None = None) -> bool:
    """Whether the server read less than it did last time though that was the beginning of this request.

    `view` and `size` are of the request; `estimated` is its uncalibrated estimate, where known: a request that has
    itself become smaller has lost something of the last one (a damaged record), and tells nothing of the server.
    Providers that drop earlier thinking on a new turn read up to a quarter less in good faith, so with thinking in the
    view the fall must be larger than that.
    """
    if not size.known:
        return False
    found = _measured(view)
    if found is None or not isinstance(found.body, AssistantSaid) or found.body.usage is None:
        return False
    if estimated is not None and estimated < found.body.estimated:
        return False
    before = found.body.usage.input
    if any(item.thinking is not None for item in view.items):
        before = before * 3 // 4
    return 0 < usage.input < before


def calibrated(view: View, ruler: Ruler) -> int:
    """The whole view by estimate alone, calibrated tokens: what rewrites are compared by."""
    return round(estimate(view, ruler) * calibration(view))


def scaled(parts: Mapping[str, int], total: int) -> dict[str, int]:
    """`parts` in proportion, as whole numbers that sum to `total` exactly (largest remainders first)."""
    whole = sum(parts.values())
    if whole <= 0:
        return dict.fromkeys(parts, 0)
    shares = {name: divmod(value * total, whole) for name, value in parts.items()}
    result = {name: quotient for name, (quotient, _) in shares.items()}
    missing = total - sum(result.values())
    for name in sorted(shares, key=lambda n: -shares[n][1])[:missing]:
        result[name] += 1
    return result
