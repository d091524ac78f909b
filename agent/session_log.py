"""The session log: `session.jsonl`, append-only, the only state of a session.

Not the bytes (`agent.log_file`), not a line (`agent.codec`), and no judgement of what the records say (`agent.verify`).

Invariants
 1. A record is on the disk before it is in memory, and in memory before anybody hears of it; but for the first of a
    `late` log, which goes to the disk with the second.
 2. A record's id is its line number; a line that is no record keeps its number, and nobody else gets it.
 3. What memory holds is what reading the file again would give.
 4. After a failed write or fsync nothing more is appended through this object.
 5. Readers take no lock and append nothing; a torn or damaged line stays where it is for ever.

Threads: everything here is called on one thread (the worker's loop), which also calls `on_append`. Only the write and
its fsync run on a thread of their own. A listener in `on_append` may neither raise nor await.
"""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent.codec import Unreadable, as_json, decode, encode, id_of, kind_named
from agent.log_file import (
    NAME,
    Disk,
    LatePen,
    LogError,
    LogFailed,
    NotASession,
    NothingYet,
    OsDisk,
    Pen,
    SessionBusy,
    create,
    take,
)
from compaction.records import AssistantSaid, Body, Noted, Record, SettingsChanged, Started, ToolCall, ToolReturned
from compaction.view import NO_RESULT, View, fold, step

# The topic of the notice that follows a torn line once its session goes on: it tells the torn from the damaged.
TORN = "torn"
TORN_WHY = "torn when the program ended while writing it; nothing before it is lost"

# A note's line as far as its kind, and what every line begins with; one that was torn before that may be anything.
_NOTED = b',"kind":"noted","text":"line '
_NOTE = re.compile(rb'\{"id":\d+,"at":[\d.e+-]+(,.*)', re.DOTALL)

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Damage:
    """A line without a record. `torn`: the last one, or one whose tearing the next writer noted; else it is damage."""

    line: int
    why: str
    torn: bool

    def __str__(self) -> str:
        return f"line {self.line}: {TORN_WHY if self.torn else self.why}"


@dataclass(frozen=True, slots=True)
class Lines:
    """A file taken apart. `count` lines are spent; `ended` says whether the last has its line feed."""

    records: tuple[Record, ...]
    damage: tuple[Damage, ...]
    count: int
    ended: bool


def read_lines(data: bytes) -> Lines:
    """All records and all damage in the bytes of a log."""
    lines = data.split(b"\n")
    ended = not lines[-1]
    if ended:
        lines.pop()
    read = [decode(line, number) for number, line in enumerate(lines, 1)]
    records = tuple(r for r in read if isinstance(r, Record))
    torn = {len(lines) if not ended else 0} | {r.id - 1 for r in records if is_torn_note(r)}
    damage: list[Damage] = []
    # Backwards: the note about a torn line can itself be torn, and then the next one speaks for both.
    for bad in (r for r in reversed(read) if isinstance(r, Unreadable)):
        damage.append(Damage(bad.line, bad.why, bad.line in torn))
        torn |= {bad.line - 1} if bad.line in torn and _may_note(lines[bad.line - 1]) else set()
    return Lines(records, tuple(reversed(damage)), len(lines), ended)


def _may_note(line: bytes) -> bool:
    """Whether a torn line may be the beginning of a note about the line before it."""
    told = _NOTE.match(line)
    return told is None or told[1].startswith(_NOTED[: len(told[1])])


def is_torn_note(record: Record) -> bool:
    """Whether the record is a writer's word that the line before it was torn."""
    return isinstance(record.body, Noted) and record.body.topic == TORN


def load(path: Path) -> Lines:
    """The log at `path`, read once. Raises `NotASession`."""
    try:
        return read_lines(path.read_bytes())
    except FileNotFoundError:
        raise NotASession(path, "no session here") from None
    except OSError as error:
        raise NotASession(path, f"cannot be read: {error.strerror or error}") from error


def open_calls(view: View) -> tuple[ToolCall, ...]:
    """Calls without a result, in the order made."""
    calls = [call for r in view.records if isinstance(r.body, AssistantSaid) for call in r.body.calls]
    # The view answers each call once and in order: from its result, or with a fixed text under the reply's own record.
    results = [item.record for item in view.conversation if item.role == "tool"]
    returned = {r.id for r in view.records if isinstance(r.body, ToolReturned)}
    return tuple(call for call, record in zip(calls, results, strict=True) if record not in returned)


