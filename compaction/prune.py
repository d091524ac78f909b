"""Which old tool results go, or why none.

Not the rewrite (that is a `Pruned` record) and not the placeholder's text (that is `view.placeholder`).

Invariants
 1. Protected turns or steps, pins, and what is already replaced are never in a plan.
 2. A plan names exactly the records a commit will carry, ascending, and `freed` is the sum of its rows.
 3. Every row frees something: a result no larger than its placeholder stays.
 4. Only what is in the view can be pruned; what a compaction swallowed is gone from it already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compaction.budget import Budget
from compaction.cut import Saving, results_by_record
from compaction.errors import BadTarget
from compaction.records import ToolReturned
from compaction.tokens import Ruler
from compaction.view import Item, View, placeholder

# What a user is still talking about: this turn and the one before.
PROTECTED_TURNS = 2

# Inside a turn, the steps whose results the model has read last: a read, an edit and its check.
PROTECTED_STEPS = 3


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What a prune would replace. `freed` is in tokens; `why_nothing` is a sentence when `records` is empty."""

    records: tuple[int, ...]
    rows: tuple[Saving, ...]
    freed: int
    why_nothing: str | None = None


def plan_prune(
    view: View,
    ruler: Ruler,
    budget: Budget,
    *,
    inside_turn: bool,
    asked: bool = False,
    every: bool = False,
    records: Sequence[int] = (),
    force: bool = False,
) -> PrunePlan:
    """The results to replace at this moment.

    `inside_turn`: steps of the running turn are on the table and its newest ones are protected; else, and always when
    `asked`, the last two turns are. `every` prunes up to the protected part; `records` names exactly what goes;
    `force` waives the minimum. Raises `BadTarget` for a named record that cannot be pruned, saying why.
    """
    results = results_by_record(view)
    if records:
        chosen = tuple(_named(view, results, ruler, record) for record in sorted(set(records)))
    else:
        unprotected = _unprotected(view, inside_turn=inside_turn and not asked)
        live = [s for i in unprotected if (s := _saving(results, ruler, i))]
        gone = live if every else _beyond(live, budget.prune_protect)
        chosen = tuple(s for s in gone if s.freed > 0)
        if not chosen:
            return PrunePlan((), (), 0, _why_nothing(view, unprotected, live, gone, budget.prune_protect))
    freed = sum(s.freed for s in chosen)
    if freed < budget.prune_minimum and not force:
        least = f"less than {budget.prune_minimum:,} is not worth a broken cache (--force does it all the same)"
        why = f"it would free {freed:,} tokens; {least}"
        return PrunePlan((), (), 0, why)
    return PrunePlan(tuple(s.record for s in chosen), chosen, freed)


def _unprotected(view: View, *, inside_turn: bool) -> tuple[Item, ...]:
    """Results in the view that are old enough to go, in order."""
    if not view.conversation:
        return ()
    newest = view.conversation[-1]
    found = (i for i in view.tail if i.role == "tool")
    if inside_turn:
        return tuple(i for i in found if i.turn < newest.turn or i.step <= newest.step - PROTECTED_STEPS)
    return tuple(i for i in found if i.turn <= newest.turn - PROTECTED_TURNS)


def _saving(results: Mapping[int, ToolReturned], ruler: Ruler, item: Item) -> Saving | None:
    """What replacing this result frees; None when it is no live result. `freed` may be zero or less."""
    body = results.get(item.record)
    if body is None or item.role != "tool" or item.state != "live":
        return None
    tokens = ruler.item(item)
    after = replace(item, text=placeholder(item.record, body), state="pruned", images=())
    return Saving(item.record, item.title, tokens, tokens - ruler.item(after))


def _beyond(live: Sequence[Saving], kept: int) -> list[Saving]:
    """Going back, the result that crosses the kept line and all older ones, oldest first."""
    total = 0
    for index in range(len(live) - 1, -1, -1):
        total += live[index].tokens
        if total > kept:
            return list(live[: index + 1])
    return []


def _why_nothing(
    view: View, unprotected: Sequence[Item], live: Sequence[Saving], gone: Sequence[Saving], kept: int
) -> str:
    if not any(i.role == "tool" for i in view.tail):
        return "there are no tool results in the view"
    if not unprotected:
        return "all tool results are recent enough to be protected"
    if not live:
        return "every older tool result is pruned, spilled or pinned already"
    if not gone:
        older = sum(s.tokens for s in live)
        return f"the older tool results come to {older:,} tokens, and {kept:,} are kept unless all are asked for"
    return "no older tool result is larger than its placeholder"


def _named(view: View, results: Mapping[int, ToolReturned], ruler: Ruler, record: int) -> Saving:
    """The saving for a record the user named. Raises `BadTarget`."""
    if all(r.id != record for r in view.records):
        raise BadTarget(record, "there is no such record in this session")
    if record not in results:
        raise BadTarget(record, "it is not a tool result")
    item = next((i for i in view.conversation if i.record == record and i.role == "tool"), None)
    if item is None:
        raise BadTarget(record, "it answers no call and is not in the view")
    if item not in view.tail:
        raise BadTarget(record, "a compaction has already taken it out of the view")
    if item.state != "live":
        raise BadTarget(record, f"it is {item.state} already" if item.state != "pinned" else "it is pinned")
    saving = _saving(results, ruler, item)
    if saving is None or saving.freed <= 0:
        raise BadTarget(record, "it is no larger than its placeholder would be")
    return saving
