"""Giving files back what they held: one by one, each whole, and never without a copy of what it replaces.

Not the choice of files (that is `keeping.Looking.changes`).

Invariants
 1. What is replaced or removed was kept first; nothing is touched that changed since it was looked at.
 2. Only files below the project, reached through no link.
 3. A file is removed only where it is known not to have been there, and a folder that this empties likewise.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.shadow.git import Entry
from agent.shadow.keeping import Change, Keeper
from agent.shadow.snapshots import LINK, Seen, look


@dataclass(frozen=True, slots=True)
class Given:
    """What came of it: the paths that hold again what they held, and why others do not."""

    paths: tuple[str, ...]
    left: tuple[str, ...]


def give_back(
    keeper: Keeper, changes: Sequence[Change], record: int, rights: dict[str, int],
    was_folder: Callable[[str], bool] = lambda folder: True,
) -> Given:  # fmt: skip
    """Makes the files what they `was`; folders of which `was_folder` is false go when they are left empty.

    Raises `OSError` when what they are cannot be kept: nothing is changed then.
    """
    wanted = [change.was.blob for change in changes if change.was is not None]
    held = keeper.data(list(dict.fromkeys(wanted)))
    found: dict[str, Seen | None] = {}
    left: list[str] = []
    for change in changes:
        why = _untouchable(keeper.root, change.path)
        if why is None and change.was is not None and change.was.blob not in held:
            why = "its copy is lost"
        if why is None:
            try:
                seen = look(keeper.root / change.path)
                if (None if seen is None else seen.entry) == change.now:
                    found[change.path] = seen
                else:
                    why = "it changed just now"
            except OSError as error:
                why = error.strerror or str(error)
        if why is not None:
            left.append(f"{change.path}: {why}")
    if found:
        keeper.restored(record, found)
    done: list[str] = []
    for change in changes:
        if change.path not in found:
            continue
        try:
            _place(keeper.root / change.path, change.was, held, rights.get(change.path), found[change.path])
            done.append(change.path)
            if change.was is None:
                _clear(keeper.root, change.path, was_folder)
        except OSError as error:
            left.append(f"{change.path}: {error.strerror or error}")
    return Given(tuple(done), tuple(left))


def _untouchable(root: Path, path: str) -> str | None:
    """Why a path is left alone; None when it may be written."""
    place = root / path
    if os.path.isabs(path) or ".." in Path(path).parts or ".git" in Path(path).parts:
        return "it is not a file of the project"
    if os.path.realpath(place.parent) != str(place.parent):
        return "its folder is a link now"
    return None


def _clear(root: Path, path: str, was_folder: Callable[[str], bool]) -> None:
    """Takes away the folders above a path, from the deepest, as long as they are empty and were not there."""
    for folder in (parent.as_posix() for parent in PurePosixPath(path).parents if parent.name):
        if was_folder(folder):
            return
        try:
            os.rmdir(root / folder)
        except OSError:
            return


def _place(place: Path, entry: Entry | None, held: dict[str, bytes], rights: int | None, was: Seen | None) -> None:
    """Puts one file there, or takes it away."""
    if entry is None:
        with suppress(FileNotFoundError):
            place.unlink()
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name[:100]}.{secrets.token_hex(4)}")
    data = held[entry.blob]
    try:
        if entry.mode == LINK:
            os.symlink(os.fsdecode(data), draft)
        else:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.chmod(_rights(entry, rights, was))
        draft.replace(place)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def _rights(entry: Entry, rights: int | None, was: Seen | None) -> int:
    """Permission bits: those that were kept, else those of the file that is replaced, else the usual ones."""
    if rights is not None:
        return rights
    runs = entry.mode == "100755"
    if was is not None and was.entry.mode == entry.mode and was.rights:
        return was.rights
    umask = os.umask(0o077)
    os.umask(umask)
    return (0o777 if runs else 0o666) & ~umask
