"""A surface that keeps what it is given, and an inline conversation on it, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agent.wire import Event, Meter
from tests.tui.fake_worker import FakeWorker, Reply
from tui.attachments import Attached
from tui.front import Choices
from tui.inline.desk import InlineDesk
from tui.inline.print import Row, text_of
from tui.inline.questions import Question
from tui.inline.talk import Talk

T = TypeVar("T")


@dataclass
class Paper:
    """A surface: what was printed, and what was asked of the terminal."""

    columns: int = 80
    hides: bool = True
    printed: list[Row] = field(default_factory=list)
    asked: list[Question | None] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    attached: list[Attached] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    turns: list[Meter] = field(default_factory=list)
    left: int | None = None
    editor: Callable[[str], str] = lambda text: text

    @property
    def lines(self) -> list[str]:
        return [text_of(row) for row in self.printed]

    def width(self) -> int:
        return self.columns

    def show(self, rows: Sequence[Row]) -> None:
        self.printed += rows

    def changed(self) -> None:
        pass

    def ask(self, question: Question | None) -> None:
        self.asked.append(question)

    def write(self, text: str) -> None:
        self.drafts.append(text)

    def attach(self, found: Attached) -> None:
        self.attached.append(found)

    def fill(self, text: str) -> None:
        self.drafts.append(text)

    def edit(self, text: str, then: Callable[[str], None]) -> None:
        then(self.editor(text))

    def read(self, load: Callable[[], T], then: Callable[[T], None]) -> None:
        then(load())

    def copy(self, text: str) -> bool:
        self.copied.append(text)
        return True

    def call(self, text: str) -> None:
        self.called.append(text)

    def title(self, text: str) -> None:
        pass

    def turned(self, meter: Meter) -> None:
        self.turns.append(meter)

    def leave(self, status: int) -> None:
        self.left = status


class Play:
    """A conversation on paper, with a clock that moves when told."""

    def __init__(self, reply: Reply = lambda command: (), *, columns: int = 80, choices: Choices | None = None) -> None:
        self.time = 100.0
        self.paper = Paper(columns)
        self.worker = FakeWorker(reply)
        self.remembered: list[str] = []
        self.talk = Talk(self.paper, self.worker.send, remember=self.remembered.append, now=lambda: self.time)
        self.talk.perform = InlineDesk(self.talk, self.paper, choices or Choices()).perform
        self.worker.emit = lambda event: self.talk.take_all([event])

    def take(self, *events: Event) -> None:
        self.talk.take_all(events)

    def look(self, seconds: float = 1.0) -> None:
        """The question is drawn, and time goes by."""
        self.talk.asks.seen()
        self.time += seconds

    @property
    def text(self) -> str:
        return "\n".join(self.paper.lines)