@dataclass(slots=True)
class _Batch:
    """Records that share one write."""

    records: list[Record] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class SessionLog:
    """One session's log, in memory and on disk. Made by `create` and `open`; ended by `aclose` (or `close`)."""

    def __init__(self, path: Path, lines: Lines, pen: Pen | LatePen | None, now: Clock) -> None:
        self.path = path
        self.folder = path.parent
        self.damage: tuple[Damage, ...] = lines.damage
        self.view: View = fold(lines.records)
        self.next_id: int = lines.count + 1
        # The last number that was taken when this process opened the log.
        self.found: int = lines.count
        self.on_append: list[Callable[[Record], None]] = []
        self._records = list(lines.records)
        self._ended = lines.ended
        self._pen = pen
        self._now = now
        self._failure: str | None = None
        self._gathering: _Batch | None = None
        self._turn = asyncio.Lock()
        self._thread: ThreadPoolExecutor | None = None

    # ── opening and closing ──

    @classmethod
    def create(
        cls, folder: Path, started: Started, now: Clock = time.time, disk: Disk | None = None, *, late: bool = False
    ) -> SessionLog:
        """A new log in the new `folder`, `started` its first record, on the disk; `late`: once there is another.

        Raises `LogFailed`.
        """
        pen = LatePen(folder, disk or OsDisk()) if late else create(folder, disk or OsDisk())
        log = cls(pen.path, Lines((), (), 0, True), pen, now)
        try:
            log._at_the_door(started)
        except LogError:
            pen.close()
            raise
        return log

    @classmethod
    def open(
        cls, path: Path, write: bool, now: Clock = time.time, disk: Disk | None = None,
        titled: Callable[[ToolCall], str] = lambda call: call.name,
    ) -> SessionLog:  # fmt: skip
        """The log at `path` (the file, or its folder). Raises `NotASession`; for writing `SessionBusy`, `LogFailed`.

        A writer notes a torn end and closes every open call with a failed result (called what `titled` says), on the
        disk, before it returns; a reader leaves both to the view.
        """
        path = path / NAME if path.is_dir() else path
        pen = take(path, disk or OsDisk()) if write else None
        try:
            log = cls(path, load(path), pen, now)
            if pen and log.view.started is None:
                raise NotASession(path, f"{log.beginless}, so it cannot go on; start a new session")
            if pen:
                log._close_what_is_open(titled)
        except LogError:
            if pen:
                pen.close()
            raise
        return log

    def _close_what_is_open(self, titled: Callable[[ToolCall], str]) -> None:
        bodies: list[Body] = []
        if not self._ended and self.damage and self.damage[-1].line == self.next_id - 1:
            bodies.append(Noted(f"line {self.next_id - 1} was {TORN_WHY}", TORN))
        size = len(NO_RESULT)
        for call in open_calls(self.view):
            bodies.append(ToolReturned(call.id, call.name, titled(call), NO_RESULT, failed=True, characters=size))
        if bodies:
            self._at_the_door(*bodies)

    def _at_the_door(self, *bodies: Body) -> None:
        """Appends before any loop runs and before anybody listens."""
        batch = _Batch()
        self._reserve(batch, bodies)
        self._write(batch)
        self._remember(batch)

    @property
    def beginless(self) -> str:
        """Why a log begins no session, as words about it; empty when it does."""
        if self.view.started is not None:
            return ""
        first = next((d for d in self.damage if d.line == 1), None)
        if first is None:
            return "its first line begins no session" if self.records else "it is empty"
        return f"its first line cannot be read ({TORN_WHY if first.torn else first.why})"

    @property
    def writable(self) -> bool:
        """Whether `append` would try."""
        return self._pen is not None and self._failure is None

    async def aclose(self) -> None:
        """Waits for what is being written, then gives the lock back; idempotent."""
        while self._gathering and self._gathering.task:
            await asyncio.wait({self._gathering.task})
        async with self._turn:
            self.close()

    def close(self) -> None:
        """Gives the lock back at once; for logs with nothing under way. Idempotent."""
        if self._thread:
            self._thread.shutdown()
            self._thread = None
        if self._pen:
            self._pen.close()
            self._pen = None

    # ── reading ──

    @property
    def records(self) -> Sequence[Record]:
        """Every record, rewound ones too, by id; not to be changed."""
        return self._records

    def record(self, id: int) -> Record | None:
        """The record with this id; None for a number that was never or badly written."""
        index = bisect_left(self._records, id, key=lambda r: r.id)
        return self._records[index] if index < len(self._records) and self._records[index].id == id else None

    # ── appending ──

    def append_now(self, *bodies: Body) -> None:
        """The same for whoever opens a log for a word and closes it, without a loop. Raises `LogFailed`."""
        self._refuse_if_failed()
        self._at_the_door(*bodies)

    async def append(self, *bodies: Body) -> tuple[Record, ...]:
        """The bodies as records with the ids from `next_id` on, in one write, once they are on the disk.

        The ids are taken before the first await, so a body may speak of `next_id`. Cancelling the caller does not take
        the records back: they are written and heard of all the same. Raises `LogFailed`, and `ValueError` for a number
        JSON does not have.
        """
        if not bodies:
            return ()
        self._refuse_if_failed()
        batch = self._gathering or _Batch()
        mine = self._reserve(batch, bodies)
        if batch.task is None:
            self._gathering = batch
            batch.task = asyncio.get_running_loop().create_task(self._commit(batch))
        await asyncio.shield(batch.task)
        return mine

    def _refuse_if_failed(self) -> None:
        if self._failure:
            raise LogFailed(self._failure)
        if self._pen is None:
            raise LogFailed(f"{self.path} is not open for writing")

    def _reserve(self, batch: _Batch, bodies: Sequence[Body]) -> tuple[Record, ...]:
        at = round(self._now(), 3)
        drafts = [Record(self.next_id + index, at, body) for index, body in enumerate(bodies)]
        lines = [encode(draft) for draft in drafts]
        # Read back, so that memory cannot differ from what the next opening will read.
        records = tuple(_sure(decode(line, draft.id)) for line, draft in zip(lines, drafts, strict=True))
        batch.records += records
        batch.lines += lines
        self.next_id += len(records)
        return records

    async def _commit(self, batch: _Batch) -> None:
        async with self._turn:
            # From here on nobody joins this batch; whoever comes while the disk works shares the next.
            if self._gathering is batch:
                self._gathering = None
            self._refuse_if_failed()
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="session-log")
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._write, batch)
            except asyncio.CancelledError:
                self._failure = f"{self.path}: the program ended while writing; open the session again"
                raise
            self._remember(batch)

    def _write(self, batch: _Batch) -> None:
        assert self._pen is not None
        data = (b"" if self._ended else b"\n") + b"".join(line + b"\n" for line in batch.lines)
        try:
            self._pen.write(data)
        except LogFailed as error:
            self._failure = f"{error}. Start a new session once the disk is well"
            raise LogFailed(self._failure) from error
        except OSError as error:
            self._failure = (
                f"{self.path} cannot be written: {error.strerror or error}. "
                "What was stored before is safe; open the session again once the disk is well"
            )
            raise LogFailed(self._failure) from error
        self._ended = True

    def _remember(self, batch: _Batch) -> None:
        for record in batch.records:
            self._records.append(record)
            self.view = step(self.view, record)
            for listener in self.on_append:
                listener(record)


