"""A server's tool as the loop runs it, by the name and schema that the session's log holds.

Not the server (that is `servers`). The schema sent is the log's own; what stands behind the name is looked up when it
is called, so that a resume, a server that came late and one that is gone are all the same case.

Invariants
 1. `run` never raises but for cancellation; a server that is gone, ends or is late is a failed result of one sentence.
 2. What a server answers is foreign: images are checked before they join the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from agent.mcp.held import Down
from agent.mcp.names import server_of
from agent.mcp.offered import Offered
from agent.mcp.pictures import checked
from agent.mcp.servers import Servers
from agent.sanitise import one_line, scrub, visible
from agent.tools import TOOLS
from agent.tools.contract import Args, Need, Refused, Result, Schema, Tool
from agent.tools.workspace import Workspace

# Arguments in a title: enough to tell two calls apart on one line; characters.
TITLE = 80

# Arguments longer than this are shown one a line, characters.
LINE = 80


class McpTool:
    """One tool. `servers` None: nothing is configured, and whatever the log says is gone."""

    def __init__(self, schema: Schema, servers: Servers | None) -> None:
        self._schema, self._servers = schema, servers

    @property
    def name(self) -> str:
        """As the model calls it."""
        return str(self._schema["function"]["name"])

    def schema(self, short: bool) -> Schema:
        """As the log holds it."""
        return self._schema

    def title(self, args: Args) -> str:
        """Server, tool, and what fits of the arguments."""
        found = self._found()
        name = self.name if found is None else f"{found.server} {found.tool}"
        said = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in args.items()]
        return one_line(" ".join([name, *said]), TITLE)

    def need(self, args: Args, ws: Workspace) -> Need:
        """A yes to this server's tool; the arguments are shown whole. Raises `Refused` for one that is gone."""
        found = self._found()
        if found is None and self._held() is None:
            raise Refused(self._gone())
        shown = json.dumps(args, ensure_ascii=False) if args else ""
        if len(shown) > LINE:
            shown = json.dumps(args, ensure_ascii=False, indent=2)
        reads = found is not None and found.reads
        return Need("server", command=visible(shown), reads=reads)

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Asks the server."""
        try:
            found = await self._settled()
            assert self._servers is not None
            clean = json.loads(scrub(json.dumps(args, ensure_ascii=False)))
            # Each line takes the place of the one before.
            reply = await self._servers.call(found, clean, lambda line: ws.on_output(call_id, f"\r{line}"))
        except Down as down:
            return Result(f"{down}.", failed=True)
        images, notes = checked(reply.images)
        text = "\n\n".join(part for part in (*(t for t in reply.texts if t.strip()), *notes) if part)
        return Result(text or ("[a picture]" if images else "[no output]"), reply.failed, images=images)

    def _found(self) -> Offered | None:
        return None if self._servers is None else self._servers.find(self.name)

    def _held(self) -> object | None:
        return None if self._servers is None else self._servers.of_part(server_of(self.name))

    async def _settled(self) -> Offered:
        """The tool, once its server has said what it offers. Raises `Down`."""
        held = None if self._servers is None else self._servers.of_part(server_of(self.name))
        if self._servers is None or held is None:
            raise Down(self._gone())
        if held.tools is None:
            await self._servers.up(held)
        found = self._servers.find(self.name)
        if found is None:
            raise Down(f"the MCP server {held.name} offers no such tool any more")
        return found

    def _gone(self) -> str:
        return f"{self.name} belongs to an MCP server that is not in the settings any more"


def equipped(texts: Sequence[str], servers: Servers | None) -> dict[str, Tool]:
    """The tools of a session by name: ours, and those of servers that its schemas (canonical JSON) name."""
    tools: dict[str, Tool] = {tool.name: tool for tool in TOOLS}
    for text in texts:
        name, schema = named(text)
        if name and name not in tools:
            tools[name] = McpTool(schema, servers)
    return tools


def named(text: str) -> tuple[str, Schema]:
    """A schema and the name in it; no name where a log holds something else."""
    try:
        schema = json.loads(text)
        name = schema["function"]["name"]
    except (ValueError, KeyError, TypeError):
        return "", {}
    return (name, schema) if isinstance(name, str) else ("", {})
