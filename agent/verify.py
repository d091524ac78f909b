"""Replays a session log and complains of everything in it that cannot be right.

Not a repair: nothing is written. Pure but for reading the one file.

    warning    what a killed program may leave behind: a torn line, a call without a result (exit status 0)
    fault      a damaged line, or a record that says what the engine never does (exit status 1)

What is checked is what a log can show of the engine's invariants: ids and order, calls beside their results, rewrites
whose targets exist and are replaced once, cuts at legal points that join without a gap, sizes that fall, undo from the
newest on, one reactive retry a turn, primer, pins and the newest message in every view, and that no record holds the
conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.session_log import NAME, Damage, load
from compaction.cut import legal_cuts, prefix_start
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Gate,
    Pinned,
    Pruned,
    Record,
    Reverted,
    Rewound,
    SettingsChanged,
    Started,
    ToolReturned,
    UserSaid,
    WindowLearned,
    tag_of,
)
from compaction.view import NO_RESULT, View, fold

# Summary, fact sheet and learnings are capped near 10,000 tokens, 100,000 characters of the longest words; twice that
# is no summary.
MOST_OF_A_SUMMARY = 200_000

# A message this long (characters) standing whole in a summary is no quotation.
LONG_MESSAGE = 1_000

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
    torn_end = bool(torn) and torn[-1].line == lines.count
    return Report(path, len(lines.records), torn_end, torn, damaged, tuple(replay.warnings), tuple(replay.faults))


class _Replay:
    """The log up to now: the records in force as a list, and a view made of them only where a check needs one."""

    def __init__(self) -> None:
        self.force: list[Record] = []
        self.known: dict[int, Record] = {}
        self.waiting: Counter[str] = Counter()
        self.refusals = 0
        self.as_started = True
        self.warnings: list[Finding] = []
        self.faults: list[Finding] = []

    def view(self) -> View:
        return View(tuple(self.force))

    def take(self, record: Record) -> None:
        """Checks a record against what came before it, then adds it."""
        self.faults += [Finding(record.id, text) for text in self._wrong(record)]
        self.known[record.id] = record
        if isinstance(record.body, Rewound):
            before = record.body.before
            self.force = [r for r in self.force if r.id < before]
            self._count_calls()
        else:
            self.force.append(record)
        if isinstance(record.body, (Pruned, Compacted, Reverted, Rewound, Pinned)):
            self.faults += [Finding(record.id, f"the view after it {text}") for text in invalid(self.view())]

    def end(self, count: int) -> None:
        """What only the whole log shows. `count`: its lines."""
        view = self.view()
        self.faults += [Finding(count, f"the view at the end {text}") for text in invalid(view)]
        if fold(self.known.values()) != view:
            self.faults.append(Finding(count, "folding the log gives another view than following it"))
        self.warnings += [Finding(count, f"the call {call} has no result") for call in self.waiting.elements()]

    def _count_calls(self) -> None:
        self.waiting.clear()
        for record in self.force:
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
        if isinstance(body, Started) != (not self.known):
            yield "the first record starts the session, and no other" if self.known else "the session has no start"
        if not self._follow_calls(record):
            self.warnings.append(Finding(record.id, "a result that no call waits for; it is in no view"))
        match body:
            case AssistantSaid():
                if not 0 < body.seen < record.id:
                    yield f"its request is said to contain record {body.seen}"
                if len({call.id for call in body.calls}) != len(body.calls):
                    yield "two of its calls have the same id"
            case UserSaid(how="typed"):
                self.refusals = 0
            case WindowLearned():
                self.as_started = False
                self.refusals += not body.summary
                if self.refusals > REFUSALS:
                    yield "more than one retry after a refusal in one turn"
            case SettingsChanged():
                self.as_started = False
            case Pruned():
                yield from self._wrong_prune(body)
            case Compacted():
                yield from self._wrong_compaction(record.id, body)
            case CompactionFailed():
                yield from _wrong_tag(body)
            case Reverted():
                force = self.view().rewrites
                if not force or force[-1].id != body.target:
                    yield f"takes back record {body.target}, which is not the newest rewrite in force"
            case Rewound():
                if not 1 < body.before <= record.id:
                    yield f"goes back to before record {body.before}"
            case Pinned():
                if body.target not in {r.id for r in self.force}:
                    yield f"pins record {body.target}, which is not in force"
            case _:
                pass

    def _wrong_prune(self, body: Pruned) -> Iterator[str]:
        yield from _wrong_tag(body)
        yield from _larger(body)
        view = self.view()
        results = {r.id for r in self.force if isinstance(r.body, ToolReturned)}
        if not body.records or len(set(body.records)) != len(body.records):
            yield "replaces nothing, or something twice"
        for target in body.records:
            if target not in results:
                yield f"replaces record {target}, which is no result in force"
            elif target in view.replaced:
                yield f"replaces record {target} again"
            elif target in view.pins:
                yield f"replaces record {target}, which is pinned"

    def _wrong_compaction(self, id: int, body: Compacted) -> Iterator[str]:
        yield from _wrong_tag(body)
        yield from _larger(body)
        view = self.view()
        items = view.conversation
        if body.first_kept not in {items[at].record for at in legal_cuts(view)}:
            yield f"cuts before record {body.first_kept}, where no cut is legal"
        start = prefix_start(view)
        if start < len(items) and body.prefix_from != items[start].record:
            yield f"summarises from record {body.prefix_from} on; the last summary ends at {items[start].record}"
        if body.previous != (view.compaction.id if view.compaction else None):
            yield f"stands on the summary of record {body.previous}, which is not the one in force"
        if body.gate is Gate.PROACTIVE and self._above_landing(body.after):
            self.warnings.append(Finding(id, f"a proactive compaction that ended above landing, at {body.after:,}"))
        text = "\n".join((body.summary, body.fact_sheet, body.learnings))
        long = [i.text for i in items if i.record < body.first_kept and len(i.text) >= LONG_MESSAGE]
        whole = sum(message in text for message in long)
        if len(text) > MOST_OF_A_SUMMARY or (whole > 1 and whole * 2 >= len(long)):
            yield "holds the conversation itself, not a summary of it"

    def _above_landing(self, size: int) -> bool:
        """Whether a size is above the landing the session started with, while nothing has changed it."""
        started = self.force[0].body if self.force else None
        return self.as_started and isinstance(started, Started) and size > started.landing


def _wrong_tag(body: Pruned | Compacted | CompactionFailed) -> Iterator[str]:
    try:
        tag_of(body)
    except ValueError as error:
        yield str(error)


def _larger(body: Pruned | Compacted) -> Iterator[str]:
    if body.after > body.before:
        yield f"made the view larger: {body.before:,} before, {body.after:,} after"


def invalid(view: View) -> Iterator[str]:
    """What a provider would refuse in this view, or what it lacks of what every view must hold."""
    items = view.items
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if item.role == "tool":
            yield f"has a result without its call (record {item.record})"
        for call in item.calls:
            if at < len(items) and items[at].role == "tool" and items[at].call == call.id:
                at += 1
            else:
                yield f"has a call without its result (record {item.record}, {call.id})"
    shown = {item.record: item.text for item in items}
    everything = "\n".join(shown.values()) if view.pins else ""
    if view.primer and view.primer.record not in shown:
        yield "lacks the session's first message"
    newest = view.newest_user
    # A huge first message is shown short after a compaction, and it can be the newest one too.
    if newest and newest != view.primer and shown.get(newest.record) != newest.text:
        yield "lacks the user's newest message, word for word"
    for item in view.conversation:
        if item.record in view.pins and item.text not in everything and item.text != NO_RESULT:
            yield f"lacks the pinned record {item.record}"
