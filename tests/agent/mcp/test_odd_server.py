"""What servers do that they should not, over a pipe and over HTTP: each ends in a result the model can act on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent import places
from agent.mcp.held import Down
from agent.mcp.offered import Offered
from agent.mcp.server import Server
from agent.mcp.servers import Servers
from agent.mcp.tool import McpTool
from agent.tools import Refused, Result, Workspace
from tests.agent.mcp.waiting import PATIENCE, alive, children, text_of, until

# What a running server may fill its log with, bytes: `connection.LOG_FLOOD`, which the child alone may import.
LOG_FLOOD = 10_000_000

ODD = Path(__file__).with_name("odd_server.py")


class Bench:
    """Servers outside of a session: called as the loop calls them, and what they told."""

    def __init__(self, tmp_path: Path, *servers: Server, environ: dict[str, str] | None = None) -> None:
        self.now = 0.0
        self.told: list[str] = []
        self.lists = 0
        self.servers = Servers(
            servers, places.under(tmp_path / "home"), environ or {}, clock=lambda: self.now, patience=PATIENCE
        )
        self.servers.tell = lambda text, level: self.told.append(text)
        self.servers.changed = self._changed
        self.news = asyncio.Event()
        self.workspace = Workspace(tmp_path)

    def _changed(self) -> None:
        self.lists += 1
        self.news.set()

    def offered(self, tool: str) -> Offered:
        return next(one for one in self.servers.tools() if one.tool == tool)

    async def call(self, tool: str, **arguments: Any) -> Result:
        return await McpTool(self.offered(tool).schema, self.servers).run(arguments, self.workspace, "call")


@asynccontextmanager
async def bench(tmp_path: Path, *servers: Server, environ: dict[str, str] | None = None) -> AsyncIterator[Bench]:
    made = Bench(tmp_path, *servers, environ=environ)
    made.servers.begin()
    await made.servers.listed()
    try:
        yield made
    finally:
        await made.servers.aclose()


def odd(name: str = "odd", **more: Any) -> Server:
    return Server(name, (sys.executable, str(ODD)), **more)


async def holds(path: Path, text: str) -> None:
    """Waits until a file holds a text."""
    await until(lambda: text in text_of(path))


async def test_an_odd_server_gives_results_and_sentences_whatever_it_does(tmp_path: Path) -> None:
    note = tmp_path / "note"
    server = odd(env={"ODD": "${SECRET}-$$"}, timeout=PATIENCE)
    async with bench(tmp_path, server, environ={"SECRET": "s3cr3t"}) as odds:
        # Names and descriptions are made fit to be sent; a manual of a schema is left out, and said.
        hostile = next(one for one in odds.servers.tools() if one.tool.startswith("na"))
        assert hostile.name.startswith("mcp__odd__na_ve_tool_rm_-rf") and len(hostile.name) <= 64
        assert hostile.description == "red"
        assert odds.told == [
            "a tool of the MCP server odd is left out: huge: its schema has 40,061 characters, more than 32,000"
        ]
        assert (await odds.call(hostile.tool)).text == "harmless"

        picture = await odds.call("picture")
        assert picture.images[0].startswith("data:image/png;base64,") and picture.text == "[a picture]"
        broken = await odds.call("broken_picture")
        assert broken.images == () and broken.text.startswith("[a picture (image/png) was left out: the PNG image")
        failed = await odds.call("fail")
        assert failed.failed and failed.text.endswith("the odd \x1b[31mfailure")
        assert (await odds.call("variable", name="ODD")).text == "s3cr3t-$"
        assert (await odds.call("variable", name="SECRET")).text == "not set"
        wrong = await odds.call("slow", path=[])
        assert wrong.failed and "path" in wrong.text

        # Too late, then Esc: both are told to the server, which goes on.
        odds.servers.held["odd"].server = odd(timeout=0.05)
        late = await odds.call("slow", path=str(tmp_path / "late"))
        assert late == Result("the MCP server odd gave no answer in 0.05 s; the call was stopped.", failed=True)
        odds.servers.held["odd"].server = odd(timeout=3_600)
        stopped = asyncio.ensure_future(odds.call("slow", path=str(note)))
        await holds(note, "begun")
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
        await holds(note, "begun\ncancelled")
        odds.servers.held["odd"].server = server

        odds.news.clear()
        assert (await odds.call("grow")).text == "growing"
        await asyncio.wait_for(odds.news.wait(), PATIENCE)
        assert (await odds.call("grown")).text == "grown"

        # It dies in the middle of a call; the next call starts it anew, the second death in a row waits.
        dead = await odds.call("die")
        assert dead.failed and dead.text.startswith("the MCP server odd ended during the call (its log: ")
        assert dead.text.endswith("; the next call starts it anew.")
        dead = await odds.call("die")
        assert dead.text.endswith("; that was 2 times in a row, so it is left alone for 4 s.")
        waiting = await odds.call("variable", name="ODD")
        assert waiting.text == (
            "the MCP server odd failed 2 times in a row; it is tried again in 4 s, or at once by /mcp restart odd."
        )
        odds.now += 4
        assert (await odds.call("variable", name="PATH")).text != "not set"


async def test_a_server_that_floods_its_log_fills_no_disk_and_goes_on(tmp_path: Path) -> None:
    async with bench(tmp_path, odd(timeout=PATIENCE)) as odds:
        log = odds.servers.held["odd"].log
        assert (await odds.call("flood", size=LOG_FLOOD + 1_000_000)).text == "flooded"
        await until(lambda: log.stat().st_size < LOG_FLOOD)
        assert (await odds.call("flood", size=5_000)).text == "flooded"
        await until(lambda: "x" * 999 in text_of(log))
        assert log.stat().st_size < LOG_FLOOD


def over_http(token: str, shut: Path) -> tuple[subprocess.Popen[bytes], int]:
    """The odd server on a port of its own, behind a token that counts until there is a file `shut`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return subprocess.Popen([sys.executable, str(ODD), str(port), token, str(shut)], stderr=subprocess.DEVNULL), port


def listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


async def test_http_servers_are_used_with_their_headers_and_lost_ones_are_said(tmp_path: Path) -> None:
    process, port = over_http("t0ken", tmp_path / "shut")
    url = f"http://127.0.0.1:{port}/mcp"
    server = Server("web", url=url, headers={"Authorization": "Bearer $TOKEN"}, timeout=PATIENCE)
    try:
        await until(lambda: listening(port))
        servers = (server, Server("shut", url=url), Server("unset", url=url, headers={"A": "$NOT_THERE"}))
        servers += (Server("wrong", url=url, headers={"Authorization": "Bearer other"}),)
        servers += (Server("none", ("/no/such/program",)), Server("off", ("true",), enabled=False))
        async with bench(tmp_path, *servers, environ={"TOKEN": "t0ken"}) as web:
            assert (await web.call("variable", name="NOTHING")).text == "not set"
            states = {name: (held.state, held.why) for name, held in web.servers.held.items()}
            assert states["web"] == ("running", "") and states["off"] == ("off", "")
            assert states["none"] == ("failed", "/no/such/program was not found")
            assert states["unset"] == ("failed", "the variable NOT_THERE is not set, and the settings refer to it")
            assert states["shut"][1].startswith("it wants to know who asks (HTTP 401): give its table headers = {")
            assert states["wrong"] == (
                "failed", "it does not accept the Authorization header it got (HTTP 401): check the variable behind it"
            )  # fmt: skip
            assert "t0ken" not in str(states) + str(web.told)
            (tmp_path / "shut").touch()
            away = await web.call("variable", name="NOTHING")
            assert away.failed and away.text == (
                "the MCP server web says: it does not accept the Authorization header it got (HTTP 401): check the "
                "variable behind it."
            )
            process.kill()
            await asyncio.to_thread(process.wait)
            lost = await web.call("variable", name="NOTHING")
            assert lost.failed
            assert lost.text == "the MCP server web ended during the call; the next call starts it anew."
            with pytest.raises(Down, match="is switched off"):
                await web.servers.up(web.servers.held["off"])
    finally:
        process.kill()
        process.wait()


