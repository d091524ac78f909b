"""A model that says what it was told to: for tests and demonstrations, in this process, without a network.

Not a simulation of any provider (`stub_server` speaks their protocols); it honours the contract of
`agent.model.Model` and keeps every request.

Invariants
 1. Replies are used in order; after the last, `default` is repeated.
 2. Usage that a reply does not state is counted from the request, with honest prefix caching (`stub_tokens`).
 3. A request longer than `window` is refused like a provider would, before a reply is used up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.model import (
    CallGrowing,
    ContextOverflow,
    EmptyReply,
    Endpoint,
    ModelError,
    Part,
    Reply,
    Request,
    Text,
    Thinking,
)
from agent.models.stub_tokens import PrefixCache, request_text, tokens
from compaction.records import Stop, ToolCall, Usage

# Characters in one piece of text.
CHUNK = 16


@dataclass(frozen=True, slots=True)
class Say:
    """One reply.

    `calls` are calls, or (name, arguments as JSON text) pairs that get ids. `usage` "counted" is counted; None means
    that the provider sent none. `thinking` is the opaque JSON kept with the reply, `reasoning` the readable text.
    `pieces` is how many characters come at a time. `error` is raised after the text, in place of a reply.
    `started` is set when the request has arrived, `wait` is awaited before the first piece, `hold` before the last.
    """

    text: str = ""
    calls: tuple[ToolCall | tuple[str, str], ...] = ()
    usage: Usage | Literal["counted"] | None = "counted"
    stop: Stop | None = None
    reasoning: str = ""
    thinking: str | None = None
    pieces: int = CHUNK
    error: ModelError | None = None
    started: asyncio.Event | None = None
    wait: asyncio.Event | None = None
    hold: asyncio.Event | None = None
    empty: bool = False


Scripted: TypeAlias = Say | str | ModelError | Callable[[Request], "Say | str"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it arrived."""

    endpoint: Endpoint
    request: Request

    @property
    def text(self) -> str:
        """Its canonical text, without cache marks: what prefixes are compared by."""
        return request_text(self.request.messages, self.request.tools)


class ScriptedModel:
    """`agent.model.Model`. `asked` holds every request; `window` refuses longer ones, tokens as `count` counts."""

    def __init__(
        self, replies: Sequence[Scripted] = (), *, default: Scripted = "Done.", window: int | None = None,
        states_window: bool = True, count: Callable[[str], int] = tokens,
    ) -> None:  # fmt: skip
        self.replies = list(replies)
        self.default = default
        self.window, self.states_window = window, states_window
        self.asked: list[Asked] = []
        self.cancelled = 0
        self.closed = False
        self._count = count
        self._cache = PrefixCache(count)

    @property
    def requests(self) -> list[Request]:
        """What was asked, in order."""
        return [asked.request for asked in self.asked]

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncGenerator[Part, None]:
        """See `agent.model.Model`."""
        asked = Asked(endpoint, request)
        self.asked.append(asked)
        size = self._count(asked.text)
        if self.window is not None and size + (request.max_tokens or 0) > self.window:
            raise self._too_long(endpoint, size)
        said = self._next(request)
        if said.started is not None:
            said.started.set()
        finished = False
        try:
            if said.wait is not None:
                await said.wait.wait()
            async for part in self._say(said):
                yield part
            if said.error is not None:
                said.error.kept = said.text
                raise said.error
            total, cached = self._cache.measure(asked.text)
            finished = True
            yield self._reply(said, total, cached)
        finally:
            if not finished and said.error is None:
                self.cancelled += 1

    async def aclose(self) -> None:
        """Notes it."""
        self.closed = True

    def _next(self, request: Request) -> Say:
        said = self.replies.pop(0) if self.replies else self.default
        if isinstance(said, ModelError):
            return Say(error=said)
        if not isinstance(said, (Say, str)):
            said = said(request)
        return Say(said) if isinstance(said, str) else said

    async def _say(self, said: Say) -> AsyncIterator[Part]:
        parts: list[Part] = [Thinking(piece) for piece in _pieces(said.reasoning, said.pieces)]
        parts += [Text(piece) for piece in _pieces(said.text, said.pieces)]
        for i, call in enumerate(said.calls):
            name, arguments = (call.name, call.arguments) if isinstance(call, ToolCall) else call
            parts.append(CallGrowing(i, name, len(arguments)))
        for i, part in enumerate(parts):
            if said.hold is not None and i == len(parts) - 1:
                await said.hold.wait()
            # Lets others run between two pieces, as a network does.
            await asyncio.sleep(0)
            yield part

    def _reply(self, said: Say, total: int, cached: int) -> Reply:
        number = len(self.asked)
        calls = tuple(
            call if isinstance(call, ToolCall) else ToolCall(f"call_{number}_{i}", *call)
            for i, call in enumerate(said.calls)
        )
        stop: Stop = said.stop or ("calls" if calls else "done")
        if not said.text.strip() and not calls and stop in ("done", "calls") and not said.empty:
            raise EmptyReply("The scripted model sent an empty answer.")
        usage = said.usage
        if usage == "counted":
            written = sum(map(self._count, [said.text, *(call.name + call.arguments for call in calls)]))
            usage = Usage(total - cached, cached, 0, written, self._count(said.reasoning))
        return Reply(said.text, calls, usage, stop, said.thinking)

    def _too_long(self, endpoint: Endpoint, size: int) -> ContextOverflow:
        window = self.window if self.states_window else None
        return ContextOverflow(
            f"{endpoint.name} refuses the request because it is too long: {size:,} tokens.",
            window=window, asked=size if self.states_window else None,
        )  # fmt: skip


def _pieces(text: str, size: int) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]
