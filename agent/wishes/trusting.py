"""The user's word on a project's settings file while a session is open, and what of it takes effect at once.

Not what a file would do (that is `agent.settings.projects`) and not the list of agreements (that is `agent.trust`).

Invariants
 1. Agreed is to bytes that were shown: a file that changed meanwhile is shown again instead.
 2. What is frozen for a session's life (tools, instructions, its model) stays, and the sentence says so.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from agent import late
from agent.hooks.guards import guards
from agent.incoming.customs import find_theirs
from agent.lessons.alternating import changed_turns
from agent.mcp.server import servers_of
from agent.permissions.rules import Rules
from agent.resuming import as_before, changed_effort
from agent.session import Session
from agent.settings import Settings, SettingsError, settings_of, waiting
from agent.settings.keys import KEYS
from agent.settings.projects import Quoted, quoted_settings
from agent.tools import Environment
from agent.trust import Trust, fingerprint
from agent.wire import Finished, Proposed, Returned, SetTrust
from compaction.records import SettingsChanged

# What a trusted file may set that this session does not follow, and when it will.
LATER = {
    "model": "the model is for new sessions",
    "theme": "the theme comes with the next start",
    "inline": "the front end comes with the next start",
    "notify": "notifications come with the next start",
}


def offer(session: Session, *, asked: bool = False) -> None:
    """Shows the project's settings file where it waits for a yes. `asked`: the user wants to see it in any case."""
    file = settings_of(session.workspace.folder, session.kit.places)
    try:
        quoted = None if file is None else quoted_settings(file)
    except OSError as error:
        session.warn(f"{file} cannot be read: {error.strerror or error}")
        return
    trust = Trust(session.kit.places)
    if quoted is None:
        if asked:
            session.tell("this project has no settings file of its own (.ullage/config.toml): nothing waits for a yes")
    elif trust.holds(quoted.path, quoted.content):
        if asked:
            session.tell(f"{quoted.path} is trusted as it is; `ullage config trust --withdraw` takes that back")
    elif quoted.problem:
        if asked or not trust.refused(quoted.path, quoted.content):
            session.warn(f"{quoted.path} is not used and cannot be trusted: {quoted.problem}")
    elif asked or not trust.refused(quoted.path, quoted.content):
        session.emit(Proposed(str(quoted.path), quoted.digest, quoted.text, quoted.says, asked))


async def answered(session: Session, command: SetTrust) -> Finished:
    """Carries out what the user said of the file."""
    file = Path(command.path)
    if command.then:
        return await _of_a_command(session, command)
    if command.choice == "later":
        return Finished("trust", False, 0, None, "not used for now; /trust asks again")
    try:
        quoted = quoted_settings(file) if file == settings_of(session.workspace.folder, session.kit.places) else None
    except OSError as error:
        return Finished("trust", False, 1, None, f"{file} cannot be read: {error.strerror or error}")
    if quoted is None or quoted.problem:
        return Finished(
            "trust", False, 2, None, f"{file} cannot be trusted: {quoted.problem if quoted else 'it is gone'}"
        )
    if quoted.digest != command.digest:
        offer(session, asked=True)
        return Finished("trust", False, 1, None, f"{file} changed since it was shown; this is what it says now")
    return await _agreed(session, quoted) if command.choice == "trust" else _never(session, quoted)


async def _of_a_command(session: Session, command: SetTrust) -> Finished:
    """A project's command: agreed to once, then sent; else the message comes back."""
    text = "not sent; what you typed is back in the prompt"
    code = 0
    if command.choice == "trust":
        found = await asyncio.to_thread(find_theirs, session, command.path)
        if found is not None and fingerprint(found.content) == command.digest:
            try:
                Trust(session.kit.places).grant(found.path, found.content)
            except OSError as error:
                text, code = f"that could not be written down: {error.strerror or error}", 1
            else:
                # It stands in front of whatever was queued meanwhile, as it did when it was typed.
                session.steered.insert(0, command.then)
                return Finished("trust", True, 0, None, f"/{found.name} is sent from now on, until its file changes")
        else:
            text, code = f"{command.path} changed since it was shown; send it again to look at it", 1
    session.emit(Returned(command.then, "", code))
    return Finished("trust", False, code, None, text)


