"""Where headless output goes: standard output and error that may break, fill up or know few characters; and signals.

Not what is written (that is `headless` and its tables).

Invariants
 1. A write never raises: what cannot be written sets `broken`, and nothing more is tried.
 2. Every line is flushed when it is written: a reader on the other side of a pipe waits for no buffer.
 3. What a person reads holds no control character but newline and tab.
"""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TextIO

from tui.headless.objects import text_of
from tui.plain import safe

# What a shell reports for a program whose reader went away: 128 + SIGPIPE (13 on every POSIX system).
PIPE_BROKEN = 141

# The disk is full, the terminal is gone: the work may be done, but its answer reached nobody.
UNWRITABLE = 1

# Signals that ask for an end; a shell reports 128 + the number. SIGHUP does not exist everywhere.
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Pipe:
    """A stream of text for somebody else."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.broken: int | None = None
        self.why = ""

    @property
    def terminal(self) -> bool:
        """Whether a person looks at it directly."""
        return self._stream is not None and not self._stream.closed and self._stream.isatty()

    @property
    def unicode(self) -> bool:
        """Whether every character can be written. A stream that has no encoding (in memory) takes all."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig")

    def text(self, text: str) -> None:
        """A text for people, and a line's end. Tabs stay: the answer may be a Makefile."""
        self._write("\t".join(map(safe, text.split("\t"))) + "\n")

    def json(self, value: Any) -> None:
        """One object on one line."""
        self._write(text_of(value, ascii_only=self.terminal or not self.unicode) + "\n")

    def whole(self, text: str) -> None:
        """A text as it is: for exports, which are files."""
        self._write(text)

    def _write(self, text: str) -> None:
        stream = self._stream
        if self.broken is not None:
            return
        if stream is None or stream.closed:
            self.broken, self.why = UNWRITABLE, "the output cannot be written: it is closed"
            return
        if not self.unicode:
            encoding = stream.encoding or "ascii"
            text = text.encode(encoding, "replace").decode(encoding)
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self._give_up(stream, PIPE_BROKEN, "nobody reads the output any more")
        except OSError as error:
            self._give_up(stream, UNWRITABLE, f"the output cannot be written: {error.strerror or error}")

    def _give_up(self, stream: TextIO, status: int, why: str) -> None:
        """What is left in the stream's buffer goes nowhere; else the interpreter would complain of it at its end."""
        self.broken, self.why = status, why
        try:
            number = stream.fileno()
        except (io.UnsupportedOperation, AttributeError):
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, number)
        finally:
            os.close(nowhere)


@contextmanager
def signals_to(take: Callable[[int], None]) -> Iterator[None]:
    """Hands ending signals to `take`, in the main thread, between two instructions: it may only put them somewhere.

    A hang-up that whoever started us had ignored (`nohup`) stays ignored. An interrupt does not: a shell lets its
    background jobs ignore it for the keyboard's sake, and one that is sent to us is meant.
    """

    def caught(number: int, frame: FrameType | None) -> None:
        take(number)

    before = {number: signal.getsignal(number) for number in ENDING}
    ours = [number for number, was in before.items() if was is not signal.SIG_IGN or number == signal.SIGINT]
    for number in ours:
        signal.signal(number, caught)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number] if before[number] is not None else signal.SIG_DFL)


__all__ = ["PIPE_BROKEN", "UNWRITABLE", "Pipe", "signals_to"]
