"""One child process as its parent sees it: started, spoken to, watched, ended.

Not a model: it carries messages and knows nothing of what they ask.

Invariants
 1. Starting needs no loop, so it can be the first thing a program does; `attach` joins the running loop.
 2. When the child is gone, for whatever reason, every open exchange is told so exactly once (`None`).
 3. A child that is silent for `patience` heartbeats, or does not answer a cancel in `patience_cancel` seconds, is
    killed. Silence is counted in ticks of our own loop, so a stopped terminal job does not look like a dead child.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, cast

from agent.models.pipe import Lines, Message, encode

# Seconds between heartbeats of a child with open streams.
BEAT = 1.0

# Heartbeats missed before a child counts as hung. The longest honest silence is the import of one provider's client
# plus the translation of a 10 MB conversation on a slow machine, about 5 s; four times that.
PATIENCE = 20

# Seconds for the answer to a cancel; the child needs about 0.01.
CANCEL_PATIENCE = 5.0

# Seconds that `confirm` waits for that answer: a longer wait would be felt at Esc.
CONFIRM = 0.5

# Above this the log is emptied when a child starts: it holds stray prints and tracebacks, of which the newest matter.
LOG_BYTES = 1_000_000


def package_root() -> str:
    """The folder that holds the package `agent`."""
    return str(Path(__file__).resolve().parents[2])


def environment(inherited: Mapping[str, str], root: str) -> dict[str, str]:
    """What the child inherits: ours, with absolute import paths only, and the package's folder when it needs naming.

    An installed package is found by itself; naming site-packages first would let it shadow the standard library.
    """
    paths = [p for p in inherited.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(p) and p != root]
    if Path(root).name not in ("site-packages", "dist-packages"):
        paths.insert(0, root)
    child = {name: value for name, value in inherited.items() if name != "PYTHONPATH"}
    if paths:
        child["PYTHONPATH"] = os.pathsep.join(paths)
    return child


class Exchange:
    """One request's messages, in order; None when the child has gone."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self.over = asyncio.Event()


