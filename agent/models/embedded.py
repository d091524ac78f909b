"""Asking a model that runs on this machine without a key: its process is started when it is first asked.

Not an inference engine (that is xllamacpp's, alone in `llama_host`) and no client: requests go through another `Model`
to the process's loopback address.

Invariants
 1. Nothing is loaded or started before the first request, or `start`.
 2. Until the process runs, the endpoint's address is one where nothing can listen, so no prompt leaves by mistake; and
    its label is the same in every session, whatever the port.
 3. A request that the process would refuse for its form (grammar beside tools) or answer without end never gets there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

from agent.model import CutOff, Endpoint, HostDied, Model, Overloaded, Part, Request, Unreachable
from agent.models.gguf import Metadata
from agent.models.llama_process import LlamaProcess
from agent.models.weights import EMBEDDED_NAME, SUFFIX, Weights, alias, describe, installed, is_embedded, weights

# Port 0 can be bound by nobody: a request that gets there is refused by the kernel. See invariant 2.
NOWHERE = "http://127.0.0.1:0/v1"

# Most lines under one heading of a summary by a model this small: the third only repeats the first.
MOST_LINES = 2


def embedded_endpoint(name: str) -> Endpoint:
    """The endpoint of an embedded model at rest; `EmbeddedModel` puts the running process's address and key in."""
    return Endpoint(name=name, model=f"openai/{alias(name)}", api_base=NOWHERE, key="none")


class Embedded:
    """A model by its name, and its process. `window` (tokens) None: its own. `log` gets what the process prints.

    Raises `UnknownModel` when the file is missing or no GGUF file.
    """

    def __init__(self, name: str = EMBEDDED_NAME, *, log: Path, window: int | None = None) -> None:
        self.name = name
        self.weights = weights(name, window)
        self.process = LlamaProcess(self.weights, log)

    @property
    def window(self) -> int:
        """What the process runs with, tokens."""
        return self.weights.window

    @property
    def max_output(self) -> int:
        """The longest answer it is asked for, tokens."""
        return self.weights.max_output

    @property
    def metadata(self) -> Metadata:
        """What the file says of itself."""
        return self.weights.metadata

    async def start(self) -> Endpoint:
        """Where it answers; starts the process if there is none. Raises `HostDied`, `TimedOut`."""
        address = await self.process.start()
        return replace(embedded_endpoint(self.name), api_base=address, key=self.process.key)

    async def stop(self) -> None:
        """Ends the process; idempotent."""
        await self.process.stop()


class EmbeddedModel:
    """A `Model`: requests to `embedded` start its process first and go there; all others go straight to `inner`."""

    def __init__(self, inner: Model, embedded: Embedded) -> None:
        self._inner = inner
        self.embedded = embedded

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        """See `Model.stream`. A process that ends in mid-request is `HostDied`; the next request starts another."""
        local = endpoint.name == self.embedded.name
        if local:
            endpoint = await self.embedded.start()
            request = fitted(request, self.embedded.weights)
        try:
            async with _closing(self._inner.stream(endpoint, request)) as parts:
                async for part in parts:
                    yield part
        except (Unreachable, CutOff, Overloaded) as error:
            if not local or not await self.embedded.process.gone():
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
    """GBNF that lets a model write these headings, in this order, each with one or two lines, and nothing else.

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
    "SUFFIX",
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
