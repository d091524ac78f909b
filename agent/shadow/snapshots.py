"""Snapshots: what the files were at one moment of a session, as small JSON files beside the copies.

Not the making of one (that is `keeping`). A snapshot names a git tree, or only the copies of the files that a tool was
about to change, or both.

Invariants
 1. A snapshot says of a path that it held this, that it was not there, or nothing; never one for the other.
 2. Copies are named by what they hold, as git names blobs, so that either side knows the other's.
 3. A snapshot file is written once, whole, and never changed but by adding copies while its turn runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

from agent.shadow.git import Entry
from agent.whole_file import write_whole

# `before` a turn's first change, `after` its last; `restored` is what a restoring replaced, to be taken back.
Moment: TypeAlias = Literal["before", "after", "restored"]

LINK = "120000"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One moment. `record` is the number the log's next record had then; `number` orders the snapshots of a session.

    `copies`: the path's entry, None for one that was not there. `rights` are permission bits that git does not know.
    `bare` are folders, each with a `/`, that were there and held nothing of the tree; `missing` those that were not.
    """

    number: int
    moment: Moment
    record: int
    tree: str | None = None
    left_out: tuple[str, ...] = ()
    copies: Mapping[str, Entry | None] = field(default_factory=dict)
    rights: Mapping[str, int] = field(default_factory=dict)
    bare: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def leaves_out(self, path: str) -> bool:
        """Whether its tree says nothing of the path."""
        return any(path == out or (out.endswith("/") and path.startswith(out)) for out in self.left_out)

    def may_hold(self, folder: str) -> bool:
        """Whether the folder may have been there, for all that is known beside the tree's own files."""
        at = f"{folder}/"
        whole = (one for one in (*self.bare, *self.left_out) if one.endswith("/") or not one)
        below = (*self.bare, *self.left_out)
        return any(at.startswith(one) for one in whole) or any(one.startswith(at) for one in below)


class Shelf:
    """The snapshots and copies in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.copies = folder / "copies"

    def all(self) -> list[Snapshot]:
        """Every snapshot, oldest first; one that cannot be read is passed over."""
        found: list[Snapshot] = []
        try:
            names = sorted(name for name in os.listdir(self.folder) if name.endswith(".json"))
        except OSError:
            return []
        for name in names:
            try:
                found.append(_decoded(json.loads((self.folder / name).read_bytes())))
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return found

    def last(self) -> int:
        """The number of the newest snapshot, whether it can be read or not; 0 for none."""
        try:
            names = [name for name in os.listdir(self.folder) if name.endswith(".json")]
        except OSError:
            return 0
        return max((int(name[:6]) for name in names if name[:6].isdigit()), default=0)

    def put(self, snapshot: Snapshot) -> None:
        """Writes one. Raises `OSError`."""
        text = json.dumps(_encoded(snapshot), ensure_ascii=True, separators=(",", ":"))
        write_whole(self.folder / f"{snapshot.number:06d}-{snapshot.moment}.json", text)

    def keep(self, data: bytes) -> str:
        """A copy of `data`, on the disk; its name. Raises `OSError`."""
        name = blob_name(data)
        place = self.copies / name[:2] / name
        if not place.exists():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = place.with_name(f".{name}.{os.getpid()}")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(place)
        return name

    def copy(self, name: str) -> bytes | None:
        """What a copy holds."""
        try:
            return (self.copies / name[:2] / name).read_bytes()
        except OSError:
            return None


def blob_name(data: bytes) -> str:
    """The name git gives to these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Seen:
    """A file on the disk: what it is to git, its bytes (a link's are its target), its permission bits."""

    entry: Entry
    data: bytes
    rights: int


def look(path: Path, most: int | None = None) -> Seen | None:
    """The file as it is now; None where there is none. Raises `OSError` for what is neither file nor link, or larger
    than `most` bytes.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        data = os.fsencode(os.readlink(path))
        return Seen(Entry(LINK, blob_name(data)), data, 0)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(None, "it is no file", str(path))
    if most is not None and status.st_size > most:
        raise OSError(None, "it is too large", str(path))
    data = path.read_bytes()
    mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
    return Seen(Entry(mode, blob_name(data)), data, stat.S_IMODE(status.st_mode))


def joined(
    snapshot: Snapshot, copies: Mapping[str, Entry | None], rights: Mapping[str, int], missing: Iterable[str] = ()
) -> Snapshot:
    """The snapshot with more copies, and more folders that were not there; what it knew already stays."""
    return replace(
        snapshot, copies={**copies, **snapshot.copies}, rights={**rights, **snapshot.rights},
        missing=tuple(dict.fromkeys((*snapshot.missing, *missing))),
    )  # fmt: skip


def missing_above(root: Path, path: str) -> tuple[str, ...]:
    """The folders above a path that are not there, the deepest first."""
    parents = [parent.as_posix() for parent in PurePosixPath(path).parents if parent.name]
    return tuple(parent for parent in parents if not os.path.lexists(root / parent))


def _encoded(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "number": snapshot.number, "moment": snapshot.moment, "record": snapshot.record, "tree": snapshot.tree,
        "left_out": list(snapshot.left_out), "rights": dict(snapshot.rights),
        "bare": list(snapshot.bare), "missing": list(snapshot.missing),
        "copies": {path: None if e is None else [e.mode, e.blob] for path, e in snapshot.copies.items()},
    }  # fmt: skip


def _decoded(data: Any) -> Snapshot:
    copies = {path: None if e is None else Entry(*map(str, e)) for path, e in data["copies"].items()}
    moment: Moment = "after" if data["moment"] == "after" else "restored" if data["moment"] == "restored" else "before"
    tree = data["tree"]
    return Snapshot(
        int(data["number"]), moment, int(data["record"]), None if tree is None else str(tree),
        tuple(map(str, data["left_out"])), copies, {path: int(bits) for path, bits in data["rights"].items()},
        tuple(map(str, data.get("bare", ()))), tuple(map(str, data.get("missing", ()))),
    )  # fmt: skip


def named(paths: Iterable[str], most: int = 3) -> str:
    """Some paths for a sentence."""
    shown = list(paths)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
