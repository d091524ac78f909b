"""Other processes as a test waits for them: nobody wakes it, so it looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

# Nothing here waits for a clock; seconds.
PATIENCE = 120.0


async def until(condition: Callable[[], object]) -> None:
    """Waits until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in other processes
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int | None) -> list[int]:
    """The processes a process has started, and that run, without the one that guards the others."""
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [p for p in found if alive(p) and "warden.py" not in text_of(Path(f"/proc/{p}/cmdline"))]


def text_of(path: Path) -> str:
    """What a file holds; nothing while there is none."""
    return path.read_text() if path.exists() else ""
