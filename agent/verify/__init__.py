"""Replays a session log and complains of everything in it that cannot be right.

Not a repair: nothing is written. Pure but for reading the one file.

    warning    what a killed program may leave behind: a torn line, a call without a result (exit status 0)
    fault      a damaged line, or a record that says what the engine never does (exit status 1)

What is checked is what a log can show of the engine's invariants: ids and order, the marks of the start, calls beside
their results, rewrites whose targets are in the view and are replaced once (`agent.verify.rewrites`), undo from the
newest on, one reactive retry a turn, primer, pins and the newest message in every view (`agent.verify.view`), and that
a view grown record by record is the one that folding gives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.incoming.admission import ADMIT_SHARE
from agent.session_log import NAME, Damage, load
from agent.verify.rewrites import Known, doubtful, wrong_compaction, wrong_prune, wrong_tag
from agent.verify.view import invalid
from compaction.budget import LIMIT_MARGIN
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Pinned,
    Pruned,
    Record,
    Reverted,
    Rewound,
    Started,
    ToolReturned,
    UserSaid,
    WindowLearned,
)
from compaction.view import PREVIEW, View, fold, step

# Refusals for length in one turn: the first is answered by the one retry, the second ends the turn.
REFUSALS = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one record; `record` is its id."""

    record: int
    text: str

    def __str__(self) -> str:
        return f"record {self.record}: {self.text}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a log looks like. `torn` and `warnings` are no faults; `damaged` and `faults` are.

    `torn_end`: the last line is torn, and nobody has gone on after it.
    """

    path: Path
    records: int
    torn_end: bool
    torn: tuple[Damage, ...]
    damaged: tuple[Damage, ...]
    warnings: tuple[Finding, ...]
    faults: tuple[Finding, ...]

    @property
    def code(self) -> int:
        """The exit status."""
        return 1 if self.damaged or self.faults else 0

    def lines(self) -> tuple[str, ...]:
        """The report for people, one sentence part a line, faults first."""
        faults = [f"fault: {x}" for x in (*self.damaged, *self.faults)]
        warnings = [f"warning: {x}" for x in (*self.torn, *self.warnings)]
        return (*faults, *warnings)


def verify(path: Path) -> Report:
    """The report on the log at `path` (the file or its folder). Raises `NotASession` where there is no file."""
    path = path / NAME if path.is_dir() else path
    lines = load(path)
    replay = _Replay()
    for record in lines.records:
        replay.take(record)
    replay.end(lines.count)
    torn = tuple(d for d in lines.damage if d.torn)
    damaged = tuple(d for d in lines.damage if not d.torn)
    if not lines.count:
        replay.warnings.append(Finding(0, "the log is empty: the program ended before its session began"))
    torn_end = bool(torn) and torn[-1].line == lines.count
    return Report(path, len(lines.records), torn_end, torn, damaged, tuple(replay.warnings), tuple(replay.faults))


class _Replay:
    """The log up to now, as the view that has grown with it."""

    def __init__(self) -> None:
        self.live = View()
        self.taken: list[Record] = []
        self.known = Known()
        self.waiting: Counter[str] = Counter()
        self.refusals = 0
        self.warnings: list[Finding] = []
        self.faults: list[Finding] = []

    def take(self, record: Record) -> None:
        """Checks a record against what came before it, then adds it."""
        self.faults += [Finding(record.id, text) for text in self._wrong(record)]
        self.warnings += [Finding(record.id, text) for text in doubtful(record.body, self.live, self.known)]
        self.taken.append(record)
        self.live = step(self.live, record)
        self.known = self.known.after(record.body, self.live.model)
        if isinstance(record.body, Rewound):
            self._count_calls()
        # Asked for at every record, so that the next view is grown from this one, as in a session.
        items = self.live.items
        if isinstance(record.body, (Pruned, Compacted, Reverted, Rewound, Pinned)):
            self.faults += [Finding(record.id, f"the view after it {text}") for text in invalid(self.live)]
            # The other rewrites make the view anew; a compaction takes the grown conversation over.
            if isinstance(record.body, Compacted) and items != View(self.live.records).items:
                self.faults.append(Finding(record.id, "the view after it is another than its records give"))

    def end(self, count: int) -> None:
        """What only the whole log shows. `count`: its lines."""
        self.faults += [Finding(count, f"the view at the end {text}") for text in invalid(self.live)]
        if fold(self.taken).items != self.live.items:
            self.faults.append(Finding(count, "folding the log gives another view than following it"))
        self.warnings += [Finding(count, f"the call {call} has no result") for call in self.waiting.elements()]

    def _count_calls(self) -> None:
        self.waiting.clear()
        for record in self.live.records:
            self._follow_calls(record)

    def _follow_calls(self, record: Record) -> bool:
        """Whether the record is no result, or one that was waited for."""
        if isinstance(record.body, AssistantSaid):
            self.waiting.update(call.id for call in record.body.calls)
        if not isinstance(record.body, ToolReturned):
            return True
        found = self.waiting[record.body.call] > 0
        self.waiting[record.body.call] -= found
        return found

    def _wrong(self, record: Record) -> Iterator[str]:
        body = record.body
        if isinstance(body, Started) != (not self.taken):
            yield "the first record starts the session, and no other" if self.taken else "the session has no start"
        if not self._follow_calls(record):
            self.warnings.append(Finding(record.id, "a result that no call waits for; it is in no view"))
        match body:
            case Started():
                yield from _wrong_start(body)
            case AssistantSaid():
                if not 0 < body.seen < record.id:
                    yield f"its request is said to contain record {body.seen}"
                if len({call.id for call in body.calls}) != len(body.calls):
                    yield "two of its calls have the same id"
                if self.refusals >= REFUSALS:
                    yield "answers a request made after the second refusal in one turn"
            case UserSaid():
                self.refusals *= body.how != "typed"
                yield from _wrong_message(body, self.live.started)
            case ToolReturned():
                if body.spilled is not None and len(body.text) > PREVIEW:
                    yield f"holds {len(body.text):,} characters of a result that went to a file"
            case WindowLearned():
                self.refusals += not body.summary
                if self.refusals > REFUSALS:
                    yield "more than one retry after a refusal in one turn"
            case Pruned():
                yield from wrong_prune(body, self.live)
            case Compacted():
                yield from wrong_compaction(body, self.live)
            case CompactionFailed():
                yield from wrong_tag(body)
            case Reverted():
                force = self.live.rewrites
                if not force or force[-1].id != body.target:
                    yield f"takes back record {body.target}, which is not the newest rewrite in force"
            case Rewound():
                if not 1 < body.before <= record.id:
                    yield f"goes back to before record {body.before}"
            case Pinned():
                if self.live.body_of(body.target) is None:
                    yield f"pins record {body.target}, which is not in force"
            case _:
                pass


def _wrong_start(body: Started) -> Iterator[str]:
    """Marks that no window and no policy give. A trigger below 2 is one that switches the automatic gates off."""
    if body.trigger >= 2 and not 0 < body.landing < body.trigger < body.budget:
        marks = f"landing {body.landing:,}, trigger {body.trigger:,}, budget {body.budget:,}"
        yield f"its marks are not in their order: {marks}"
    if body.window is not None and body.budget > body.window - body.window // LIMIT_MARGIN:
        yield f"its budget of {body.budget:,} is more than can be sent to a window of {body.window:,}"


def _wrong_message(body: UserSaid, started: Started | None) -> Iterator[str]:
    """What admission never does: whether it is shown short is for the first trigger and the text alone to say."""
    if body.admitted is None:
        return
    if not 0 < body.admitted < len(body.text):
        yield f"is shown in {body.admitted:,} of its {len(body.text):,} characters"
    # No tokenizer has more tokens than bytes.
    elif started is not None and len(body.text.encode()) <= started.trigger * ADMIT_SHARE // 100:
        yield f"is shown short, and is not above {ADMIT_SHARE}% of the first trigger"
