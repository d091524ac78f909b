"""One hook's command: started with an event on its input, waited for, ended with all it started.

Not what its output means (that is `agent.hooks.answers`).

Invariants
 1. Input and output are files: a hook that reads nothing, prints without end or leaves a child behind that holds them
    can neither block nor hang the program.
 2. After its time, a flood, a cancellation or our own death nothing of it is alive.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from agent.sanitise import decode
from agent.tools.processes import MARK, Family, Guard

# What is read of each output: an answer is a few lines, a summary a few pages. Bytes.
MOST_OUTPUT = 256 * 1024

# A hook that has printed this much will not stop by itself; bytes.
FLOOD = 8 * 1024 * 1024

# How often a running hook's output is measured; seconds.
LOOK = 0.05

# Input, output, errors.
Files: TypeAlias = tuple[BinaryIO, BinaryIO, BinaryIO]


@dataclass(frozen=True, slots=True)
class Ran:
    """How it ended: an exit status, or why it was stopped or never began. `left` is what it left running."""

    status: int | None
    out: str = ""
    err: str = ""
    stopped: str = ""
    left: Family | None = None


def shell(command: str) -> list[str]:
    """The program that runs a command line."""
    return ["/bin/sh", "-c", command]


async def run_hook(
    argv: Sequence[str], given: bytes, folder: Path, env: Mapping[str, str], seconds: float, guard: Guard
) -> Ran:
    """Runs a program with `given` on its standard input. Raises nothing but a cancellation."""
    try:
        files = await asyncio.to_thread(_files, given)
    except OSError as error:
        return Ran(None, stopped=f"it could not be started: {error.strerror or error}")
    try:
        return await _watched(argv, files, folder, env, seconds, guard)
    except OSError as error:
        return Ran(None, stopped=f"it could not be started: {error.strerror or error}")
    finally:
        for file in files:
            file.close()


def _files(given: bytes) -> Files:
    """Input, output and errors, without names."""
    made: list[BinaryIO] = []
    try:
        for _ in range(3):
            made.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed by whoever asked
        made[0].write(given)
        made[0].flush()
        made[0].seek(0)
    except OSError:
        for file in made:
            file.close()
        raise
    return made[0], made[1], made[2]


async def _watched(
    argv: Sequence[str],
    files: Files,
    folder: Path,
    env: Mapping[str, str],
    seconds: float,
    guard: Guard,
) -> Ran:
    mark = secrets.token_hex(12)
    given, out, err = files
    guard.begin()
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=folder, env={**env, MARK: mark}, stdin=given, stdout=out, stderr=err,
        start_new_session=True,
    )  # fmt: skip
    family, stopped, ended = Family(process.pid, mark), "", False
    guard.watch(family)
    try:
        stopped = await _wait(process, (out, err), seconds)
        ended = not stopped
    finally:
        if not ended:
            family.kill()
            await asyncio.shield(process.wait())
            guard.forget(family)
    if stopped:
        return Ran(None, *await asyncio.to_thread(_read, out, err), stopped)
    left = family if await asyncio.to_thread(family.alive) else None
    if left is None:
        guard.forget(family)
    return Ran(process.returncode, *await asyncio.to_thread(_read, out, err), "", left)


async def _wait(process: asyncio.subprocess.Process, outputs: tuple[BinaryIO, BinaryIO], seconds: float) -> str:
    """Waits for its end; why it must be stopped, empty when it ended by itself."""
    waiting = asyncio.ensure_future(process.wait())
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            left = deadline - asyncio.get_running_loop().time()
            done, _ = await asyncio.wait([waiting], timeout=min(LOOK, max(0.0, left)))
            if done:
                return ""
            if any(os.fstat(file.fileno()).st_size > FLOOD for file in outputs):
                return f"it was stopped: it printed more than {FLOOD // 1024 // 1024} MiB"
            if left <= 0:
                return f"it was stopped: it took longer than {seconds:g} seconds"
    finally:
        waiting.cancel()


def _read(out: BinaryIO, err: BinaryIO) -> tuple[str, str]:
    # One byte more, so that who reads it can tell that something was left out.
    texts = [decode(os.pread(file.fileno(), MOST_OUTPUT + 1, 0)) for file in (out, err)]
    return texts[0], texts[1]
