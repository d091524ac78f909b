"""Files that people look at beside a session: what it changed, and what the project's memory holds.

Not the keeping (that is `agent.shadow`) and not the learning (that is `memory`). Blocks; called on a thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agent.places import Places, project
from agent.sanitise import decode
from agent.session import Session
from agent.shadow.git import GitFailed
from agent.shadow.last_commit import since_last_commit
from agent.whole_file import locked, write_whole
from agent.wire.figures import FileChange
from agent.wishes.rewinding import project_changes

OWN = "changed by this session since its start"
COMMIT = "nothing was kept of this session's own changes; this is what differs from the last commit"


@dataclass(frozen=True, slots=True)
class Changed:
    """Files that changed, and in words since when; or why nobody knows."""

    files: tuple[FileChange, ...]
    since: str


@dataclass(frozen=True, slots=True)
class Memory:
    """The project's memory: its file, and what it holds (empty where there is none yet)."""

    path: Path
    text: str


def changed_files(session: Session, path: str = "") -> Changed:
    """What the session changed; with `path` that file or folder alone. Raises `LookupError` with a sentence."""
    keeper = session.keeper
    if keeper.shelf.all():
        found = Changed(project_changes(keeper), OWN)
    else:
        try:
            root = project(session.workspace.folder)
            found = Changed(since_last_commit(root, session.kit.environ), COMMIT)
        except GitFailed as error:
            raise LookupError(f"this session changed no file that is known, and {error}") from error
    if not path:
        return found
    wanted = os.path.normpath(path.lstrip("@"))
    at = Path(os.path.realpath(session.workspace.folder / wanted))
    shown = {at.relative_to(keeper.root).as_posix() if at.is_relative_to(keeper.root) else wanted, wanted}
    files = [f for f in found.files if any(f.path == one or f.path.startswith(f"{one}/") for one in shown)]
    if not files:
        raise LookupError(f"nothing at {path} is {found.since}" if found.since == OWN else f"{path} is as it was")
    return Changed(tuple(files), found.since)


def memory(places: Places, folder: Path) -> Memory:
    """The memory of the project that `folder` is in."""
    path = places.memory(folder)
    try:
        return Memory(path, decode(path.read_bytes()))
    except OSError:
        return Memory(path, "")


def keep_memory(places: Places, folder: Path, before: str, after: str) -> str:
    """Writes an edited memory unless somebody else changed it meanwhile; the sentence for people."""
    path = places.memory(folder)
    try:
        with locked(path):
            now = decode(path.read_bytes()) if path.exists() else ""
            if now != before:
                beside = path.with_suffix(".edited.md")
                write_whole(beside, after)
                return f"another session changed {path} meanwhile; what you wrote is in {beside}"
            write_whole(path, after)
    except OSError as error:
        return f"{path} could not be written: {error.strerror or error}"
    return f"{path} is written; a later session reads it, and /reload takes it into this one"
