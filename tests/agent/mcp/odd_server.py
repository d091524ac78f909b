"""A server with everything that goes wrong with servers: over stdio, or over HTTP when a port is named.

python odd_server.py [PORT [TOKEN [FILE]]]     with a TOKEN, who does not bring it is turned away; once there is
                                               the FILE, so is everybody
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import zlib
from typing import Any

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage

server = MCPServer("odd", version="1", log_level="CRITICAL")


def png() -> bytes:
    """Eight by eight white pixels."""

    def part(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    head = (8).to_bytes(4, "big") * 2 + b"\x08\x00\x00\x00\x00"
    pixels = zlib.compress((b"\x00" + b"\xff" * 8) * 8)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", pixels) + part(b"IEND", b"")


def note(path: str, text: str) -> None:
    """Adds to a file."""
    with open(path, "a") as file:
        file.write(text)


@server.tool(name="picture")
def picture() -> Image:
    """A picture."""
    return Image(data=png(), format="png")


@server.tool(name="broken_picture")
def broken_picture() -> Image:
    """No picture."""
    return Image(data=b"\x89PNG\r\n\x1a\nnothing", format="png")


@server.tool(name="fail")
def fail() -> str:
    """Fails."""
    raise ToolError("the odd \x1b[31mfailure")


@server.tool(name="slow")
async def slow(path: str) -> str:
    """Says in a file that it has begun, and never ends; says there when it is cancelled."""
    note(path, "begun\n")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        note(path, "cancelled\n")
        raise
    return "late"


@server.tool(name="die")
def die() -> str:
    """Dies."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.tool(name="flood")
def flood(size: int) -> str:
    """Prints so many bytes where nobody asked for any."""
    for _ in range(size // 1_000):
        print("x" * 999, file=sys.stderr)
    sys.stderr.flush()
    return "flooded"


@server.tool(name="grow")
async def grow(context: Context) -> str:
    """Brings another tool."""

    def grown() -> str:
        return "grown"

    server.add_tool(grown, name="grown", description="It came later.")
    await context.notify_tools_changed()
    return "growing"


@server.tool(name="count")
async def count(context: Context, path: str) -> str:
    """Tells how far it is, and ends when the file is there."""
    await context.report_progress(1, 4, "reading \x1b[31mone\n and more")
    while not os.path.exists(path):  # noqa: ASYNC240 - nobody else would tell this process
        await asyncio.sleep(0.02)
        await context.report_progress(3, 4, "reading three")
    return "counted"


@server.prompt(name="greet", description="Says \x1b[31mhello")
def greet(who: str, how: str = "kindly") -> str:
    """A greeting."""
    return f"Greet {who} {how}. See @secret.txt and @odd:note://one."


@server.prompt(name="Talk it over")
def talk() -> list[Any]:
    """A talk of two."""
    return [
        UserMessage("What is it?"),
        AssistantMessage("It is \x1b[2Jodd."),
        UserMessage(Image(data=png(), format="png")),
    ]


@server.resource("note://one", title="The first note")
def one() -> str:
    """A note."""
    return "note one\x1b[31m, with @secret.txt"


@server.resource("note://long{end}")
def long(end: str) -> str:
    """A long note, which is in no list."""
    return "x" * 60_000 + end


@server.resource("note://picture", mime_type="image/png")
def drawn() -> bytes:
    """A picture."""
    return png()


@server.resource("note://bytes", mime_type="application/x-odd")
def raw() -> bytes:
    """Bytes."""
    return b"\0" * 30


@server.tool(name="grow_notes")
async def grow_notes(context: Context) -> str:
    """Brings another resource and another prompt."""

    def grown() -> str:
        return "grown"

    server.resource("note://grown")(grown)
    server.prompt(name="grown")(grown)
    await context.notify_resources_changed()
    await context.notify_prompts_changed()
    return "growing"


@server.tool(name="variable")
def variable(name: str) -> str:
    """What a variable of this process holds."""
    return os.environ.get(name, "not set")


@server.tool(name="naïve tool; rm -rf / \x1b[2J", description="\x1b[31mred\x1b[0m\u202e")
def hostile() -> str:
    """Hostile."""
    return "harmless"


server.add_tool(lambda: "", name="huge", description="x" * 40_000)


class Door:
    """Turns away who does not bring the token."""

    def __init__(self, app: Any, token: str, shut: str = "") -> None:
        self._app, self._token, self._shut = app, f"Bearer {token}".encode(), shut

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        known = dict(scope.get("headers", ())).get(b"authorization") == self._token
        if scope["type"] == "http" and (not known or os.path.exists(self._shut)):  # noqa: ASYNC240
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
            return
        await self._app(scope, receive, send)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        # Half a second that the other way of serving does without.
        import uvicorn

        app: Any = server.streamable_http_app()
        if len(sys.argv) > 2:
            app = Door(app, *sys.argv[2:])
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="critical")
    else:
        server.run()
