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
from dataclasses import dataclass, field
from pathlib import Path

from agent.hooks import calls as hooked_calls
from agent.hooks.asking import join
from agent.hooks.calls import arguments_of
from agent.instructions import nested_for
from agent.permissions import Allow, Ask, Deny, Verdict, judge
from agent.sanitise import clean
from agent.session import Session
from agent.session_log import open_calls
from agent.spill import Admitted, Arrivals
from agent.tools import Need, Refused, Result, Tool, title_of
from agent.wire import Asking, ToolRunning
from agent.wishes.rewinding import before_change
from compaction.records import Noted, ToolCall, ToolReturned
from compaction.shorten import shorten
from compaction.view import NESTED, NO_RESULT, PREVIEW, TITLE

# What stands for a call made in the last request of a turn: the notice before it asked for text.
NOT_RUN = "[not run: no steps are left in this turn]"

# Behind what a command had printed when it was stopped.
CUT_SHORT = "[interrupted before it finished; the output above is what it had printed]"

REFUSED_ALONE = (
    "refused: this needs the user's permission and nobody is there to give it. Work without it, or say in your answer "
    "what you would have run."
)


async def run_calls(session: Session, calls: Sequence[ToolCall]) -> None:
    """Runs the calls of one reply and logs their results; cancelling it stops what runs."""
    step = _Step(Arrivals.of(session.log.folder, session.view.started, session.ruler.count))
    reading: list[ToolCall] = []
    for call in calls:
        if _only_reads(call):
            reading.append(call)
            continue
        await _together(session, step, reading)
        reading = []
        await _one(session, step, call)
    await _together(session, step, reading)
    await _nested_instructions(session, step.touched)
    await join(session, step.contexts)


@dataclass
class _Step:
    """What the calls of one reply share: the running total of their results, the paths they touched, what hooks add."""

    arrivals: Arrivals
    touched: list[Path] = field(default_factory=list)
    contexts: list[str] = field(default_factory=list)


def _only_reads(call: ToolCall) -> bool:
    return call.name in ("read", "grep", "glob", "recall")


async def _together(session: Session, step: _Step, calls: Sequence[ToolCall]) -> None:
    """Runs calls side by side. When one cannot be logged, or all are cancelled, none goes on running."""
    tasks = [asyncio.ensure_future(_one(session, step, call)) for call in calls]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(session: Session, step: _Step, call: ToolCall) -> None:
    tool = session.tools.get(call.name)
    if tool is None:
        names = ", ".join(session.tools)
        result = Result(f"there is no tool {clean(call.name)!r}; the tools are {names}", failed=True)
        await _log(session, step, call, clean(call.name)[:TITLE], result)
        return
    parsed = arguments_of(tool, call.arguments)
    if isinstance(parsed, str):
        await _log(session, step, call, call.name, Result(parsed, failed=True))
        return
    title = clean(tool.title(parsed))[:TITLE]
    try:
        ready = await hooked_calls.ready(session, call, tool, parsed)
        title = ready.title
        refusal = await _permitted(session, call, tool, title, ready.need)
    except Refused as error:
        refusal = str(error)
    if refusal is not None:
        await _log(session, step, call, title, Result(refusal, failed=True))
        return
    session.emit(ToolRunning(call.id, tool.name, title))
    await before_change(session, tool.name, ready.need)
    began = session.kit.clock()
    result = ready.told(await tool.run(ready.args, session.workspace, call.id))
    await _log(session, step, call, title, result, max(0.0, session.kit.clock() - began))
    if not result.failed:
        step.touched.extend(ready.need.paths)
    step.contexts += await hooked_calls.after(session, call, tool, ready, result)


async def _permitted(session: Session, call: ToolCall, tool: Tool, title: str, need: Need) -> str | None:
    """None when the call may run; else what the model reads."""

    def judged() -> Verdict:
        return judge(need, tool.name, session.mode, session.rules, session.workspace)

    verdict = judged()
    if isinstance(verdict, Ask) and session.kit.interactive:
        # One question at a time; the answer to the one before, or another mode, may have settled this one.
        async with session.answers.turn:
            verdict = judged()
            if isinstance(verdict, Ask):
                return await _asked(session, call, tool, title, need, verdict)
    match verdict:
        case Allow():
            return None
        case Deny(why):
            return why
        case Ask(why):
            return f"{REFUSED_ALONE} ({why})"


async def _asked(session: Session, call: ToolCall, tool: Tool, title: str, need: Need, verdict: Ask) -> str | None:
    asking = Asking(0, call.id, tool.name, title, verdict.why, need.command, need.diff, verdict.prefix)
    choice, reason = await session.answers.ask(asking)
    if choice == "refuse":
        return f"refused by the user{': ' + reason if reason else ''}"
    if choice in ("session", "project"):
        session.allow(tool.name, verdict.prefix, project=choice == "project")
    return None


async def _log(
    session: Session, step: _Step, call: ToolCall, title: str, result: Result, took: float | None = None
) -> None:
    admitted = _admitted(session, step.arrivals, call, clean(result.text), session.log.next_id)
    await session.append(
        ToolReturned(
            call.id, call.name, title or call.name, admitted.text, result.failed, admitted.spilled, admitted.characters,
            result.exit_status, result.paths, result.changed, result.images, None if took is None else round(took, 3),
        )
    )  # fmt: skip


def _admitted(session: Session, arrivals: Arrivals, call: ToolCall, text: str, record: int) -> Admitted:
    """The result as it enters the conversation; cut short where a file for all of it cannot be written."""
    try:
        return arrivals.admit(text, call.id, call.name, record)
    except OSError as error:
        why = f"the rest is lost: it could not be stored ({error.strerror or error})"
        session.warn(f"the output of {call.name} was cut; {why}")
        return Admitted(shorten(text, PREVIEW, why), None, len(text))


async def _nested_instructions(session: Session, touched: Sequence[Path]) -> None:
    """The rules of folders below the session's own join at the end, the first time a call touches one of them."""
    known = [r.body.text for r in session.view.records if isinstance(r.body, Noted) and r.body.topic == NESTED]
    for path in dict.fromkeys(touched):
        for found in nested_for(path, session.workspace.folder):
            opening = found.text.split("\n", 1)[0]
            if not any(text.startswith(opening) for text in known):
                known.append(found.text)
                await session.append(Noted(found.text, NESTED, to_model=True))


async def not_run(session: Session, calls: Sequence[ToolCall]) -> None:
    """Answers calls that there are no steps left for."""
    await session.append(*(ToolReturned(c.id, c.name, c.name, NOT_RUN, True, characters=len(NOT_RUN)) for c in calls))


async def close_calls(session: Session) -> None:
    """Appends a failed result for every call still open, with what it had printed, though the task was cancelled."""
    arrivals = Arrivals.of(session.log.folder, session.view.started, session.ruler.count)
    bodies: list[ToolReturned] = []
    for record, call in enumerate(open_calls(session.view), session.log.next_id):
        printed = session.workspace.cut_short.pop(call.id, "").rstrip("\n")
        text = f"{printed}\n{CUT_SHORT}" if printed else NO_RESULT
        admitted = _admitted(session, arrivals, call, text, record)
        bodies.append(
            ToolReturned(call.id, call.name, title_of(call), admitted.text, True, admitted.spilled, admitted.characters)
        )
    if bodies:
        await session.append(*bodies)