def _sure(read: Record | Unreadable) -> Record:
    if isinstance(read, Unreadable):
        raise ValueError(f"record {read.line} could not be read back: {read.why}")
    return read


def forked(data: bytes, session: str, name: str, before: int | None, now: float) -> bytes:
    """The lines of a log for a session of another id, up to before record `before`, with its name at the end.

    Only the first line is another. Raises `ValueError` with a sentence part.
    """
    lines = data.split(b"\n")
    if isinstance(decode(lines[-1], len(lines)), Unreadable):
        lines.pop()  # empty, or torn: never a record
    if before is not None and not 1 < before <= len(lines) + 1:
        raise ValueError(f"there is no record {before} to stop before; it has {len(lines)}")
    lines = lines[: None if before is None else before - 1]
    first = decode(lines[0], 1) if lines else None
    if not isinstance(first, Record) or not isinstance(first.body, Started):
        raise ValueError("its first line is not whole")
    lines[0] = encode(replace(first, body=replace(first.body, session=session)))
    lines.append(encode(Record(len(lines) + 1, round(now, 3), SettingsChanged(name=name))))
    return b"".join(line + b"\n" for line in lines)


def newest_first(data: bytes, kind: type[Body]) -> Iterator[Record]:
    """The records of one kind from the bytes of a log, the newest first; the other lines are not decoded."""
    # Inside a text the quotes would stand behind backslashes, so this is found at the start of a line only.
    mark = f'"kind":"{kind_named(kind)}"'.encode()
    end = len(data)
    while (at := data.rfind(mark, 0, end)) >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        stop = data.find(b"\n", at)
        line = data[start : stop if stop >= 0 else len(data)]
        record = decode(line, id_of(line))
        if isinstance(record, Record):
            yield record
        end = start


def heads(path: Path) -> Iterator[Record]:
    """The readable records from the start of a log, read only as far as they are asked for. Raises `OSError`."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            record = decode(line.removesuffix(b"\n"), number)
            if isinstance(record, Record):
                yield record


__all__ = [
    "NAME", "TORN", "Damage", "LogError", "LogFailed", "NotASession", "NothingYet", "SessionBusy", "SessionLog",
    "as_json", "forked", "heads", "load", "newest_first", "open_calls", "read_lines",
]  # fmt: skip
