"""The child process that is alone with the MCP library: all servers of a program are started, called and ended here.

Run by `servers` as `python -P -m agent.mcp.host SECONDS`, SECONDS being the time between two heartbeats.

In:  {"id", "op": "start", "call": {a server, its `log` and `patience`}}     {"id", "op": "stop", "call": {"name"}}
     {"id", "op": "call", "call": {"name", "tool", "arguments", "timeout"}}  {"id", "op": "cancel"}
     {"id", "op": "prompt", "call": {"name", "prompt", "arguments", "timeout"}}
     {"id", "op": "read", "call": {"name", "uri", "timeout"}}
Out: {"op": "ready"} · {"op": "failed", "why"} · {"op": "beat"} while something is open
     for each question one of {"id", "done": …}, {"id", "error": {"why", "ended"}}, {"id", "cancelled": true};
     before that, for a call, any number of {"id", "pieces": [], "progress": {"done", "total", "said"}}
     {"op": "changed", "name", "tools", "prompts", "resources"} · {"op": "ended", "name", "why"}: unasked

Invariants
 1. When its input ends it ends every server as the library does (input closed, then the whole process group) and
    then itself, in `LONGEST_END` seconds at most, whatever its parent does meanwhile. Killed, it leaves that to a
    guard.
 2. Nothing but messages is written to the output pipe; values of variables and headers are in none of them.
 3. A server that hangs holds up no other.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agent.models.pipe import Lines, Message, encode, own_pipes, write_all

# The library waits 2 s after closing a server's input, and 2 s more after SIGTERM; then it kills. Seconds.
LONGEST_END = 8.0

# Seconds between two words of a call's progress: more often than a screen is drawn helps nobody.
PACE = 0.1

# A proxy set for the outside world must not be asked for servers on this machine.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Host:
    """The connections of this process; everything runs on one loop."""

    def __init__(self, library: ModuleType, send: Callable[[Message], None], beat: float) -> None:
        self._library, self._send, self._beat = library, send, beat
        self._loop = asyncio.get_running_loop()
        self._lives: dict[str, tuple[Any, asyncio.Task[None]]] = {}
        self._tasks: dict[int, asyncio.Task[Message]] = {}
        self._beating: asyncio.TimerHandle | None = None
        self._guard = library.Guard()

    def take(self, message: Message) -> None:
        """Acts on one message from the parent."""
        id = message.get("id", 0)
        if message.get("op") == "cancel":
            if id in self._tasks:
                self._tasks[id].cancel()
            else:
                self._send({"id": id, "cancelled": True})
            return
        task = self._loop.create_task(self._work(id, message["op"], message["call"]))
        self._tasks[id] = task
        task.add_done_callback(lambda ended: self._answer(id, ended))
        if self._beating is None:
            self._beating = self._loop.call_later(self._beat, self._tick)

    async def end(self) -> None:
        """Ends every server, all at once."""
        lives = [life for _, life in self._lives.values()]
        for name in self._lives:
            self._end(name)
        if lives:
            await asyncio.wait(lives, timeout=LONGEST_END)

    async def _work(self, id: int, op: str, call: Message) -> Message:
        match op:
            case "start":
                return await self._start(call)
            case "stop":
                return await self._stopped(call)
            case "call":
                paced = Paced(self._loop, lambda said: self._send({"id": id, "pieces": [], "progress": said}))
                return await self._of(call).call(call, paced)  # type: ignore[no-any-return]
            case "prompt":
                return await self._of(call).prompt(call)  # type: ignore[no-any-return]
            case _:
                return await self._of(call).read(call)  # type: ignore[no-any-return]

    def _of(self, call: Message) -> Any:
        if call["name"] not in self._lives:
            raise self._library.Ended
        return self._lives[call["name"]][0]

    async def _start(self, call: Message) -> Message:
        name = call["name"]
        await self._stopped(call)
        connection = self._library.Connection(
            call, lambda lists: self._send({"op": "changed", "name": name, **lists}), self._guard
        )
        life = self._loop.create_task(connection.run(call["patience"]))
        self._lives[name] = (connection, life)
        life.add_done_callback(lambda ended: self._over(name, connection, ended))
        await asyncio.wait({connection.started, life}, return_when=asyncio.FIRST_COMPLETED)
        if connection.started.done():
            return connection.started.result()  # type: ignore[no-any-return]
        error = None if life.cancelled() else life.exception()
        if error is None or isinstance(error, TimeoutError):
            raise error or self._library.Ended
        raise connection.failure(error)

    async def _stopped(self, call: Message) -> Message:
        if call["name"] in self._lives:
            await asyncio.wait({self._end(call["name"])})
        return {}

    def _end(self, name: str) -> asyncio.Task[None]:
        """Has a connection end, one that is still being made too; its life, to be waited for."""
        connection, life = self._lives[name]
        connection.end()
        if not connection.started.done():
            life.cancel()
        return life

    def _over(self, name: str, connection: Any, life: asyncio.Task[None]) -> None:
        """A connection's life is over; nobody may know yet."""
        connection.over = True
        if self._lives.get(name, (None,))[0] is connection:
            del self._lives[name]
        error = None if life.cancelled() else life.exception()
        if connection.started.done():
            self._send({"op": "ended", "name": name, "why": "" if error is None else connection.why(error)})

    def _answer(self, id: int, task: asyncio.Task[Message]) -> None:
        del self._tasks[id]
        if task.cancelled():
            self._send({"id": id, "cancelled": True})
        elif (error := task.exception()) is not None:
            ended, late = isinstance(error, self._library.Ended), isinstance(error, TimeoutError)
            why = "" if ended else self._library.why(error)
            self._send({"id": id, "error": {"why": why, "ended": ended, "late": late}})
        else:
            self._send({"id": id, "done": task.result()})

    def _tick(self) -> None:
        self._beating = None
        if self._tasks:
            self._send({"op": "beat"})
            self._beating = self._loop.call_later(self._beat, self._tick)


