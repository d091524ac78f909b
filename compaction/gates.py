"""The gates: given the log's view and the budget, what happens before the next request.

No acting: a decision is a value; the agent carries it out, which appends records, and asks again. Not a loop: each
answer rests on the records, so the same place cannot give the same rewrite twice.

Invariants
 1. Order: spill, prune, measure, compact; each rung is taken once at one place, then comes the next, then refusal.
 2. Nothing is rewritten below its gate; a proactive rewrite aims at the landing, the others at it too but need only
    the limit.
 3. With automatic off no decision but `Proceed` and `Refuse` is given.
 4. At most one reactive retry per run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from compaction.attempts import (
    REACTIVE_RETRIES,
    attempts_since,
    backoff,
    last_conversation,
    refusals,
    retry_spent,
    thrash,
)
from compaction.budget import CEILING_DENOMINATOR, CEILING_NUMERATOR, Budget
from compaction.cut import Cut, choose_cut, spill_candidates
from compaction.prune import PrunePlan, plan_prune
from compaction.records import Compacted, CompactionFailed, Gate, Outcome, Pruned, Record, WindowLearned
from compaction.tokens import Ruler, calibrated, calibration, fixed, fixed_parts, measure
from compaction.view import View

# A conversation shorter than this is all "recent": a summary of it would be no shorter than a sentence each.
LEAST_STEPS = 4

# The floor of a tail, in steps: what the model just did must stay word for word or it does it again.
FLOOR_STEPS = 3


@dataclass(frozen=True, slots=True)
class Proceed:
    """Send the request. `max_tokens` is a smaller answer to ask for, when only that was too large."""

    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Spill:
    """Move these live results to files."""

    gate: Gate
    records: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Prune:
    """Replace these old results."""

    gate: Gate
    plan: PrunePlan


@dataclass(frozen=True, slots=True)
class Compact:
    """Ask the summariser for everything before the cut; the result must end at or under `target` tokens."""

    gate: Gate
    cut: Cut
    target: int


@dataclass(frozen=True, slots=True)
class Emergency:
    """Compact without a model, because `gate` could not with one."""

    gate: Gate
    cut: Cut


@dataclass(frozen=True, slots=True)
class Fail:
    """Write down that nothing can be done here, then ask again."""

    gate: Gate
    outcome: Outcome
    detail: str
    size: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """End the turn with a clear error. `size` and `limit` are both numbers (tokens) people need."""

    gate: Gate
    outcome: Outcome
    text: str
    size: int
    limit: int | None


Decision: TypeAlias = Proceed | Spill | Prune | Compact | Emergency | Fail | Refuse


@dataclass(frozen=True, slots=True)
class Place:
    """Where the size is checked. `inside_turn`: after a tool batch. `last`: it ends a turn out of steps."""

    inside_turn: bool = False
    last: bool = False


def k(tokens: int) -> str:
    """Tokens for people: 160k, 61.4k, 900."""
    if tokens < 1_000:
        return str(tokens)
    text = f"{tokens / 1_000:.1f}"
    return text.removesuffix(".0") + "k"


def over_budget(budget: Budget) -> str:
    """The sentence for a size over the chosen budget."""
    window = "an unknown window" if budget.window.tokens is None else f"a {k(budget.window.tokens)} window"
    return f"working budget reached ({k(budget.budget)} of {window})"


def window_full(size: int, budget: Budget) -> str:
    """The sentence for a size over what the model accepts."""
    if budget.limit is None:
        return f"the model's window is full ({size:,} tokens were refused; its size is unknown)"
    return f"the model's window is full ({size:,} tokens, at most {budget.limit:,} can be sent)"


def largest_fixed(view: View, ruler: Ruler) -> tuple[tuple[str, int], ...]:
    """The three largest parts no rewrite can shrink, by name, calibrated tokens: fixed part, primer, pins."""
    factor = calibration(view)
    named = list(fixed_parts(view, ruler))
    if view.primer is not None:
        named.append(("first user message", ruler.item(view.primer)))
    named += [(f"pin #{i.record}", ruler.item(i)) for i in view.conversation if i.record in view.pins]
    return tuple((name, round(tokens * factor)) for name, tokens in sorted(named, key=lambda n: -n[1])[:3])


def unshrinkable(view: View, ruler: Ruler, budget: Budget) -> int:
    """Fixed part, primer (as a compaction would show it) and pins, calibrated tokens."""
    primer = view.primer
    own = 0 if primer is None else min(ruler.item(primer), primer_cap(view, budget))
    pins = sum(ruler.item(i) for i in view.conversation if i.record in view.pins and i is not primer)
    return round((fixed(view, ruler) + own + pins) * calibration(view))


def primer_cap(view: View, budget: Budget) -> int:
    """The most tokens of a first message a compaction keeps: a quarter of the landing the session started with."""
    return (view.started.landing if view.started else budget.landing) // 4


def refuse_fixed(view: View, ruler: Ruler, budget: Budget) -> str:
    """The sentence for a fixed part that leaves no room: names the three largest with their sizes."""
    names = ", ".join(f"{name} {tokens:,}" for name, tokens in largest_fixed(view, ruler))
    need = unshrinkable(view, ruler, budget)
    return (
        f"what no compaction can shrink takes {need:,} tokens, more than the {budget.landing:,} a rewrite may end at; "
        f"the largest: {names}"
    )


def check_prompt(view: View, ruler: Ruler, budget: Budget, tokens: int) -> Refuse | None:
    """Whether a message of `tokens` (uncalibrated) fits at all, even after a rewrite; asked before it is logged."""
    if budget.limit is None:
        return None
    need = unshrinkable(view, ruler, budget) + round(tokens * calibration(view))
    if need < budget.limit:
        return None
    base = unshrinkable(view, ruler, budget)
    text = f"this message would need {need:,} tokens with the fixed part, but at most {budget.limit:,} can be sent"
    if budget.window.effective is not None:
        text += f" to a window of {budget.window.effective:,}"
    outcome = Outcome.REFUSED_WINDOW
    if base >= budget.landing:
        text = f"{text}; {refuse_fixed(view, ruler, budget)}"
    return Refuse(Gate.PRE_FLIGHT, outcome, text, need, budget.limit)


def decide(view: View, ruler: Ruler, budget: Budget, place: Place) -> Decision:
    """What to do before the next request of this view."""
    refused = refusals(view)
    if refused and refused[-1].id > last_conversation(view):
        return _after_refusal(view, ruler, budget, refused[-1], place)
    size = measure(view, ruler).total
    if not budget.automatic:
        return Proceed()
    if budget.limit is not None and size >= budget.limit:
        gate = Gate.FORCE_STOP if place.last else Gate.PRE_FLIGHT
        return _must(view, ruler, budget, gate, place, size, last_conversation(view), budget.limit)
    if size >= budget.trigger:
        return _may(view, ruler, budget, place, size)
    return Proceed()


def _may(view: View, ruler: Ruler, budget: Budget, place: Place, size: int) -> Decision:
    """The proactive gate: the budget is a choice, so failing here costs nothing but space."""
    wait = backoff(view, budget)
    if wait.undone and size < wait.until:
        return Proceed()
    since = attempts_since(view, last_conversation(view))
    spilled = _spill(view, ruler, budget, size, budget.landing)
    if spilled and not _did(since, "spilled"):
        return Spill(Gate.PROACTIVE, spilled)
    if not _did(since, "pruned"):
        plan = plan_prune(view, ruler, budget, inside_turn=place.inside_turn)
        if plan.records:
            return Prune(Gate.PROACTIVE, plan)
    if wait.stopped or size < wait.until or any(isinstance(r.body, (CompactionFailed, Compacted)) for r in since):
        return Proceed()
    why = thrash(view, budget.window.effective)
    if why is not None:
        return Proceed() if _said_stopped(view) else Fail(Gate.PROACTIVE, Outcome.STOPPED, why, size)
    if _steps(view) < LEAST_STEPS:
        return Proceed()
    if unshrinkable(view, ruler, budget) > budget.landing:
        return Fail(Gate.PROACTIVE, Outcome.REFUSED_FIXED, refuse_fixed(view, ruler, budget), size)
    cut = choose_cut(view, ruler, budget, Gate.PROACTIVE, room=_room(view, ruler, budget, budget.landing))
    if cut is None:
        return Fail(Gate.PROACTIVE, Outcome.NOTHING_TO_DO, "nothing lies between the last summary and the tail", size)
    return Compact(Gate.PROACTIVE, cut, budget.landing)


def _must(
    view: View, ruler: Ruler, budget: Budget, gate: Gate, place: Place, size: int, after: int, under: int
) -> Decision:
    """The gates the turn depends on: rung after rung until the size is below `under`, then an honest refusal."""
    since = attempts_since(view, after)
    spilled = _spill(view, ruler, budget, size, min(under, budget.landing))
    if spilled and not _did(since, "spilled"):
        return Spill(gate, spilled)
    if not _did(since, "pruned"):
        plan = plan_prune(view, ruler, budget, inside_turn=place.inside_turn)
        if plan.records:
            return Prune(gate, plan)
    if unshrinkable(view, ruler, budget) >= under:
        return Refuse(gate, Outcome.REFUSED_WINDOW, refuse_fixed(view, ruler, budget), size, budget.limit)
    tried = [r for r in since if isinstance(r.body, (CompactionFailed, Compacted))]
    wait = backoff(view, budget)
    if not tried and not wait.stopped and _steps(view) >= LEAST_STEPS:
        if thrash(view, budget.window.effective) is None:
            cut = choose_cut(view, ruler, budget, gate, room=_room(view, ruler, budget, under))
            left = spill_candidates(view, ruler, newest_steps=FLOOR_STEPS) if cut is not None and cut.lowered else ()
            if left:
                return Spill(gate, (left[0].record,))
            if cut is not None:
                return Compact(gate, cut, under)
        elif not _said_stopped(view):
            return Fail(gate, Outcome.STOPPED, thrash(view, budget.window.effective) or "", size)
    if not any(isinstance(r.body, Compacted) and r.body.gate is Gate.EMERGENCY for r in since):
        cut = choose_cut(view, ruler, budget, Gate.EMERGENCY, room=_room(view, ruler, budget, under))
        if cut is not None:
            return Emergency(gate, cut)
    left = spill_candidates(view, ruler)
    if left:
        return Spill(gate, (left[0].record,))
    return Refuse(gate, Outcome.REFUSED_WINDOW, window_full(size, budget), size, budget.limit)


def _after_refusal(view: View, ruler: Ruler, budget: Budget, refused: Record, place: Place) -> Decision:
    """The reactive gate: learn first (the record is already there), then one rewrite and one retry."""
    body = refused.body
    assert isinstance(body, WindowLearned)
    size = measure(view, ruler).total
    if retry_spent(view):
        text = f"the provider refused the request for its length {REACTIVE_RETRIES + 1} times in this turn"
        return Refuse(Gate.REACTIVE, Outcome.REFUSED_WINDOW, f"{text}; nothing was lost", size, budget.limit)
    since = attempts_since(view, refused.id)
    if (
        not since
        and body.asked is not None
        and budget.limit is not None
        and body.asked < budget.limit
        and not body.bytes
    ):
        window = budget.window.effective or 0
        return Proceed(max_tokens=max(1, window - body.asked - window // 20))
    if not budget.automatic:
        text = f"{window_full(body.asked or body.refused, budget)} and automatic rewrites are off: /compact or /prune"
        return Refuse(Gate.REACTIVE, Outcome.REFUSED_WINDOW, text, size, budget.limit)
    under = _reactive_target(body, budget)
    if since and size < under:
        return Proceed()
    return _must(view, ruler, budget, Gate.REACTIVE, place, size, refused.id, under)


def _reactive_target(body: WindowLearned, budget: Budget) -> int:
    """Below how many tokens a retry has a chance: the limit if a number was learned, else clearly less than refused."""
    if body.window is not None and budget.limit is not None:
        return budget.limit
    below = body.refused * CEILING_NUMERATOR // CEILING_DENOMINATOR
    return below if budget.limit is None else min(below, budget.limit)


def _spill(view: View, ruler: Ruler, budget: Budget, size: int, under: int) -> tuple[int, ...]:
    """The fewest oversized live results whose spilling brings the size under `under`; none when all do not suffice."""
    factor = calibration(view)
    chosen: list[int] = []
    for saving in spill_candidates(view, ruler):
        # What arrival let pass is at most B/8 of the budget in force then; larger ones came under another budget.
        if saving.tokens <= budget.budget // 8:
            break
        chosen.append(saving.record)
        size -= round(saving.freed * factor)
        if size < under:
            return tuple(chosen)
    return ()


def _room(view: View, ruler: Ruler, budget: Budget, under: int) -> int:
    """What a tail may hold so that the view ends under `under`, uncalibrated tokens."""
    rest = unshrinkable(view, ruler, budget) + budget.summary_cap + budget.fact_cap
    return max(0, round((under - rest) / calibration(view)))


def _did(since: tuple[Record, ...], how: str) -> bool:
    return any(isinstance(r.body, Pruned) and r.body.how == how for r in since)


def _steps(view: View) -> int:
    """Steps in the conversation as the view shows it."""
    return sum(1 for item in view.items if item.role == "assistant")


def _said_stopped(view: View) -> bool:
    for record in reversed(view.records):
        body = record.body
        if isinstance(body, CompactionFailed) and body.outcome is Outcome.STOPPED:
            return True
        if isinstance(body, Compacted):
            return False
    return False


def landed(view: View, ruler: Ruler) -> int:
    """The size a rewrite is judged by, calibrated tokens."""
    return calibrated(view, ruler)
