"""The full screen under test over a fake worker, with a log that answers from memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from textual.screen import Screen

from agent.mcp.prompts import Prompt, Resource
from agent.reading import AtHand, CustomCommand, Hit, RequestRow, Requests, Whole
from agent.wire import Command, Event
from compaction.cache import Prices
from tests.tui.fake_worker import FakeWorker
from tests.tui.steady import Steady, steady
from tui.full.app import UllageApp
from tui.full.desk import Choices

S = TypeVar("S", bound=Screen[Any])
C = TypeVar("C", bound=Command)


class Unreadable(Exception):
    """What a log that cannot be read raises."""


@dataclass
class FakeLog:
    """Answers what it was given; keeps the questions."""

    wholes: Mapping[int, Whole] = field(default_factory=dict)
    found: Sequence[Hit] = ()
    rows: Sequence[RequestRow] = ()
    since: Sequence[str] = ()
    text: str = "the session\n"
    broken: bool = False
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    troubles: tuple[type[Exception], ...] = (Unreadable,)
    chosen: bool = True
    customs: Sequence[CustomCommand | Prompt] = ()
    offered: Sequence[Resource] = ()
    problems: Sequence[str] = ()

    def _asked(self, *question: Any) -> None:
        self.asked.append(question)
        if self.broken:
            raise Unreadable("line 7 of the log cannot be read")

    def whole(self, path: Path, record: int) -> Whole:
        self._asked("whole", str(path), record)
        if record not in self.wholes:
            raise LookupError(f"there is no record {record} in this session")
        return self.wholes[record]

    def hits(self, path: Path, query: str) -> Sequence[Hit]:
        self._asked("hits", str(path), query)
        return self.found

    def timeline(self, path: Path) -> Requests:
        self._asked("timeline", str(path))
        return Requests(tuple(self.rows), tuple(self.since))

    def exported(self, path: Path, format: str) -> str:
        self._asked("exported", str(path), format)
        return self.text

    def doctor(self, model: str = "") -> Sequence[Mapping[str, Any]]:
        self._asked("doctor", model)
        return [{"what": "keys", "found": "ANTHROPIC_API_KEY"}]

    def at_hand(self) -> Sequence[AtHand]:
        return ()

    def commands(self, taken: Collection[str]) -> tuple[Sequence[CustomCommand | Prompt], Sequence[str]]:
        return self.customs, self.problems

    def serves(self, command: str) -> bool:
        return command.startswith("docs:")

    def resources(self) -> Sequence[Resource]:
        return self.offered

    def image_trouble(self, path: Path, model: str) -> str:
        self._asked("image", path.name, model)
        return "the PNG image is broken (it ends too early)" if path.stat().st_size < 8 else ""

    def keep_image(self, data: bytes) -> Path:
        raise LookupError("not a PNG, JPEG, GIF or WebP image")

    def prices(self, model: str) -> Prices | None:
        return Prices(3.0, 15.0)


@dataclass
class Stage:
    """The app, its worker, and what can be read off it."""

    app: UllageApp
    worker: FakeWorker
    pilot: Steady

    async def play(self, *events: Event) -> None:
        for event in events:
            self.app.post_event(event)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, line: str) -> None:
        """A line into the prompt, and Enter."""
        await self.pilot.press(*line, "enter")

    async def settle(self, done: Callable[[], object]) -> None:
        await self.pilot.until(done)

    async def on(self, kind: type[S]) -> S:
        """The screen on top, once it is of this kind."""
        await self.settle(lambda: isinstance(self.app.screen, kind))
        screen = self.app.screen
        assert isinstance(screen, kind)
        return screen

    def text(self, selector: str) -> str:
        """What a widget of the top screen shows, line by line."""
        widget = self.app.screen.query_one(selector)
        lines = (widget.render_line(y).text.rstrip() for y in range(widget.size.height))
        return "\n".join(lines)

    def said(self, selector: str) -> str:
        """The same with its lines joined, however it was wrapped."""
        return " ".join(self.text(selector).split())

    def sent(self, kind: type[C]) -> list[C]:
        return [command for command in self.worker.sent if isinstance(command, kind)]


@asynccontextmanager
async def stage(
    size: tuple[int, int] = (80, 24), *, log: FakeLog | None = None, ascii: bool = False,
    reply: Callable[[Command], Sequence[Event]] = lambda command: (), choices: Choices | None = None,
) -> AsyncIterator[Stage]:  # fmt: skip
    worker = FakeWorker(reply)
    app = UllageApp(worker.send, choices=choices or Choices(log=log), ascii=ascii)
    worker.emit = app.post_event
    async with steady(app, size) as pilot:
        yield Stage(app, worker, pilot)
