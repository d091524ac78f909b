"""What a tool is to the loop: its result, what it needs permission for, the Protocol, and how a failure is said.

Not any tool, and no state (that is `workspace`).

Contract
 1. `need` changes nothing on disk and raises only `Refused`, whose text is the result the model reads.
 2. `run` never raises but for cancellation: whatever went wrong is a `Result` with `failed` and one sentence to act on.
 3. On cancellation `run` has stopped what it started before the cancellation goes on; a file is whole, old or new.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from agent import sanitise
from agent.tools.refused import Refused

if TYPE_CHECKING:
    from agent.tools.workspace import Workspace

Args: TypeAlias = Mapping[str, Any]
Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call. `images` are data URLs; `paths` the files touched, `changed` whether they were changed."""

    text: str
    failed: bool = False
    exit_status: int | None = None
    paths: tuple[str, ...] = ()
    changed: bool = False
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """What a call is about to touch: judged by `permissions`, shown by the approval panel.

    `paths` are real paths (symbolic links resolved). `diff` and `command` have their control characters spelled out
    for people only; the command judged and run is the one in the arguments. Of a server's tool `command` shows the
    arguments, and `reads` is the server's own word that it changes nothing.
    """

    kind: Literal["read", "write", "run", "recall", "server"]
    paths: tuple[Path, ...] = ()
    command: str = ""
    diff: str = ""
    why: str = ""
    reads: bool = False


class Tool(Protocol):
    """One tool. `args` are what `arguments.parse` let through for its schema."""

    @property
    def name(self) -> str: ...

    def schema(self, short: bool) -> Schema:
        """The function schema in the OpenAI spelling; the same bytes every time."""

    def title(self, args: Args) -> str:
        """The call in a few words: `read src/app.py`."""

    def need(self, args: Args, ws: Workspace) -> Need:
        """What it would touch. Raises `Refused`."""

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Do it."""


_ERRNO = {
    errno.ENOENT: "there is no such file or folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "the system does not permit it",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.ELOOP: "its symbolic links go round in a circle",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.ETXTBSY: "it is a program that is running",
    errno.ENXIO: "it is a device or socket that cannot be opened",
}


def said(error: OSError, path: str) -> str:
    """One sentence for a failed system call on `path`."""
    why = _ERRNO.get(error.errno or 0, (error.strerror or str(error)).lower())
    return f"{sanitise.one_line(path, 200)}: {why}."


async def attempt(work: Callable[[threading.Event], Result], path: str = "") -> Result:
    """Run `work` off the loop and turn what it refuses, or the system refuses, into a failed result.

    A cancellation sets the event and waits for `work` to end: a write is then either done or not begun.
    """
    stop = threading.Event()

    def guarded() -> Result:
        try:
            return work(stop)
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        except OSError as error:
            return Result(said(error, str(error.filename or path or "the path")), failed=True)

    running = asyncio.ensure_future(asyncio.to_thread(guarded))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        while not running.done():
            await asyncio.wait([running])
        raise


__all__ = ["Args", "Need", "Refused", "Result", "Schema", "Tool", "attempt", "said"]
