"""The bytes of `session.jsonl`: created, locked, appended to.

Not records (that is `agent.session_log`): here a line is bytes without a line feed in it.

Invariants
 1. Bytes once written are never changed or cut off, whatever fails; the file is only ever opened for appending.
 2. `Pen.write` returns after the bytes are on the disk (fsync), or raises.
 3. One pen a file, over all processes; the lock dies with its process.

    LogError                a sentence fit for the screen
     ├── LogFailed          the disk failed; nothing more is written until the log is opened again
     ├── SessionBusy        another process writes this session; `pid` where it is known
     └── NotASession        no log there, or its first line cannot be used
          └── NothingYet    the log of a new session, before its first message
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from filelock import FileLock

NAME = "session.jsonl"
LOCK = "session.lock"

# A conversation holds what its files and commands hold: its owner's business alone.
FOLDER_MODE = 0o700
FILE_MODE = 0o600


class LogError(Exception):
    """Root of what can be wrong with a session log."""


class LogFailed(LogError):
    """Writing failed. What was written before is whole."""


class SessionBusy(LogError):
    """Another process has this session open for writing; `pid` is its process id, None if it did not say."""

    def __init__(self, path: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid else "another process"
        super().__init__(f"the session at {path.parent} is in use by {who}; end that one first, or start a new session")
        self.pid = pid


class NotASession(LogError):
    """There is no session to open at `path`."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path


class NothingYet(NotASession):
    """A session has no file yet; `so` completes the sentence."""

    def __init__(self, path: Path, so: str) -> None:
        LogError.__init__(self, f"nothing was said in this session yet, so {so}")
        self.path = path


class Disk(Protocol):
    """What writing needs of the operating system. Both raise `OSError`."""

    def write(self, fd: int, data: bytes) -> int:
        """Writes some of `data`, at least a byte; returns how many."""
        ...

    def fsync(self, fd: int) -> None:
        """Returns when all that was written to `fd` would survive a power cut."""
        ...


class OsDisk:
    """The real one."""

    def write(self, fd: int, data: bytes) -> int:
        """See `Disk`."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """See `Disk`."""
        os.fsync(fd)


class Pen:
    """The one writer of a log. Made by `create` and `take`; `write` may run on any one thread at a time."""

    def __init__(self, path: Path, fd: int, lock: FileLock, disk: Disk) -> None:
        self.path = path
        self._fd = fd
        self._lock = lock
        self._disk = disk

    def write(self, data: bytes) -> None:
        """Appends `data` and waits for the disk. Raises `OSError`; a part of `data` may then stand in the file."""
        rest = memoryview(data)
        while rest:
            written = self._disk.write(self._fd, bytes(rest))
            if written <= 0:  # a disk that takes nothing and reports no error would be asked for ever
                raise OSError(errno.EIO, "the disk takes no more bytes", str(self.path))
            rest = rest[written:]
        self._disk.fsync(self._fd)

    def close(self) -> None:
        """Gives the file and the lock back; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self._lock.release()


class LatePen:
    """A pen for a new log that makes neither folder nor file before it has more to write than the first line.

    What only the making shows, a full disk say, is raised by that second `write`. Raises `LogFailed` where it is plain
    from the start that none could be made.
    """

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.path = folder / NAME
        self._disk = disk
        self._held = b""
        self._pen: Pen | None = None
        above = next(one for one in folder.parents if one.exists() or one == one.parent)
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            why = f"{above} may not be written to" if above.is_dir() else f"{above} is no folder"
            raise LogFailed(f"a new session cannot be stored in {folder}: {why}")

    def write(self, data: bytes) -> None:
        """Keeps the first `data`; appends all the same from then on. Raises `OSError`, `LogFailed`."""
        if self._pen is None and not self._held:
            self._held = data
            return
        if self._pen is None:
            self._pen = create(self.path.parent, self._disk, beside=True)
        held, self._held = self._held, b""
        self._pen.write(held + data)

    def close(self) -> None:
        """Gives file and lock back, if there are any; idempotent."""
        if self._pen is not None:
            self._pen.close()


def create(folder: Path, disk: Disk, *, beside: bool = False) -> Pen:
    """A pen for a new, empty log in a new `folder`; `beside`: what belongs to it may stand there already.

    Raises `LogFailed`.
    """
    path = folder / NAME
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=beside)
        # Made by whatever stands there already, it may be open to others.
        folder.chmod(FOLDER_MODE)
        pen = _opened(path, os.O_CREAT | os.O_EXCL, disk)
        # The names, too, must survive a power cut: of the file in its folder, and of the folder in its own.
        try:
            for directory in (folder, folder.parent):
                _sync_directory(directory, disk)
        except OSError:
            pen.close()
            raise
    except OSError as error:
        raise LogFailed(f"a new session cannot be stored in {folder}: {error.strerror or error}") from error
    return pen


def take(path: Path, disk: Disk) -> Pen:
    """The pen of the log at `path`. Raises `SessionBusy`, `NotASession`, `LogFailed`."""
    if not path.is_file():
        raise NotASession(path, "no session here")
    try:
        return _opened(path, 0, disk)
    except OSError as error:
        raise LogFailed(f"{path} cannot be written: {error.strerror or error}") from error


def _opened(path: Path, more: int, disk: Disk) -> Pen:
    """The pen, behind the lock. `more` are flags for opening. Raises `SessionBusy`, `LogFailed`, `OSError`."""
    lock = _locked(path)
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | more, FILE_MODE)
    except OSError:
        lock.release()
        raise
    return Pen(path, fd, lock, disk)


def _sync_directory(directory: Path, disk: Disk) -> None:
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        disk.fsync(fd)
    finally:
        os.close(fd)


def _locked(path: Path) -> FileLock:
    """The lock beside the log, held; it says who holds it. Raises `SessionBusy`, `OSError`."""
    # Here, because it costs a start 45 ms before the screen stands.
    from filelock import FileLock, Timeout

    beside = path.with_name(LOCK)
    # A soft lock would outlive a kill -9 and lock its owner out; a file system without real ones is a failure, said.
    lock = FileLock(beside, timeout=0, mode=FILE_MODE, fallback_to_soft=False, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise SessionBusy(path, _holder(beside)) from error
    except NotImplementedError as error:
        raise LogFailed(f"the file system of {path.parent} has no file locks; keep sessions elsewhere") from error
    beside.write_text(f"{os.getpid()}\n", encoding="ascii")
    return lock


def _holder(beside: Path) -> int | None:
    try:
        return int(beside.read_text(encoding="ascii", errors="replace"))
    except (OSError, ValueError):
        return None
