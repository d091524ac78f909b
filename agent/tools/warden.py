"""A process that outlives ours for a moment: it ends what our commands left running when we could not do it ourselves.

Not for a way out on which we still act (that is `processes.Family.end`). Its input is a pipe that only we hold; at its
end, which SIGKILL brings too, the families still listed are killed. Lines: `+ GROUP MARK` and `- GROUP MARK`; a group
of 0 is not known, and only the mark counts.

It runs as a script of its own and loads nothing but a few modules of the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

MARK = "ULLAGE_COMMAND"
_PROC = "/proc"


def family(group: int, mark: str) -> list[tuple[int, str]]:
    """Pids and names of a command's processes: of its group, and of all with its mark in their environment.

    Zombies do not count. Where there is no /proc: the group, if it has anybody.
    """
    if not os.path.exists(f"{_PROC}/self/stat"):
        return [(group, "")] if signalled(group, 0) else []
    found: list[tuple[int, str]] = []
    wanted = f"{MARK}={mark}".encode()
    for entry in os.listdir(_PROC):
        if not entry.isdigit():
            continue
        # A process may end between any two of these reads, or belong to somebody else.
        with suppress(OSError, ValueError, IndexError):
            status = _read(f"{_PROC}/{entry}/stat")
            name = status[status.index(b"(") + 1 : status.rindex(b")")]
            rest = status[status.rindex(b")") + 2 :].split()
            if rest[0] in (b"Z", b"X"):
                continue
            if (group and int(rest[2]) == group) or wanted in _read(f"{_PROC}/{entry}/environ").split(b"\0"):
                found.append((int(entry), name.decode("utf-8", "replace")))
    return sorted(found)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def signalled(group: int, number: int) -> bool:
    """Send a signal to a process group; whether there was anybody."""
    if not group:
        return False  # to the system, 0 is the group of whoever asks
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def signal_all(group: int, mark: str, number: int) -> None:
    """Send a signal to every process of a command."""
    signalled(group, number)
    for pid, _ in family(group, mark):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_all(group: int, mark: str) -> None:
    """Kill every process of a command. Twice: the first pass may race with a fork."""
    for _ in range(2):
        if family(group, mark):
            signal_all(group, mark, signal.SIGKILL)


def main() -> None:
    """Reads lines until their end, then kills what is listed."""
    listed: set[tuple[int, str]] = set()
    for line in sys.stdin:
        sign, group, mark = line.split()
        (listed.add if sign == "+" else listed.discard)((int(group), mark))
    for group_, mark in listed:
        kill_all(group_, mark)


if __name__ == "__main__":
    main()
