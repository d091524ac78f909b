"""Files as the tools read and write them: opened without hanging, told from binaries, replaced whole or not at all.

Not a tool. Everything here may block on the disk and is called off the loop.

Invariants
 1. Nothing but a regular file is ever opened for reading its content: FIFOs, sockets and devices are refused by kind.
 2. `replace_file` leaves the old file or the new one at any moment, with the old one's mode.
 3. Bytes an edit does not touch stay: an invalid byte or a mixed line end elsewhere in the file comes back as it was.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agent.sanitise import one_line, visible
from agent.tools.contract import Refused
from agent.tools.workspace import Stamp, Workspace, digest

# Text files of people are far below; an edit holds the file in memory three times over. Bytes.
LARGEST_EDITED = 16 * 1024 * 1024

# How much of a file is looked at to tell whether it is binary; git looks at as much. Bytes.
SNIFFED = 8_000

# A diff is for eyes: the approval panel scrolls, but nobody reads more. Lines.
DIFF_LINES = 2_000

# Comparing a name with more neighbours than this takes longer than the hint is worth.
MOST_NAMES = 5_000

BOM = codecs.BOM_UTF8

_KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a named pipe, which cannot be read like a file"),
    (stat.S_ISSOCK, "is a socket, which cannot be read like a file"),
    (stat.S_ISCHR, "is a device, which cannot be read like a file"),
    (stat.S_ISBLK, "is a device, which cannot be read like a file"),
)


def refuse_special(mode: int, shown: str) -> None:
    """Raises `Refused` unless `mode` is a regular file's."""
    for is_kind, words in _KINDS:
        if is_kind(mode):
            raise Refused(f"{shown} {words}.")


def open_regular(path: Path, shown: str) -> BinaryIO:
    """A regular file, open for reading. Raises `Refused` for every other kind; `OSError`."""
    refuse_special(os.stat(path).st_mode, shown)
    # The file may be exchanged for a pipe between the two calls: O_NONBLOCK keeps that from hanging, fstat catches it.
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    try:
        refuse_special(os.fstat(file.fileno()).st_mode, shown)
    except Refused:
        file.close()
        raise
    return file


def some(file: BinaryIO, size: int, shown: str) -> bytes:
    """Up to `size` bytes, without waiting. Raises `Refused` for a file by name only that has nothing to give yet."""
    data: bytes | None = file.read(size)
    if data is None:
        raise Refused(f"{shown} cannot be read without waiting.")
    return data


def binary(head: bytes) -> bool:
    """Whether the beginning of a file says that it is no text: a NUL is in no text but UTF-16 and UTF-32."""
    return b"\0" in head[:SNIFFED]


@dataclass(frozen=True, slots=True)
class TextFile:
    """A text file to be edited. `text` has newlines as `\\n`; `raw` is the same with the file's own line ends.

    `raw` keeps bytes that are not UTF-8 as surrogates (PEP 383), so that they can be written back.
    """

    raw: str
    bom: bool
    stamp: Stamp

    @property
    def newline(self) -> str:
        """The line end that most lines have; `\\n` when there is none."""
        crlf = self.raw.count("\r\n")
        return "\r\n" if crlf * 2 > self.raw.count("\n") else "\n"


def load(path: Path, shown: str) -> TextFile:
    """A text file whole. Raises `Refused` for binaries, other kinds and files above `LARGEST_EDITED`; `OSError`."""
    with open_regular(path, shown) as file:
        status = os.fstat(file.fileno())
        data = some(file, LARGEST_EDITED + 1, shown)
    if len(data) > LARGEST_EDITED:
        size = max(status.st_size, len(data))
        raise Refused(f"{shown} is too large to edit ({size:,} bytes; at most {LARGEST_EDITED:,}).")
    if binary(data):
        raise Refused(f"{shown} is a binary file.")
    stamp = Stamp(status.st_mtime_ns, status.st_size, digest(data))
    bom = data.startswith(BOM)
    return TextFile(data[len(BOM) if bom else 0 :].decode("utf-8", "surrogateescape"), bom, stamp)


def encode(text: str, bom: bool) -> bytes:
    """`text` (line ends as they are to be) as a file's bytes."""
    return (BOM if bom else b"") + text.encode("utf-8", "surrogateescape")


def with_newline(text: str, newline: str) -> str:
    """`text` with every line end as `newline`."""
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)


def replace_file(path: Path, data: bytes, fsync: Callable[[int], None] = os.fsync) -> Stamp:
    """Put `data` in the place of `path`: temporary file beside it, fsync, rename, fsync of the folder.

    `path` is a real path, so a symbolic link is kept and its target replaced. Parents are created. A new file gets the
    mode the umask gives. Raises `OSError`; then nothing of the old file is touched and no temporary file is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    old: os.stat_result | None = None
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(path)
        # A rename would go over a file the user made read-only; the mode says "leave it", to root too.
        if not os.access(path, os.W_OK) or not old.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "the file is read-only", str(path))
    name = path.parent / f".ullage-{secrets.token_hex(8)}.tmp"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            if old is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
            fsync(file.fileno())
            status = os.fstat(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    with contextlib.suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fsync(folder)
        finally:
            os.close(folder)
    return Stamp(status.st_mtime_ns, status.st_size, digest(data))


def missing(ws: Workspace, path: Path, given: str) -> Refused:
    """The sentence for a path that is not there, with the nearest that is."""
    text = f"{one_line(given, 200)}: there is no such file or folder."
    elsewhere = ws.cwd / given
    if ws.cwd != ws.folder and not os.path.isabs(given) and "\0" not in given and elsewhere.exists():
        return Refused(f"{text} Paths are relative to {ws.folder}; did you mean {ws.shown(elsewhere)}?")
    try:
        names = sorted(os.listdir(path.parent))
    except OSError:
        return Refused(text)
    near = difflib.get_close_matches(path.name, names[:MOST_NAMES], 3)
    if near:
        text += f" Did you mean {', '.join(ws.shown(path.parent / n) for n in near)}?"
    return Refused(text)


def refuse_changed(ws: Workspace, path: Path, now: Stamp) -> None:
    """Raises `Refused` when `path` was read and holds other bytes than then. `now` is what it holds."""
    before = ws.seen.get(path)
    if before is not None and (before.size, before.digest) != (now.size, now.digest):
        raise Refused(f"{ws.shown(path)} changed on disk since it was read. Nothing was written; read it again first.")


def _lines(text: str) -> list[str]:
    """The lines of a text for a diff; a last one without its newline says so, as diffs do."""
    lines = visible(text.replace("\r\n", "\n")).split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def diff(shown: str, before: str, after: str) -> str:
    """A unified diff for people, control characters spelled out, at most `DIFF_LINES` lines."""
    lines = list(difflib.unified_diff(_lines(before), _lines(after), f"a/{shown}", f"b/{shown}", lineterm=""))
    if not lines and before != after:
        return f"{shown}: only line ends change"
    more = len(lines) - DIFF_LINES
    return "\n".join(lines if more <= 0 else [*lines[:DIFF_LINES], f"… {more:,} more lines of the diff"])


def changed_lines(before: str, after: str) -> tuple[int, int]:
    """How many lines a change adds and removes, as the diff counts them."""
    added = removed = 0
    for index, line in enumerate(difflib.unified_diff(_lines(before), _lines(after), lineterm="", n=0)):
        if index > 1:
            added += line.startswith("+")
            removed += line.startswith("-")
    return added, removed
