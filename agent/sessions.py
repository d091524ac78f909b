"""Finding sessions: where a new one goes, what the user means by a name, what there is to choose from.

Not their content (that is `agent.session_log`). A folder's sessions stand in `sessions/<slug of the folder>/`, each in
`<time>-<id>/`.

Invariants
 1. An id names one session among all of a user's.
 2. Listing opens files for reading only and decodes no more than their first lines and their renamings.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent.places import Places, slug
from agent.session_log import NAME, heads, newest_first
from compaction.records import Record, SettingsChanged, Started, UserSaid
from compaction.view import first_line

# Eight hex digits: with 10,000 sessions a new id clashes once in 400,000 tries, and then another is drawn.
ID_BYTES = 4

# The first message comes right after `Started`; notices and settings may stand between. Further down is none. Records.
HEAD = 50


class NoSuchSession(LookupError):
    """Nothing, or more than one session, is meant by the name. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Found:
    """One session as lists show it. Times are seconds since the epoch; `size` is in bytes.

    `title` is the user's name for it, else the first line of the first message, else empty. `readable` is false when
    the log's first line is not whole: such a session can be looked at and not gone on with.
    """

    id: str
    path: Path
    folder: str
    title: str
    model: str
    started: float
    used: float
    size: int
    readable: bool = True
    named: bool = False


def new_folder(places: Places, folder: Path, now: float) -> tuple[str, Path]:
    """An unused id, and where the session with it goes; nothing is created. `now`: seconds since the epoch."""
    beside = places.sessions / slug(folder)
    while True:
        id = secrets.token_hex(ID_BYTES)
        if not any(places.sessions.glob(f"*/*-{id}")):
            return id, beside / f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{id}"


def find(places: Places, folder: Path, wanted: str) -> Path:
    """The log meant by `wanted`: `last`, a path, an id, or a part of one that only one session has.

    `last` is the session of `folder` written to last in which something was said; if there is none, any. A part
    is looked for among this folder's first. Raises `NoSuchSession`.
    """
    if wanted == "last":
        return _last(places, folder)
    path = Path(os.path.expanduser(wanted))
    for log in (path / NAME, path):
        if log.is_file():
            return log.absolute()
    everywhere = _logs(places.sessions.glob(f"*/*/{NAME}"))
    exact = [log for log in everywhere if wanted in (id_of(log), log.parent.name)]
    here = [log for log in everywhere if log.parent.parent.name == slug(folder)]
    for candidates in (exact, _with(here, wanted), _with(everywhere, wanted)):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            some = ", ".join(id_of(log) for log in candidates[:5]) + (", …" if len(candidates) > 5 else "")
            raise NoSuchSession(f"{wanted!r} fits {len(candidates)} sessions: {some}; write more of the id")
    raise NoSuchSession(f"no session {wanted!r}; `ullage sessions --all` lists them")


def listing(places: Places, folder: Path | None, most: int | None = None) -> list[Found]:
    """The sessions of `folder` (None: all), the last used first, at most `most`."""
    pattern = f"*/*/{NAME}" if folder is None else f"{slug(folder)}/*/{NAME}"
    return [look(log) for log in _logs(places.sessions.glob(pattern))[:most]]


def look(log: Path) -> Found:
    """One session's line in a list, whatever state its log is in."""
    try:
        stat = log.stat()
        first, said = _head(log)
        renamed = next(_names(log.read_bytes()), "")
    except OSError:
        return Found(id_of(log), log, "", "", "", 0.0, 0.0, 0, readable=False)
    started = first.body if first else None
    if first is None or not isinstance(started, Started):
        return Found(id_of(log), log, "", "", "", 0.0, stat.st_mtime, stat.st_size, readable=False)
    return Found(
        started.session,
        log,
        started.folder,
        renamed or first_line(said),
        started.model,
        first.at,
        stat.st_mtime,
        stat.st_size,
        named=bool(renamed),
    )


def newest_logs(places: Places, folder: Path | None = None) -> list[Path]:
    """The logs of `folder` (None: of all), the last written first."""
    return _logs(places.sessions.glob(f"*/*/{NAME}" if folder is None else f"{slug(folder)}/*/{NAME}"))


def id_of(log: Path) -> str:
    """The id in the name of a log's folder."""
    return log.parent.name.rsplit("-", 1)[-1]


def _head(log: Path) -> tuple[Record | None, str]:
    """The first record and the text of the first message."""
    first: Record | None = None
    for record in islice(heads(log), HEAD):
        first = first or record
        if isinstance(record.body, UserSaid) and record.body.how == "typed" and record.body.said.strip():
            return first, record.body.said
    return first, ""


def _names(data: bytes) -> Iterator[str]:
    changes = (r.body for r in newest_first(data, SettingsChanged))
    return (c.name for c in changes if isinstance(c, SettingsChanged) and c.name is not None)


def _last(places: Places, folder: Path) -> Path:
    unused: Path | None = None
    for log in _logs((places.sessions / slug(folder)).glob(f"*/{NAME}")):
        found = look(log)
        if found.readable and found.title:
            return log
        # One that was opened and left again must not hide the work before it.
        unused = unused or (log if found.readable else None)
    if unused is not None:
        return unused
    raise NoSuchSession(f"no session in {folder} yet")


def _with(logs: list[Path], part: str) -> list[Path]:
    return [log for log in logs if part in log.parent.name]


def _logs(paths: Iterable[Path]) -> list[Path]:
    """Newest writing first; the folder's name decides between equal times, so that the order is always the same."""
    dated: list[tuple[int, str, Path]] = []
    for path in paths:
        try:
            dated.append((path.stat().st_mtime_ns, path.parent.name, path))
        except OSError:  # deleted while we look
            continue
    return [path for *_, path in sorted(dated, reverse=True)]
