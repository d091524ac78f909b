"""What the tools of one session share: the folder, the shell's place, what was read, and what commands left running.

Not permissions (those judge a `Need`) and not the log. It lives as long as the session is open and is not stored: after
a resume nothing counts as read, so an overwrite asks for a read first.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent.sandbox import Sandbox
from agent.sanitise import one_line
from agent.tools.environment import Environment
from agent.tools.jobs import Jobs
from agent.tools.processes import Family
from agent.tools.refused import Refused

# What arrives unspilled at most (ENGINE.md section 7); `read` pages within it, because spilling a page would loop.
PAGE_BYTES = 50 * 1024
PAGE_LINES = 2_000

# Below this a page would be all frame and no text; characters. An eighth of the least budget is above it.
LEAST_PAGE = 300

# The longest path a system takes; characters.
LONGEST_PATH = 4_096

# Hashing is for files a model edits; beyond this, size and time must do. Bytes.
HASHED = 64 * 1024 * 1024


class Recaller(Protocol):
    """The session log, to be looked up by the `recall` tool. Both answer with at most one page."""

    def by_record(self, record: int, page: int) -> str:
        """Page `page` (from 1) of what record `record` held. Raises `Refused`."""

    def by_words(self, query: str, page: int) -> str:
        """Page `page` (from 1) of the records that hold the words of `query`, best first. Raises `Refused`."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file as it was when it was read: two that are equal hold the same bytes."""

    modified_ns: int
    size: int
    digest: bytes


def digest(data: bytes) -> bytes:
    """The hash kept in a `Stamp`."""
    return hashlib.blake2b(data, digest_size=16).digest()


def stamp_of(path: Path) -> Stamp | None:
    """The file as it is now; None when it is gone or cannot be read."""
    try:
        # Non-blocking: a FIFO put in the file's place must not hang the open.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(HASHED) or b""
    except OSError:
        return None
    return Stamp(status.st_mtime_ns, status.st_size, digest(data))


def _nothing(path: Path) -> bool:
    """No path is hidden."""
    return False


def _sees() -> str | None:
    """Images can be sent."""
    return None


def _silent(call_id: str, text: str) -> None:
    """Nobody listens to live output."""


@dataclass
class Workspace:
    """`folder` is the session's root, `cwd` where the next command runs: both real paths.

    `page_characters` bounds a page of `read` and `grep` output (characters). `on_output(call_id, text)` gets what a
    running command printed since the last call, clean, on the worker's loop, about ten times a second; it may not
    raise. `environ` is what the commands' environment is made from, `environment` the policy that takes secrets out.
    `hidden` says which real paths `grep`, `glob` and listings leave out (`Rules.hides`: what a rule denies to be read).
    `sandbox` None runs commands as they are; without `ripgrep` (its path) the searches are plain Python. `jobs` are the
    commands in the background. `blind` says why the model takes no images, None when it does.
    """

    folder: Path
    page_characters: int = PAGE_BYTES
    on_output: Callable[[str, str], None] = _silent
    recaller: Recaller | None = None
    environment: Environment = field(default_factory=Environment)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    sandbox: Sandbox | None = None
    hidden: Callable[[Path], bool] = _nothing
    ripgrep: str | None = field(default_factory=lambda: shutil.which("rg"))
    jobs: Jobs = field(default_factory=Jobs)
    blind: Callable[[], str | None] = _sees
    cwd: Path = field(init=False)
    seen: dict[Path, Stamp] = field(init=False, default_factory=dict)
    # Commands whose shell ended while something they started still runs.
    left_running: set[Family] = field(init=False, default_factory=set)
    # What interrupted commands had printed, by their calls' ids, until it is logged.
    cut_short: dict[str, str] = field(init=False, default_factory=dict)
    told_of_secrets: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.folder = Path(os.path.realpath(self.folder))
        self.cwd = self.folder
        self.page_characters = max(LEAST_PAGE, self.page_characters)

    def path(self, given: str) -> Path:
        """The real path an argument means: relative to the session's folder, links resolved. Raises `Refused`.

        Relative paths do not follow the shell's `cd`, so the same argument means the same file all session long.
        """
        if not given.strip():
            raise Refused("The path is empty.")
        if "\0" in given:
            raise Refused("The path contains a NUL character, which no file name can.")
        expanded = os.path.expanduser(given) if given.startswith("~") else given
        try:
            return Path(os.path.realpath(self.folder / expanded))
        except OSError as error:
            raise Refused(f"{one_line(given, 200)}: {error.strerror or error}.") from error
        except ValueError as error:
            raise Refused(f"{one_line(given, 200)}: {error}.") from error

    def inside(self, path: Path) -> bool:
        """Whether a real path lies in the session's folder."""
        return path == self.folder or self.folder in path.parents

    def shown(self, path: Path) -> str:
        """A path as the model and people see it, on one clean line: relative to the folder where it lies inside."""
        return one_line(path.relative_to(self.folder).as_posix() if self.inside(path) else str(path), LONGEST_PATH)

    def was_read(self, path: Path, stamp: Stamp) -> None:
        """`path` was read, or written by us, and is now `stamp`."""
        self.seen[path] = stamp

    async def close(self) -> None:
        """End the jobs, and what commands left running: at the session's end."""
        await self.jobs.close()
        while self.left_running:
            family = self.left_running.pop()
            await family.end()
            self.jobs.guard.forget(family)
        await asyncio.to_thread(self.jobs.guard.close)
