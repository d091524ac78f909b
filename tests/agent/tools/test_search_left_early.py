"""A search that is left before its end: what it had written must not keep its process waiting, or us for it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent.tools import search

# Writes more than the reader buffers before it listens, so that the pipe is full and unread when the search is left.
FLOOD = "import sys\nsys.stdout.write('needle ' * 25_000)\nsys.stdout.flush()\nsys.stdin.read()\n" + (
    "while True: sys.stdout.write('needle ' * 9_000)"
)

# More than a pipe holds: handing it over takes until the search listens. Bytes.
ASKED = b"x" * 1_000_000


async def test_a_search_left_with_a_full_pipe_ends(tmp_path: Path) -> None:
    async with asyncio.timeout(120):
        ended = await search.feed([sys.executable, "-I", "-c", FLOOD], tmp_path, ASKED, lambda piece: False)
    assert (ended.status, ended.late) == (None, False)
