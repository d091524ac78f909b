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

from dataclasses import dataclass, replace
from typing import TypeAlias

from compaction.attempts import (
    REACTIVE_RETRIES,
    automatic_since,
    backoff,
    last_conversation,
    refusals,
    retry_spent,
    said_stopped,
    thrash,
)
from compaction.budget import CEILING_DENOMINATOR, CEILING_NUMERATOR, LIMIT_MARGIN, Budget, smaller_wish
from compaction.bulk import BYTES_A_TOKEN, SHED_SHARE, Bulk, refused_bulk, refused_for_bytes
from compaction.cut import FLOOR_STEPS, Cut, choose_cut, largest_results, spill_candidates
from compaction.emergency import emergency, previous_summary
from compaction.prune import PrunePlan, plan_prune
from compaction.records import Compacted, CompactionFailed, Gate, Outcome, Pruned, Record, WindowLearned
from compaction.room import (
    BYTES_REFUSED,
    aside,
    k,
    largest_fixed,
    last_step,
    left_beside,
    over_budget,
    primer_cap,
    reactive_target,
    refuse_fixed,
    too_bulky,
    unshrinkable,
    window_full,
)
from compaction.tokens import Ruler, calibrated, calibration, estimate, measure
from compaction.view import View, step

# A conversation shorter than this is all "recent": a summary of it would be no shorter than a sentence each.
LEAST_STEPS = 4

# A result above this part (1/8) of the budget is one that arrival would not let pass today.
OVERSIZED_SHARE = 8


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
    """Compact without a model, because `gate` could not with one: `body` is the record to write."""

    gate: Gate
    cut: Cut
    body: Compacted


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


def check_prompt(view: View, ruler: Ruler, budget: Budget, tokens: int) -> Refuse | None:
    """Whether a message of `tokens` (uncalibrated) fits at all, even after a rewrite; asked before it is logged."""
    # What a refusal without a number lets one guess is no fact to turn a message away with: the provider is asked.
    if budget.limit is None or budget.window.guessed:
        return None
    fixed_part = unshrinkable(view, ruler, budget)
    need = fixed_part + last_step(view, ruler) + round(tokens * calibration(view))
    if need < budget.limit:
        return None
    text = f"this message would need {need:,} tokens with the fixed part, but at most {budget.limit:,} can be sent"
    if budget.window.effective is not None:
        text += f" to a window of {budget.window.effective:,}"
    newest = last_step(view, ruler)
    if newest * 2 > budget.limit:
        text += f"; the last step alone takes {newest:,}: go back before it, or choose a model with a larger window"
    if fixed_part >= budget.landing:
        text = f"{text}; {refuse_fixed(view, ruler, budget)}"
    outcome = Outcome.REFUSED_FIXED if fixed_part >= budget.limit else Outcome.REFUSED_WINDOW
    return Refuse(Gate.PRE_FLIGHT, outcome, text, need, budget.limit)


def decide(view: View, ruler: Ruler, budget: Budget, place: Place) -> Decision:
    """What to do before the next request of this view."""
    refused = refusals(view)
    if refused and refused[-1].id > last_conversation(view):
        return _after_refusal(view, ruler, budget, refused[-1], place)
    if not budget.automatic:
        return Proceed()
    size = measure(view, ruler).total
    if budget.limit is not None and size >= budget.limit:
        gate = Gate.FORCE_STOP if place.last else Gate.PRE_FLIGHT
        decision = _must(view, ruler, budget, gate, place, size, last_conversation(view), budget.limit)
        return Proceed() if isinstance(decision, Refuse) and budget.window.guessed else decision
    bulky = _bulky(view, ruler, budget, place)
    if bulky is not None:
        return bulky
    if size >= budget.trigger:
        return _may(view, ruler, budget, place, size)
    return Proceed()


