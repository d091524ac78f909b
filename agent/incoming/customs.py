"""Sending what a `/name` stands for: a file of the user's or the project's, or a prompt of an MCP server.

Not the files (that is `agent.custom_files`) and not the servers (`from_servers`). A message that names no command
is a message.

Invariants
 1. A project's file is sent in the user's name only after a yes to exactly its content.
 2. What is not sent comes back as it was typed.
"""

from __future__ import annotations

import asyncio

from agent.custom_files import BadWords, CustomCommand, read_commands, typed_name
from agent.ending import End
from agent.incoming.from_servers import prompted
from agent.incoming.message import Message
from agent.session import Session
from agent.settings.projects import unhidden
from agent.trust import Trust, fingerprint
from agent.wire import Proposed, Returned


async def resolved(session: Session, text: str) -> Message | End:
    """The message for what was typed; an `End` where it is not sent, after saying so."""
    named = typed_name(text)
    if named is None:
        return Message(text)
    name, rest = named
    found = await asyncio.to_thread(read_commands, session.kit.places, session.workspace.folder)
    command = found.commands.get(name)
    if command is None:
        return await prompted(session, name, rest, text) or Message(text)
    if command.theirs and not Trust(session.kit.places).holds(command.path, command.content):
        return _proposed(session, command, text)
    try:
        return Message(command.message(rest), text)
    except BadWords as error:
        session.emit(Returned(text, str(error), 2))
        return End("refused", str(error), 2)


def _proposed(session: Session, command: CustomCommand, text: str) -> End:
    if not session.kit.interactive:
        why = f"{command.path} came with this project and waits for your yes: send /{command.name} once in the screen"
        session.emit(Returned(text, why, 4))
        return End("refused", why, 4)
    says = [f"sends this text in your name whenever you type /{command.name}"]
    if command.hides:
        says.append("takes the place of your own command of the same name")
    shown = unhidden(command.content.decode("utf-8-sig").replace("\r\n", "\n"))
    digest = fingerprint(command.content)
    session.emit(Proposed(str(command.path), digest, shown, tuple(says), asked=True, then=text))
    return End()


def find_theirs(session: Session, path: str) -> CustomCommand | None:
    """The project's command in the file `path`, as it is now. Reads the disk."""
    found = read_commands(session.kit.places, session.workspace.folder)
    return next((c for c in found.commands.values() if c.theirs and str(c.path) == path), None)
