"""A message on its way into the log: the command it names, its pictures, its hooks, what it mentions.

Not the turn (that is `loop`) and not the cut of a large one (`admission`).

Invariants
 1. What is stopped, blocked, refused or cannot be logged comes back as it was typed.
 2. A message that joins a running turn keeps its place in the queue until its words are on their way to the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agent import late
from agent.ending import End
from agent.hooks import asking as hooks
from agent.hooks.asking import Verdict
from agent.incoming.admission import admit, unusable
from agent.incoming.customs import resolved
from agent.incoming.from_servers import joined
from agent.incoming.mentions import pictures
from agent.incoming.message import Message
from agent.session import Session
from agent.session_log import LogFailed
from agent.tools import Refused
from agent.wire import Returned
from compaction.records import Body, UserSaid


@dataclass(frozen=True, slots=True)
class Incoming:
    """What is to be logged; `typed` is what the user wrote. What the hooks said goes behind it: see `logged`."""

    typed: str
    said: UserSaid
    heard: Verdict


async def begun(session: Session, text: str, images: tuple[str, ...]) -> Incoming | End:
    """The message that opens a turn. `images` are data URLs that came with it."""
    message = await resolved(session, text)
    if isinstance(message, End):
        return message
    try:
        images = (*images, *_named_pictures(session, message))
        problem = unusable(images) or (session.blind() if images else None)
    except Refused as refused:
        problem = str(refused)
    if problem is not None:
        session.emit(Returned(text, problem, 1))
        return End("refused", problem, 1)
    heard = await hooks.prompt(session, message.text, message.typed)
    if heard.blocked:
        return _blocked(session, text, heard.blocked)
    await late.join_free(session)
    whole, theirs = await joined(session, message)
    return Incoming(text, replace(admit(session, whole, (*images, *theirs)), typed=message.typed), heard)


async def steered(session: Session) -> Incoming | None:
    """The first message of those that steer, taken off their queue; None where it was not to be sent, and is said."""
    text = session.steered[0]
    message = await resolved(session, text)
    if isinstance(message, End):
        del session.steered[0]
        return None
    heard = await hooks.prompt(session, message.text, message.typed)
    if heard.blocked:
        del session.steered[0]
        _blocked(session, text, heard.blocked)
        return None
    whole, theirs = await joined(session, message)
    said = admit(session, whole, (*_pictured(session, message), *theirs))
    # Taken off once it is on its way to the disk: an interrupt before leaves it in one place only.
    del session.steered[0]
    return Incoming(text, replace(said, how="steered", typed=message.typed), heard)


async def logged(session: Session, message: Incoming, *before: Body) -> None:
    """Writes a message down behind what goes `before` it. Raises `LogFailed`; the message comes back then."""
    try:
        await session.append(*before, message.said)
    except LogFailed as error:
        session.emit(Returned(message.typed, str(error), 1))
        raise
    await hooks.join_message(session, message.heard)


def _blocked(session: Session, text: str, reason: str) -> End:
    """A message that a hook keeps back comes back as the draft."""
    why = f"a hook keeps this message back: {reason}"
    session.emit(Returned(text, why, 4))
    return End("refused", why, 4)


def _pictured(session: Session, message: Message) -> tuple[str, ...]:
    """The pictures of a message that joins a turn; one that cannot be sent is said, and the words go without it."""
    try:
        images = _named_pictures(session, message)
        problem = session.blind() if images else None
    except Refused as refused:
        problem = str(refused)
    if problem is not None:
        session.warn(problem)
        return ()
    return images


def _named_pictures(session: Session, message: Message) -> tuple[str, ...]:
    return () if message.foreign else pictures(message.text, session.workspace.folder)


@contextmanager
def returned(session: Session, text: str) -> Iterator[None]:
    """What was typed comes back when it is stopped before it is logged, or nothing can be logged."""
    try:
        yield
    except asyncio.CancelledError:
        session.emit(Returned(text, "", 130))
        raise
    except LogFailed as error:
        session.emit(Returned(text, str(error), 1))
        raise


__all__ = ["Incoming", "begun", "logged", "returned", "steered"]