class HostProcess:
    """A running child. `gone` is set once it has ended; then it is of no more use."""

    def __init__(
        self, python: str, log: Path | None, *, beat: float = BEAT, patience: int = PATIENCE,
        cancel_patience: float = CANCEL_PATIENCE, module: str = "agent.models.host",
        heard: Callable[[Message], None] = lambda message: None,
    ) -> None:  # fmt: skip
        """`module` is what the child runs; `heard` gets what belongs to no open exchange."""
        self._beat, self._patience, self._cancel_patience = beat, patience, cancel_patience
        self._log, self._heard = log, heard
        self.ready: asyncio.Future[None] | None = None
        self.gone = False
        self.over = asyncio.Event()
        self.why = ""
        self._exchanges: dict[int, Exchange] = {}
        self._last_id = 0
        self._silent = 0
        self._watch: asyncio.TimerHandle | None = None
        self._deadlines: dict[int, asyncio.TimerHandle] = {}
        self._writer: asyncio.WriteTransport | None = None
        self._lines = Lines()
        with _open_log(log) as errors:
            self._process = subprocess.Popen(
                [python, "-P", "-m", module, str(beat)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                cwd=os.path.abspath(os.sep),
                env=environment(os.environ, package_root()),
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def attach(self) -> None:
        """Joins the running loop; once."""
        loop = asyncio.get_running_loop()
        self.ready = loop.create_future()
        source, sink = cast("IO[bytes]", self._process.stdout), cast("IO[bytes]", self._process.stdin)
        self._reader, _ = await loop.connect_read_pipe(lambda: _Reading(self), source)
        writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sink)
        self._writer = writer

    def open(self, call: Message, op: str = "stream") -> Exchange:
        """Starts a request; of the models' child `call` are the keyword arguments of the library's function."""
        self._last_id += 1
        exchange = Exchange(self._last_id)
        if self.gone:
            exchange.messages.put_nowait(None)
            exchange.over.set()
            return exchange
        self._exchanges[exchange.id] = exchange
        self._send({"id": exchange.id, "op": op, "call": call})
        if self._watch is None:
            self._silent = 0
            self._watch = asyncio.get_running_loop().call_later(self._beat, self._tick)
        return exchange

    def cancel(self, exchange: Exchange) -> None:
        """Asks the child to close the exchange's connection; `exchange.over` follows, or the child's end."""
        if exchange.over.is_set() or self.gone or exchange.id in self._deadlines:
            return
        self._send({"id": exchange.id, "op": "cancel"})
        loop = asyncio.get_running_loop()
        self._deadlines[exchange.id] = loop.call_later(
            self._cancel_patience, self.kill, "it did not answer when a request was cancelled"
        )

    async def confirm(self, exchange: Exchange) -> None:
        """Cancels an exchange that is not over, and waits shortly for the child's word."""
        if exchange.over.is_set():
            return
        self.cancel(exchange)
        waiting = asyncio.ensure_future(exchange.over.wait())
        try:
            await asyncio.wait({waiting}, timeout=CONFIRM)
        finally:
            waiting.cancel()

    def kill(self, why: str = "") -> None:
        """Ends the child now; the exchanges learn it when its pipe closes."""
        self.why = self.why or why
        self._process.kill()

    async def aclose(self) -> None:
        """Ends the child and waits for it; idempotent."""
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        if self._writer is None:
            for stream in (self._process.stdin, self._process.stdout):
                cast("IO[bytes]", stream).close()
        else:
            self.ended()
            self._reader.close()
            await asyncio.sleep(0)  # lets both transports close their descriptors

    async def leave(self, patience: float) -> None:
        """Closes the child's input, by which it ends and tidies up; after `patience` seconds it does so unattended."""
        if self._writer is not None and not self.over.is_set():
            self._writer.close()
            waiting = asyncio.ensure_future(self.over.wait())
            await asyncio.wait({waiting}, timeout=patience)
            waiting.cancel()
        if self._writer is None or self.over.is_set():
            await self.aclose()
            return
        # Whoever is not waited for is a zombie until then.
        threading.Thread(target=self._process.wait, daemon=True).start()
        self._reader.close()
        await asyncio.sleep(0)

    def last_words(self) -> str:
        """The last line in the log, or nothing."""
        if self._log is None:
            return ""
        try:
            lines = self._log.read_bytes()[-4_000:].decode("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1].strip() if lines else ""

    def received(self, data: bytes) -> None:
        """Takes bytes from the child."""
        self._silent = 0
        for message in self._lines.feed(data):
            self._take(message)

    def ended(self) -> None:
        """The child's pipe has closed."""
        if self.gone:
            return
        self.gone = True
        self.over.set()
        self._process.kill()
        for handle in (self._watch, *self._deadlines.values()):
            if handle is not None:
                handle.cancel()
        self._watch = None
        self._deadlines.clear()
        if self.ready is not None and not self.ready.done():
            self.ready.set_result(None)
        for exchange in self._exchanges.values():
            exchange.messages.put_nowait(None)
            exchange.over.set()
        self._exchanges.clear()
        if self._writer is not None and not self._writer.is_closing():
            self._writer.abort()

    def _take(self, message: Message) -> None:
        match message.get("op"):
            case "ready":
                if self.ready is not None and not self.ready.done():
                    self.ready.set_result(None)
            case "failed":
                self.why = str(message.get("why") or "")
        exchange = self._exchanges.get(message.get("id", 0))
        if exchange is None:
            self._heard(message)
            return
        exchange.messages.put_nowait(message)
        if "pieces" not in message:
            del self._exchanges[exchange.id]
            exchange.over.set()
            if handle := self._deadlines.pop(exchange.id, None):
                handle.cancel()

    def _send(self, message: Message) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(message))

    def _tick(self) -> None:
        self._watch = None
        if not self._exchanges:
            return
        self._silent += 1
        if self._silent > self._patience:
            self.kill("it stopped answering")
            return
        self._watch = asyncio.get_running_loop().call_later(self._beat, self._tick)


class _Reading(asyncio.Protocol):
    def __init__(self, process: HostProcess) -> None:
        self._process = process

    def data_received(self, data: bytes) -> None:
        self._process.received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._process.ended()


def _open_log(log: Path | None) -> IO[bytes]:
    """The log for appending, readable by its owner only; nothing when there is none, or no place to write one: it is
    for finding faults, and no reason not to answer."""
    if log is None:
        return open(os.devnull, "ab")
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return open(os.devnull, "ab")
    if os.fstat(descriptor).st_size > LOG_BYTES:
        os.ftruncate(descriptor, 0)
    return os.fdopen(descriptor, "ab")
