"""Asking a model that runs on this machine without a key: its process is started when it is first asked.

Not an inference engine (that is xllamacpp's, alone in `llama_host`) and no client: requests go through another `Model`
to the process's loopback address.

Invariants
 1. Nothing is loaded or started before the first request, or `start`.
 2. At most one model is in memory: asking another one ends the first.
 3. A request that the process would refuse for its form (grammar beside tools) or answer without end never gets there.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent.model import CutOff, Endpoint, HostDied, Model, Overloaded, Part, Request, Unreachable
from agent.models.llama_process import LlamaProcess
from agent.models.weights import EMBEDDED_NAME, Weights, describe, installed, is_embedded, weights

# Most lines under one heading of a summary by a model this small; it has nothing to say in a fifth.
MOST_LINES = 4


class Embedded:
    """The one process, whichever model it runs. `log` gets what it prints; `window` (tokens) None: the model's own."""

    def __init__(self, log: Path, *, window: int | None = None) -> None:
        self._log, self._window = log, window
        self._name: str | None = None
        self._changing = asyncio.Lock()
        self.process: LlamaProcess | None = None

    async def start(self, name: str = EMBEDDED_NAME) -> LlamaProcess:
        """This model's process, running. Raises `UnknownModel`, `HostDied`, `TimedOut`."""
        async with self._changing:
            if self.process is None or self._name != name:
                wanted = weights(name, self._window)
                await self._stop()
                self._name, self.process = name, LlamaProcess(wanted, self._log)
            process = self.process
        await process.start()
        return process

    async def stop(self) -> None:
        """Ends the process; idempotent."""
        async with self._changing:
            await self._stop()

    async def _stop(self) -> None:
        process, self.process, self._name = self.process, None, None
        if process is not None:
            await process.stop()


async def embedded_endpoint(name: str, embedded: Embedded) -> Endpoint:
    """Where the model answers, started if need be. Raises `UnknownModel`, `HostDied`, `TimedOut`."""
    process = await embedded.start(name)
    return Endpoint(name=name, model=f"openai/{process.weights.alias}", api_base=process.address, key=process.key)


class EmbeddedModel:
    """A `Model`: embedded names start the process first and go to its address; all others go straight to `inner`."""

    def __init__(self, inner: Model, embedded: Embedded) -> None:
        self._inner = inner
        self.embedded = embedded

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        """See `Model.stream`. A process that ends in mid-request is `HostDied`; the next request starts another."""
        process: LlamaProcess | None = None
        if is_embedded(endpoint.name):
            endpoint = await embedded_endpoint(endpoint.name, self.embedded)
            process = self.embedded.process
        if process is not None:
            request = fitted(request, process.weights)
        try:
            async with _closing(self._inner.stream(endpoint, request)) as parts:
                async for part in parts:
                    yield part
        except (Unreachable, CutOff, Overloaded) as error:
            if process is None or not await process.gone():
                raise
            sentence = "The embedded model's process ended; the next message starts it again."
            raise HostDied(sentence, kept=error.kept) from error

    async def aclose(self) -> None:
        """Ends the process and the client's connections."""
        await self._inner.aclose()
        await self.embedded.stop()


def fitted(request: Request, model: Weights) -> Request:
    """The request within what the process takes: a bounded answer, and no grammar beside tools, for it refuses both."""
    asked = model.max_output if request.max_tokens is None else request.max_tokens
    return replace(request, max_tokens=min(asked, model.max_output), grammar=None if request.tools else request.grammar)


def summary_grammar(headings: Sequence[str]) -> str:
    """GBNF that lets a model write these headings, in this order, each with one to four lines, and nothing else.

    Lines have no length in it: a bounded repetition makes sampling crawl. The request's `max_tokens` is the bound.
    """
    sections = " ".join(f'{json.dumps(heading, ensure_ascii=False)} "\\n" lines' for heading in headings)
    lines = " ".join(["line", *["line?"] * (MOST_LINES - 1)])
    return f'root ::= {sections}\nlines ::= {lines}\nline ::= "- " [^\\n#]+ "\\n"\n'


@contextlib.asynccontextmanager
async def _closing(parts: AsyncIterator[Part]) -> AsyncIterator[AsyncIterator[Part]]:
    """Closes `parts` at the end when it is a generator, so that its connection closes with ours."""
    try:
        yield parts
    finally:
        close = getattr(parts, "aclose", None)
        if close is not None:
            await close()


__all__ = [
    "EMBEDDED_NAME",
    "Embedded",
    "EmbeddedModel",
    "Weights",
    "describe",
    "embedded_endpoint",
    "fitted",
    "installed",
    "is_embedded",
    "summary_grammar",
    "weights",
]
