"""One `Model` over all there are: embedded files by their name, everything else by the remote client.

Not a client and no server of its own; no request is changed here.

Invariants
 1. A file has one process, however many sessions or summaries ask it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from agent.model import Endpoint, Model, Part, Request
from agent.models.embedded import Embedded, EmbeddedModel, is_embedded


class RoutedModel:
    """See `agent.model.Model`. `logs` is the folder that the embedded processes print to."""

    def __init__(self, remote: Model, logs: Path) -> None:
        self._remote = remote
        self._logs = logs
        self._embedded: dict[str, Embedded] = {}

    def embedded(self, name: str, window: int | None = None) -> Embedded:
        """The embedded model of this name, not started yet. `window` (tokens) counts at the first call only.

        Raises `UnknownModel`.
        """
        found = self._embedded.get(name)
        if found is None:
            found = self._embedded[name] = Embedded(name, log=self._logs / "embedded.log", window=window)
        return found

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        """Asks `endpoint`. Raises `ModelError`."""
        model: Model = self._remote
        if is_embedded(endpoint.name):
            model = EmbeddedModel(self._remote, self.embedded(endpoint.name))
        parts = model.stream(endpoint, request)
        async with aclosing(parts):  # type: ignore[type-var]
            async for part in parts:
                yield part

    async def aclose(self) -> None:
        """Ends all of them."""
        for embedded in self._embedded.values():
            await embedded.stop()
        await self._remote.aclose()
