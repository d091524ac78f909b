"""What the log says about earlier attempts: back-off, the spent retry, thrash.

No decision (that is `gates`) and no flag anywhere: everything is read from the records, so it holds across a restart
and cannot be stuck.

Words: a *reset* is the user's own compaction, prune, undo, budget or model change; it ends every count here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from compaction.budget import CEILING_DENOMINATOR, CEILING_NUMERATOR, Budget, Window, too_much_claimed
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Pruned,
    Record,
    Reverted,
    Rewound,
    SettingsChanged,
    ToolReturned,
    UserSaid,
    WindowLearned,
)
from compaction.view import View

# The summariser is asked at most this often in a row for nothing: each try costs a whole read of the conversation.
MOST_FAILURES = 3

# Compactions this close (steps) to the one before freed nothing that lasted.
THRASH_STEPS = 3
# How many such in a row are thrash. Under 32k tokens of window one step can be worth a whole band, so five there.
THRASH_COUNT, THRASH_COUNT_SMALL, SMALL_WINDOW = 3, 5, 32_000

# Tools whose call again says that the summary did not hold what was in view before.
READING = ("read", "recall", "grep")
# Two compactions further apart (steps) than three times that did their work in between: a plan read again after each
# is a habit, not a sign, unless the steps since brought nothing new. What it misses, the row above and the limit catch.
REREAD_STEPS = 3 * THRASH_STEPS
# After how many in a row the same read comes again. Under 32k tokens of window every compaction is within those steps
# of the one before, and a healthy session reads its one file or its plan after each: there it takes five between which
# no file was changed, or two between which nothing new came at all.
REREADS, REREADS_SMALL = 2, 5

# What tells one result from another beside its size, characters: a file that was changed since is another read. The
# start alone, because a spilled result's preview ends with its own record's number.
SAME_START = 1_000

# One reactive retry per run: a second refusal says that the next would be refused too.
REACTIVE_RETRIES = 1

# Outcomes that say nothing about the summariser: they wait for growth but do not count as failures.
_UNCOUNTED = frozenset({Outcome.INTERRUPTED, Outcome.NOTHING_TO_DO, Outcome.REFUSED_FIXED, Outcome.STOPPED})


def is_reset(record: Record) -> bool:
    """Whether this record is the user's own action that clears back-off and thrash."""
    match record.body:
        case Compacted(gate=Gate.ASKED) | Pruned(gate=Gate.ASKED) | Reverted():
            return True
        case SettingsChanged(model=model, budget=budget):
            return model is not None or budget is not None
        case _:
            return False


def is_conversation(record: Record) -> bool:
    """Whether this record put something into the conversation."""
    match record.body:
        case UserSaid() | AssistantSaid() | ToolReturned() | Noted(to_model=True):
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class Backoff:
    """`failures` in a row; no proactive attempt below `until` tokens; `undone`: the wait follows an undo."""

    failures: int = 0
    until: int = 0
    undone: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the summariser is not to be asked any more."""
        return self.failures >= MOST_FAILURES


def regrown(size: int, budget: Budget) -> int:
    """The size from which another try is worth it after one at `size`, tokens: half the way to B, above B by R."""
    if size < budget.budget:
        return size + max(1, (budget.budget - size) // 2)
    return size + budget.reserve


def backoff(view: View, budget: Budget) -> Backoff:
    """The back-off in force."""
    failures = until = 0
    # An emergency makes room without a summary: the sizes of failures before it say nothing of growth any more.
    grown = False
    for record in reversed(view.deeds):
        body = record.body
        if isinstance(body, Reverted) and not until and not grown:
            return Backoff(failures, regrown(body.after, budget), True)
        if is_reset(record):
            break
        if isinstance(body, Compacted):
            if body.gate is not Gate.EMERGENCY:
                break
            grown = True
        if isinstance(body, CompactionFailed) and body.gate is not Gate.ASKED:
            until = until or (0 if grown else regrown(body.size, budget))
            failures += body.outcome not in _UNCOUNTED
    return Backoff(failures, until)


def run_start(view: View) -> int:
    """Id of the message that opened the running turn; 0 before the first."""
    opened = (r.id for r in reversed(view.records) if isinstance(r.body, UserSaid) and r.body.how == "typed")
    return next(opened, 0)


def refusals(view: View) -> tuple[Record, ...]:
    """The provider's refusals for length in the running turn, oldest first."""
    since = run_start(view)
    return tuple(r for r in view.records if r.id > since and isinstance(r.body, WindowLearned) and not r.body.summary)


