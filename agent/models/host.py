"""The child process that is alone with litellm: requests come in on a pipe, coalesced pieces go out on another.

Run by `remote` as `python -P -m agent.models.host SECONDS`, SECONDS being the time between two heartbeats. Not a
library, and it decides nothing: no retry, no reading of errors (it only describes them), no policy.

In:  {"id", "op": "stream", "call": {keyword arguments of litellm.acompletion}}     {"id", "op": "cancel"}
Out: {"op": "ready"} · {"op": "failed", "why"} · {"op": "beat"} while a stream is open
     {"id", "pieces": [["text", t], ["thinking", t], ["call", index, name, characters], …]}
     then exactly one of {"id", "done": …}, {"id", "error": …}, {"id", "cancelled": true}

Invariants
 1. The process ends when its input ends, whatever it is doing, so it cannot outlive its parent.
 2. Nothing but messages is written to the output pipe: file descriptor 1 is the log's from the first line on.
 3. A key is in no message going out and in no log line.
 4. A cancelled stream's connection is closed before its last message goes out.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

import httpx

from agent.models.deltas import Assembler, CallPiece, Piece, TextPiece, ThinkingPiece
from agent.models.describe import describe
from agent.models.pipe import Lines, Message, encode, own_pipes, write_all
from agent.models.warm import warm

# 60 messages a second are more than any screen draws (10 to 20 Hz), and cheap on the reading side.
PIECES_EVERY = 1 / 60

# Seconds to get a connection. A reachable server takes one or two; the request's deadline (minutes, for slow answers)
# would let an address that swallows packets look like work.
CONNECT = 15.0

# Read at import by the library: no price-map, header or tokenizer downloads; no `.env` of the user's repository read
# into our environment; no log lines; no error for a model that repeats a chunk a hundred times (a table's border does).
LIBRARY_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "CRITICAL",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000",
}

# A proxy set for the outside world must not be asked for servers on this machine.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Outbox:
    """Coalesces the pieces of one stream: the first goes at once, the others at most every `PIECES_EVERY` seconds."""

    def __init__(self, send: Callable[[Message], None], id: int) -> None:
        self._send, self._id = send, id
        self._loop = asyncio.get_running_loop()
        self._pending: list[list[Any]] = []
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, pieces: list[Piece]) -> None:
        """Takes pieces, in order; sends when it is time."""
        for piece in pieces:
            self._append(piece)
        if not self._pending or self._timer is not None:
            return
        wait = self._last + PIECES_EVERY - self._loop.time()
        if wait <= 0:
            self.flush()
        else:
            self._timer = self._loop.call_later(wait, self.flush)

    def flush(self) -> None:
        """Sends what is pending."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._pending:
            self._send({"id": self._id, "pieces": self._pending})
            self._pending, self._last = [], self._loop.time()

    def _append(self, piece: Piece) -> None:
        last: list[Any] = self._pending[-1] if self._pending else [None, None]
        match piece:
            case TextPiece(text) | ThinkingPiece(text):
                kind = "text" if isinstance(piece, TextPiece) else "thinking"
                if last[0] == kind:
                    last[1] += text
                else:
                    self._pending.append([kind, text])
            case CallPiece(index, name, characters):
                if last[:2] == ["call", index]:
                    self._pending.pop()
                self._pending.append(["call", index, name, characters])


class Host:
    """The open streams of this process; everything runs on one loop."""

    def __init__(self, library: ModuleType, send: Callable[[Message], None], beat: float) -> None:
        self._library, self._send, self._beat = library, send, beat
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[Message]] = {}
        self._beating: asyncio.TimerHandle | None = None

    def take(self, message: Message) -> None:
        """Acts on one message from the parent."""
        id = message.get("id", 0)
        if message.get("op") == "stream":
            secret = str(message["call"].get("api_key") or "")
            task = self._loop.create_task(self._stream(id, message["call"]))
            self._tasks[id] = task
            task.add_done_callback(lambda ended: self._ended(id, ended, secret))
            self._start_beating()
        elif message.get("op") == "cancel":
            if id in self._tasks:
                self._tasks[id].cancel()
            else:
                self._send({"id": id, "cancelled": True})

    async def _stream(self, id: int, call: Mapping[str, Any]) -> Message:
        outbox = Outbox(self._send, id)
        assembler = Assembler(lambda: f"call_{uuid.uuid4().hex[:20]}")
        deadline = call["timeout"]
        stream = await self._library.acompletion(
            **{**call, "timeout": httpx.Timeout(deadline, connect=min(deadline, CONNECT))},
            stream=True, stream_options={"include_usage": True}, max_retries=0, num_retries=0,
        )  # fmt: skip
        try:
            async for chunk in stream:
                if chunk.choices:
                    outbox.add(assembler.take(delta_of(chunk.choices[0].delta)))
        finally:
            outbox.flush()
            with suppress(RuntimeError):  # a generator that is being closed already
                await stream.aclose()
        outbox.add(assembler.end())
        outbox.flush()
        return assembler.result() | ending_of(stream)

    def _ended(self, id: int, task: asyncio.Task[Message], secret: str) -> None:
        del self._tasks[id]
        if task.cancelled():
            self._send({"id": id, "cancelled": True})
        elif (error := task.exception()) is not None:
            self._send({"id": id, "error": describe(error, secret)})
        else:
            self._send({"id": id, "done": task.result()})

    def _start_beating(self) -> None:
        if self._beating is None:
            self._beating = self._loop.call_later(self._beat, self._tick)

    def _tick(self) -> None:
        self._beating = None
        if self._tasks:
            self._send({"op": "beat"})
            self._start_beating()


