"""Small private files that are replaced whole: settings, trust, memory. Never the session log.

Invariants
 1. A reader sees the old text or the new one, never a part.
 2. Mode 0600, in a folder of mode 0700 if it had to be made.
 3. `locked` around read and write loses nobody's change.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Whoever holds such a lock writes a few kilobytes; seconds mean that it hangs, and a sentence is better than a wait.
PATIENCE = 5.0


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Holds the lock beside `path`. Raises `OSError`, `TimeoutError` after `patience` seconds among them."""
    # Here, because it costs a start 45 ms before the screen stands.
    from filelock import FileLock, Timeout

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=patience, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise TimeoutError(f"{path} is held by another process") from error
    try:
        yield
    finally:
        lock.release()


def write_whole(path: Path, text: str) -> None:
    """Replaces the file by `text`; a link keeps pointing where it did. Raises `OSError`."""
    path = path.resolve()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except OSError:
        with suppress(OSError):
            Path(draft).unlink()
        raise
