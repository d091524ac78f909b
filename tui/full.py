"""Runs the full screen over a worker, and leaves the terminal as it was, whichever way out.

Not the screen (that is `app`) and no wiring of the agent. The first place where textual is imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from agent.wire import Command, Event, Quit, Submit
from tui.actions import PickSession, Wish
from tui.app import UllageApp
from tui.desk import Choices

# Prompts kept for the Up key and Ctrl+R, over all sessions: a few months of work.
REMEMBERED = 2_000

# Ending the model's process and giving the lock back takes well under a second; seconds.
LONGEST_END = 5.0


class Works(Protocol):
    """What is used of `agent.worker.Worker`."""

    def start(self) -> None: ...

    def send(self, command: Command) -> None: ...

    def join(self, timeout: float | None = None) -> bool: ...


def run_full(
    make_worker: Callable[[Callable[[Event], None]], Works],
    choices: Choices,
    state: Path,
    *,
    first: Wish | None = None,
) -> int:
    """Opens the screen until the user leaves; returns the exit status. `state` is the folder for history and logs."""
    workers: list[Works] = []
    history = History(state / "history.jsonl")
    app = UllageApp(
        lambda command: workers[0].send(command),
        choices=choices,
        history=history.prompts(),
        remember=history.remember,
        first=first,
    )
    workers.append(make_worker(app.post_event))
    worker = workers[0]
    with quiet_streams(state / "screen.log"), leaving_on_signals(app):
        worker.start()
        try:
            status = app.run()
        finally:
            worker.send(Quit())
            worker.join(LONGEST_END)
            history.close()
    if app.session:
        print(f"go on with: ullage --resume {app.session}")
    return status or 0


def first_wish(prompt: str, resume: str | None) -> Wish | None:
    """What is done once the screen stands: the first message, or the list of sessions for an empty `--resume`."""
    if prompt:
        return Submit(prompt)
    return PickSession() if resume == "" else None


class History:
    """Prompts typed in any session, newest last; written on a thread of their own so that no key waits for the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="history")

    def prompts(self) -> list[str]:
        """What was typed before; a line that cannot be read is passed over."""
        try:
            lines = self._path.read_text("utf-8", "replace").split("\n")[-REMEMBERED:]
        except OSError:
            return []
        found: list[str] = []
        for line in lines:
            with contextlib.suppress(ValueError):
                text = json.loads(line) if line.strip() else None
                if isinstance(text, str):
                    found.append(text)
        return found

    def remember(self, prompt: str) -> None:
        """Adds one; losing it is no fault worth a word."""
        self._writing.submit(self._write, prompt)

    def _write(self, prompt: str) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(
                os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8"
            ) as file:
                file.write(json.dumps(prompt) + "\n")

    def close(self) -> None:
        """Waits for what is being written."""
        self._writing.shutdown()


@contextlib.contextmanager
def quiet_streams(log: Path) -> Iterator[None]:
    """File descriptors 1 and 2 go to a log while the screen stands: native code and stray threads cannot draw over it.

    The screen itself is drawn on a copy of the terminal's own descriptor.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    real, kept = (sys.__stdout__, sys.__stderr__), (os.dup(1), os.dup(2))
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    encoding = getattr(real[1], "encoding", None) or "utf-8"
    # Both: the screen is drawn on the one, and its size is asked of the other.
    drawn = [os.fdopen(os.dup(fd), "w", encoding=encoding, errors="backslashreplace") for fd in kept]
    sys.__stdout__, sys.__stderr__ = drawn  # type: ignore[misc]
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    try:
        yield
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)
        os.close(sink)
        sys.__stdout__, sys.__stderr__ = real  # type: ignore[misc]
        for stream in drawn:
            stream.close()


@contextlib.contextmanager
def leaving_on_signals(app: UllageApp) -> Iterator[None]:
    """SIGTERM and SIGHUP end the screen as a key would, so that the terminal is given back."""

    def leave(number: int, frame: object) -> None:
        app.call_later(app.exit, 128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
