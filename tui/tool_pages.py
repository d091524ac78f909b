"""What `/tools` and `/mcp` say, as lines of plain text; both screens show the same.

Not the figures (those come finished from the worker) and no widget.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.wire import ServerRow, ToolsListed
from tui.plain import one_line, plural, safe, tokens
from tui.present import sentence

# The longest name a provider takes, and two blanks; a narrow screen wraps.
NAME = 66

# Prompts and resources of a server that are named; the completion knows them all.
FEW = 8

NO_SERVERS = """\
No MCP server is configured. A table in config.toml brings one:

[mcp.time]
command = "uvx mcp-server-time"

or url = "https://…" for one that is reached over HTTP. `ullage config path` names the file."""


def title(event: ToolsListed) -> tuple[str, str]:
    """What is shown, and the figures of all of it."""
    size = sum(tool.tokens for tool in event.tools)
    if event.what == "servers":
        mine = sum(server.tokens for server in event.servers)
        return "MCP servers", f"{tokens(mine)} of the {tokens(size)} tokens of tools in every request"
    return "Tools", f"{plural(len(event.tools), 'tool')}, {tokens(size)} tokens in every request"


def text(event: ToolsListed) -> str:
    """The lines."""
    lines = _servers(event) if event.what == "servers" else _tools(event)
    if event.waits:
        lines += ["", sentence(event.waits)]
    return "\n".join(lines)


def _tools(event: ToolsListed) -> list[str]:
    wide = min(NAME, max((len(tool.name) for tool in event.tools), default=0))
    lines = []
    for tool in event.tools:
        remark = "  says that it only reads" if tool.reads else ""
        lines.append(f"{safe(tool.name):<{wide}}  {tool.tokens:>6,}{remark}")
    return lines


def _servers(event: ToolsListed) -> list[str]:
    if not event.servers:
        return NO_SERVERS.split("\n")
    lines: list[str] = []
    for server in event.servers:
        lines += [*_server(server), ""]
    return [*lines, "/mcp restart NAME starts one anew, /tools lists what each tool costs."]


def _server(server: ServerRow) -> list[str]:
    state = server.state + (f": {server.why}" if server.why else "")
    said = f" ({server.said})" if server.said else ""
    held = f"{plural(server.tools, 'tool')} in this session, {server.tokens:,} tokens in every request"
    if server.offers is None:
        held += "; what it offers is not known yet"
    elif server.offers != server.tools:
        held += f"; it offers {server.offers}"
    lines = [f"{safe(server.name)}  {one_line(state + said)}", f"    {safe(server.what)}"]
    if server.state != "off" or server.tools:
        lines.append(f"    {held}")
    lines += _named("prompt", server.prompts) + _named("resource", server.resources)
    return [*lines, f"    log: {safe(server.log)}"] if server.log else lines


def _named(what: str, names: Sequence[str]) -> list[str]:
    """What of a kind a server offers, a line each, as it is typed; the first few."""
    if not names:
        return []
    lines = [f"    {plural(len(names), what)}:", *(f"      {one_line(name, 100)}" for name in names[:FEW])]
    return [*lines, f"      … {len(names) - FEW} more"] if len(names) > FEW else lines