def refused_before(view: View, *, unnumbered: bool = False) -> bool:
    """Whether this model's provider has refused a request for its length: what is estimated is not its count.

    `unnumbered`: without naming its window, so that the answer wished for may have been to blame.
    """
    found = (r.body for r in view.deeds if isinstance(r.body, WindowLearned) and r.body.model == view.model)
    spoken = (b for b in found if not (b.summary or b.bytes or b.silent))
    return any(not unnumbered or b.window is None for b in spoken)


def wished_in(view: View, window: Window) -> Window:
    """The window that the wished answer is fitted into: one that a refusal contradicts is as good as unknown."""
    found = (r.body for r in view.deeds if isinstance(r.body, WindowLearned) and r.body.model == view.model)
    unnamed = (b for b in found if b.window is None and not (b.summary or b.bytes or b.silent))
    wrong = any(too_much_claimed(window, max(b.refused, b.asked or 0)) for b in unnamed)
    return replace(window, tokens=None, ceiling=None) if wrong else window


def shares_window(view: View, model: str, endpoint: str) -> bool:
    """Whether an input was refused that fits the stated window: then the wished answer is taken from it as well.

    Where the provider did not count, our own count has to fit by far.
    """
    found = (r.body for r in view.deeds if isinstance(r.body, WindowLearned) and not (r.body.summary or r.body.bytes))
    mine = ((b, b.window) for b in found if (b.model, b.endpoint) == (model, endpoint) and b.window is not None)
    return any(
        b.refused < window * CEILING_NUMERATOR // CEILING_DENOMINATOR if b.asked is None else b.asked < window
        for b, window in mine
    )


def ceiling(view: View, model: str, endpoint: str) -> int | None:
    """The least size refused without a number that nothing contradicts, tokens.

    What contradicts it: a number learned since, a request as large that was answered (the same one, with a smaller
    answer wished for), and the user's own choice of model or budget, so that a wrong refusal cannot wall a session in.
    """
    refused: list[int] = []
    answered, same = 0, False
    for record in view.records:
        match record.body:
            case WindowLearned() as body if (body.model, body.endpoint) == (model, endpoint):
                if body.window is not None:
                    refused.clear()
                elif body.ceiling is not None:
                    refused.append(body.ceiling)
                    same = not body.silent
            case Pruned() | Compacted() | Rewound() | UserSaid():
                same = False
            case AssistantSaid(usage=usage, model=by) if usage is not None and by == model:
                answered = max(answered, usage.input, refused[-1] if same and refused else 0)
                same = False
            case SettingsChanged(model=chosen, budget=budget) if chosen is not None or budget is not None:
                refused.clear()
            case _:
                pass
    return min((size for size in refused if size > answered), default=None)


def retry_spent(view: View) -> bool:
    """Whether the running turn has used its one reactive retry."""
    return len(refusals(view)) > REACTIVE_RETRIES


def automatic_since(view: View, after: int) -> tuple[Record, ...]:
    """The gates' own rewrites and failures written after record `after`; what the user asked for is none of them."""
    found = (r for r in view.records if r.id > after and isinstance(r.body, (Pruned, Compacted, CompactionFailed)))
    return tuple(r for r in found if getattr(r.body, "gate", None) is not Gate.ASKED)


def last_conversation(view: View) -> int:
    """Id of the newest record that is part of the conversation; attempts after it were made at this very place."""
    return next((r.id for r in reversed(view.records) if is_conversation(r)), 0)