def _bulky(view: View, ruler: Ruler, budget: Budget, place: Place) -> Decision | None:
    """The pre-flight gate in bytes, once the provider has refused some: a second refusal in a turn would end it."""
    refused = refused_for_bytes(view) if any(getattr(r.body, "bytes", False) for r in view.deeds) else None
    if refused is None:
        return None
    bulk = Bulk()
    most = refused_bulk(view, refused, bulk)
    if calibrated(view, bulk) < most * CEILING_NUMERATOR // CEILING_DENOMINATOR:
        return None
    gate = Gate.FORCE_STOP if place.last else Gate.PRE_FLIGHT
    decision = _shed(view, ruler, budget, gate, place, last_conversation(view), bulk, most // SHED_SHARE)
    # What is only guessed is no fact to refuse a request with.
    return None if isinstance(decision, Refuse) else decision


def _may(view: View, ruler: Ruler, budget: Budget, place: Place, size: int) -> Decision:
    """The proactive gate: the budget is a choice, so failing here costs nothing but space."""
    wait = backoff(view, budget)
    if wait.undone and size < wait.until:
        return Proceed()
    since = automatic_since(view, last_conversation(view))
    small = _spill_or_prune(view, ruler, budget, Gate.PROACTIVE, place, size, since, budget.landing)
    if small is not None:
        return small
    if wait.stopped or size < wait.until or any(isinstance(r.body, (CompactionFailed, Compacted)) for r in since):
        return Proceed()
    if _steps(view) < LEAST_STEPS:
        return Proceed()
    why = thrash(view, budget.window.effective)
    if why is not None:
        return Proceed() if said_stopped(view) else Fail(Gate.PROACTIVE, Outcome.STOPPED, why, size)
    if unshrinkable(view, ruler, budget) > budget.landing:
        return Fail(Gate.PROACTIVE, Outcome.REFUSED_FIXED, refuse_fixed(view, ruler, budget), size)
    cut = choose_cut(view, ruler, budget, Gate.PROACTIVE, room=left_beside(view, ruler, budget, budget.landing))
    if cut is None or cut.beyond > aside(budget):
        text = "nothing lies between the last summary and the tail"
        if cut is not None:
            text = "what must stay of the newest steps is more than a rewrite may end at, whatever the summary"
        return Fail(Gate.PROACTIVE, Outcome.NOTHING_TO_DO, text, size)
    return Compact(Gate.PROACTIVE, cut, budget.landing)


def _must(
    view: View, ruler: Ruler, budget: Budget, gate: Gate, place: Place, size: int, after: int, under: int
) -> Decision:
    """The gates the turn depends on: rung after rung until the size is below `under`, then an honest refusal."""
    if unshrinkable(view, ruler, budget) >= under:
        text = refuse_fixed(view, ruler, budget, under)
        return Refuse(gate, Outcome.REFUSED_FIXED, text, size, budget.limit)
    since = automatic_since(view, after)
    small = _spill_or_prune(view, ruler, budget, gate, place, size, since, under)
    if small is not None:
        return small
    long = _steps(view) >= LEAST_STEPS
    tried = any(isinstance(r.body, (CompactionFailed, Compacted)) for r in since)
    if long and not tried and not backoff(view, budget).stopped:
        why = thrash(view, budget.window.effective)
        if why is None:
            asked = _model_rung(view, ruler, budget, gate, under)
            if asked is not None:
                return asked
        elif not said_stopped(view):
            return Fail(gate, Outcome.STOPPED, why, size)
    return _last_rungs(view, ruler, budget, gate, size, under, long=long)


def _model_rung(view: View, ruler: Ruler, budget: Budget, gate: Gate, under: int) -> Decision | None:
    """A summary whose tail is its floor at the least; results of the floor are spilled where it does not fit."""
    target = min(under, budget.landing)
    cut = choose_cut(view, ruler, budget, gate, room=left_beside(view, ruler, budget, target))
    if cut is not None and cut.lowered:
        cut = choose_cut(view, ruler, budget, gate, room=left_beside(view, ruler, budget, under))
    if cut is None:
        return None
    spilled = largest_results(view, ruler, cut.excess, newest_steps=FLOOR_STEPS) if cut.lowered else ()
    if spilled:
        return Spill(gate, spilled)
    # A tail that does not fit without any summary will not fit with one: nobody is asked for it.
    return None if cut.beyond > aside(budget) else Compact(gate, cut, under)


def _last_rungs(view: View, ruler: Ruler, budget: Budget, gate: Gate, size: int, under: int, *, long: bool) -> Decision:
    """No model: what can be spilled without dropping a step, then the emergency, then what is left, then refusal."""
    excess = round((size - under) / calibration(view)) + 1
    if not long:
        # So short a conversation is all recent: its results go to files before any of its messages go.
        spilled = largest_results(view, ruler, excess)
        if spilled:
            return Spill(gate, spilled)
    room = left_beside(view, ruler, budget, under, ruler.text(previous_summary(view)))
    cut = choose_cut(view, ruler, budget, Gate.EMERGENCY, room=room)
    if cut is not None:
        spilled = largest_results(view, ruler, cut.excess, newest_steps=FLOOR_STEPS) if cut.lowered else ()
        if spilled:
            return Spill(gate, spilled)
        body = emergency(view, ruler, budget, cut, under)
        if body is not None:
            return Emergency(gate, cut, body)
    spilled = largest_results(view, ruler, excess)
    if spilled:
        return Spill(gate, spilled)
    return Refuse(gate, Outcome.REFUSED_WINDOW, window_full(size, budget), size, budget.limit)


def _after_refusal(view: View, ruler: Ruler, budget: Budget, refused: Record, place: Place) -> Decision:
    """The reactive gate: learn first (the record is already there), then one rewrite and one retry."""
    body = refused.body
    assert isinstance(body, WindowLearned)
    size = measure(view, ruler).total
    if retry_spent(view):
        text = f"the provider refused the request for its length {REACTIVE_RETRIES + 1} times in this turn"
        return Refuse(Gate.REACTIVE, Outcome.REFUSED_WINDOW, f"{text}; nothing was lost", size, budget.limit)
    since = automatic_since(view, refused.id)
    if not since and body.asked is not None and not body.bytes and _fits(body.asked, budget):
        window = budget.window.effective or 0
        return Proceed(max_tokens=max(1, window - body.asked - window // LIMIT_MARGIN))
    # Nothing is counted, but by our own count it fits the window that was stated: then the wished answer did not.
    answer_alone = not since and body.asked is None and body.window is not None and _fits(size, budget)
    if not budget.automatic:
        if answer_alone:
            return Proceed()
        said = BYTES_REFUSED if body.bytes else window_full(body.asked or body.refused, budget)
        outcome = Outcome.REQUEST_TOO_LARGE if body.bytes else Outcome.REFUSED_WINDOW
        text = f"{said} and automatic rewrites are off: /compact or /prune"
        return Refuse(Gate.REACTIVE, outcome, text, size, budget.limit)
    # A failure changed nothing: the same request would be refused again.
    rewritten = any(isinstance(r.body, (Pruned, Compacted)) for r in since)
    if body.bytes:
        bulk = Bulk()
        under = refused_bulk(view, refused, bulk) // SHED_SHARE
        if rewritten and calibrated(view, bulk) < under:
            return Proceed()
        return _shed(view, ruler, budget, Gate.REACTIVE, place, refused.id, bulk, under)
    under = reactive_target(body, budget)
    if rewritten and size < under:
        return Proceed()
    decision = _must(view, ruler, budget, Gate.REACTIVE, place, size, refused.id, under)
    if not isinstance(decision, Refuse):
        return decision
    if answer_alone:
        return Proceed()
    # The provider named no window, and no rewrite helps: it may have been the answer wished for.
    counted = max(size, body.asked or 0)
    wish = smaller_wish(budget.window, counted) if body.window is None and not body.silent else None
    if wish is not None:
        return Proceed(max_tokens=wish)
    # The provider's own count, where there is one, is the number people can hold against the limit.
    shown = size if decision.outcome is Outcome.REFUSED_FIXED else max(size, body.asked or 0)
    return replace(decision, text=window_full(shown, budget), size=shown) if shown > size else decision


def _shed(
    view: View, ruler: Ruler, budget: Budget, gate: Gate, place: Place, after: int, bulk: Bulk, under: int
) -> Decision:
    """The same rungs for a body too large: by `bulk`, for of pictures tokens say nothing."""
    decision = _must(view, bulk, budget, gate, place, calibrated(view, bulk), after, under)
    size = measure(view, ruler).total
    match decision:
        case Emergency(body=body):
            # What is written down is in tokens, as of every rewrite.
            then = calibrated(step(view, Record(view.last + 1, 0.0, body)), ruler)
            body = replace(body, before=calibrated(view, ruler), after=then)
            if body.after < body.before:
                return replace(decision, body=body)
        case Compact():
            return replace(decision, target=size if budget.limit is None else budget.limit)
        case Fail():
            return replace(decision, size=size)
        case Spill() | Prune():
            return decision
        case _:
            pass
    text = too_bulky(estimate(view, bulk) * BYTES_A_TOKEN)
    return Refuse(gate, Outcome.REQUEST_TOO_LARGE, text, size, budget.limit)


def _fits(asked: int, budget: Budget) -> bool:
    """Whether an input the provider counted fits the limit: then only the answer asked for was too large."""
    return budget.limit is not None and asked < budget.limit


def _spill_or_prune(
    view: View, ruler: Ruler, budget: Budget, gate: Gate, place: Place, size: int, since: tuple[Record, ...], under: int
) -> Spill | Prune | None:
    """The rungs before a compaction; each is taken once at one place."""
    if not _did(since, "spilled"):
        spilled = _oversized(view, ruler, budget, size, min(under, budget.landing))
        if spilled:
            return Spill(gate, spilled)
    if not _did(since, "pruned"):
        plan = plan_prune(view, ruler, budget, inside_turn=place.inside_turn)
        if plan.records:
            return Prune(gate, plan)
    return None


def _oversized(view: View, ruler: Ruler, budget: Budget, size: int, under: int) -> tuple[int, ...]:
    """The fewest oversized live results whose spilling brings the size under `under`; none when all do not suffice."""
    factor = calibration(view)
    chosen: list[int] = []
    for saving in spill_candidates(view, ruler):
        # What arrival let pass is at most B/8 of the budget in force then; larger ones came under another budget.
        if saving.tokens <= budget.budget // OVERSIZED_SHARE:
            break
        chosen.append(saving.record)
        size -= round(saving.freed * factor)
        if size < under:
            return tuple(chosen)
    return ()


def _did(since: tuple[Record, ...], how: str) -> bool:
    return any(isinstance(r.body, Pruned) and r.body.how == how for r in since)


def _steps(view: View) -> int:
    """Steps in the conversation as the view shows it."""
    return sum(1 for item in view.items if item.role == "assistant")


__all__ = [
    "Compact", "Decision", "Emergency", "Fail", "Place", "Proceed", "Prune", "Refuse", "Spill", "check_prompt",
    "decide", "k", "largest_fixed", "over_budget", "primer_cap", "refuse_fixed", "unshrinkable", "window_full",
]  # fmt: skip
