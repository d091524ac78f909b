"""Where a compaction may cut the conversation, and where it should.

Not a decision to compact (that is `gates`) and no rewrite: a cut is a proposal, made from the view alone.

Invariants
 1. A cut point is legal when every rule in `RULES` says so; each rule is one named property of a position.
 2. The prefix starts where the last compaction's tail started (after an emergency: where its prefix did), so that
    nothing falls between two compactions; the tail is never larger than today's.
 3. A tail holds at least one step, and a prefix holds something that the layout would not show anyway.

A position is an index into `view.conversation`: the first item kept. A call's results stand right behind it there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TypeAlias

from compaction.budget import Budget
from compaction.records import Gate, ToolReturned
from compaction.tokens import Ruler
from compaction.view import Item, Kind, View, preview

# A tail of many small steps: twenty of them tell what is going on, however few tokens they are.
TAIL_STEPS = 20

# An automatic compaction leaves the work in hand whole: three steps is a read, an edit and its check.
FLOOR_STEPS = 3

# A user who asks for it means it: one step stays, so that /compact does something from two steps on.
ASKED_FLOOR_STEPS = 1

# When asked, at most this part (1/2) of what could go stays, however small the conversation is.
ASKED_SHARE = 2

Rule: TypeAlias = Callable[[Sequence[Item], int], bool]


def starts_at_a_message(items: Sequence[Item], at: int) -> bool:
    """A tail begins with a message of the user, the model or the program, never with a result."""
    return items[at].role != "tool"


def call_stays_with_results(items: Sequence[Item], at: int) -> bool:
    """No call before the cut has a result after it."""
    asked_by = _reply_before(items, at)
    return asked_by is None or not items[asked_by].calls or at > asked_by + _answered(items, asked_by)


def group_stays_whole(items: Sequence[Item], at: int) -> bool:
    """A group of parallel calls is not cut after some of its results."""
    asked_by = _reply_before(items, at)
    return asked_by is None or at - asked_by - 1 >= min(len(items[asked_by].calls), _answered(items, asked_by))


def thinking_stays_with_call(items: Sequence[Item], at: int) -> bool:
    """A signed thinking block is not parted from the results its call waits for: some providers refuse either alone."""
    asked_by = _reply_before(items, at)
    if asked_by is None or items[asked_by].thinking is None or not items[asked_by].calls:
        return True
    return at > asked_by + len(items[asked_by].calls)


def outside_a_summary(items: Sequence[Item], at: int) -> bool:
    """Neither side of the cut begins inside a summary: a summary is one item, and stays before the cut."""
    return items[at].kind is not Kind.SUMMARY


RULES: tuple[Rule, ...] = (
    starts_at_a_message,
    call_stays_with_results,
    group_stays_whole,
    thinking_stays_with_call,
    outside_a_summary,
)


def _reply_before(items: Sequence[Item], at: int) -> int | None:
    """Where the newest reply before `at` stands."""
    return next((i for i in range(at - 1, -1, -1) if items[i].role == "assistant"), None)


def _answered(items: Sequence[Item], reply: int) -> int:
    """How many results stand right behind a reply."""
    end = reply + 1
    while end < len(items) and items[end].role == "tool":
        end += 1
    return end - reply - 1


@dataclass(frozen=True, slots=True)
class Cut:
    """A proposal: `prefix` is summarised, `tail` stays word for word. `first_kept` is a record id.

    `position` is the index of the tail's first item in `view.conversation`. `lowered`: fewer steps stay than the
    floor asks for, because they do not fit; spilling results worth `excess` tokens would keep them. `beyond`: what the
    tail, and the user's newest message with it, has over the room that was given, tokens.
    """

    first_kept: int
    position: int
    prefix: tuple[Item, ...]
    tail: tuple[Item, ...]
    tail_tokens: int
    steps: int
    lowered: bool = False
    excess: int = 0
    beyond: int = 0

    @property
    def prefix_from(self) -> int:
        """The record the prefix starts with."""
        return self.prefix[0].record


def prefix_start(view: View) -> int:
    """Position of the first item the next summary covers; `len(view.conversation)` when nothing is left to cover."""
    return _position_of(view, view.prefix_from)


def tail_start(view: View) -> int:
    """Position of the first item of today's tail."""
    return len(view.conversation) - len(view.tail)


def _position_of(view: View, record: int) -> int:
    items = view.conversation
    return next((i for i, item in enumerate(items) if item.role != "tool" and item.record >= record), len(items))


def legal_cuts(view: View) -> tuple[int, ...]:
    """Every legal cut point, ascending: past the prefix's start, not before today's tail, and right by all rules."""
    items = view.conversation
    least = max(prefix_start(view) + 1, tail_start(view))
    return tuple(at for at in range(least, len(items)) if all(rule(items, at) for rule in RULES))


