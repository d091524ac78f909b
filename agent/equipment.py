"""What the session's tools are, whose they are and what each costs: for `/tools`, `/mcp` and `/context`.

No drawing. Sizes are tokens as the meter counts them: of what is in every request of this session, not of what a server
might bring.
"""

from __future__ import annotations

from typing import Literal

from agent import late
from agent.mcp.held import Held
from agent.mcp.names import server_of, server_part
from agent.session import Session
from agent.wire import ServerRow, ToolRow, ToolsListed
from compaction.tokens import CALL, OUR_TOOLS, calibration, scaled, tool_parts


def listed(session: Session, what: Literal["tools", "servers"]) -> ToolsListed:
    """All tools in the order sent, all servers in the order of the settings, and what waits."""
    tools = tools_of(session)
    servers = session.kit.servers
    rows: tuple[ServerRow, ...] = ()
    if servers is not None:
        servers.look()
        rows = tuple(_server(held, tools) for held in servers.held.values())
    return ToolsListed(what, tools, rows, late.waits(session))


def tools_of(session: Session) -> tuple[ToolRow, ...]:
    """Every tool of the session; their tokens sum to the meter's part for tools."""
    servers = session.kit.servers
    sizes = {late.name_of(text): CALL + session.ruler.text(text) for text in session.view.tools}
    rows: list[ToolRow] = []
    for name, tokens in scaled(sizes, dict(session.meter(session).parts).get("tools", 0)).items():
        found = None if servers is None else servers.find(name)
        rows.append(ToolRow(name, tokens, server_of(name) or "", found is not None and found.reads))
    return tuple(rows)


def served(session: Session) -> tuple[tuple[str, int], ...]:
    """The schemas of each server together, (name, tokens)."""
    factor = calibration(session.view)
    parts = tool_parts(session.view, session.ruler)
    return tuple((name, round(tokens * factor)) for name, tokens in parts if name != OUR_TOOLS)


def _server(held: Held, tools: tuple[ToolRow, ...]) -> ServerRow:
    mine = [tool.tokens for tool in tools if tool.server == server_part(held.server.name)]
    offers = None if held.tools is None else len(held.tools)
    log = str(held.log) if held.server.command else ""
    return ServerRow(
        held.name, held.state, held.why, held.server.shown, held.said, offers, len(mine), sum(mine), log,
        tuple(f"/{one.name} {one.arguments}".rstrip() for one in held.prompts or ()),
        tuple(f"@{one.name}" for one in held.resources or ()),
    )  # fmt: skip