class Paced:
    """Hands on the newest of what is told, at most once in `PACE` seconds, and the last of it in any case."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Callable[[Message], None]) -> None:
        self._loop, self._send = loop, send
        self._newest: Message | None = None
        self._pause: asyncio.TimerHandle | None = None

    def __call__(self, said: Message) -> None:
        """Something new."""
        self._newest = said
        if self._pause is None:
            self._go_on()

    def _go_on(self) -> None:
        said, self._newest, self._pause = self._newest, None, None
        if said is not None:
            self._send(said)
            self._pause = self._loop.call_later(PACE, self._go_on)


def load_library() -> ModuleType:
    """`connection`, and with it the library."""
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join([*filter(None, [os.environ.get(name)]), *LOOPBACK])
    from agent.mcp import connection

    return connection


class Inbox:
    """Reads on a thread of its own from the first moment on; what comes before there is a loop waits."""

    def __init__(self, source: int) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Message | None] = []
        self._take: Callable[[Message | None], None] | None = None
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def attach(self, take: Callable[[Message | None], None]) -> None:
        """`take` gets every message, then None for the end; on the reader's thread."""
        with self._lock:
            self._take = take
            for message in self._waiting:
                take(message)

    def _read(self, source: int) -> None:
        lines = Lines()
        while data := os.read(source, 1 << 16):
            for message in lines.feed(data):
                self._hand(message)
        with self._lock:
            begun = self._take is not None
        if not begun:
            os._exit(0)  # in the middle of an import; no server runs yet
        self._hand(None)
        # Whatever the loop is caught in, this process ends.
        threading.Event().wait(LONGEST_END + 1)
        os._exit(0)

    def _hand(self, message: Message | None) -> None:
        with self._lock:
            if self._take is None:
                self._waiting.append(message)
            else:
                self._take(message)


async def serve(library: ModuleType, sink: int, beat: float, inbox: Inbox) -> None:
    """Says that it is ready, then serves until the input ends."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def send(message: Message) -> None:
        # A parent that is gone hears nothing more; its servers are still to be ended.
        try:
            if not over.is_set():
                write_all(sink, encode(message))
        except BrokenPipeError:
            over.set()

    host = Host(library, send, beat)

    def take(message: Message | None) -> None:
        loop.call_soon_threadsafe(over.set) if message is None else loop.call_soon_threadsafe(host.take, message)

    inbox.attach(take)
    send({"op": "ready"})
    await over.wait()
    await host.end()


def main(beat: float) -> None:
    """The process: pipes, reader, library, loop."""
    source, sink = own_pipes()
    inbox = Inbox(source)
    try:
        library = load_library()
    except ImportError as error:
        write_all(sink, encode({"op": "failed", "why": str(error)}))
        raise
    asyncio.run(serve(library, sink, beat, inbox))
    os._exit(0)


if __name__ == "__main__":
    main(float(sys.argv[1]))
