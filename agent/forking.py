"""A fork: a new session with another one's log up to here, and what the log points to.

Not the opening (that is `opening`; a fork opens as any session) and no change of the original: it is only read.

Invariants
 1. Every line of the fork is the original's, byte for byte, but for the first, which names the session; so record ids
    stay line numbers and the next request begins with the same bytes.
 2. Spilled files and snapshots of files are shared (hard links; they are never written again), so that neither session
    loses them when the other goes.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from agent import spill
from agent.log_file import NAME, LogError, LogFailed, NotASession, NothingYet, OsDisk, create
from agent.places import Places
from agent.session_log import forked
from agent.sessions import look, new_folder
from agent.shadow.keeping import NAME as SHADOW
from agent.shadow.snapshots import Shelf

MARK = " (fork)"


def fork(places: Places, log: Path, before: int | None, now: float) -> Path:
    """The log of a new session that goes on from the one at `log`, or from before record `before` of it.

    `now`: seconds since the epoch. Blocks. Raises `LogError` with a sentence.
    """
    if not log.exists():
        raise NothingYet(log, "a fork would be no other than a new one")
    found = look(log)
    if not found.readable:
        raise NotASession(log, "its first line is not whole, so it cannot be forked")
    try:
        data = log.read_bytes()
        id, place = new_folder(places, Path(found.folder), now)
        title = found.title.removesuffix(MARK) or found.id
        lines = forked(data, id, f"{title}{MARK}", before, now)
    except (OSError, ValueError) as error:
        raise LogFailed(f"the session cannot be forked: {error}") from error
    pen = create(place, OsDisk())
    try:
        # First what the log points to: a log that stands is whole.
        _share(log.parent / spill.FOLDER, place / spill.FOLDER)
        _share_snapshots(log.parent / SHADOW, place / SHADOW, before)
        pen.write(lines)
    except OSError as error:
        pen.close()
        shutil.rmtree(place, ignore_errors=True)
        raise LogFailed(f"the session cannot be forked: {error.strerror or error}") from error
    pen.close()
    return place / NAME


def _share(source: Path, target: Path) -> None:
    """All files below `source` under the same names below `target`, linked where the file system can."""
    for top, _, names in os.walk(source):
        to = target / Path(top).relative_to(source)
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names:
            try:
                os.link(Path(top, name), to / name)
            except OSError:
                shutil.copy2(Path(top, name), to / name)


def _share_snapshots(source: Path, target: Path, before: int | None) -> None:
    """The snapshots up to record `before`; what is written again (git's index, its list of what is left out) copied."""
    if not source.is_dir():
        return
    for name in ("copies", "git/objects"):
        _share(source / name, target / name)
    for name in ("HEAD", "config", "index", "told", "info/attributes", "info/exclude"):
        with suppress(FileNotFoundError):
            (target / "git" / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(source / "git" / name, target / "git" / name)
    (target / "git" / "refs").mkdir(mode=0o700, parents=True, exist_ok=True)
    shelf = Shelf(target)
    for snapshot in Shelf(source).all():
        if before is None or snapshot.record < before:
            shelf.put(snapshot)


__all__ = ["LogError", "fork"]
