"""What the program waits for from people: a yes to a tool, a word on a summary.

Not the rules (those are `permissions`). A question that is never answered waits until it is cancelled with its turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent.wire import Asking, Choice, Event, Reviewing


class Answers:
    """Open questions, on the worker's loop. Who asks about a tool holds `turn`, so that one is open at a time."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._asked = 0
        self.turn = asyncio.Lock()
        self._asking: dict[int, asyncio.Future[tuple[Choice, str]]] = {}
        self._reviewing: asyncio.Future[str | None] | None = None

    async def ask(self, asking: Asking) -> tuple[Choice, str]:
        """The user's choice and reason. Cancelling the task withdraws the question."""
        self._asked += 1
        future: asyncio.Future[tuple[Choice, str]] = asyncio.get_running_loop().create_future()
        self._asking[self._asked] = future
        number = self._asked
        self._emit(replace(asking, id=number))
        try:
            return await future
        finally:
            del self._asking[number]

    def answer(self, id: int, choice: Choice, reason: str) -> None:
        """Answers an open question; a late answer is dropped."""
        future = self._asking.get(id)
        if future is not None and not future.done():
            future.set_result((choice, reason))

    async def review(self, reviewing: Reviewing) -> str | None:
        """The summary to commit, or None to drop it."""
        self._reviewing = asyncio.get_running_loop().create_future()
        self._emit(reviewing)
        try:
            return await self._reviewing
        finally:
            self._reviewing = None

    def reviewed(self, summary: str | None) -> None:
        """Answers the review."""
        if self._reviewing is not None and not self._reviewing.done():
            self._reviewing.set_result(summary)
