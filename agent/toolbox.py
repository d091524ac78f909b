"""Running the calls of one reply: permission, the tool, admission by size, the record.

Not a tool (those are in `agent.tools`), not a rule (that is `permissions`).

Invariants
 1. Every call of a reply gets exactly one `ToolReturned`: run, refused, unknown, interrupted or not run.
 2. Results are appended as they finish. Calls that only read run side by side; the others one after the other, in the
    order the model wrote them.
 3. Nothing waits for an answer that nobody can give: without a front end to ask, what needs asking is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.permissions import Allow, Ask, Deny, judge
from agent.sanitise import clean
from agent.session import Session
from agent.session_log import open_calls
from agent.spill import Admitted, Arrivals
from agent.tools import TOOLS, Need, Refused, Result, Tool, parse
from agent.wire import Asking, ToolRunning
from compaction.records import ToolCall, ToolReturned
from compaction.view import NO_RESULT, TITLE

# What stands for a call made in the last request of a turn: the notice before it asked for text.
NOT_RUN = "[not run: no steps are left in this turn]"

REFUSED_ALONE = (
    "refused: this needs the user's permission and nobody is there to give it. Work without it, or say in your answer "
    "what you would have run."
)

BY_NAME = {tool.name: tool for tool in TOOLS}


async def run_calls(session: Session, calls: Sequence[ToolCall]) -> None:
    """Runs the calls of one reply and logs their results; cancelling it stops what runs."""
    arrivals = Arrivals.of(session.log.folder, session.view.started, session.ruler.count)
    reading: list[ToolCall] = []
    for call in calls:
        if _only_reads(call):
            reading.append(call)
            continue
        await _together(session, arrivals, reading)
        reading = []
        await _one(session, arrivals, call)
    await _together(session, arrivals, reading)


def _only_reads(call: ToolCall) -> bool:
    return call.name in ("read", "grep", "glob", "recall")


async def _together(session: Session, arrivals: Arrivals, calls: Sequence[ToolCall]) -> None:
    if len(calls) == 1:
        await _one(session, arrivals, calls[0])
    elif calls:
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(_one(session, arrivals, call))


async def _one(session: Session, arrivals: Arrivals, call: ToolCall) -> None:
    tool = BY_NAME.get(call.name)
    if tool is None:
        names = ", ".join(BY_NAME)
        result = Result(f"there is no tool {clean(call.name)!r}; the tools are {names}", failed=True)
        await _log(session, arrivals, call, call.name, result)
        return
    parsed = parse(call.arguments, tool.schema(False))
    if isinstance(parsed, str):
        await _log(session, arrivals, call, call.name, Result(parsed, failed=True))
        return
    title = clean(tool.title(parsed))[:TITLE]
    try:
        need = await asyncio.to_thread(tool.need, parsed, session.workspace)
        refusal = await _permitted(session, call, tool, title, need)
    except Refused as error:
        refusal = str(error)
    if refusal is not None:
        await _log(session, arrivals, call, title, Result(refusal, failed=True))
        return
    session.emit(ToolRunning(call.id, tool.name, title))
    result = await tool.run(parsed, session.workspace, call.id)
    await _log(session, arrivals, call, title, result)


async def _permitted(session: Session, call: ToolCall, tool: Tool, title: str, need: Need) -> str | None:
    """None when the call may run; else what the model reads."""
    verdict = judge(need, tool.name, session.mode, session.rules, session.workspace)
    match verdict:
        case Allow():
            return None
        case Deny(why):
            return why
        case Ask(why, prefix):
            if not session.kit.interactive:
                return f"{REFUSED_ALONE} ({why})"
            asking = Asking(0, call.id, tool.name, title, why, need.command, need.diff, prefix)
            choice, reason = await session.answers.ask(asking)
            if choice == "refuse":
                return f"refused by the user{': ' + reason if reason else ''}"
            if choice in ("session", "project"):
                session.allow(tool.name, prefix, project=choice == "project")
            return None


async def _log(session: Session, arrivals: Arrivals, call: ToolCall, title: str, result: Result) -> None:
    text = clean(result.text)
    admitted: Admitted = arrivals.admit(text, call.id, call.name, session.log.next_id)
    await session.append(
        ToolReturned(
            call.id, call.name, title or call.name, admitted.text, result.failed, admitted.spilled, admitted.characters,
            result.exit_status, result.paths, result.changed, result.images,
        )
    )  # fmt: skip


async def not_run(session: Session, calls: Sequence[ToolCall]) -> None:
    """Answers calls that there are no steps left for."""
    await session.append(*(ToolReturned(c.id, c.name, c.name, NOT_RUN, True, characters=len(NOT_RUN)) for c in calls))


async def close_calls(session: Session) -> None:
    """Appends a failed result for every call still open, though the task was cancelled."""
    calls = open_calls(session.view)
    if calls:
        size = len(NO_RESULT)
        await session.append_through(
            *(ToolReturned(c.id, c.name, c.name, NO_RESULT, True, characters=size) for c in calls)
        )
