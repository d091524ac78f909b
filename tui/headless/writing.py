"""The commands that write, without a screen: exec, prune, compact, undo, pin, rewind.

Not the ones that read (`reading`) and not what the output looks like (`shown`). One worker, one
command, one exit status.

Invariants
 1. Nothing waits for a person: a question is answered with a refusal that the model reads.
 2. Whatever ends it (a signal, a broken pipe, a fault of ours), the worker is told to quit and waited for, so the log
    is whole.
 3. The exit status is the worker's own word, but for signals (128 + their number) and output that nobody reads.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from queue import SimpleQueue
from typing import Protocol, TextIO, TypeAlias

from agent.wire import (
    Answer,
    Asking,
    Busy,
    Command,
    Compact,
    Crashed,
    Event,
    Idle,
    Interrupt,
    Pin,
    Prune,
    Quit,
    Reviewed,
    Reviewing,
    Rewind,
    Submit,
    Undo,
)
from tui.commands import numbers
from tui.headless.objects import RecordJson
from tui.headless.pipes import Pipe, signals_to
from tui.headless.shown import Shown, shown_for
from tui.plain import whole

# The exit status for a mistake in the command or its input.
USAGE = 2

# Ending the model's process and giving the lock back takes well under a second; a process that hangs must not hold a
# script for ever. Seconds.
LONGEST_END = 10.0

# After the second Ctrl+C people want to be out; the log is on the disk anyway. Seconds.
HURRIED_END = 1.0

REFUSAL = "nobody is there to ask: this is a run without a terminal, in mode ask; do without it, or say what is needed"


class Works(Protocol):
    """What is used of `agent.worker.Worker`."""

    def start(self) -> None:
        """Opens the session on a thread of its own."""
        ...

    def send(self, command: Command) -> None:
        """Hands a command over."""
        ...

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the thread's end, seconds."""
        ...


Emit: TypeAlias = Callable[[Event], None]


class Misused(Exception):
    """A command that cannot be understood; the text is a sentence."""


def run_writing(
    options: argparse.Namespace,
    make_worker: Callable[[Emit], Works],
    record_json: RecordJson,
    out: TextIO | None,
    err: TextIO | None,
    stdin: TextIO | None = None,
) -> int:
    """Runs one of `WRITING` of `cli` and returns the exit status.

    `make_worker` gets `emit`, which may be called from any thread; its worker opens the session once started.
    `stdin` (the process's own by default) holds `exec`'s prompt when none is in `options`.
    """
    output, errors = Pipe(out), Pipe(err)
    try:
        command = command_of(options, stdin if stdin is not None else sys.stdin)
    except Misused as error:
        errors.text(f"ullage: {error}")
        return USAGE
    inbox: SimpleQueue[Event | int] = SimpleQueue()
    shown = shown_for(options, record_json, output, errors)
    # The queue is the reentrant kind: a signal may arrive while the same thread takes something out of it.
    with signals_to(inbox.put):
        return _Run(make_worker(inbox.put), inbox, shown, output).run(command)


def command_of(options: argparse.Namespace, stdin: TextIO | None) -> Command:
    """The one command for the worker. Raises `Misused`."""
    match options.command:
        case "exec":
            return Submit(prompt_of(options.prompt, stdin))
        case "prune":
            return Prune(ids_of(options), every=options.all, force=options.force)
        case "compact":
            return Compact(focus=whole(" ".join(options.focus)).strip())
        case "undo":
            return Undo()
        case "rewind":
            if options.back == bool(options.record):
                raise Misused("rewind takes the number of a message of yours, or --back alone")
            return Rewind(options.record, "both" if options.files else "conversation", back=options.back)
        case "pin":
            return Pin(options.id, on=not options.remove)
        case other:
            raise AssertionError(f"{other} is no writing command")


def ids_of(options: argparse.Namespace) -> tuple[int, ...]:
    """The record numbers of `prune`. Raises `Misused`."""
    ids = numbers(" ".join(options.records))
    if ids is None:
        text = whole(" ".join(options.records))
        raise Misused(f"records are numbers and ranges, as in `12 14-18`; this is neither: {text!r}")
    if ids and options.all:
        raise Misused("name records, or say --all for every unprotected result; not both")
    return ids


def prompt_of(words: list[str], stdin: TextIO | None) -> str:
    """The message: the words, or standard input for `-` and for none. Raises `Misused`."""
    if words and words != ["-"]:
        text = " ".join(words)
    elif stdin is None or stdin.closed or (not words and stdin.isatty()):
        raise Misused("exec needs a message: write it after the command, or pipe it in")
    else:
        binary = getattr(stdin, "buffer", None)
        text = stdin.read() if binary is None else binary.read().decode("utf-8", "replace")
    text = whole(text).strip()
    if not text:
        raise Misused("the message is empty; write it after the command, or pipe it in")
    return text


class _Run:
    """One command's life, on the main thread."""

    def __init__(self, worker: Works, inbox: SimpleQueue[Event | int], shown: Shown, output: Pipe) -> None:
        self._worker = worker
        self._inbox = inbox
        self._shown = shown
        self._output = output
        self._signal: int | None = None
        self._stopping = False
        self._hurried = False
        self._last: Idle | None = None

    def run(self, command: Command) -> int:
        """Opens, does, quits; the exit status."""
        self._worker.start()
        end = self._until_idle()
        if end.stop == "done" and not self._stopping:
            self._worker.send(command)
            end = self._until_idle()
        elif end.stop == "done":
            end = Idle(end.session, end.path, "interrupted", None, 130)
        code = self._shown.end(end)
        self._worker.send(Quit())
        self._worker.join(HURRIED_END if self._hurried else LONGEST_END)
        return self._status(end, code)

    def _status(self, end: Idle, code: int) -> int:
        if self._signal is not None and end.stop == "interrupted":
            return 128 + self._signal
        return code if self._output.broken is None else self._output.broken

    def _until_idle(self) -> Idle:
        """Takes events up to the end of the work that runs. A second signal, or a fault of ours, ends it here."""
        while True:
            got = self._inbox.get()
            if isinstance(got, int):
                if self._signalled(got):
                    return Idle(*self._where, "interrupted", None, 130)
                continue
            self._shown.take(got)
            match got:
                case Idle():
                    self._last = got
                    return got
                case Crashed(error=error):
                    return Idle(*self._where, "failed", f"a fault of ours: {error}; the session log is whole", 1)
                case Asking(id=asked):
                    self._worker.send(Answer(asked, "refuse", REFUSAL))
                case Reviewing():
                    self._worker.send(Reviewed(None))
                case Busy() if self._stopping:
                    # The signal came between two pieces of work, where there was nothing to stop.
                    self._worker.send(Interrupt())
                case _:
                    pass
            if self._output.broken is not None and not self._stopping:
                self._stop()

    @property
    def _where(self) -> tuple[str, str]:
        """Session and path as far as they are known."""
        return (self._last.session, self._last.path) if self._last else self._shown.where

    def _signalled(self, number: int) -> bool:
        """Whether this is the second one, and not to be waited for."""
        if self._stopping:
            self._hurried = True
            self._signal = self._signal or number
            return True
        self._signal = number
        self._stop()
        return False

    def _stop(self) -> None:
        self._stopping = True
        self._worker.send(Interrupt())


__all__ = ["USAGE", "Emit", "Misused", "Works", "command_of", "ids_of", "prompt_of", "run_writing"]
