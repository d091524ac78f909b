"""A pilot that goes on when the app has nothing left to do.

Not textual's own way of waiting, which looks at the processor: on a busy machine an app that gets no turn looks like an
app that is done, and every key costs two pauses besides. Here the app itself is asked: is a message waiting or in
somebody's hands, a picture to be painted, an animation or a thread's work under way. What waits for a clock (a timer)
is not waited for: a test that wants it says so, with `until`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.message_pump import MessagePump
from textual.pilot import Pilot

# Longer than anything here takes on a busy machine; only what hangs meets it. Seconds.
HANGING = 120.0

# Turns of the loop from an event handed to the driver or from another thread to the queue it goes to, at most.
HOPS = 6

# Between two looks at what takes longer: a thread, an animation. Seconds.
LOOK = 0.002

# What a terminal sends with the keys that have names; the others bring no character.
CHARACTERS = {"enter": "\r", "tab": "\t", "escape": "\x1b", "space": " ", "backspace": "\x7f"}


def _rests(pump: MessagePump) -> bool:
    """Whether a widget waits for its next message."""
    if pump._closed or not pump._running:
        return True
    queue = pump._message_queue
    return (
        bool(queue.ready_event._waiters)
        and queue.empty()
        and pump._pending_message is None
        and not pump._next_callbacks
    )


class Steady(Pilot[int]):
    """`press` and `pause` end when the app is at rest, and at nothing else.

    `threads` False: the test itself holds a thread of the app's back, so that is not waited for.
    """

    threads = True

    def at_rest(self) -> bool:
        """Whether nothing is left to do, now."""
        app = self.app
        if not app._running or app._exit or not app.screen_stack:
            return True
        screen = app.screen
        if not app._batch_count:
            screen._on_timer_update()  # paints at once what the next sixtieth of a second would
        painted = not (
            screen._layout_required or screen._scroll_required or screen._repaint_required or screen._dirty_widgets
        )
        nodes = (node for open in app.screen_stack for node in open.walk_children(with_self=True))
        return (
            painted
            and not screen._callbacks
            and not app.animator._animations
            and not app.animator._scheduled
            and not (self.threads and any(not worker.is_finished for worker in app.workers))
            and all(map(_rests, (app, *nodes)))
        )

    async def pause(self, delay: float | None = None) -> None:
        """Until the app is at rest; with a `delay`, for so many seconds first."""
        if delay:
            await asyncio.sleep(delay)
        async with asyncio.timeout(HANGING):
            seen = 0
            while seen < 2:
                for _ in range(HOPS):
                    await asyncio.sleep(0)
                seen = seen + 1 if self.at_rest() else 0
                if not seen:
                    await asyncio.sleep(LOOK)

    async def press(self, *keys: str) -> None:
        """One key after the other, each once the app has done with the one before."""
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
            event = events.Key(name, key if len(key) == 1 else CHARACTERS.get(key))
            event.set_sender(self.app)
            assert self.app._driver is not None
            self.app._driver.send_message(event)
            await self.pause()

    async def until(self, done: Callable[[], object]) -> None:
        """Until something holds, with the app at rest between two looks."""
        async with asyncio.timeout(HANGING):
            while not done():
                await asyncio.sleep(0.01)
                await self.pause()


@asynccontextmanager
async def steady(app: App[int], size: tuple[int, int] = (80, 24)) -> AsyncIterator[Steady]:
    """The app on a screen of this size, at rest when it begins and before it is closed."""
    async with app.run_test(size=size):
        pilot = Steady(app)
        await pilot.pause()
        yield pilot
        await pilot.pause()  # a message on its way would find an app without a screen
