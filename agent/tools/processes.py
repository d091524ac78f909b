"""Processes that a command started: who is left of them, and how they are all ended.

Not the running of a command (that is `bash`). A command leads its own process group and carries a mark in its
environment, which also finds what has left the group (`setsid`, double forks). Where there is no /proc only the group
is known. Should we be killed, the `Guard`'s process ends them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from agent.tools import warden
from agent.tools.warden import MARK

# What a command may use to shut down before it is killed; seconds. Databases and dev servers need about one.
GRACE = 2.0

# How often the end is looked for while the grace lasts; seconds.
LOOK = 0.05


@dataclass(frozen=True, slots=True)
class Family:
    """All processes of one command: its process group (id; 0 where it is not known) and their environment's mark."""

    group: int
    mark: str

    def alive(self) -> list[tuple[int, str]]:
        """Pids and names of those that run; zombies do not. Where there is no /proc: the group, if it has anybody."""
        return warden.family(self.group, self.mark)

    def signal(self, number: int) -> None:
        """Send a signal to every one of them."""
        warden.signal_all(self.group, self.mark, number)

    async def end(self) -> None:
        """Ask them to end, wait up to `GRACE`, kill the rest. A cancellation meanwhile kills at once and goes on."""
        self.signal(signal.SIGTERM)
        try:
            for _ in range(round(GRACE / LOOK)):
                if not self.alive():
                    return
                await asyncio.sleep(LOOK)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill them now."""
        warden.kill_all(self.group, self.mark)


def _nothing() -> None:
    """There is nothing to end."""


@dataclass(eq=False)
class Guard:
    """The families to be ended though we are killed: kept by a process of its own, begun with the first of them.

    Where it cannot be started nothing is guarded; every other way out ends them anyway.
    """

    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _end: Callable[[], object] = field(default=_nothing, repr=False)

    def begin(self) -> None:
        """Have its process run before there is anything to watch: starting it takes longer than a command may last."""
        if self._process is None:
            with suppress(OSError):
                self._process = subprocess.Popen(
                    (sys.executable, "-I", "-S", warden.__file__), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, bufsize=0, cwd=os.sep, start_new_session=True,
                )  # fmt: skip
                # Whoever forgets to close it leaves no process behind.
                self._end = weakref.finalize(self, _ended, self._process)

    def watch(self, family: Family) -> None:
        """From now on."""
        self.begin()
        self._write(f"+ {family.group} {family.mark}\n")

    def forget(self, family: Family) -> None:
        """It has ended: its number may be another's by now."""
        self._write(f"- {family.group} {family.mark}\n")

    def close(self) -> None:
        """End the process; whatever is still listed is killed by it."""
        self._end()
        self._process = None

    def _write(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            # Somebody killed it: there is nothing to be done about that, and nothing else depends on it.
            with suppress(OSError):
                self._process.stdin.write(line.encode())


def _ended(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


__all__ = ["MARK", "Family", "Guard"]
