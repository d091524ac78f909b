"""What MCP servers put into a message: a prompt that is typed as `/server:prompt`, a resource as `@server:uri`.

Not completion (that is the screen's) and no permission: the user named what is to be fetched. Not the servers.

Invariants
 1. A server's words mention nothing: no file of the user's is read for them.
 2. A prompt that cannot be had comes back as it was typed; a resource that cannot be had stays as typed, and is said.
 3. A picture joins only where the model takes one.
"""

from __future__ import annotations

import os
from pathlib import Path

from agent.custom_files import BadWords
from agent.ending import End
from agent.incoming.mentions import MENTION, MOST, expand
from agent.incoming.message import Message
from agent.mcp.held import Down, Held, Spoken
from agent.mcp.pictures import checked
from agent.sanitise import clean, one_line
from agent.session import Session
from agent.wire import Progress, Returned

# What stands for a picture where the model takes none.
UNTAKEN = "[a picture, which this model does not take]"


async def prompted(session: Session, name: str, rest: str, text: str) -> Message | End | None:
    """The message for a server's prompt; None where the name is of no server. `text` is what was typed."""
    servers = session.kit.servers
    held = None if servers is None else servers.of_command(name)
    if servers is None or held is None:
        return None
    session.emit(Progress(f"asking the MCP server {held.name} for a prompt"))
    try:
        if held.prompts is None:
            await servers.up(held)
        prompt = next((one for one in held.prompts or () if one.name == name), None)
        if prompt is None:
            return _back(session, text, _no_such(held, name), 2)
        spoken = await servers.prompt(prompt, prompt.filled(rest))
    except BadWords as error:
        return _back(session, text, str(error), 2)
    except Down as down:
        return _back(session, text, str(down), 1)
    message = _message(session, spoken, text)
    return message or _back(session, text, f"the MCP server {held.name} gave an empty prompt", 1)


def _no_such(held: Held, name: str) -> str:
    known = ", ".join(f"/{one.name}" for one in held.prompts or ())
    return f"the MCP server {held.name} has no prompt /{name}{f'; it has {known}' if known else ' and no other'}"


def _back(session: Session, text: str, why: str, code: int) -> End:
    session.emit(Returned(text, why, code))
    return End("refused", why, code)


def _message(session: Session, spoken: tuple[Spoken, ...], typed: str) -> Message | None:
    """One message of a prompt's: who speaks is said where it is not the user alone."""
    blocks: list[str] = []
    images: tuple[str, ...] = ()
    alone = {one.role for one in spoken} == {"user"}
    for one in spoken:
        taken, notes = _pictures(session, one.images)
        images += taken
        said = "\n\n".join(clean(part) for part in (*one.texts, *notes) if part.strip())
        if said:
            blocks.append(said if alone else f"{one_line(one.role, 20)}: {said}")
    text = "\n\n".join(blocks).strip()
    return Message(text, typed, images, foreign=True) if text or images else None


async def joined(session: Session, message: Message) -> tuple[str, tuple[str, ...]]:
    """The message with the files and resources it mentions behind it, and the pictures that servers brought."""
    if message.foreign:
        return message.text, message.images
    servers = session.kit.servers
    text = expand(message.text, session.workspace.folder, session.warn)
    if servers is None:
        return text, ()
    blocks: list[str] = [text]
    images: tuple[str, ...] = ()
    for name in named(message.text):
        held, uri = servers.of_mention(name), name.partition(":")[2]
        if held is None or _is_there(session.workspace.folder, name):
            continue
        known = {one.uri for one in held.resources or ()}
        uri = uri if uri in known else uri.rstrip(".:!?")
        session.emit(Progress(f"reading {one_line(uri, 80)} from the MCP server {held.name}"))
        try:
            reply = await servers.read(held, uri)
        except Down as down:
            session.warn(f"@{one_line(name, 80)} was not read: {down}")
            continue
        taken, notes = _pictures(session, reply.images)
        images += taken
        body = "\n\n".join(_short(clean(part)) for part in (*reply.texts, *notes) if part.strip())
        body = body or ("[the picture, attached]" if taken else "[it is empty]")
        blocks.append(f'<resource server="{held.name}" uri="{one_line(uri, 2_000)}">\n{body}\n</resource>')
    return "\n\n".join(blocks), images


def _is_there(folder: Path, name: str) -> bool:
    """Whether a file has the name; no path is too long to be asked for."""
    return os.path.exists(folder / name)


def named(text: str) -> tuple[str, ...]:
    """What the message mentions, each once, in order."""
    return tuple(dict.fromkeys(found[1] or found[2] for found in MENTION.finditer(text)))


def _short(text: str) -> str:
    left = len(text) - MOST
    return text if left <= 0 else f"{text[:MOST]}\n[… {left:,} more characters of it are not shown …]"


def _pictures(session: Session, images: tuple[tuple[str, str], ...]) -> tuple[tuple[str, ...], list[str]]:
    if images and session.blind() is not None:
        return (), [UNTAKEN]
    return checked(images)


__all__ = ["joined", "named", "prompted"]