def choose_cut(
    view: View,
    ruler: Ruler,
    budget: Budget,
    gate: Gate,
    *,
    up_to: int | None = None,
    room: int | None = None,
) -> Cut | None:
    """The cut for this gate, or None when there is nothing to summarise.

    `room` is what the tail may hold, tokens (the limit or landing less all else that will be in the view); None takes
    the limit, or the budget while there is none. `up_to` is a record id: the first legal point at or after it, with no
    regard to tokens. A tail that does not fit `room` loses steps, from the floor down to one, never all.
    """
    items = view.conversation
    steps = _suffix_sums([item.role == "assistant" for item in items])
    # An emergency asks no model: cutting where the last one did would write the same view again.
    least = max(_gives_from(view), tail_start(view) + 1 if gate is Gate.EMERGENCY else 0)
    legal = [at for at in legal_cuts(view) if at >= least and steps[at] >= 1]
    if not legal:
        return None
    tokens = _suffix_sums([ruler.item(item) for item in items])
    if up_to is not None:
        wanted = _position_of(view, up_to)
        return next((_cut(view, at, tokens, steps) for at in legal if at >= wanted), None)

    if room is None:
        room = budget.limit if budget.limit is not None else budget.budget
    asked = gate is Gate.ASKED
    floor = ASKED_FLOOR_STEPS if asked else FLOOR_STEPS
    half = tokens[tail_start(view)] // ASKED_SHARE
    at = next((p for p in reversed(legal) if tokens[p] >= budget.keep_recent or steps[p] >= TAIL_STEPS), None)
    if at is None:
        if gate is Gate.PROACTIVE:
            return None
        # Less is there than a tail should hold: half of it goes, for this gate has to make room or was asked to.
        at = next((p for p in legal if tokens[p] <= half), legal[-1])
    if asked:
        at = _forward(legal, at, tokens, half)
    at = max((p for p in legal if p <= at and steps[p] >= floor), default=legal[0])
    whole = _with_newest(view, ruler, tokens)
    fitting = _forward(legal, at, whole, room)
    least = max((p for p in legal if steps[p] >= min(floor, steps[legal[0]])), default=fitting)
    cut = _cut(view, fitting, tokens, steps)
    excess = whole[least] - room if fitting > least else 0
    return replace(cut, lowered=fitting > least, excess=max(0, excess), beyond=max(0, whole[fitting] - room))


def _with_newest(view: View, ruler: Ruler, tokens: list[int]) -> list[int]:
    """What the view holds of the tail for each cut: the user's newest message stays, wherever the cut is."""
    newest = view.newest_user
    if newest is None or newest is view.primer or newest.record in view.pins:
        return tokens
    at = next((n for n, item in enumerate(view.conversation) if item.record == newest.record), 0)
    own = ruler.item(newest)
    return [size + own if position > at else size for position, size in enumerate(tokens)]


def _forward(legal: list[int], at: int, tokens: list[int], most: int) -> int:
    """The first legal point from `at` on whose tail holds at most `most` tokens; else the last one."""
    return next((p for p in legal if p >= at and tokens[p] <= most), legal[-1])


def _suffix_sums(values: Sequence[int]) -> list[int]:
    return list(accumulate(reversed(values), initial=0))[::-1]


def _gives_from(view: View) -> int:
    """From which position on a cut takes anything out of the view that its layout does not put back word for word."""
    shown = {item.record for item in (view.primer, view.newest_user) if item} | set(view.pins)
    items = view.conversation
    return next((at + 1 for at in range(prefix_start(view), len(items)) if items[at].record not in shown), len(items))


def _cut(view: View, at: int, tokens: list[int], steps: list[int]) -> Cut:
    items = view.conversation
    return Cut(items[at].record, at, items[prefix_start(view) : at], items[at:], tokens[at], steps[at])


@dataclass(frozen=True, slots=True)
class Saving:
    """One result a rewrite would replace: `tokens` now, of which `freed` go. `record` is its id."""

    record: int
    title: str
    tokens: int
    freed: int


def results_by_record(view: View) -> dict[int, ToolReturned]:
    """The tool results in force, by record id."""
    return {r.id: r.body for r in view.records if isinstance(r.body, ToolReturned)}


def spill_candidates(view: View, ruler: Ruler, *, newest_steps: int | None = None) -> tuple[Saving, ...]:
    """Live results in the view that a preview would make smaller, the one that frees most first.

    `newest_steps` looks at the last so many steps only (the tail's floor); None looks at the whole tail.
    """
    results = results_by_record(view)
    last = max((item.step for item in view.tail), default=0)
    found: list[Saving] = []
    for item in view.tail:
        body = results.get(item.record)
        if body is None or item.role != "tool" or item.state != "live":
            continue
        if newest_steps is not None and item.step <= last - newest_steps:
            continue
        tokens = ruler.item(item)
        after = replace(item, text=preview(item.record, body.text), state="spilled", images=())
        if tokens > ruler.item(after):
            found.append(Saving(item.record, item.title, tokens, tokens - ruler.item(after)))
    return tuple(sorted(found, key=lambda s: (-s.freed, s.record)))


def largest_results(view: View, ruler: Ruler, excess: int, *, newest_steps: int | None = None) -> tuple[int, ...]:
    """The fewest live results whose spilling frees `excess` tokens (uncalibrated); all when that is not enough."""
    chosen: list[int] = []
    for saving in spill_candidates(view, ruler, newest_steps=newest_steps):
        chosen.append(saving.record)
        excess -= saving.freed
        if excess <= 0:
            break
    return tuple(sorted(chosen))
