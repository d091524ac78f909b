"""Tools of servers that come after a session's start, or change: when they join, and what is said until then.

Not the servers (those are `agent.mcp.servers`). The tool list is part of the cached prefix, so a change costs a reading
of everything: it waits for a rewrite, which costs that anyway, or for the user's `/reload`, whose price is told.

Invariants
 1. A session's list changes by a `Reloaded` record only.
 2. A server that has not said what it offers keeps the tools the session knows of it.
 3. Before anything was answered a change costs nothing, and is taken in at the next message.
"""

from __future__ import annotations

from agent.mcp.names import server_of, server_part
from agent.mcp.servers import Servers
from agent.mcp.tool import equipped, named
from agent.request import canonical
from agent.session import Session
from compaction.records import AssistantSaid, Reloaded
from compaction.tokens import CALL, OUR_TOOLS, calibration, tool_parts

# Tools above a tenth of the budget are worth a sentence: a session of fifty requests reads them fifty times.
HEAVY = 10


def theirs(servers: Servers | None, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The schemas of servers' tools as canonical JSON, in the order sent; `known` are the session's so far."""
    texts: list[str] = []
    for held in [] if servers is None else servers.enabled:
        if held.tools is None:
            part = server_part(held.server.name)
            texts += [text for text in known if server_of(name_of(text)) == part]
        else:
            texts += [canonical(tool.schema) for tool in held.tools]
    return tuple(texts)


def name_of(text: str) -> str:
    """The tool that a canonical schema is about."""
    return named(text)[0]


def wanted(session: Session) -> tuple[str, ...]:
    """The list the session would have if it started now; ours stay as they were at its start."""
    view, servers = session.view, session.kit.servers
    if servers is None:
        return view.tools
    ours = tuple(text for text in view.tools if server_of(name_of(text)) is None)
    return ours + theirs(servers, view.tools)


def difference(session: Session) -> str:
    """What would change, in a few words; empty for nothing."""
    now, then = session.view.tools, wanted(session)
    if now == then:
        return ""
    old, new = {name_of(t): t for t in now}, {name_of(t): t for t in then}
    counts = {
        "new": sum(name not in old for name in new),
        "gone": sum(name not in new for name in old),
        "changed": sum(old[name] != new[name] for name in new if name in old),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "in another order"
    of = {server_of(name) or "" for name in {*old, *new} if old.get(name) != new.get(name)}
    servers = session.kit.servers
    held = [servers.of_part(part) for part in sorted(of)] if servers is not None else []
    names = ", ".join(one.name if one is not None else part for one, part in zip(held, sorted(of), strict=True))
    return f"MCP tools{f' of {names}' if names else ''}: {said}"


def waits(session: Session) -> str:
    """What waits to be taken in, and what doing that now costs; empty for nothing."""
    said = difference(session)
    if not said:
        return ""
    if _unanswered(session):
        return f"{said}; taken in with the next message"
    tokens = session.size().total
    return (
        f"{said}; taken in at the next prune or compaction. /reload does it now: {tokens:,} cached tokens are read anew"
    )


def heavy(session: Session) -> list[str]:
    """A sentence where servers' tools alone take much of the budget: it goes with every request."""
    tokens = sum(size for name, size in tool_parts(session.view, session.ruler) if name != OUR_TOOLS)
    budget = session.budget.budget
    if tokens * HEAVY <= budget:
        return []
    return [
        f"tools of MCP servers take {tokens:,} tokens of every request, {tokens / budget:.0%} of the budget; see /tools"
    ]


def told(session: Session) -> None:
    """Says that the list is not what the session holds."""
    said = waits(session)
    if said and not _unanswered(session):
        session.tell(said)


async def join(session: Session) -> None:
    """After a rewrite: the list as it is now, where there is room for it below the trigger."""
    said = difference(session)
    if not said:
        return
    view, then = session.view, wanted(session)
    added = sum(CALL + session.ruler.text(t) for t in then) - sum(CALL + session.ruler.text(t) for t in view.tools)
    budget = session.budget
    if budget.automatic and session.size().total + round(added * calibration(view)) > budget.trigger:
        session.tell(f"{said}; there is no room for them below the trigger, so they wait")
        return
    await take_in(session, then)


async def join_free(session: Session) -> None:
    """At a message: what came before anything was answered."""
    if _unanswered(session) and difference(session):
        await take_in(session, wanted(session))


async def take_in(session: Session, tools: tuple[str, ...]) -> None:
    """Another list from here on."""
    view = session.view
    await session.append(Reloaded(view.system, view.instructions, tools))
    session.tools = equipped(tools, session.kit.servers)


def _unanswered(session: Session) -> bool:
    return not any(isinstance(record.body, AssistantSaid) for record in session.log.records)
