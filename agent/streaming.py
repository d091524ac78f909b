"""A model's stream, closed as soon as nobody reads it, and its retries in words.

Not a client and not a turn.

Invariants
 1. When the block is left, for whatever reason, the connection has been told to close: no byte is read afterwards.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from agent.model import Endpoint, Model, Part, Request, Retrying


@asynccontextmanager
async def streaming(model: Model, endpoint: Endpoint, request: Request) -> AsyncIterator[AsyncIterator[Part]]:
    """The parts of an answer, inside `async with`. Raises `ModelError` while they are read."""
    parts = model.stream(endpoint, request)
    try:
        yield parts
    finally:
        if isinstance(parts, AsyncGenerator):
            await parts.aclose()


def retrying(part: Retrying, before: str = "") -> str:
    """The sentence for an attempt that failed and is made again; `before` is why the one before it failed."""
    when = "now" if part.wait < 1 else f"in {part.wait:.0f} s"
    if part.attempt == 1:
        return f"{part.why} Trying again {when}."
    # The whole sentence once; after that only what is new.
    again = "Failed again; retry" if part.why == before else f"{part.why} Retry"
    return f"{again} {part.attempt} {when}."
