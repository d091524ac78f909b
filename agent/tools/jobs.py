"""Commands that run in the background: started, read, stopped, and ended with the session.

Not the tool (that is `bash`, which starts and reads them) and no permission. A job is known by a small number, which is
never used twice in a session; what it prints goes to a file of its own in the session's folder.

Invariants
 1. Nothing of a job is alive after `close`, nor after our own death (`processes.Guard`).
 2. A job has ended when all it started has; its status is that of its shell.
 3. A file holds at most `flood` bytes and a look's worth more; who prints more is stopped.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent.sanitise import clean, decode
from agent.tools.output import kept, read, status_words
from agent.tools.processes import MARK, Family, Guard
from agent.tools.refused import Refused

# A day of a talkative server; what prints more prints in a circle. Bytes.
FLOOD = 64 * 1024 * 1024

# So many at once is no plan but a loop; each is a shell and what it starts.
MOST = 16

# How often a job is looked at that does not end by itself: for floods, and for what its shell left behind; seconds.
LOOK = 0.5

# What cannot run at all (a wrong name, a port in use) says so within this; seconds.
EARLY = 0.3

# Of a job's output for a list, bytes: more than a screen of it.
TAIL = 4_000


@dataclass(eq=False)
class Job:
    """One job. Times are seconds since the epoch; `read` is how far the model has read, in bytes.

    `told`: the model knows that it ended; `awaited`: a call of it waits for the end."""

    number: int
    command: str
    path: Path
    family: Family
    process: asyncio.subprocess.Process
    since: float
    read: int = 0
    status: int | None = None
    stopped: str = ""
    until: float | None = None
    told: bool = False
    awaited: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def runs(self) -> bool:
        """Whether anything of it is alive."""
        return self.until is None

    def standing(self) -> str:
        """`runs for 5 s`, `ended after 5 s: exit status 1`, `stopped by the user after 5 s`."""
        seconds = f"{max(0.0, (self.until or time.time()) - self.since):,.0f} s"
        if self.runs:
            return f"runs for {seconds}"
        if self.stopped:
            return f"{self.stopped} after {seconds}"
        return f"ended after {seconds}: {status_words(self.status or 0)}"

    async def wait(self, seconds: float) -> None:
        """Until it has ended, but no longer than that."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)

    def fresh(self) -> str:
        """What it printed since it was last read, clean; from now on that counts as read."""
        output = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(output).st_size
            text = kept(output, self.read)
        finally:
            os.close(output)
        self.read = size
        return text

    def tail(self) -> str:
        """The end of what it printed, clean."""
        return tail_of(self.path)


def tail_of(path: Path) -> str:
    """The end of a job's file, clean; empty without one."""
    try:
        output = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        size = os.fstat(output).st_size
        text = clean(decode(read(output, max(0, size - TAIL), TAIL)))
    finally:
        os.close(output)
    return text.partition("\n")[2] if size > TAIL and "\n" in text else text


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _nobody(job: Job) -> None:
    """Nobody listens."""


@dataclass
class Jobs:
    """All jobs of a session. `folder` is where their files are; without one no job can be started. `flood` is the most
    that one may print, bytes.

    `changed` is told of each that began or ended, on the worker's loop; it may not raise.
    """

    folder: Path | None = None
    flood: int = FLOOD
    changed: Callable[[Job], None] = _nobody
    guard: Guard = field(default_factory=Guard)
    all: dict[int, Job] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def running(self) -> list[Job]:
        """Those that run, oldest first."""
        return [job for job in self.all.values() if job.runs]

    def untold(self) -> list[Job]:
        """Those that ended without the model having been told."""
        return [job for job in self.all.values() if not job.runs and not job.told]

    def find(self, number: int) -> Job:
        """The job of this number. Raises `Refused` with those there are."""
        if number in self.all:
            return self.all[number]
        listed = ", ".join(f"{job.number} ({'runs' if job.runs else 'ended'})" for job in self.all.values())
        raise Refused(f"There is no job {number}" + (f"; the jobs are {listed}." if listed else "; none was started."))

    def left_over(self, number: int) -> str | None:
        """The end of what a job of an earlier run of the program printed; None when there was none."""
        path = self._path(number) if self.folder is not None and number not in self.all else None
        return tail_of(path) if path is not None and path.exists() else None

    async def start(self, command: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Job:
        """Begin one, and wait no longer than `EARLY`. Raises `Refused`, `OSError`."""
        if len(self.running()) >= MOST:
            raise Refused(f"{MOST} jobs run already; stop one first.")
        number, output = await asyncio.to_thread(self._file)
        mark = secrets.token_hex(12)
        try:
            self.guard.begin()
            process = await asyncio.create_subprocess_exec(
                *argv, cwd=cwd, env=dict(env) | {MARK: mark}, stdin=asyncio.subprocess.DEVNULL, stdout=output,
                stderr=output, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(output)
        job = Job(number, command, self._path(number), Family(process.pid, mark), process, time.time())
        self.guard.watch(job.family)
        self.all[number] = job
        self.changed(job)
        self._later(self._watch(job))
        try:
            await job.wait(EARLY)
        except asyncio.CancelledError:
            # Nobody has its number: it would run unknown.
            self.stop_soon(job, "interrupted")
            raise
        return job

    async def stop(self, job: Job, why: str) -> None:
        """End it, with all it started; `why` completes `job 1 …`."""
        if job.runs:
            job.stopped = job.stopped or why
            await job.family.end()
            await job.over.wait()

    def stop_soon(self, job: Job, why: str) -> None:
        """The same, without waiting for it."""
        self._later(self.stop(job, why))

    async def close(self) -> None:
        """End all of them: at the session's end."""
        await asyncio.gather(*(self.stop(job, "ended with the session") for job in self.running()))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, job: Job) -> None:
        waiting = asyncio.ensure_future(job.process.wait())
        while True:
            done, _ = await asyncio.wait([waiting], timeout=LOOK)
            if done and not await asyncio.to_thread(job.family.alive):
                break
            if done:
                # The shell has ended and what it started has not.
                await asyncio.sleep(LOOK)
            if not job.stopped and _size(job.path) > self.flood:
                job.stopped = f"stopped, since it printed more than {self.flood:,} bytes,"
                await job.family.end()
        self.guard.forget(job.family)
        job.status, job.until = job.process.returncode, time.time()
        job.over.set()
        self.changed(job)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _path(self, number: int) -> Path:
        if self.folder is None:
            raise Refused("Nothing can run in the background here.")
        return self.folder / f"{number}.txt"

    def _file(self) -> tuple[int, int]:
        """The next number that no file of the session has, and its new file."""
        for number in self._numbers():
            path = self._path(number)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
                return number, os.open(path, flags, 0o600)
            except FileExistsError:
                continue
        raise AssertionError("numbers do not end")

    def _numbers(self) -> Iterator[int]:
        number = max(self.all, default=0)
        while True:
            number += 1
            yield number


__all__ = ["Job", "Jobs"]
