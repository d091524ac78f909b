"""Runs the inline front end over a worker: native scrollback, a prompt and the meter, or plain lines.

Not what is said (`talk`) and not how it is drawn (`prompt`, `plain`).

Invariants
 1. The worker's thread hands events over and goes on; they are taken in order on this thread's loop.
 2. However it ends, the terminal is as it was and the worker has been told to quit.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agent.wire import Event, Quit
from tui.actions import Wish
from tui.customs import Customs
from tui.front import LONGEST_END, Choices, GoingOn, History, Works
from tui.inline.desk import InlineDesk
from tui.inline.live import SPIN
from tui.inline.plain import PlainLines
from tui.inline.surface import Surface
from tui.inline.talk import Talk
from tui.plain import only_ascii, speaks_plainly
from tui.recall import Recall

# What streams is printed this often: smooth to the eye, and a redraw of a few rows each time; seconds.
BEAT = 0.04

# The cache's countdown while nothing runs; seconds.
TICK = 1.0

# Events taken before keys get their turn: a batch of records presented in about 20 ms.
BATCH = 200


def run_inline(
    make_worker: Callable[[Callable[[Event], None]], Works],
    choices: Choices,
    state: Path,
    *,
    first: Wish | None = None,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Opens the inline front end until the user leaves; returns the exit status."""
    return asyncio.run(_run(make_worker, choices, state, first, environ))


class Hop:
    """Events from the worker's thread to a loop, in batches of a beat."""

    def __init__(self, take: Callable[[list[Event]], None]) -> None:
        self._take = take
        self._loop = asyncio.get_running_loop()
        self._inbox: deque[Event] = deque()
        self._taken_at = float("-inf")

    def __call__(self, event: Event) -> None:
        """From any thread."""
        self._inbox.append(event)
        if len(self._inbox) == 1:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody looks any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._loop.call_at(max(self._loop.time(), self._taken_at + BEAT), self._drain)

    def _drain(self) -> None:
        self._taken_at = self._loop.time()
        batch = [self._inbox.popleft() for _ in range(min(BATCH, len(self._inbox)))]
        if batch:
            self._take(batch)
        if self._inbox:
            self._loop.call_soon(self._drain)


async def _run(
    make_worker: Callable[[Callable[[Event], None]], Works],
    choices: Choices,
    state: Path,
    first: Wish | None,
    environ: Mapping[str, str],
) -> int:
    history, workers, plain = History(state / "history.jsonl"), list[Works](), speaks_plainly(environ)
    ascii = only_ascii(environ)
    surface: Surface
    if plain:
        surface = lines = PlainLines(ascii=ascii)
        run, interrupt = lines.run, lines.interrupt
    else:
        from tui.inline.prompt import terminal_screen

        colours = not environ.get("NO_COLOR")
        surface = screen = terminal_screen(lambda: talk, ascii=ascii, colours=colours, keymap=choices.keys)
        run, interrupt = screen.run, None
    talk = Talk(
        surface,
        lambda command: workers[0].send(command),
        recall=Recall(history.prompts()),
        remember=history.remember,
        customs=Customs(choices.log),
        editor=plain or bool(environ.get("VISUAL") or environ.get("EDITOR")),
        calls=choices.notify,
    )
    talk.perform = InlineDesk(talk, surface, choices).perform
    hop, going_on = Hop(talk.take_all), GoingOn()

    def emit(event: Event) -> None:
        going_on.take(event)
        hop(event)

    workers.append(make_worker(emit))
    with leaving_on_signals(surface, interrupt):
        workers[0].start()
        surface.read(talk.customs.read, talk.mistakes)
        ticking = None if plain else asyncio.ensure_future(_tick(talk))
        if first is not None:
            asyncio.get_running_loop().call_soon(talk.begin, first)
        try:
            status = await run(talk)
        finally:
            if ticking is not None:
                ticking.cancel()
            workers[0].send(Quit())
            await asyncio.to_thread(workers[0].join, LONGEST_END)
            history.close()
    if line := going_on.line():
        print(line, file=sys.stdout)
    return status


async def _tick(talk: Talk) -> None:
    """Spinner and countdown."""
    while True:
        await asyncio.sleep(SPIN if talk.live.doing and talk.question is None else TICK)
        warm = talk.meter.cache.warm_s is not None and talk.now() - talk.metered_at < talk.meter.cache.warm_s + TICK
        if talk.live.doing or warm:
            talk.surface.changed()


@contextlib.contextmanager
def leaving_on_signals(surface: Surface, interrupt: Callable[[], None] | None) -> Iterator[None]:
    """SIGTERM and SIGHUP end it as a key would, so that the terminal is given back; SIGINT where it is no key."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, surface.leave, 128 + number)
    if interrupt is not None:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, *([signal.SIGINT] if interrupt is not None else [])):
            loop.remove_signal_handler(number)
