"""A worker that plays scripted events for the commands it is sent: what tests and pictures of the screen drive."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agent.wire import (
    Appended,
    Command,
    Event,
    Idle,
    Meter,
    Metered,
    Opened,
)
from compaction.records import Body, Record

Reply = Callable[[Command], Iterable[Event]]


class FakeWorker:
    """Keeps what it was sent; answers at once, on the caller's thread, with what `reply` says."""

    def __init__(self, reply: Reply = lambda command: ()) -> None:
        self.sent: list[Command] = []
        self.emit: Callable[[Event], None] = lambda event: None
        self._reply = reply

    def send(self, command: Command) -> None:
        self.sent.append(command)
        for event in self._reply(command):
            self.emit(event)


class Tape:
    """Builds events with record numbers that count up and times that move on."""

    def __init__(self) -> None:
        self.number = 0
        self.at = 1_700_000_000.0

    def said(self, body: Body, *, after: float = 0.4, replay: bool = False) -> Appended:
        self.number += 1
        self.at += after
        return Appended(Record(self.number, self.at, body), replay)

    def opened(self, *, resumed: bool = False) -> list[Event]:
        return [
            Opened("2026-swift-otter", "/s/session.jsonl", "/home/ada/project", "claude-sonnet", "ask", resumed),
            Metered(Meter(budget=160_000, trigger=143_616, landing=127_232, window=200_000, limit=190_000)),
        ]

    def idle(self) -> Idle:
        return Idle("2026-swift-otter", "/s/session.jsonl")