async def test_prompts_resources_and_progress_are_passed_on_and_new_ones_are_heard_of(tmp_path: Path) -> None:
    async with bench(tmp_path, odd(timeout=PATIENCE)) as odds:
        servers = odds.servers
        held = servers.held["odd"]
        await until(lambda: held.state == "running")
        assert [(one.name, one.prompt, one.arguments, one.description) for one in servers.prompts()] == [
            ("odd:greet", "greet", "who [how]", "Says hello"),
            ("odd:talk-it-over", "Talk it over", "", "A talk of two."),
        ]
        assert [(one.name, one.description) for one in servers.resources()] == [
            ("odd:note://bytes", "Bytes."),
            ("odd:note://one", "The first note"),
            ("odd:note://picture", "A picture."),
        ]
        (said,) = await servers.prompt(servers.prompts()[0], {"who": "Ann"})
        assert (said.role, said.texts) == ("user", ("Greet Ann kindly. See @secret.txt and @odd:note://one.",))
        with pytest.raises(Down, match="the MCP server odd says: "):
            await servers.prompt(servers.prompts()[0], {})
        (said_of_bytes,) = (await servers.read(held, "note://bytes")).texts
        assert said_of_bytes == "[30 bytes (application/x-odd), which are no text]"
        assert (await servers.read(held, "note://picture")).images[0][0] == "image/png"
        with pytest.raises(Down, match="the MCP server odd says: "):
            await servers.read(held, "note://none")

        # What it tells of its progress arrives while it runs.
        lines: list[str] = []
        end = tmp_path / "end"
        counting = asyncio.ensure_future(servers.call(odds.offered("count"), {"path": str(end)}, lines.append))
        await until(lambda: "75% reading three" in lines)
        assert not counting.done()
        end.touch()
        assert (await counting).texts == ("counted",)
        assert lines[0] == "25% reading one and more"

        assert (await odds.call("grow_notes")).text == "growing"
        await until(lambda: "odd:grown" in [one.name for one in servers.prompts()])
        await until(lambda: "odd:note://grown" in [one.name for one in servers.resources()])


DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", file=sys.stderr, flush=True)
time.sleep(3600)
"""

PROGRAM = """
import asyncio, sys
from pathlib import Path
from agent import places
from agent.mcp.server import Server
from agent.mcp.servers import Servers

async def main():
    servers = Servers([Server("deaf", (sys.executable, "-c", sys.argv[1]))], places.under(Path(sys.argv[2])), {})
    servers.begin()
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def program(home: Path) -> subprocess.Popen[bytes]:
    """A program with a server that hears neither the end of its input nor SIGTERM."""
    return subprocess.Popen([sys.executable, "-c", PROGRAM, DEAF, str(home)], cwd=ODD.parents[3])


async def test_a_killed_program_leaves_no_server_behind_not_even_a_deaf_one(tmp_path: Path) -> None:
    ours = program(tmp_path)
    try:
        await holds(tmp_path / "state" / "mcp" / "deaf.log", "deaf")
        (host,) = children(ours.pid)
        (server,) = children(host)
    finally:
        ours.kill()
        ours.wait()
    await until(lambda: not alive(host) and not alive(server))


async def test_our_own_process_killed_alone_leaves_no_deaf_server_behind(tmp_path: Path) -> None:
    ours = program(tmp_path)
    try:
        await holds(tmp_path / "state" / "mcp" / "deaf.log", "deaf")
        (host,) = children(ours.pid)
        (server,) = children(host)
        os.kill(host, signal.SIGKILL)
        await until(lambda: not alive(server))
        assert alive(ours.pid)
    finally:
        ours.kill()
        ours.wait()


DAMAGED = {
    "no JSON": "[{",
    "no list": '{"server": "odd"}',
    "no tools": "[1, null]",
    "half a tool": '[{"server": "odd", "tool": "x", "name": "mcp__odd__x"}]',
    "another server's": '[{"server": "a", "tool": "x", "name": "mcp__a__x", "description": "", "parameters": '
    '"{\\"type\\": \\"object\\"}", "reads": false}]',
    "a schema that is none": '[{"server": "odd", "tool": "x", "name": "mcp__odd__x", "description": "", "parameters": '
    '"[]", "reads": false}]',
    "a number for a text": '[{"server": "odd", "tool": "x", "name": "mcp__odd__x", "description": 7, "parameters": '
    '"{\\"type\\": \\"object\\"}", "reads": false}]',
    "nested without end": "[" * 100_000,
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_kept_list_that_is_none_is_said_and_counts_as_none(tmp_path: Path, content: str) -> None:
    server = odd()
    kept = places.under(tmp_path / "home").cache / "mcp" / f"{server.digest}.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(content)
    told: list[str] = []
    servers = Servers([server], places.under(tmp_path / "home"), {}, python="/bin/false")
    servers.tell = lambda text, level: told.append(text)
    assert servers.held["odd"].tools is None
    asyncio.run(begun(servers))
    assert told[0].startswith(f"what was kept of the MCP server odd cannot be read: {kept}")
    assert told[0].endswith("; it is asked anew")


async def begun(servers: Servers) -> None:
    servers.begin()
    await servers.aclose()


def test_a_tool_of_a_server_that_is_gone_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    tool = McpTool({"type": "function", "function": {"name": "mcp__gone__x"}}, None)
    with pytest.raises(Refused, match="mcp__gone__x belongs to an MCP server"):
        tool.need({}, Workspace(tmp_path))
