"""Huge tool results kept out of the conversation: whole on disk, head and tail in the view.

Not the choice to spill later what arrival let pass (that is `compaction.gates`), and not `read` or `recall`: those
page, and spilling a page would loop.

Invariants
 1. What is admitted is a function of the text, the order of arrival in its step and the session's first budget alone.
 2. A file is whole and on disk (fsync) before its preview is handed back; mode 0600, in a folder of mode 0700.
 3. A file's name comes from the call's id and nothing else, and never leaves the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.sanitise import scrub
from compaction.budget import UNKNOWN_BUDGET
from compaction.records import Started
from compaction.view import PREVIEW, preview

# One result: a file's page and a test run's log stay below; what is above was never meant to be read whole.
LARGEST_BYTES = 50 * 1024
MOST_LINES = 2_000

# Eight such results fill the budget: with fewer, one call could take a quarter of what the user chose to spend.
BUDGET_SHARE = 8

# A step's results together: many parallel calls of 49 KiB each must not pass what one may not. Characters, and half
# of the budget: beyond it the gate after the step would have to rewrite at once.
STEP_CHARACTERS = 200_000
STEP_SHARE = 2

# Tools that page within the same bounds.
PAGED = frozenset({"read", "recall"})

FOLDER = "spill"

# Short enough for every file system, long enough for the ids of all providers.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What may arrive, tokens; from the session's first budget (B₀), never today's."""

    budget: int

    @property
    def one(self) -> int:
        """One result, tokens."""
        return max(1, self.budget // BUDGET_SHARE)

    @property
    def step(self) -> int:
        """All results of a step, tokens."""
        return max(1, self.budget // STEP_SHARE)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What goes into `ToolReturned`: `text`, the file's path relative to the session's folder, the whole size."""

    text: str
    spilled: str | None
    characters: int


def file_name(call_id: str) -> str:
    """The spill file's name for a call: its id where that is plain, else a hash of it. No two ids share one.

    A name on disk ignores case on some systems, so a hash always follows unless the id is lower case and short.
    """
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    if not _PLAIN.fullmatch(call_id):
        return f"call.{digest[:32]}.txt"
    return f"{call_id}.txt" if call_id == call_id.lower() else f"{call_id}.{digest[:12]}.txt"


@dataclass
class Arrivals:
    """Admits the results of one session as they arrive. `count` gives a text's tokens; `folder` is the session's.

    Call `new_step` before the results of each assistant message.
    """

    bounds: Bounds
    folder: Path
    count: Callable[[str], int]
    _characters: int = field(init=False, default=0)
    _tokens: int = field(init=False, default=0)

    @classmethod
    def of(cls, folder: Path, started: Started | None, count: Callable[[str], int]) -> Arrivals:
        """For one step of the session that began with `started`, in its folder."""
        return cls(Bounds(started.budget if started else UNKNOWN_BUDGET), folder, count)

    def new_step(self) -> None:
        """The next result opens a step: its running total starts at nothing."""
        self._characters = self._tokens = 0

    def admit(self, text: str, call_id: str, tool: str, record_id: int) -> Admitted:
        """`text` as it enters the conversation, spilled where it is too large. `record_id` is the record it will get.

        Blocks on the disk only when it spills. Raises `OSError` when the file cannot be written.
        """
        text = scrub(text)
        tokens = self.count(text) if len(text) <= LARGEST_BYTES else self.bounds.one + 1
        huge = (
            tokens > self.bounds.one
            or len(text.encode("utf-8")) > LARGEST_BYTES
            or text.count("\n") + (text != "" and not text.endswith("\n")) > MOST_LINES
        )
        full = self._characters + len(text) > STEP_CHARACTERS or self._tokens + tokens > self.bounds.step
        # A text no longer than its preview would gain nothing by a file.
        if tool in PAGED or not (huge or full) or len(text) <= PREVIEW:
            self._characters += len(text)
            self._tokens += tokens
            return Admitted(text, None, len(text))
        relative = f"{FOLDER}/{file_name(call_id)}"
        store(self.folder / relative, text)
        short = preview(record_id, text)
        self._characters += len(short)
        self._tokens += self.count(short)
        return Admitted(short, relative, len(text))


def store(path: Path, text: str, fsync: Callable[[int], None] = os.fsync) -> None:
    """Write a spill file: whole, 0600, on disk before it has its name. Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(unfinished)
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(handle, "wb") as file:
        file.write(text.encode("utf-8"))
        file.flush()
        fsync(file.fileno())
    os.replace(unfinished, path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fsync(folder)
    finally:
        os.close(folder)


def load(folder: Path, relative: str) -> str:
    """The whole text of a spilled result; `relative` is what the record holds.

    Raises `OSError`, also for a path that leads out of the spill folder: a log from elsewhere must not make us read
    other files.
    """
    spills = Path(os.path.realpath(folder / FOLDER))
    path = Path(os.path.realpath(folder / relative)) if "\0" not in relative else spills
    if path.parent != spills:
        raise FileNotFoundError(2, "not a spill file", relative)
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        return file.read().decode("utf-8", "replace")
