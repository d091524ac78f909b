"""Asking the user's hooks: at each event the commands that fit it, in the order of the files, as one verdict.

Not a process (that is `agent.hooks.process`), not a reading of answers (`agent.hooks.answers`), not the calls of tools
(`agent.hooks.calls`).

Invariants
 1. The first hook that blocks ends the asking; nothing another says can take that back.
 2. A hook that gives no answer is named to the user and the event goes on; before a tool it counts as a no.
 3. What hooks add joins the conversation as a notice at its end.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.hooks.answers import Answer, answer_of
from agent.hooks.process import run_hook, shell
from agent.hooks.words import page, title
from agent.places import project
from agent.sanitise import one_line
from agent.session import Session
from agent.settings.hooks import Event, Hook
from agent.wire import Progress, Sheet
from compaction.gates import Compact
from compaction.records import AssistantSaid, Compacted, Noted, Record
from compaction.shorten import shorten

# A topic of its own, so that people and the log can tell it from the program's own notices.
TOPIC = "hook"

# Of a result or an answer a hook is given this much; the log, whose path it has, holds all of it. Characters.
MOST_GIVEN = 100_000

# A hook that takes longer than this is named while it runs; a quicker one would only flicker. Seconds.
SHOWN_AFTER = 0.5


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the hooks of one event came to. `contexts` are notices to append; `summary` None without one."""

    blocked: str = ""
    contexts: tuple[str, ...] = ()
    summary: str | None = None


def wanted(session: Session, event: Event) -> list[Hook]:
    """The hooks of an event, in order."""
    return [hook for hook in session.kit.settings.hooks if hook.event == event]


@contextmanager
def _shown(session: Session, hook: Hook) -> Iterator[None]:
    """Says which hook is waited for, if there is a wait, and that it is over."""
    shown = False

    def show() -> None:
        nonlocal shown
        shown = True
        session.emit(Progress(f"running the {title(hook)}"))

    waiting = asyncio.get_running_loop().call_later(SHOWN_AFTER, show)
    try:
        yield
    finally:
        waiting.cancel()
        if shown:
            session.emit(Progress("working"))


def _argv(session: Session, hook: Hook, top: Path) -> list[str]:
    """A project's hook runs where its commands run: agreeing to its words is no leave to write anywhere."""
    sandbox, theirs = session.workspace.sandbox, hook.origin != str(session.kit.places.settings)
    argv = shell(hook.command)
    return argv if sandbox is None or not theirs else sandbox.wrap(argv, top, top)


async def ask_one(session: Session, hook: Hook, fields: Mapping[str, Any]) -> Answer:
    """Runs one hook. What it could not say is told to the user; the caller decides what that means."""
    workspace = session.workspace
    given = {
        "event": hook.event,
        "session": session.id,
        "path": str(session.log.path),
        "folder": str(workspace.folder),
        "model": session.view.model,
        "mode": session.mode,
        **fields,
    }
    top = project(workspace.folder)
    env, _ = workspace.environment.for_commands(workspace.environ)
    data = json.dumps(given, default=str).encode()
    with _shown(session, hook):
        ran = await run_hook(_argv(session, hook, top), data, top, env, hook.timeout, workspace.jobs.guard)
    if ran.left is not None:
        workspace.left_running.add(ran.left)
    answer = answer_of(hook.event, ran)
    session.hooked.last[hook] = answer.words
    if answer.trouble:
        session.warn(f"the {title(hook)} gave no answer: {answer.trouble}")
    if answer.ignored:
        session.warn(f"the {title(hook)}: {answer.ignored}")
    return answer


def added(session: Session, hook: Hook, text: str) -> str:
    """What a hook adds, as the model reads it; no more than a page of a file may be."""
    most = session.workspace.page_characters
    text = text if len(text) <= most else shorten(text, most, "a hook may add no more than this")
    return f"[added by the user's hook on {hook.event}]\n{text}"


async def ask(session: Session, event: Event, fields: Mapping[str, Any]) -> Verdict:
    """Asks the hooks of an event that is about no tool."""
    found = Verdict()
    for hook in wanted(session, event):
        answer = await ask_one(session, hook, fields)
        if answer.blocked:
            return Verdict(blocked=answer.blocked)
        if answer.context:
            found = replace(found, contexts=(*found.contexts, added(session, hook, answer.context)))
        if answer.summary:
            found = replace(found, summary=answer.summary)
    return found


async def join(session: Session, contexts: tuple[str, ...] | list[str]) -> None:
    """Appends what hooks added."""
    if contexts:
        await session.append(*(Noted(text, TOPIC, to_model=True) for text in contexts))


async def begin(session: Session) -> None:
    """`session_start`, once for each opening; what it adds waits for the first message, to stand behind it."""
    if not session.hooked.begun:
        session.hooked.begun = True
        resumed = any(isinstance(record.body, AssistantSaid) for record in session.view.records)
        verdict = await ask(session, "session_start", {"resumed": resumed})
        session.hooked.waiting.extend(verdict.contexts)


async def prompt(session: Session, text: str, typed: str | None) -> Verdict:
    """`prompt`, before the message is taken."""
    return await ask(session, "prompt", {"prompt": text, "typed": typed if typed is not None else text})


async def join_message(session: Session, verdict: Verdict) -> None:
    """Behind a message that was taken: what the session's start left to say, and what this message's hooks added."""
    waiting, session.hooked.waiting[:] = tuple(session.hooked.waiting), []
    await join(session, (*waiting, *verdict.contexts))


async def before_compaction(session: Session, decision: Compact, focus: str, size: int) -> Verdict:
    """`before_compaction`: may block it, or write the summary itself."""
    cut, view = decision.cut, session.view
    plan = {
        "gate": str(decision.gate),
        "focus": focus,
        "size": size,
        "target": decision.target,
        "first_kept": cut.first_kept,
        "records": [id for id in view.ids if cut.prefix_from <= id < cut.first_kept],
        "previous": view.compaction.id if view.compaction else None,
        "most_summary": session.budget.summary_cap,
    }
    return await ask(session, "before_compaction", {"plan": plan})


async def after_compaction(session: Session, record: Record) -> None:
    """`after_compaction`: there is nothing left to decide."""
    body = record.body
    if isinstance(body, Compacted):
        made = {"gate": str(body.gate), "before": body.before, "after": body.after, "first_kept": body.first_kept}
        await ask(session, "after_compaction", {"record": record.id, "compaction": {**made, "summary": body.summary}})


async def turn_end(session: Session, stop: str, error: str | None) -> None:
    """`turn_end`, when a turn has ended by itself."""
    said = next((r.body for r in reversed(session.view.records) if isinstance(r.body, AssistantSaid)), None)
    text = said.text if said is not None else ""
    await ask(session, "turn_end", {"stop": stop, "error": error, "answer": text[:MOST_GIVEN]})


def show(session: Session) -> None:
    """The page of hooks."""
    last: Callable[[Hook], str] = lambda hook: one_line(session.hooked.last.get(hook, ""), 200)  # noqa: E731
    session.emit(Sheet("Hooks", page(session.kit.settings.hooks, last)))