def delta_of(delta: Any) -> dict[str, Any]:
    """The fields of a chunk's delta that matter, as plain values."""
    plain: dict[str, Any] = {}
    for name in ("content", "reasoning_content"):
        if value := getattr(delta, name, None):
            plain[name] = value
    for name in ("tool_calls", "thinking_blocks"):
        if value := getattr(delta, name, None):
            plain[name] = [item if isinstance(item, dict) else item.model_dump() for item in value]
    fields = getattr(delta, "provider_specific_fields", None)
    if isinstance(fields, dict):
        plain["provider_specific_fields"] = {k: v for k, v in fields.items() if _plain(v)}
    return plain


def ending_of(stream: Any) -> dict[str, Any]:
    """How the stream ended: `finish` (None when no server said so), `usage`s as the server sent them, `type`.

    The library invents a finish reason and counts tokens itself when a server sends neither; only what arrived counts.
    """
    headers = (getattr(stream, "_hidden_params", None) or {}).get("additional_headers") or {}
    sent = [chunk.usage.model_dump() for chunk in stream.chunks if getattr(chunk, "usage", None)]
    return {
        "finish": stream.received_finish_reason,
        "usages": [_plain_only(usage) for usage in sent],
        "type": str(headers.get("llm_provider-content-type") or ""),
    }


def _plain(value: Any) -> bool:
    """Whether a value can go over the pipe."""
    if isinstance(value, list):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(map(_plain, value.values()))
    return value is None or isinstance(value, (str, int, float, bool))


def _plain_only(value: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in value.items() if v is not None and _plain(v)}


def load_library() -> ModuleType:
    """litellm, with its environment set first. Collection is off meanwhile: it would scan 3,000 half-made modules."""
    os.environ.update(LIBRARY_ENVIRONMENT)
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join([*filter(None, [os.environ.get(name)]), *LOOPBACK])
    gc.disable()
    library = importlib.import_module("litellm")
    library.suppress_debug_info = True  # type: ignore[attr-defined]
    gc.freeze()
    gc.enable()
    return library


def read_forever(source: int, take: Callable[[Message], None]) -> None:
    """Hands on each message; at the end of input ends the process, even in the middle of an import."""
    lines = Lines()
    while data := os.read(source, 1 << 16):
        for message in lines.feed(data):
            take(message)
    os._exit(0)


def send_all(sink: int, data: bytes) -> None:
    """Writes everything; a parent that is gone ends this process."""
    try:
        write_all(sink, data)
    except BrokenPipeError:
        os._exit(0)


async def serve(
    library: ModuleType, sink: int, beat: float, attach: Callable[[Callable[[Message], None]], None]
) -> None:
    """Says that it is ready, then serves for ever."""
    host = Host(library, lambda message: send_all(sink, encode(message)), beat)
    loop = asyncio.get_running_loop()

    def take(message: Message) -> None:
        loop.call_soon_threadsafe(host.take, message)

    attach(take)
    send_all(sink, encode({"op": "ready"}))
    warming = asyncio.create_task(warm(library))
    warming.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    await loop.create_future()


def main(beat: float) -> None:
    """The process: pipes, reader, library, loop."""
    source, sink = own_pipes()
    waiting: list[Message] = []
    lock = threading.Lock()
    takers: list[Callable[[Message], None]] = []

    def take(message: Message) -> None:
        with lock:
            if takers:
                takers[0](message)
            else:
                waiting.append(message)

    def attach(taker: Callable[[Message], None]) -> None:
        with lock:
            takers.append(taker)
            for message in waiting:
                taker(message)

    threading.Thread(target=read_forever, args=(source, take), daemon=True).start()
    try:
        library = load_library()
    except ImportError as error:
        send_all(sink, encode({"op": "failed", "why": str(error)}))
        raise
    asyncio.run(serve(library, sink, beat, attach))


if __name__ == "__main__":
    main(float(sys.argv[1]))
