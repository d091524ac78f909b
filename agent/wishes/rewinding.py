"""Going back: the conversation to before a message, the files to what they were then, and that taken back.

Not the copies (those are `agent.shadow`) and not the view (a `Rewound` record; the fold does the rest). Keeping what
files were around a turn is here too, as the loop asks for it.

Invariants
 1. Nothing is erased: the log keeps what was left behind, and files are kept before they are replaced.
 2. What cannot be kept or given back is said; it never stops a turn.
 3. Where files were shown to be asked about, only what was shown is replaced.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import ParamSpec, TypeVar

from agent.permissions import Allow, judge
from agent.permissions.rules import Rules
from agent.session import Session
from agent.shadow.differences import differences
from agent.shadow.keeping import Change, Keeper
from agent.shadow.restoring import Given, give_back
from agent.shadow.snapshots import Snapshot, named
from agent.tools import Need
from agent.wire import Drafted, FileChange, Finished, Rewind, RewindOffered
from compaction.errors import BadTarget
from compaction.records import Noted, Rewound, UserSaid
from compaction.view import first_line

# What a message brought along from files and resources it names (see `mentions` and `from_servers`): it is read anew
# when the message is sent again.
_ATTACHED = re.compile(r'\n\n<(?:file path|resource server)="[^\n]*">\n.*\Z', re.DOTALL)

# What the model is told when files go back and the conversation does not.
TO_MODEL = "[the user made these files hold what they held at another time: {files}; read them before relying on them]"


P = ParamSpec("P")
T = TypeVar("T")


async def _whole(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """`work` on a thread, to its end even when cancelled: files are never left half looked after."""
    found, stopped = await _to_its_end(work, *args, **kwargs)
    if stopped is not None:
        raise stopped
    return found


async def _to_its_end(
    work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> tuple[T, asyncio.CancelledError | None]:
    """The same for what has to be told of: what came of it, and the cancellation that is to be raised then."""
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    stopped: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError as error:
            stopped = error
    return running.result(), stopped


# ── around a turn ──


def may_change(session: Session, tool: str, need: Need) -> bool:
    """Whether a call may change files: what plan mode would let through cannot."""
    if need.kind in ("read", "recall"):
        return False
    return not isinstance(judge(need, tool, "plan", Rules(), session.workspace), Allow)


async def before_change(session: Session, tool: str, need: Need) -> None:
    """Keeps what the files are, ahead of a call that may change them."""
    if may_change(session, tool, need):
        paths = need.paths if need.kind == "write" else ()
        for text in await _whole(session.keeper.before, session.log.next_id, paths):
            session.warn(text)


async def after_work(session: Session) -> None:
    """Keeps what the files are, when something has been done to them."""
    if session.keeper.open:
        for text in await _whole(session.keeper.after, session.log.next_id):
            session.warn(text)


# ── going back ──


async def rewind(session: Session, command: Rewind) -> Finished:
    """Goes back as asked, or offers what can go back. Raises `BadTarget`."""
    if command.back:
        return await _take_back(session)
    said = _message(session, command.before)
    if command.what == "ask":
        files, back = await _whole(_looked, session.keeper, command.before)
        if files or back:
            session.emit(RewindOffered(command.before, first_line(_typed(said)), files, back))
            return Finished("rewind", False, 0, None, "files changed since; nothing was done yet")
    if command.what in ("ask", "conversation"):
        await _go_back(session, command.before, said)
        text = f"going on from before record {command.before}; nothing was erased"
        return Finished("rewind", True, 0, None, text)
    given, stopped = await _to_its_end(_give_back, session.keeper, command.before, session.log.next_id)
    # Stopped, the conversation stays, and what reads it on has to know of the files.
    both = command.what == "both" and stopped is None
    if both:
        await _go_back(session, command.before, said)
    finished = await _told(session, given, conversation=both, before=command.before)
    if stopped is not None:
        raise stopped
    return finished


def _message(session: Session, before: int) -> UserSaid:
    record = session.log.record(before)
    if record is None or not isinstance(record.body, UserSaid):
        raise BadTarget(before, "not a message of yours to go back to")
    if before not in session.view.ids:
        raise BadTarget(before, "left behind by a rewind already")
    return record.body


def _typed(said: UserSaid) -> str:
    """The message as it was written, without what the files it names brought along."""
    return _ATTACHED.sub("", said.said)


async def _go_back(session: Session, before: int, said: UserSaid) -> None:
    await session.append(Rewound(before))
    session.refresh()
    session.metered()
    if said.how != "shell":
        session.emit(Drafted(_typed(said)))


async def _told(session: Session, given: Given, *, conversation: bool, before: int) -> Finished:
    """The record and the end of a giving back."""
    parts = [f"going on from before record {before}"] if conversation else []
    if given.paths:
        parts.append(f"put back {named(given.paths)}; /rewind --back takes that back")
    elif not conversation:
        parts.append("no file is other than it was then")
    if given.left:
        parts.append(f"left as they are: {named(given.left)}")
    text = "; ".join(parts)
    notes = [Noted(text, "files")] if given.paths or given.left else []
    if given.paths and not conversation:
        notes.append(Noted(TO_MODEL.format(files=named(given.paths, 20)), "files", to_model=True))
    if notes:
        await session.append(*notes)
    code = 1 if given.left else 0 if given.paths or conversation else 4
    return Finished("rewind", bool(given.paths) or conversation, code, None, text)


def _looked(keeper: Keeper, before: int) -> tuple[tuple[FileChange, ...], tuple[str, ...]]:
    with keeper.looking() as looking:
        changes = looking.changes(before)
        files = differences(looking, changes)
    keeper.shown = {before: {change.path: change.now for change in changes}}
    back = _last_restored(keeper)
    return files, () if back is None else tuple(sorted(back.copies))


def _give_back(keeper: Keeper, before: int, record: int) -> Given:
    with keeper.looking() as looking:
        changes = looking.changes(before)
        rights = {c.path: bits for c in changes if (bits := looking.rights(c.path, before)) is not None}
    shown = keeper.shown.pop(before, None)
    later = [] if shown is None else [c for c in changes if c.path not in shown or shown[c.path] != c.now]
    was_folder = partial(looking.was_folder, since=before)
    given = _placed(keeper, [c for c in changes if c not in later], record, rights, was_folder)
    # Whoever said yes did not know of these.
    return Given(given.paths, (*given.left, *(f"{c.path}: it changed since it was shown" for c in later)))


def _placed(
    keeper: Keeper, changes: Sequence[Change], record: int, rights: dict[str, int], was_folder: Callable[[str], bool]
) -> Given:
    if not changes:
        return Given((), ())
    try:
        given = give_back(keeper, changes, record, rights, was_folder)
    except OSError as error:
        return Given((), (f"all: what they are now could not be kept ({error.strerror or error})",))
    keeper.settled(record, {c.path: c.was for c in changes if c.path in given.paths})
    return given


def _last_restored(keeper: Keeper) -> Snapshot | None:
    """The last giving back, while nothing has been changed since."""
    for snapshot in reversed(keeper.shelf.all()):
        if snapshot.moment != "after":
            return snapshot if snapshot.moment == "restored" else None
    return None


async def _take_back(session: Session) -> Finished:
    given, stopped = await _to_its_end(_taken_back, session.keeper, session.log.next_id)
    if given is None and stopped is not None:
        raise stopped
    if given is None:
        return Finished("rewind", False, 4, None, "no files were put back that could be taken back")
    finished = await _told(session, given, conversation=False, before=0)
    if stopped is not None:
        raise stopped
    return finished


def _taken_back(keeper: Keeper, record: int) -> Given | None:
    last = keeper.newest_restored()
    if last is None:
        return None
    with keeper.looking() as looking:
        found = [(path, was, looking.current(path)) for path, was in last.copies.items()]
    changes = [Change(path, was, now[0]) for path, was, now in found if now is not None and was != now[0]]
    return _placed(keeper, changes, record, dict(last.rights), lambda folder: folder not in last.missing)


def project_changes(keeper: Keeper, since: int = 0) -> tuple[FileChange, ...]:
    """What the session changed in files from record `since` on; blocks."""
    with keeper.looking() as looking:
        return differences(looking, looking.changes(since))


__all__ = ["after_work", "before_change", "may_change", "project_changes", "rewind"]
