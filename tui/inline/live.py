"""What stands between the printed conversation and the prompt, and still changes: what runs, what arrives, what waits.

Not printed for good and not a terminal: rows, drawn anew whenever they change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agent.wire import Meter, Progress, Streaming, ToolRunning
from tui.flow import wrap
from tui.inline.print import MOST_PROSE, Row, cut, prose, row
from tui.keytable import USUAL, Keys, hint
from tui.meter import meter_lines
from tui.plain import in_one, one_line, overdrawn, plural, safe, seconds, tokens
from tui.wording import DOING

# Eight turns a second: seen as moving, felt by no key.
SPIN = 0.125
SPINNER = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")
PLAIN_SPINNER = ("|", "/", "-", "\\")

# More waiting messages than this are counted, not listed; and of what a tool prints or a model thinks, the last lines.
LISTED = 3
GLIMPSE = 2

# Kept of what streams by unprinted: two lines of a wide terminal and to spare, characters.
KEPT = 600


class Asked(Protocol):
    """What is shown of a question."""

    @property
    def hint(self) -> str: ...


@dataclass(slots=True)
class Live:
    """What the worker does."""

    now: Callable[[], float]
    doing: str = ""
    queue: tuple[str, ...] = ()
    tail: str = ""
    began: float = 0.0
    since: float = 0.0  # what the work is at, where that has a clock of its own
    streamed: int = 0
    passing: str = ""
    jobs: int = 0

    def begin(self, what: str) -> None:
        """Work began."""
        self.doing, self.streamed, self.passing = DOING.get(what, "working"), 0, ""
        self.began = self.since = self.now()

    def end(self) -> None:
        """Work ended."""
        self.doing = self.passing = self.tail = ""

    def elapsed(self) -> float:
        """Seconds since the work began."""
        return self.now() - self.began

    def note(self, event: Progress | ToolRunning | Streaming) -> None:
        """What the work is at."""
        # Only what reports them has tokens and a clock of its own: a compaction's are over with it.
        self.streamed, self.since = 0, self.began
        match event:
            case Progress(what=what, tokens=streamed, elapsed=elapsed):
                self.doing, self.streamed, self.since = safe(what), streamed, self.now() - elapsed
            case ToolRunning(title=title, name=name, output=output):
                if title or name:
                    self.doing, self.passing = f"running {one_line(title, 60) or safe(name)}", ""
                self.passing = overdrawn(self.passing, output)[-KEPT:]
            case Streaming(kind="thinking", text=text):
                self.doing, self.passing = "thinking", (self.passing + safe(text))[-KEPT:]
            case Streaming(kind="call", text=text):
                self.doing, self.passing = (
                    (f"writing a call of {one_line(text, 40)}", "") if text.strip() else (self.doing, "")
                )
            case Streaming():
                self.doing, self.passing = "answering", ""

    def rows(self, width: int, question: Asked | None, *, short: bool, ascii: bool, keys: Keys = USUAL) -> list[Row]:
        """Top to bottom; `short`: the terminal has few rows."""
        out: list[Row] = []
        if self.tail:
            out += [row(line) for line in wrap(self.tail, min(width, MOST_PROSE))[-(1 if short else 3) :]]
        if self.passing.strip() and question is None:
            lines = [line for line in self.passing.split("\n") if line.strip()]
            shown = [cut(f"  {safe(line)}", width) for line in lines[-(1 if short else GLIMPSE) :]]
            out += [row(line, "class:quiet") for line in shown]
        if question is not None:
            return out + prose(question.hint, width, "class:hint", "? ")[: 3 if short else 6]
        if self.doing:
            spinner = PLAIN_SPINNER if ascii else SPINNER
            facts = [seconds(self.now() - self.since)] + ([f"{tokens(self.streamed)} tokens"] if self.streamed else [])
            spin = spinner[int(self.now() / SPIN) % len(spinner)]
            tail = "  " + " · ".join([*facts, *hint("stop", keys, " stops")])
            doing = cut(self.doing, max(8, width - len(tail) - 3))
            out.append((("class:user", f"{spin} "), ("", doing), ("class:quiet", cut(tail, max(1, width - 10)))))
        if self.jobs and not (short and self.doing):
            out.append(row(cut(f"  {plural(self.jobs, 'job')} in the background · /jobs", width), "class:quiet"))
        return out + self._queue(width, short, hint("unqueue", keys, " takes it back"))

    def _queue(self, width: int, short: bool, back: tuple[str, ...]) -> list[Row]:
        listed = 1 if short else LISTED
        more = len(self.queue) - listed
        out = [row(f"  {more} more waiting", "class:quiet")] if more > 0 else []
        for text in self.queue[-listed:]:
            out.append(row(cut(f"  waiting  {in_one(text)}", width), "class:quiet"))
        if self.queue and back and width >= 60 and not short:
            out.append(row(f"           {back[0]}", "class:quiet"))
        return out


def meter_rows(meter: Meter, width: int, age: float, *, ascii: bool) -> list[Row]:
    """The meter's lines, each role a style of its own."""
    lines = meter_lines(meter, width, ascii=ascii, age=age)
    return [tuple((f"class:meter-{span.role}", span.text) for span in line) for line in lines]
