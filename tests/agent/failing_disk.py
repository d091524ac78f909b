"""A disk that fails on purpose, for the log's `Disk` protocol."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass, field


class Killed(BaseException):
    """The process ends here: nothing after it runs, what was written stays."""


@dataclass
class FailingDisk:
    """Writes at most `portion` bytes at a time; the `at`-th operation (from 1) fails.

    `how`: `error` raises; `killed` ends the process; `partial` writes half of what it was given and then raises, as a
    full disk does. While `held` is cleared, a write waits.
    """

    at: int = 0
    how: str = "error"
    portion: int = 1 << 30
    operations: int = 0
    held: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.held.set()

    def _fails(self) -> bool:
        self.operations += 1
        return self.operations == self.at

    def _fail(self) -> None:
        if self.how == "killed":
            raise Killed
        raise OSError(errno.ENOSPC, "No space left on device")

    def write(self, fd: int, data: bytes) -> int:
        self.held.wait(10)
        data = data[: self.portion]
        if self._fails():
            if self.how != "error":
                os.write(fd, data[: len(data) // 2])
            self._fail()
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        if self._fails():
            self._fail()
        os.fsync(fd)


class SilentDisk:
    """Takes no byte and reports no error."""

    def write(self, fd: int, data: bytes) -> int:
        return 0

    def fsync(self, fd: int) -> None:
        os.fsync(fd)