def _since_reset(view: View) -> tuple[Record, ...]:
    """What was written since the user last cleared the counts."""
    last = next((i for i in range(len(view.records) - 1, -1, -1) if is_reset(view.records[i])), -1)
    return view.records[last + 1 :]


def said_stopped(view: View) -> bool:
    """Whether the log says already that automatic compaction stopped; it holds until the user's own action."""
    for record in reversed(view.deeds):
        if is_reset(record):
            return False
        if isinstance(record.body, CompactionFailed) and record.body.outcome is Outcome.STOPPED:
            return True
    return False


def _stopped(records: tuple[Record, ...]) -> str | None:
    found = (r.body for r in records if isinstance(r.body, CompactionFailed) and r.body.outcome is Outcome.STOPPED)
    return next((body.detail for body in found), None)


# One result: its call, its size and its start.
_Result: TypeAlias = tuple[str, int, str]


@dataclass
class _Row:
    """One automatic compaction: steps since the one before (None for the first), and what came after it.

    `reads` are what was read right after it: call, size and start of the result; `results` are those of all calls
    before the next. `changed`: a file was. `spoken`: the user said something.
    """

    gap: int | None
    reads: set[_Result] = field(default_factory=set)
    results: set[_Result] = field(default_factory=set)
    changed: bool = False
    spoken: bool = False


def thrash(view: View, window: int | None) -> str | None:
    """Why automatic compaction should stop: it frees nothing that lasts. None when it does its work."""
    records = _since_reset(view)
    said = _stopped(records)
    if said is not None:
        return said
    small = window is not None and window < SMALL_WINDOW
    rows = _rows(records)
    needed = THRASH_COUNT_SMALL if small else THRASH_COUNT
    # The first of a row has no gap of its own: n compactions in a row show n - 1 gaps.
    if _in_a_row(rows, THRASH_STEPS) >= needed:
        return f"{needed} compactions in a row, each within {THRASH_STEPS} steps of the one before"
    needed = REREADS if not small or _nothing_new(rows) else REREADS_SMALL
    last = rows[-needed:]
    if len(last) < needed or (small and any(row.changed for row in last)):
        return None
    near = _in_a_row(rows, REREAD_STEPS) >= needed
    if not near and (last[-1].spoken or not _nothing_new(rows)):
        return None
    again = sorted(call for call, _, _ in set.intersection(*(row.reads for row in last)))
    if not again:
        return None
    return f"the same read, and the same result, after each of {needed} compactions in a row ({again[0][:80]})"


def _nothing_new(rows: list[_Row]) -> bool:
    """Whether the steps since the newest compaction brought only what those after the one before had brought."""
    if len(rows) < REREADS:
        return False
    before, since = rows[-REREADS:]
    return not (before.changed or since.changed) and since.results <= before.results


def _in_a_row(rows: list[_Row], steps: int) -> int:
    """How many of the newest compactions came within so many steps of the one before, the first of them included."""
    count = 1
    for row in reversed(rows):
        if row.gap is None or row.gap > steps:
            break
        count += 1
    return min(count, len(rows))


def _rows(records: tuple[Record, ...]) -> list[_Row]:
    rows: list[_Row] = []
    asked: dict[str, tuple[str, str, int]] = {}
    steps = 0
    for record in records:
        match record.body:
            case UserSaid() if rows:
                rows[-1].spoken = True
            case AssistantSaid(calls=calls):
                steps += 1
                if rows:
                    asked.update({c.id: (c.name, c.arguments, steps) for c in calls})
            case ToolReturned() as body if rows:
                rows[-1].changed |= body.changed and not body.failed
                if body.call in asked:
                    name, arguments, step = asked.pop(body.call)
                    result = (f"{name} {arguments}", body.characters, body.text[:SAME_START])
                    rows[-1].results.add(result)
                    if name in READING and step <= THRASH_STEPS:
                        rows[-1].reads.add(result)
            case Compacted(gate=gate) if gate is not Gate.ASKED:
                rows.append(_Row(steps if rows else None))
                steps = 0
                asked.clear()
            case _:
                pass
    return rows
