"""Runs the full screen over a worker, and leaves the terminal as it was, whichever way out.

Not the screen (that is `app`) and no wiring of the agent. The first place where textual is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.wire import Event, Idle, Quit
from tui.actions import Wish
from tui.front import LONGEST_END, Choices, GoingOn, History, Works
from tui.full.app import UllageApp


def run_full(
    make_worker: Callable[[Callable[[Event], None]], Works],
    choices: Choices,
    state: Path,
    *,
    first: Wish | None = None,
    lasting: bool = True,
) -> int:
    """Opens the screen until the user leaves; returns the exit status. `state` is the folder for history and logs.
    `lasting` is false for a session that is thrown away at the end."""
    workers: list[Works] = []
    history = History(state / "history.jsonl")
    app = UllageApp(
        lambda command: workers[0].send(command),
        choices=choices,
        history=history.prompts(),
        remember=history.remember,
        first=first,
    )
    unopened: list[Idle] = []
    going_on = GoingOn()

    def emit(event: Event) -> None:
        app.post_event(event)
        going_on.take(event)
        # Without any session there is nothing to type into; the sentence belongs on the terminal that asked.
        if isinstance(event, Idle) and event.stop == "failed" and not event.session and app.session is None:
            unopened.append(event)
            app.call_later(app.exit, event.code or 1)

    workers.append(make_worker(emit))
    worker = workers[0]
    with quiet_streams(state / "screen.log"), leaving_on_signals(app):
        worker.start()
        try:
            status = app.run()
        finally:
            worker.send(Quit())
            worker.join(LONGEST_END)
            history.close()
    if unopened:
        print(f"ullage: {unopened[0].error}", file=sys.stderr)
        return unopened[0].code or 1
    if lasting and (line := going_on.line()):
        print(line)
    if status is None and app.return_code:
        log = state / "screen.log"
        print(f"ullage: the screen failed, the session is whole; what went wrong stands in {log}", file=sys.stderr)
        return app.return_code
    return status or 0


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
