"""`/tools` and `/mcp` in both screens: what they ask for, and what they show of it."""

from __future__ import annotations

import pytest

from agent.wire import Asking, ListTools, RestartServer, ServerRow, ToolRow, ToolsListed
from compaction.records import Reloaded, Started
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui.actions import Say, Wish
from tui.block import Block
from tui.commands import parse
from tui.full.pages import PageScreen
from tui.present import Presenter, lasting
from tui.tool_pages import NO_SERVERS, text, title

TIME = ServerRow("time", "running", "", "uvx mcp-server-time", "mcp-time 1", 3, 2, 330, "/state/mcp/time.log")
OFF = ServerRow("off", "off", "", "https://x.example/mcp", "", 0, 0, 0, "")
NEW = ServerRow("new", "failed", "npx was \x1b[31mnot\x1b[0m found", "npx it", "", None, 0, 0, "/state/mcp/new.log")
TOOLS = (ToolRow("read", 100), ToolRow("mcp__time__now", 230, "time", reads=True))
WAITS = "MCP tools of time: 1 new; taken in at the next prune or compaction"

TOLD = """\
time  running (mcp-time 1)
    uvx mcp-server-time
    2 tools in this session, 330 tokens in every request; it offers 3
    log: /state/mcp/time.log

off  off
    https://x.example/mcp

new  failed: npx was not found
    npx it
    0 tools in this session, 0 tokens in every request; what it offers is not known yet
    log: /state/mcp/new.log

/mcp restart NAME starts one anew, /tools lists what each tool costs.

MCP tools of time: 1 new; taken in at the next prune or compaction."""


def listed(what: str = "servers") -> ToolsListed:
    return ToolsListed("tools" if what == "tools" else "servers", TOOLS, (TIME, OFF, NEW), WAITS)


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("/tools", ListTools("tools")),
        ("/mcp", ListTools("servers")),
        ("/mcp restart time", RestartServer("time")),
        ("/mcp restart", Say("/mcp lists the servers; `/mcp restart NAME` starts one anew.", "warning")),
    ],
)
def test_the_commands_ask_for_lists_and_restarts(line: str, wish: Wish) -> None:
    assert parse(line) == wish


def test_servers_are_shown_with_state_tools_tokens_and_log() -> None:
    assert title(listed()) == ("MCP servers", "330 of the 330 tokens of tools in every request")
    assert text(listed()) == TOLD
    assert text(ToolsListed("servers", TOOLS, ())) == NO_SERVERS


def test_tools_are_shown_with_their_tokens() -> None:
    assert title(listed("tools")) == ("Tools", "2 tools, 330 tokens in every request")
    assert text(listed("tools")).split("\n")[:2] == [
        "read               100", "mcp__time__now     230  says that it only reads"
    ]  # fmt: skip


async def test_the_full_screen_shows_them_on_a_page() -> None:
    async with stage((100, 30)) as on:
        await on.type("/mcp")
        assert on.sent(ListTools) == [ListTools("servers")]
        await on.play(listed())
        await on.on(PageScreen)
        await on.settle(lambda: "log: /state/mcp/time.log" in on.text("#page-lines"))
        assert on.text("#page-title") == "MCP servers  330 of the 330 tokens of tools in every request"


def test_the_inline_screen_prints_them() -> None:
    inline = Play()
    inline.take(listed())
    assert "MCP servers: 330 of the 330 tokens of tools in every request" in inline.text
    assert "    log: /state/mcp/time.log" in inline.text.split("\n")


def test_a_lasting_yes_to_a_servers_tool_names_it() -> None:
    asking = Asking(1, "c", "mcp__time__now", "time now", "a tool of an MCP server", prefix="*")
    assert lasting(asking, 60) == "all of mcp__time__now"


def test_tools_that_join_or_leave_are_told_from_instructions_read_anew() -> None:
    tape, presenter = Tape(), Presenter()

    def shown(instructions: tuple[str, ...], *tools: str) -> tuple[str, tuple[str, ...]]:
        block: Block = presenter.show(tape.said(Reloaded("s", instructions, tools)))[0]
        return block.title, block.meta

    started = Started("s", "/p", "m", "e", "system", ("a",), ("t1", "t2"), None, "unknown", 1, 1, 1, "v")  # type: ignore[arg-type]
    presenter.show(tape.said(started))
    assert shown(("a",), "t1", "t2", "t3") == ("1 tool joined", ())
    assert shown(("a",), "t4") == ("1 tool joined, 3 tools left", ())
    assert shown(("b",), "t4") == ("instructions read anew", ("1 instruction file",))
    assert shown(("b", "c")) == ("1 tool left", ("2 instruction files",))
