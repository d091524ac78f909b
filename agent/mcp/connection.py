"""One MCP server as the child process holds it: connected, listed, asked, followed, ended. Alone with the library.

Not the process (that is `host`) and no policy: no retry, no back-off, no judgement of what a server says.

Invariants
 1. Whatever ends a connection, the library's own shutdown runs: input closed, then the process group ended.
 2. A call that is cancelled or too late is cancelled at the server; the connection goes on.
 3. A server's standard error goes to a file of its own, never to ours.
 4. Should this process be killed, what `guard` watches is ended all the same, a server that hears nothing included.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TextIO, TypeVar

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT, create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    Implementation,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)

from agent.mcp.plain_values import (
    MOST_LISTED,
    answer_of,
    contents_of,
    messages_of,
    prompt_row,
    resource_row,
    tool_row,
)
from agent.mcp.refusals import turned_away
from agent.models.pipe import Message
from agent.tools.processes import MARK, Family, Guard

# Pages of a list: the library's own bound for the same walk.
PAGES = 100

# A server that changes its list often says so often; asked once for all that came within this time. Seconds.
SETTLE = 0.2

# One that never stops saying so is asked ever more seldom; seconds.
LONGEST_PAUSE = 60.0

# Signs of life give a call more time, up to so many times what it has; a server that counts for ever is stopped.
MOST_PATIENCE = 10

# Above this a server's log is emptied when it starts; bytes.
LOG_BYTES = 1_000_000

# One that a running server has filled beyond this is emptied too, or a flood would fill the disk; bytes. Looked at so
# often, seconds.
LOG_FLOOD, LOG_LOOK = 10 * LOG_BYTES, 2.0


# How it is said that a connection or its session is no more: by the library, and by servers in common use.
_LOST = re.compile(r"connection closed|session (terminated|not found|expired)|(invalid|unknown|no valid) session", re.I)


_LISTS = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)

# A shorter value of a header is a word or a number, not worth hiding; characters.
LEAST_SECRET = 6

T = TypeVar("T")


class Ended(Exception):
    """The connection is over."""


class Failed(Exception):
    """A connection could not be made; with the reason."""


class Watched:
    """A transport whose end is heard: the library tells of it only when something is asked."""

    def __init__(self, inner: Any, over: Callable[[], None]) -> None:
        self._inner, self._over = inner, over

    async def __aenter__(self) -> tuple[Any, Any]:
        read, write = await self._inner.__aenter__()
        return _Read(read, self._over), write

    async def __aexit__(self, *error: Any) -> bool | None:
        return bool(await self._inner.__aexit__(*error))


class _Read:
    def __init__(self, inner: Any, over: Callable[[], None]) -> None:
        self._inner, self._over = inner, over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> _Read:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return bool(await self._inner.__aexit__(*error))

    def __aiter__(self) -> _Read:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._over()
            raise


class Connection:
    """One server. `run` is its life, in a task of its own; `changed` gets its lists whenever one is new."""

    def __init__(self, spec: Mapping[str, Any], changed: Callable[[Message], None], guard: Guard) -> None:
        self._spec, self._changed, self._guard = spec, changed, guard
        self._client: Any = None
        self._news = asyncio.Event()
        self._stop = asyncio.Event()
        self.started: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.over = False
        self._refused: int | None = None

    def end(self) -> None:
        """Ends it; `run` returns when that is done."""
        self.over = True
        self._stop.set()
        self._news.set()

    async def run(self, patience: float) -> None:
        """Connects within `patience` seconds, lists, then follows changes until the end. Raises what went wrong."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(patience):
                transport = Watched(await self._transport(stack), self.end)
                self._client = await stack.enter_async_context(
                    Client(
                        transport, client_info=Implementation(name="ullage", version="0"), cache=None,
                        message_handler=self._hear,
                    )
                )  # fmt: skip
                listed = await self._lists()
            stack.callback(self._follow().cancel)
            info = self._client.server_info
            said = "" if info is None else f"{info.name} {info.version}"
            self.started.set_result({**listed, "server": said})
            pause = SETTLE
            while not self._stop.is_set():
                await self._news.wait()
                self._news.clear()
                if not self.over:
                    await asyncio.sleep(pause)
                    self._changed(await self._lists())
                    pause = min(2 * pause, LONGEST_PAUSE)

    async def call(self, call: Message, tell: Callable[[Message], None]) -> Message:
        """One call of a tool; `tell` gets what it says of its progress. Raises as `_asked` does."""
        seconds, loop = call["timeout"], asyncio.get_running_loop()
        latest = loop.time() + MOST_PATIENCE * seconds
        over = False

        async def heard(done: float, total: float | None, said: str | None) -> None:
            if not over:
                limit.reschedule(min(loop.time() + seconds, latest))
                tell({"done": done, "total": total, "said": said})

        async with asyncio.timeout(seconds) as limit:
            try:
                client = self._open()
                asked = client.call_tool(call["tool"], dict(call["arguments"]), progress_callback=heard)
                return answer_of(await self._asked(asked))
            finally:
                over = True

    async def prompt(self, call: Message) -> Message:
        """One prompt, filled in. Raises as `_asked` does."""
        async with asyncio.timeout(call["timeout"]):
            return messages_of(await self._asked(self._open().get_prompt(call["prompt"], dict(call["arguments"]))))

    async def read(self, call: Message) -> Message:
        """One resource. Raises as `_asked` does."""
        async with asyncio.timeout(call["timeout"]):
            asked = self._open().read_resource(call["uri"], cache_mode="bypass")
            return contents_of(await self._asked(asked))

    def _open(self) -> Any:
        if self.over or self._client is None:
            raise Ended
        return self._client

    async def _asked(self, asked: Awaitable[T]) -> T:
        """The answer. Raises `Ended`, `TimeoutError`, `Failed`, and what the library raises for a lost connection."""
        try:
            return await asked
        except MCPError as error:
            # Not by its code, which servers use for failures of their own. A session that a restarted server does not
            # know is only ever lost over HTTP.
            if self._stop.is_set() or (self._spec["url"] and _LOST.search(error.error.message)):
                self.end()
                raise Ended from error
            if away := turned_away(self._refused, self._spec["headers"]):
                raise Failed(away) from error
            raise Failed(self.why(error)) from error

    async def _transport(self, stack: AsyncExitStack) -> Any:
        spec = self._spec
        if spec["url"]:
            client = create_mcp_http_client(headers=dict(spec["headers"]))
            # Connecting, silence, sending, waiting for a connection; a long call is silent as long as it may take.
            silence = max(MCP_DEFAULT_SSE_READ_TIMEOUT, spec["timeout"])
            client.timeout = (MCP_DEFAULT_TIMEOUT, silence, MCP_DEFAULT_TIMEOUT, MCP_DEFAULT_TIMEOUT)
            client.event_hooks["response"] = [self._note]
            return streamable_http_client(spec["url"], http_client=await stack.enter_async_context(client))
        command, *rest = spec["command"]
        log = stack.enter_context(_log(spec["log"]))
        stack.callback(asyncio.ensure_future(_bounded(log)).cancel)
        # Watched before it exists, by its mark: its number is known only to the library.
        family = Family(0, secrets.token_hex(8))
        self._guard.watch(family)
        stack.callback(self._guard.forget, family)
        server = StdioServerParameters(
            command=command, args=rest, env={**spec["env"], MARK: family.mark}, cwd=spec["cwd"] or None,
            encoding_error_handler="replace",
        )  # fmt: skip
        return stdio_client(server, errlog=log)

    async def _note(self, response: Any) -> None:
        """The library says of a refusal only that there was one."""
        if response.request.method == "POST":  # what else is asked for many servers do without
            self._refused = response.status_code if response.status_code >= 400 else None

    def failure(self, error: BaseException) -> Exception:
        """Why it could not be connected, with what HTTP said."""
        if away := turned_away(self._refused, self._spec["headers"]):
            return Failed(away)
        return Failed(self.why(error) + (f" (HTTP {self._refused})" if self._refused is not None else ""))

    def why(self, error: BaseException) -> str:
        """A failure in a few words, without what the headers hold: a server may repeat what it was sent."""
        text = why(error)
        for value in self._spec["headers"].values():
            # A scheme such as `Bearer` stands before the token.
            for secret in (value, value.split()[-1] if value.split() else ""):
                text = text.replace(secret, "…") if len(secret) >= LEAST_SECRET else text
        return text

    async def _lists(self) -> Message:
        """All that it offers. A server that cannot list its prompts or resources is used for its tools."""
        offers, client = self._client.server_capabilities, self._client
        lists: Message = {"tools": [], "prompts": [], "resources": []}
        if offers.tools is not None:
            lists["tools"] = [tool_row(one) for one in await self._pages(client.list_tools, "tools")]
        for kind, offered, ask, row in (
            ("prompts", offers.prompts, client.list_prompts, prompt_row),
            ("resources", offers.resources, client.list_resources, resource_row),
        ):
            try:
                found = [] if offered is None else await self._pages(ask, kind, MOST_LISTED)
            except MCPError:
                found = []
            lists[kind] = [row(one) for one in found]
        return lists

    async def _pages(self, ask: Callable[..., Awaitable[Any]], kind: str, most: int | None = None) -> list[Any]:
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(PAGES):
            page = await ask(cursor=cursor, cache_mode="bypass")
            found += getattr(page, kind)
            cursor = page.next_cursor
            if cursor is None or (most is not None and len(found) >= most):
                break
        return found[:most]

    async def _hear(self, message: Any) -> None:
        if isinstance(message, _LISTS):
            self._news.set()

    def _follow(self) -> asyncio.Task[None]:
        """Newer servers tell of a changed list only to those who listen; where that is not offered, nothing is lost."""
        offers = self._client.server_capabilities
        told = {
            f"{kind}_list_changed": True
            for kind in ("tools", "prompts", "resources")
            if (offer := getattr(offers, kind)) is not None and offer.list_changed
        }

        async def follow() -> None:
            async with self._client.listen(**told) as events:
                async for _ in events:
                    self._news.set()

        async def nothing() -> None:
            return None

        listens = self._client.session.discover_result is not None and told
        task = asyncio.ensure_future(follow() if listens else nothing())
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task


def _log(path: str) -> TextIO:
    """A server's log for appending, readable by its owner only."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    if os.fstat(log).st_size > LOG_BYTES:
        os.ftruncate(log, 0)
    return os.fdopen(log, "a", encoding="utf-8")


async def _bounded(log: TextIO) -> None:
    """Empties a log that is being flooded; who writes to it appends, and so goes on at its beginning."""
    while True:
        await asyncio.sleep(LOG_LOOK)
        if os.fstat(log.fileno()).st_size > LOG_FLOOD:
            os.ftruncate(log.fileno(), 0)


def why(error: BaseException) -> str:
    """A failure in a few words: the first real one of a group, without a traceback."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"{error.filename or 'the program'} was not found"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return str(error).strip() or type(error).__name__