def _never(session: Session, quoted: Quoted) -> Finished:
    try:
        Trust(session.kit.places).refuse(quoted.path, quoted.content)
    except OSError as error:
        return Finished("trust", False, 1, None, f"that could not be written down: {error.strerror or error}")
    return Finished("trust", True, 0, None, "not used, and not asked about again until it changes; /trust shows it")


async def _agreed(session: Session, quoted: Quoted) -> Finished:
    try:
        Trust(session.kit.places).grant(quoted.path, quoted.content)
    except OSError as error:
        return Finished("trust", False, 1, None, f"that could not be written down: {error.strerror or error}")
    if session.kit.load is None:
        return Finished("trust", True, 0, None, "trusted from the next start on")
    try:
        settings = session.kit.load()
    except SettingsError as error:
        return Finished("trust", False, 2, None, f"trusted, but the settings cannot be used: {error}")
    return Finished("trust", True, 0, None, await _taken_in(session, settings, quoted))


async def _taken_in(session: Session, settings: Settings, quoted: Quoted) -> str:
    """The settings read anew, with the file's, put in force; the sentence about it."""
    before = session.kit.settings
    await take_in(session, settings)
    # Only what forbids or asks can have come; what was allowed meanwhile stays allowed.
    joined, _ = Rules.of((), settings.ask, settings.deny)
    session.rules = session.rules.joined(joined).joined(guards(settings, session.workspace.folder))
    session.workspace.hidden = session.rules.hides(session.workspace.folder)
    return _sentence(before, settings, quoted)


async def take_in(session: Session, settings: Settings) -> None:
    """Puts settings that were read anew in force, but for their rules."""
    kit = as_before(replace(session.kit, settings=settings), session.log)
    session.kit = replace(kit, endpoints=session.kit.endpoints.under(kit.settings))
    session.workspace.environment = Environment(settings.shell_keep, settings.shell_drop)
    effort = changed_effort(session.view, session.kit.settings, session.view.model)
    turns = changed_turns(session.view, session.kit, session.view.model)
    if effort is not None or turns is not None:
        await session.append(SettingsChanged(effort=effort, alternate=turns))
    if session.kit.servers is not None:
        session.kit.servers.adopt(servers_of(settings, session.workspace.folder))
        session.kit.servers.begin()
        late.told(session)
    session.refresh()
    session.metered()


def _sentence(before: Settings, now: Settings, quoted: Quoted) -> str:
    file = str(quoted.path)
    ours = [key.name for key in KEYS if file in now.origin[key.name] and file not in before.origin[key.name]]
    at_once = [name for name in ours if name not in LATER]
    at_once += (
        ["what it says of models"] if any(k.startswith("models.") and v == file for k, v in now.origin.items()) else []
    )
    at_once += ["its MCP servers"] if any(k.startswith("mcp.") and v == file for k, v in now.origin.items()) else []
    at_once += ["its hooks"] if any(hook.origin == file for hook in now.hooks) else []
    stays = [LATER[name] for name in ours if name in LATER]
    force = f"in force from now on: {', '.join(at_once)}" if at_once else "nothing of it changes this session"
    return "; ".join([f"{file} is trusted: {force}", *stays, "tools and instructions of this session stay as they are"])


def shown_notices(session: Session) -> tuple[str, ...]:
    """The settings' notices, without the one that the panel says better."""
    settings = session.kit.settings
    said = waiting(settings.untrusted) if settings.untrusted is not None and session.kit.interactive else None
    return tuple(notice for notice in settings.notices if notice != said)
