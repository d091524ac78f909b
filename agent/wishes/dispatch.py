"""What the user asks for beside a message: compact, prune, undo, pin, budget, model, shell, …

Not a turn (that is `loop`) and not a gate's own doing. Each wish ends in one `Finished` with the exit status headless
gives, and changes the world only by a record.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import equipment, job_news, late, metering
from agent.ending import End
from agent.hooks import asking as hooks
from agent.incoming.admission import admit
from agent.instructions import build
from agent.mcp.tool import equipped
from agent.model import UnknownModel
from agent.sanitise import clean
from agent.session import Session
from agent.session_log import LogFailed
from agent.settings import SettingsError
from agent.settings.file import save
from agent.tools import Need
from agent.wire import (
    MODE_NAMES,
    Appended,
    Command,
    Compact,
    Finished,
    ForgetRule,
    Inspect,
    InspectJobs,
    ListTools,
    Opened,
    Pin,
    Planned,
    Prune,
    Reload,
    Rename,
    RestartServer,
    Rewind,
    SaveKey,
    SetBudget,
    SetEffort,
    SetMode,
    SetModel,
    SetSetting,
    SetTrust,
    Shell,
    ShowHooks,
    ShowPermissions,
    ShowSettings,
    ShowTrust,
    StopJob,
    ToolRunning,
    Undo,
)
from agent.wishes import configuring, trusting
from agent.wishes.effort import set_effort
from agent.wishes.rewinding import before_change, rewind
from agent.wishes.rewriting import compact, pin, probed, prune, undo
from agent.wishes.saving_keys import save_key
from agent.wishes.switching import switch
from compaction import gates
from compaction.budget import Budget, check_rule, chosen
from compaction.errors import BadBudget, BadTarget
from compaction.records import (
    Gate,
    Outcome,
    Reloaded,
    SettingsChanged,
    tag,
)

# Their ends tell the size before and after, changed or not: scripts compare the two.
SIZED = (Undo, Pin, Rewind)


class Unopened(Exception):
    """A session that cannot be opened, or settings that cannot be used; with a sentence and an exit status."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(text)
        self.code = code


def replay(session: Session, *, resumed: bool) -> None:
    """Tells the front end all there is: the screen cannot tell a resume from what it saw live."""
    view = session.view
    session.emit(
        Opened(
            session.id, str(session.log.path), str(session.workspace.folder), view.model, session.mode, resumed,
            (
                *trusting.shown_notices(session), *map(str, session.log.damage), *session.notices,
                *([_budget_words(session.budget)] if _is_cut(session.budget) else []),
            ),
        )
    )  # fmt: skip
    for record in session.log.records:
        session.emit(Appended(record, replay=record.id <= session.log.found))
    session.log.on_append.append(session.heard)
    session.metered()
    if session.kit.interactive:
        trusting.offer(session)


def log_failed(session: Session | None, error: LogFailed) -> End:
    """The log cannot be written: nothing more will be, and the screen says so."""
    if session is not None:
        size = session.size().total
        session.tell_gate(Gate.ASKED, Outcome.LOG_FAILED, tag(Gate.ASKED, Outcome.LOG_FAILED), size, size, str(error))
    return End("failed", str(error), 1)


def at_once(session: Session, command: Command) -> None:
    """Wishes that change no record and wait for nothing."""
    match command:
        case SetMode(mode):
            session.mode = mode
            session.tell(f"mode: {MODE_NAMES[mode]}")
        case Inspect(again=again):
            session.emit(replace(metering.inspected(session), again=again))
        case ShowHooks():
            hooks.show(session)
        case ShowSettings():
            session.emit(configuring.shown(session))
        case ShowPermissions():
            session.emit(configuring.permissions(session))
        case ForgetRule():
            configuring.forgotten(session, command)
        case ShowTrust():
            trusting.offer(session, asked=True)
        case ListTools(what):
            session.emit(equipment.listed(session, what))
        case RestartServer(name):
            servers = session.kit.servers
            session.tell("no MCP server is configured" if servers is None else servers.restart(name))
        case InspectJobs() | StopJob():
            job_news.at_once(session, command)
        case Prune(probe=True, records=records):
            session.emit(Planned(probed(session, records), offered=False))
        case _:
            raise AssertionError(f"{type(command).__name__} does not act at once")


async def carry_out(session: Session, command: Command) -> End:
    """One wish; its end is told as `Finished`."""
    before = session.size().total if isinstance(command, SIZED) else 0
    finished = await _wish(session, command)
    if isinstance(command, SIZED) and not finished.before:
        finished = replace(finished, before=before, after=session.size().total)
    if finished.committed and isinstance(command, (Compact, Prune, Undo)):
        await late.join(session)
    session.emit(finished)
    return End.of(finished.code, None if finished.code == 0 else finished.text)


async def run_waiting(session: Session) -> None:
    """Carries out what waited for the end of the step."""
    waiting, session.waiting[:] = list(session.waiting), []
    for command in waiting:
        await carry_out(session, command)


