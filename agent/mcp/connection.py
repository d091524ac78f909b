"""One MCP server as the child process holds it: connected, listed, called, followed, ended. Alone with the library.

Not the process (that is `host`) and no policy: no retry, no back-off, no judgement of what a server says.

Invariants
 1. Whatever ends a connection, the library's own shutdown runs: input closed, then the process group ended.
 2. A call that is cancelled or too late is cancelled at the server; the connection goes on.
 3. A server's standard error goes to a file of its own, never to ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, TextIO

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import MCP_DEFAULT_SSE_READ_TIMEOUT, MCP_DEFAULT_TIMEOUT, create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.types import Implementation, ToolListChangedNotification

from agent.models.pipe import Message

# Pages of a list: the library's own bound for the same walk.
PAGES = 100

# A server that changes its list often says so often; asked once for all that came within this time. Seconds.
SETTLE = 0.2

# One that never stops saying so is asked ever more seldom; seconds.
LONGEST_PAUSE = 60.0

# Characters of one text of a result: what is shown is a preview anyway, and what is kept should open in an editor.
MOST_TEXT = 10_000_000

# Deeper schemas and results are no data but an attack on JSON readers; levels.
DEEPEST = 64

# Above this a server's log is emptied when it starts; bytes.
LOG_BYTES = 1_000_000

# One that a running server has filled beyond this is emptied too, or a flood would fill the disk; bytes. Looked at so
# often, seconds.
LOG_FLOOD, LOG_LOOK = 10 * LOG_BYTES, 2.0


# How it is said that a connection or its session is no more: by the library, and by servers in common use.
_LOST = re.compile(r"connection closed|session (terminated|not found|expired)|(invalid|unknown|no valid) session", re.I)


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
    """One server. `run` is its life, in a task of its own; `changed` gets each new list."""

    def __init__(self, spec: Mapping[str, Any], changed: Callable[[list[Message]], None]) -> None:
        self._spec, self._changed = spec, changed
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
                listed = await self._list()
            stack.callback(self._follow().cancel)
            info = self._client.server_info
            said = "" if info is None else f"{info.name} {info.version}"
            self.started.set_result({"tools": listed, "server": said})
            pause = SETTLE
            while not self._stop.is_set():
                await self._news.wait()
                self._news.clear()
                if not self.over:
                    await asyncio.sleep(pause)
                    self._changed(await self._list())
                    pause = min(2 * pause, LONGEST_PAUSE)

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> Message:
        """One call. Raises `Ended`, `TimeoutError`, and what the library raises."""
        if self.over or self._client is None:
            raise Ended
        try:
            async with asyncio.timeout(seconds):
                return answer_of(await self._client.call_tool(tool, dict(arguments)))
        except MCPError as error:
            # Not by its code, which servers use for failures of their own. A session that a restarted server does not
            # know is only ever lost over HTTP.
            if self._stop.is_set() or (self._spec["url"] and _LOST.search(error.error.message)):
                self.end()
                raise Ended from error
            raise

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
        server = StdioServerParameters(
            command=command, args=rest, env=dict(spec["env"]), cwd=spec["cwd"] or None, encoding_error_handler="replace"
        )
        return stdio_client(server, errlog=log)

    async def _note(self, response: Any) -> None:
        """The library says of a refusal only that there was one."""
        self._refused = response.status_code if response.status_code >= 400 else None

    def failure(self, error: BaseException) -> Exception:
        """Why it could not be connected, with what HTTP said."""
        return Failed(why(error) + (f" (HTTP {self._refused})" if self._refused is not None else ""))

    async def _list(self) -> list[Message]:
        tools: list[Message] = []
        cursor: str | None = None
        if self._client.server_capabilities.tools is None:
            return tools
        for _ in range(PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
            tools += [_described(tool) for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
        return tools

    async def _hear(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._news.set()

    def _follow(self) -> asyncio.Task[None]:
        """Newer servers tell of a changed list only to those who listen; where that is not offered, nothing is lost."""

        async def follow() -> None:
            async with self._client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._news.set()

        async def nothing() -> None:
            return None

        tools = self._client.server_capabilities.tools
        listens = self._client.session.discover_result is not None and tools is not None and tools.list_changed
        task = asyncio.ensure_future(follow() if listens else nothing())
        task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task


def answer_of(result: Any) -> Message:
    """A result as plain values: `texts`, `images` as [kind, base64], `failed`."""
    texts: list[str] = []
    images: list[list[str]] = []
    for block in result.content:
        match block.type:
            case "text":
                texts.append(_cut(block.text))
            case "image":
                images.append([block.mime_type, block.data])
            case "audio":
                texts.append(f"[audio ({block.mime_type}), which cannot be passed on]")
            case "resource_link":
                texts.append(f"[resource {block.name}: {block.uri}]")
            case "resource":
                inside = block.resource
                text = getattr(inside, "text", None)
                texts.append(_cut(text) if text is not None else f"[resource {inside.uri}, which is no text]")
            case other:
                texts.append(f"[a part of the unknown kind {other}]")
    if not any(text.strip() for text in texts) and result.structured_content is not None:
        deep = deeper_than(result.structured_content, DEEPEST)
        texts = ["[a result nested too deep]" if deep else json.dumps(result.structured_content, ensure_ascii=False)]
    return {"texts": texts, "images": images, "failed": bool(result.is_error)}


def _cut(text: str) -> str:
    left = len(text) - MOST_TEXT
    return text if left <= 0 else f"{text[:MOST_TEXT]}\n[{left:,} more characters were cut off]"


def _described(tool: Any) -> Message:
    hints = tool.annotations
    schema = tool.input_schema
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "schema": {} if deeper_than(schema, DEEPEST) else schema,
        "reads": hints is not None and hints.read_only_hint is True,
    }


def deeper_than(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than that."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(deeper_than(one, levels - 1) for one in inner)


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
