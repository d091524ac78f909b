"""The inline screen as plain lines: for screen readers, dumb terminals, and whoever wants nothing ever drawn twice.

Not a prompt with keys: the terminal itself edits the line, Enter hands it over. Nothing is written but text and
newlines; the meter is a sentence after each turn, a question is answered by a word.

Invariants
 1. No control character is ever written, but for the newline.
 2. What was typed before a question was printed does not answer it: the terminal's own queue is emptied first.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import select
import shutil
import subprocess
import sys
import termios
from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from agent.wire import MODE_NAMES, Meter
from tui.alphabet import ascii_text
from tui.attachments import Attached
from tui.inline.editor import edited
from tui.inline.print import Row, prose, row, text_of
from tui.inline.questions import Question
from tui.inline.talk import Talk
from tui.meter import state
from tui.pastes import cleaned
from tui.plain import one_line, percent, safe, tokens

T = TypeVar("T")

# What a line set off is heard of within this; a sign before it would stand in the middle of the answer. Seconds.
QUIET = 0.2

WORDS = {
    "calm": "",
    "warning": " · over the trigger",
    "alarm": " · working budget reached",
    "full": " · the model's window is full",
}


def spoken(meter: Meter) -> str:
    """The meter as a sentence: `ctx 61.4k of 160k budget (38%) · window 200k`."""
    about = "" if meter.exact else "~"
    window = "?" if meter.window is None else tokens(meter.window)
    share = percent(meter.used, meter.budget)
    size = f"ctx {about}{tokens(meter.used)} of {tokens(meter.budget)} budget ({share})"
    broken = f" · cache broken: {safe(meter.cache.broken)}" if meter.cache.broken else ""
    thought = f" with {tokens(meter.reasoning)} of reasoning" if meter.reasoning else ""
    return f"{size}{thought}{WORDS[state(meter)]} · window {window}{broken}"


class PlainLines:
    """The terminal as a typewriter."""

    hides: ClassVar[bool] = False

    def __init__(self, *, ascii: bool) -> None:
        self.talk: Talk | None = None
        self._ascii = ascii
        self._left: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._signed = False
        self._signing: asyncio.TimerHandle | None = None
        self._doing = ""
        self._queue: tuple[str, ...] = ()

    async def run(self, talk: Talk) -> int:
        """Until the user leaves; the exit status."""
        self.talk = talk
        loop, fd = asyncio.get_running_loop(), sys.stdin.fileno()
        loop.add_reader(fd, self._readable)
        try:
            return await self._left
        finally:
            loop.remove_reader(fd)
            if self._signed:
                self._write("\n")

    def _readable(self) -> None:
        """All lines that wait at once are one paste."""
        fd, data = sys.stdin.fileno(), b""
        while select.select([fd], [], [], 0)[0]:
            try:
                more = os.read(fd, 65_536)
            except OSError:
                more = b""
            if not more:
                self.leave(0)
                break
            data += more
        text = cleaned(self._decoder.decode(data))
        if not text.endswith("\n"):
            self._held += text
            return
        text, self._held, self._signed = self._held + text.removesuffix("\n"), "", False
        if text.endswith("\\"):
            self._held = text.removesuffix("\\") + "\n"
        elif self.talk is not None:
            self.talk.enter(text)

    def interrupt(self) -> None:
        """Ctrl+C; the terminal has dropped the line itself."""
        self._write("\n")
        self._held, self._signed = "", False
        if self.talk is not None:
            self.talk.break_off(draft=False)
            self._sign_soon()

    def _sign_soon(self) -> None:
        if self._signing is None or self._signing.when() <= asyncio.get_running_loop().time():
            self._signing = asyncio.get_running_loop().call_later(QUIET, self._sign)

    def _sign(self) -> None:
        talk = self.talk
        if talk is None or self._signed or self._left.done():
            return
        question = talk.question
        # While work goes on its lines come and go; only what it waits for is signed.
        if (question is not None and question.of_turn) or not talk.busy:
            self._write("? " if question is not None else f"{MODE_NAMES[talk.mode]}> ")
            self._signed = True

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            encoding = sys.stdout.encoding or "utf-8"
            os.write(sys.stdout.fileno(), (ascii_text(text) if self._ascii else text).encode(encoding, "replace"))

    # ── what a surface does ──

    def width(self) -> int:
        """Cells of a row."""
        return shutil.get_terminal_size().columns

    def show(self, rows: Sequence[Row]) -> None:
        """Line by line; a sign that waits for input is left behind on a line of its own."""
        start = "\n" if self._signed else ""
        self._signed = False
        self._write(start + "".join(f"{safe(text_of(one)).rstrip()}\n" for one in rows))

    def changed(self) -> None:
        """Nothing is ever drawn anew: what began or waits is said once, and it may be time to ask for a line."""
        if self.talk is not None:
            self._tell(self.talk.live.doing, self.talk.live.queue)
        self._sign_soon()
        if self.talk is not None:
            self.talk.asks.seen()

    def _tell(self, doing: str, queue: tuple[str, ...]) -> None:
        lines = [f"waiting: {one_line(text)}" for text in queue[len(self._queue) :]]
        if doing.startswith("running ") and doing != self._doing:
            lines.append(doing)
        self._doing, self._queue = doing, queue
        if lines:
            self.show([row(line) for line in lines])

    def ask(self, question: Question | None) -> None:
        """The choices are printed once."""
        if self.talk is None or question is None:
            return
        if question.guarded:
            self._held = ""
            with contextlib.suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        self.talk.print(prose(f"{question.hint}", self.width(), "", "? "))

    def write(self, text: str) -> None:
        """A draft cannot be put into the terminal's own line: it is printed, to be typed again."""
        if self.talk is not None:
            self.talk.print(prose(safe(text), self.width(), "", "to send again: ", ""))

    def attach(self, found: Attached) -> None:
        """A terminal's own line cannot be filled: `@path` attaches."""

    def fill(self, text: str) -> None:
        """A terminal's own line cannot be filled; here an editor is always used."""

    def edit(self, text: str, then: Callable[[str], None]) -> None:
        """In $EDITOR, which has the terminal for as long."""
        try:
            then(edited(text))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._write(f"The editor could not be run: {error}.\n")

    def read(self, load: Callable[[], T], then: Callable[[T], None]) -> None:
        """At once: whoever reads with the ears is not kept waiting by a list."""
        then(load())

    def copy(self, text: str) -> bool:
        """There is no way that writes no control character."""
        return False

    def call(self, text: str) -> None:
        """The words that follow say it."""

    def title(self, text: str) -> None:
        """None."""

    def turned(self, meter: Meter) -> None:
        """The meter, once a turn."""
        if self.talk is not None and meter.budget:
            self.talk.print([row(spoken(meter))])

    def leave(self, status: int) -> None:
        """End."""
        if not self._left.done():
            self._left.set_result(status)
