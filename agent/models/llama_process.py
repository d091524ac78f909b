"""The process that runs one GGUF file, as its parent sees it: started, found, ended.

Not a client: it gives an address and a key, and never sends a request itself.

Invariants
 1. The process ends with this one, however this one ends (`llama_host` sees to that); two callers start one process.
 2. Nothing it prints reaches the terminal: it goes to the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from agent.model import HostDied, TimedOut
from agent.models.weights import Weights

# Half the cores, and no more than four: a small model gains nothing beyond. The threads wait for each other at every
# layer, so one that has to share its core holds up all: with two threads on two busy cores, 2 tokens a second came out,
# with one thread 21.
MOST_THREADS = 4

# A file of several GB from a cold disk; SmolLM2 takes one second.
START_SECONDS = 120.0

# After its input ends the process leaves at once; this bounds the wait for one that hangs in native code.
STOP_SECONDS = 2.0

# A connection breaks a few milliseconds before the kernel says that the process behind it has ended.
ENDING_SECONDS = 0.5

# What native code may want from the environment; the keys of providers are none of its business.
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Orders:
    """What the process is told on its standard input."""

    gguf: str
    alias: str
    window: int
    template: str
    toy: bool
    key: str
    threads: int
    parent: int


class LlamaProcess:
    """One model's process, on one loop. `log` gets whatever it prints; `python` is the interpreter that runs it."""

    def __init__(self, weights: Weights, log: Path, python: str = sys.executable) -> None:
        self.weights = weights
        self.key = secrets.token_urlsafe(16)
        self.address: str | None = None
        self._log, self._python = log, python
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[str] | None = None

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process's id, while there is one."""
        return self._process.pid if self._process is not None and self.running else None

    async def gone(self) -> bool:
        """Whether the process has ended; gives one that is just ending a moment to be seen so."""
        if self._process is None:
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ENDING_SECONDS):
                await self._process.wait()
        return not self.running

    async def start(self) -> str:
        """The address (`http://127.0.0.1:PORT/v1`); starts the process if there is none. Raises `HostDied`, `TimedOut`.

        Cancelling the caller does not stop the start; whoever asks next gets its result.
        """
        if self._starting is None or (self._starting.done() and not (self.running and self.address)):
            self._starting = asyncio.create_task(self._start(), name="embedded model")
            self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody may be waiting
        return await asyncio.shield(self._starting)

    async def stop(self) -> None:
        """Ends the process; idempotent."""
        starting, self._starting, self.address = self._starting, None, None
        if starting is not None and not starting.done():
            starting.cancel()
            await asyncio.wait([starting])
        process, self._process = self._process, None
        if process is not None:
            await _end(process)

    async def _start(self) -> str:
        if self._process is not None:
            await _end(self._process)
        self.address = None
        with _open_log(self._log) as log:
            process = self._process = await asyncio.create_subprocess_exec(
                self._python,
                "-P",
                str(Path(__file__).with_name("llama_host.py")),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={name: os.environ[name] for name in KEPT if name in os.environ},
                start_new_session=True,  # the terminal's Ctrl+C is not meant for it
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                report = await self._first_word(process)
        except TimeoutError:
            await _end(process)
            raise TimedOut(f"The embedded model did not start in {START_SECONDS:.0f} s; see {self._log}.") from None
        if "address" not in report:
            await _end(process)
            why = report.get("error") or f"its process ended with status {process.returncode}"
            raise HostDied(f"The embedded model did not start: {why}. Its log is {self._log}.")
        self.address = f"{report['address']}/v1"
        return self.address

    async def _first_word(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ConnectionError):  # it has ended already; the empty answer says so
            process.stdin.write(json.dumps(asdict(self._orders())).encode() + b"\n")
            await process.stdin.drain()
        line = await process.stdout.readline()
        return dict(json.loads(line)) if line else {}

    def _orders(self) -> Orders:
        template = Path(__file__).with_name("templates") / "smollm2.jinja"
        return Orders(
            gguf=str(self.weights.path),
            alias=self.weights.alias,
            window=self.weights.window,
            template=template.read_text("utf-8") if self.weights.toy else "",
            toy=self.weights.toy,
            key=self.key,
            threads=max(1, min(MOST_THREADS, (os.cpu_count() or 1) // 2)),
            parent=os.getpid(),
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    """Lets the process leave by closing its input, or kills it; then it is gone."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _open_log(log: Path) -> IO[bytes]:
    """The log for appending; its owner's alone, for llama.cpp quotes what it cannot parse."""
    log.parent.mkdir(parents=True, exist_ok=True)
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "ab")
