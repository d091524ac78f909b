"""What `grep` and `glob` share: ripgrep where it is found, the plain search where it is not, both as a child process.

Not a tool. A search ends after `SECONDS`, when nobody wants more, or with its cancellation; its process never outlives
it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import decode, one_line
from agent.tools import plain_search, text_files
from agent.tools.contract import Refused
from agent.tools.workspace import Workspace

# A search that takes longer is over the wrong folder; ripgrep reads a gigabyte a second. Seconds.
SECONDS = 30

PIECE = 64 * 1024

# What a search may say on its error output before it is no longer read; bytes.
COMPLAINTS = 16 * 1024


@dataclass(frozen=True, slots=True)
class Root:
    """Where to search: a folder, or one file of it (`name`)."""

    folder: Path
    name: str = ""


def root_of(ws: Workspace, given: str) -> Root:
    """The folder or file an argument means. Raises `Refused`."""
    path = ws.path(given or ".")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        raise text_files.missing(ws, path, given) from error
    if stat.S_ISDIR(mode):
        return Root(path)
    text_files.refuse_special(mode, ws.shown(path))
    return Root(path.parent, path.name)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a search ended: its status (None when it was stopped), what it complained of, whether time ran out."""

    status: int | None
    complaint: str
    late: bool = False


async def feed(argv: Sequence[str], cwd: Path, asked: bytes, take: Callable[[bytes], bool]) -> Ended:
    """Run a search and hand its output to `take`, piece by piece, until that answers False. Raises `OSError`."""
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=cwd, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    assert process.stderr
    complaints = asyncio.ensure_future(_some(process.stderr))
    late = whole = False
    try:
        with suppress(ConnectionError):
            process.stdin.write(asked)
            await process.stdin.drain()
            process.stdin.close()
        async with asyncio.timeout(SECONDS):
            piece = await process.stdout.read(PIECE)
            while piece and take(piece):
                piece = await process.stdout.read(PIECE)
            whole = not piece
    except TimeoutError:
        late = True
    finally:
        if not whole:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(_leave(process, process.stdout))
    return Ended(process.returncode if whole else None, await complaints, late)


async def _leave(process: asyncio.subprocess.Process, output: asyncio.StreamReader) -> None:
    """Waits for the process's end. What it had still written is read first: a pipe that nobody reads never closes, and
    then the wait would never end."""
    while await output.read(PIECE):
        pass
    await process.wait()


async def _some(stream: asyncio.StreamReader) -> str:
    kept = b""
    while piece := await stream.read(PIECE):
        kept += piece[: max(0, COMPLAINTS - len(kept))]
    return decode(kept)


def plain(what: str, root: Root, pattern: str = "", glob: str = "", context: int = 0) -> tuple[list[str], bytes]:
    """The plain search's command line and its input."""
    where = str(root.folder / root.name) if root.name else str(root.folder)
    asked = {"root": where, "pattern": pattern, "glob": glob, "context": context}
    return [sys.executable, "-I", plain_search.__file__, what], json.dumps(asked).encode()


def grep_with(ripgrep: str, root: Root, pattern: str, glob: str, context: int) -> list[str]:
    """Ripgrep's command line, printing what the plain search prints. Hidden files are searched, git's own are not."""
    argv = [
        ripgrep, "--no-config", "--color=never", "--no-heading", "--with-filename", "--line-number", "--null",
        "--hidden", "--no-messages", "--sort=path", "--max-columns=400", "--max-columns-preview",
        f"--context={context}",
    ]  # fmt: skip
    if glob and not root.name:
        argv.append(f"--glob={glob}")
    argv += ["--glob=!.git", f"--regexp={pattern}", "--"]
    return [*argv, (root.name and f"./{root.name}") or "./"]


def files_with(ripgrep: str) -> list[str]:
    """Ripgrep's command line that lists the files which are not ignored."""
    return [ripgrep, "--no-config", "--no-messages", "--hidden", "--glob=!.git", "--null", "--files", "./"]


def complaint_of(text: str) -> str:
    """What a search said against its pattern, as one line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return one_line(lines[-1].removeprefix("error: ") if lines else "no reason given", 200)


def real_path(root: Root, found: bytes) -> Path:
    """A path that a search printed."""
    return root.folder / os.fsdecode(found).removeprefix("./")


def shown_path(ws: Workspace, root: Root, found: bytes) -> str:
    """A path that a search printed, as the model sees it."""
    return ws.shown(real_path(root, found))


def named(ws: Workspace, root: Root) -> str:
    """The searched place in words."""
    shown = ws.shown(root.folder / root.name)
    return "this folder" if shown == "." else one_line(shown, 80)


def glob_pattern(ws: Workspace, root: Root, pattern: str) -> str:
    """A file pattern, relative to the searched folder. Raises `Refused` for one that would leave it."""
    if "\0" in pattern or "\n" in pattern:
        raise Refused("A file pattern cannot contain a NUL or a line end.")
    if pattern.startswith(f"{root.folder}/"):
        pattern = "/" + pattern.removeprefix(f"{root.folder}/")
    elif pattern.startswith(("/", "~")):
        raise Refused(f"The pattern {one_line(pattern)} starts outside {named(ws, root)}; give that folder as path.")
    if ".." in pattern.split("/"):
        raise Refused("A file pattern cannot contain `..`; give the folder as path.")
    return pattern
