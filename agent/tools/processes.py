"""Processes that a command started: who is left of them, and how they are all ended.

Not the running of a command (that is `bash`). A command leads its own process group and carries a mark in its
environment, which also finds what has left the group (`setsid`, double forks). Where there is no /proc only the group
is known.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# What a command may use to shut down before it is killed; seconds. Databases and dev servers need about one.
GRACE = 2.0

# How often the end is looked for while the grace lasts; seconds.
LOOK = 0.05

MARK = "ULLAGE_COMMAND"
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Family:
    """All processes of one command: its process group (id) and the mark in their environment."""

    group: int
    mark: str

    def alive(self) -> list[tuple[int, str]]:
        """Pids and names of those that run; zombies do not. Where there is no /proc: the group, if it has anybody."""
        if not (_PROC / "self" / "stat").exists():
            return [(self.group, "")] if self._signalled(0) else []
        found: list[tuple[int, str]] = []
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.listdir(_PROC):
            if not entry.isdigit():
                continue
            # A process may end between any two of these reads, or belong to somebody else.
            with suppress(OSError, ValueError, IndexError):
                status = (_PROC / entry / "stat").read_bytes()
                name, rest = (
                    status[status.index(b"(") + 1 : status.rindex(b")")],
                    status[status.rindex(b")") + 2 :].split(),
                )
                if rest[0] in (b"Z", b"X"):
                    continue
                if int(rest[2]) == self.group or wanted in (_PROC / entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry), name.decode("utf-8", "replace")))
        return sorted(found)

    def _signalled(self, number: int) -> bool:
        """Send a signal to the group; whether there was anybody."""
        try:
            os.killpg(self.group, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def signal(self, number: int) -> None:
        """Send a signal to every one of them."""
        self._signalled(number)
        for pid, _ in self.alive():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

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
        """Kill them now. Twice: the first pass may race with a fork."""
        for _ in range(2):
            if self.alive():
                self.signal(signal.SIGKILL)
