"""The hooks around a call of a tool: before it, with other arguments perhaps or a no; after it, with more to read.

Not the permission: that is judged after the hooks, on the arguments that will run (`agent.toolbox`).

Invariants
 1. What runs is what was judged and shown: a hook's arguments are read, named and judged like the model's own.
 2. A hook that gives no answer stands in the way of the call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent.hooks import asking as hooks
from agent.hooks.words import title as called
from agent.mcp.tool import McpTool
from agent.permissions import Deny, judge
from agent.sanitise import clean, one_line
from agent.session import Session
from agent.settings.hooks import Hook
from agent.tools import Need, Refused, Result, Tool, parse
from compaction.records import ToolCall
from compaction.view import TITLE


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that no hook objects to. `changed` is the JSON text of a hook's arguments, empty for the model's own."""

    args: dict[str, Any]
    need: Need
    title: str
    changed: str = ""

    def told(self, result: Result) -> Result:
        """The result, with a word about arguments that are not the model's."""
        if not self.changed:
            return result
        return replace(result, text=f"{result.text}\n[a hook of the user's changed the arguments to {self.changed}]")


def arguments_of(tool: Tool, text: str) -> dict[str, Any] | str:
    """The arguments a tool takes, or why it does not. Schemas of servers may say anything: the server checks."""
    return parse(text, {} if isinstance(tool, McpTool) else tool.schema(False))


async def ready(session: Session, call: ToolCall, tool: Tool, args: dict[str, Any]) -> Ready:
    """The call as it may be judged, after the hooks. Raises `Refused` with what the model reads."""
    need = await asyncio.to_thread(tool.need, args, session.workspace)
    found = Ready(args, need, clean(tool.title(args))[:TITLE])
    asked = hooks.wanted(session, "before_tool")
    if asked:
        verdict = judge(need, tool.name, session.mode, session.rules, session.workspace)
        if isinstance(verdict, Deny):
            # It will not run whatever a hook says: nobody has to be asked.
            raise Refused(verdict.why)
    # Whoever said nothing against the call is asked again about arguments that another hook made of it; one that made
    # some is not, so that this ends.
    seen: dict[int, dict[str, Any]] = {}
    made: set[int] = set()
    while (at := _next(asked, seen, made, found, tool, session)) is not None:
        hook, seen[at] = asked[at], found.args
        fields = {"tool": tool.name, "call": call.id, "title": found.title, "arguments": found.args}
        answer = await hooks.ask_one(session, hook, fields)
        if answer.trouble:
            raise Refused(f"not run: the user's {called(hook)} gave no answer: {answer.trouble}")
        if answer.blocked:
            raise Refused(f"not run: a hook of the user's objects: {answer.blocked}")
        if answer.arguments is not None and dict(answer.arguments) != found.args:
            made.add(at)
            found = await _changed(session, tool, dict(answer.arguments), called(hook))
    return found


def _next(
    asked: Sequence[Hook], seen: Mapping[int, object], made: Collection[int], call: Ready, tool: Tool, session: Session
) -> int | None:
    """The first hook that is about the call and has not seen it as it is now."""
    return next(
        (
            at for at, hook in enumerate(asked)
            if at not in made and seen.get(at) != call.args and hook.fits(tool.name, call.need, session.workspace)
        ),
        None,
    )  # fmt: skip


async def _changed(session: Session, tool: Tool, arguments: dict[str, Any], hook: str) -> Ready:
    text = json.dumps(arguments, ensure_ascii=False)
    args = arguments_of(tool, text)
    if isinstance(args, str):
        raise Refused(f"not run: the user's {hook} gave arguments that {tool.name} does not take: {args}")
    need = await asyncio.to_thread(tool.need, args, session.workspace)
    session.tell(f"the {hook} changed the arguments of {tool.name} to {one_line(text, 400)}")
    return Ready(args, need, clean(tool.title(args))[:TITLE], one_line(text, 2_000))


async def after(session: Session, call: ToolCall, tool: Tool, done: Ready, result: Result) -> list[str]:
    """Asks the hooks after a call; what joins the conversation behind the step's results."""
    contexts: list[str] = []
    for hook in hooks.wanted(session, "after_tool"):
        if not hook.fits(tool.name, done.need, session.workspace):
            continue
        seen = {
            "text": clean(result.text)[: hooks.MOST_GIVEN],
            "failed": result.failed,
            "exit_status": result.exit_status,
            "paths": list(result.paths),
            "changed": result.changed,
        }
        fields = {"tool": tool.name, "call": call.id, "title": done.title, "arguments": done.args, "result": seen}
        answer = await hooks.ask_one(session, hook, fields)
        if answer.blocked:
            contexts.append(hooks.added(session, hook, f"It objects to {done.title}: {answer.blocked}"))
            return contexts
        if answer.context:
            contexts.append(hooks.added(session, hook, answer.context))
    return contexts
