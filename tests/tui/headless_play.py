"""A worker that plays what it was given, and short ways to run a writing command over it."""

from __future__ import annotations

import argparse
import io
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.session_log import as_json
from agent.wire import (
    Appended,
    Busy,
    Command,
    Event,
    Idle,
    Interrupt,
    Metered,
    Opened,
    Quit,
)
from compaction.records import Body, Record
from tests.tui.headless_samples import METER, STARTED
from tui.cli import parse
from tui.headless.writing import run_writing

OPENED = Opened("a1b2c3d4", "/data/session.jsonl", "/p", "scripted", "ask", False)
RESUMED = Opened("a1b2c3d4", "/data/session.jsonl", "/p", "scripted", "ask", True)
DONE = Idle("a1b2c3d4", "/data/session.jsonl")


def new() -> tuple[Event, ...]:
    """A new session opens."""
    return (Busy("opening"), OPENED, Appended(Record(1, 1_000.0, STARTED), replay=True), Metered(METER), DONE)


def resumed(*bodies: Body) -> tuple[Event, ...]:
    """A session that was there opens."""
    records = [Appended(Record(n, 1_000.0 + n, body), replay=True) for n, body in enumerate((STARTED, *bodies), 1)]
    return (Busy("opening"), RESUMED, *records, Metered(METER), DONE)


def appended(id: int, body: Body) -> Appended:
    """A record of this run."""
    return Appended(Record(id, 1_000.0 + id, body))


@dataclass
class PlayedWorker:
    """Emits `opening` when started and `work` when the command comes; on a thread of its own, as the real one does.

    With `until_stopped`, the work goes on until an `Interrupt` comes; then `after_stop` is emitted.
    """

    emit: Callable[[Event], None]
    opening: Sequence[Event]
    work: Sequence[Event] = (Busy("turn"), DONE)
    until_stopped: bool = False
    after_stop: Sequence[Event] = (Idle("a1b2c3d4", "/data/session.jsonl", "interrupted", None, 130),)
    on_sent: Callable[[Command], None] = lambda command: None
    sent: list[Command] = field(default_factory=list)
    ended: bool = False

    def start(self) -> None:
        threading.Thread(target=self._play, args=(self.opening,)).start()

    def send(self, command: Command) -> None:
        self.sent.append(command)
        match command:
            case Quit():
                pass
            case Interrupt():
                if self.until_stopped:
                    self._play(self.after_stop)
            case _ if len(self.sent) == 1:
                threading.Thread(target=self._play, args=(self.work,)).start()
            case _:
                pass
        self.on_sent(command)

    def join(self, timeout: float | None = None) -> bool:
        self.ended = True
        return True

    def _play(self, events: Sequence[Event]) -> None:
        for event in events:
            self.emit(event)


@dataclass
class Ran:
    """What a run gave."""

    code: int
    out: str
    err: str
    sent: list[Command]
    ended: bool

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def options_of(line: str) -> argparse.Namespace:
    """The options of a command line without quotes."""
    return parse(line.split())


def run(
    line: str,
    work: Sequence[Event] = (Busy("turn"), DONE),
    *,
    opening: Sequence[Event] | None = None,
    stdin: str = "",
    out: io.StringIO | None = None,
    options: argparse.Namespace | None = None,
    kind: type[PlayedWorker] = PlayedWorker,
    **more: Any,
) -> Ran:
    """Runs a command line over a played worker."""
    made: list[PlayedWorker] = []

    def make(emit: Callable[[Event], None]) -> PlayedWorker:
        made.append(kind(emit, new() if opening is None else opening, work, **more))
        return made[0]

    out, err = out or io.StringIO(), io.StringIO()
    code = run_writing(options or options_of(line), make, as_json, out, err, io.StringIO(stdin))
    sent, ended = (made[0].sent, made[0].ended) if made else ([], False)
    return Ran(code, out.getvalue(), err.getvalue(), sent, ended)