async def _wish(session: Session, command: Command) -> Finished:
    try:
        match command:
            case Compact():
                return await compact(session, command)
            case Prune():
                return await prune(session, command)
            case Undo():
                return await undo(session)
            case Pin(record, on):
                return await pin(session, record, on)
            case SetBudget(rule):
                return await _budget(session, rule)
            case SetEffort(level):
                return await set_effort(session, level)
            case SaveKey():
                return await save_key(session, command)
            case SetModel():
                return await _model(session, command)
            case Rewind():
                return await rewind(session, command)
            case Reload():
                return await _reload(session)
            case SetSetting():
                return await configuring.change(session, command)
            case SetTrust():
                return await trusting.answered(session, command)
            case Rename(name):
                await session.append(SettingsChanged(name=name))
                return Finished("rename", True, 0, None, f"the session is called {name!r}")
            case _:
                raise AssertionError(f"{type(command).__name__} is no wish")
    except BadTarget as error:
        return Finished(type(command).__name__.lower(), False, 4, None, str(error))
    except BadBudget as error:
        return Finished("budget", False, 2, None, str(error))


def _budget_words(budget: Budget) -> str:
    text = f"working budget {gates.k(budget.budget)} ({budget.policy.rule})"
    return f"{text}, cut to what the window can take" if _is_cut(budget) else text


def _is_cut(budget: Budget) -> bool:
    """Whether the rule asked for more than the window can take."""
    return budget.limit is not None and chosen(budget.policy.rule, budget.window.effective) > budget.limit


async def _budget(session: Session, rule: str) -> Finished:
    rule = rule.strip()
    kept = "default" if rule == "default" else check_rule(rule)
    await session.append(SettingsChanged(budget=kept))
    session.refresh()
    session.metered()
    problem = session.save_budget(kept)
    text = _budget_words(session.budget)
    if problem:
        text += f"; for this session only: {problem}"
    elif kept != "default":
        text += f"; kept for {session.view.model}"
    return Finished("budget", True, 0, None, text)


async def _model(session: Session, command: SetModel) -> Finished:
    endpoints = session.kit.endpoints
    name = endpoints.name_of(command.name)
    endpoints.adopt(name, command.api_base, remember=False)
    try:
        await switch(session, name)
    except UnknownModel as error:
        return Finished("model", False, 2, None, str(error))
    window = session.target.window
    size = "unknown" if window.tokens is None else f"{window.tokens:,} tokens ({window.source})"
    cut = f"; {_budget_words(session.budget)}" if _is_cut(session.budget) else ""
    kept = _kept(session, name, command)
    text = f"model {name}, window {size}; its cache is cold{cut}{kept}"
    return Finished("model", True, 0, None, text)


def _kept(session: Session, name: str, command: SetModel) -> str:
    """Writes an address and a lasting choice into the settings; the end of a sentence about it."""
    places = session.kit.places
    session.kit.endpoints.adopt(name, None, remember=command.remember)
    try:
        if command.api_base is not None:
            save(places, ("models", name, "api_base"), command.api_base)
        if command.remember:
            save(places, ("model",), name)
    except SettingsError as error:
        return f"; for this run only: {error}"
    return "; new sessions start with it" if command.remember else ""


async def _reload(session: Session) -> Finished:
    view = session.view
    frozen = build(session.kit.places, session.workspace.folder, session.kit.settings, session.target.window.effective)
    tools, others = late.wanted(session), late.difference(session)
    same = (frozen.system, frozen.instructions) == (view.system, view.instructions)
    if same and not others:
        return Finished("reload", False, 4, None, "instructions and tools are as they were at the start")
    tokens = session.size().total
    await session.append(Reloaded(frozen.system, frozen.instructions, tools))
    session.tools = equipped(tools, session.kit.servers)
    said = " and ".join(part for part in ("" if same else "changed instructions", others) if part)
    text = f"taken in: {said}; {tokens:,} cached tokens are read anew with the next message"
    return Finished("reload", True, 0, None, text)


async def shell(session: Session, command: Shell) -> End:
    """`!command`: run in the user's name; with `join` the output waits in the context for the next request."""
    tool = session.tools["bash"]
    call = f"shell-{session.log.next_id}"
    session.emit(ToolRunning(call, "shell", command.command))
    try:
        await before_change(session, "bash", Need("run", command=command.command))
        result = await tool.run({"command": command.command}, session.workspace, call)
    except asyncio.CancelledError:
        printed = clean(session.workspace.cut_short.pop(call, "")).rstrip("\n")
        if command.join and printed:
            text = f"I ran `{command.command}` and stopped it; until then it had printed:\n\n{printed}"
            await session.append(replace(admit(session, text), how="shell"))
        session.tell("the command was stopped", "warning")
        return End("interrupted", None, 130)
    text = f"I ran `{command.command}`:\n\n{clean(result.text)}"
    if command.join:
        await session.append(replace(admit(session, text), how="shell"))
    else:
        session.emit(ToolRunning(call, "shell", command.command, clean(result.text)))
    return End()
