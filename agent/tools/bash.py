"""The `bash` tool: one command line, run in the shell's place, watched while it runs, ended with all it started.

With `background` it becomes a job (`jobs`), which later calls read, wait for and stop by its number.

Not a terminal: no input, no colours, no pager. Not a judge of what may run (that is `permissions`).

Invariants
 1. The command's output goes to a file, so a process left in the background can neither block nor hang the call.
 2. After a timeout, a flood or a cancellation nothing the command started is alive.
 3. `cd` lasts to the next call while it stays in the session's folder; else the next call starts at the folder again.
 4. What an interrupted command had printed is left in the workspace's `cut_short`.
 5. What the model reads is clean text; of a huge output the head and the tail, with the exact number of bytes between.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import one_line
from agent.tools.contract import Args, Need, Refused, Result, Schema, said
from agent.tools.jobs import Job
from agent.tools.output import Growing, kept, status_words
from agent.tools.processes import MARK, Family
from agent.tools.workspace import Workspace

# A build or a test run takes a minute or two; what takes longer than ten belongs in the background. Seconds.
TIMEOUT = 120
LONGEST_TIMEOUT = 600

# Live output is looked at ten times a second: faster is not seen, slower feels stuck. Seconds.
LOOK = 0.1

# How often a sandbox that is about to leave is looked at again before anything is called left running.
LEAVING = 5

# The kernel takes at most 128 KiB as one argument; our own line goes in front. Bytes.
LONGEST_COMMAND = 100_000

# A flood that would fill the disk; bytes.
FLOOD = 256 * 1024 * 1024

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def _job_asked(args: Args) -> int | None:
    """The job a call is about; None when it has a command. Raises `Refused` for both or neither."""
    job: int | None = args.get("job")
    command = str(args.get("command", "")).strip()
    if job is None and not command:
        raise Refused("The command is empty. Give a command, or the number of a job.")
    if job is not None and command:
        raise Refused("Give a command or the number of a job, not both.")
    return job


def _command(args: Args) -> str:
    command: str = args["command"]
    if _HIDDEN.search(command):
        # Whoever approves it must see what runs.
        raise Refused("The command contains control characters; write them as escapes, such as $'\\x1b'.")
    if len(command.encode("utf-8")) > LONGEST_COMMAND:
        raise Refused(f"The command is longer than {LONGEST_COMMAND:,} bytes; write a script to a file and run that.")
    return command


@dataclass(frozen=True, slots=True)
class Bash:
    """`bash(command, timeout, background)`, `bash(job, timeout, stop)`; the timeout in seconds."""

    name: str = "bash"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Run a shell command."
        timeout: Schema = {"type": "integer"}
        background: Schema = {"type": "boolean"}
        job: Schema = {"type": "integer"}
        if not short:
            about += (
                " The working directory is kept between calls; there is no input."
                " Servers, watchers and long builds go into the background: that gives a job number at once."
            )
            timeout["description"] = f"seconds, default {TIMEOUT}, at most {LONGEST_TIMEOUT}"
            job["description"] = "instead of command: its new output and status; timeout waits for its end"
        properties: Schema = {
            "command": {"type": "string"}, "timeout": timeout, "background": background, "job": job,
            "stop": {"type": "boolean"},
        }  # fmt: skip
        parameters = {"type": "object", "properties": properties}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`bash COMMAND`, `bash COMMAND (in the background)`, `bash job 2`."""
        if "command" not in args and "job" in args:
            return f"bash {'stop ' if args.get('stop') else ''}job {args['job']}"
        command = one_line(f"bash {args.get('command', '')}")
        return f"{command} (in the background)" if args.get("background") else command

    def need(self, args: Args, ws: Workspace) -> Need:
        """Running the command, exactly as written; a job was allowed when it was started."""
        if _job_asked(args) is not None:
            return Need("recall")
        return Need("run", command=_command(args))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Run it to its end, its timeout, or the cancellation; or begin, read or stop a job."""
        try:
            job = _job_asked(args)
            if job is not None:
                return await _asked_for(job, args, ws, call_id)
            command = _command(args)
            if args.get("background"):
                return await _begun(command, ws)
            room = await asyncio.to_thread(tempfile.mkdtemp, prefix="ullage-")
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        except OSError as error:
            return Result(said(error, str(error.filename or tempfile.gettempdir())), failed=True)
        try:
            seconds = min(LONGEST_TIMEOUT, max(1, args.get("timeout", TIMEOUT)))
            return await _Running(command, seconds, ws, call_id, Path(room)).result()
        except OSError as error:
            return Result(said(error, str(error.filename or "bash")), failed=True)
        finally:
            shutil.rmtree(room, ignore_errors=True)


@dataclass
class _Running:
    """One command on its way. `room` is a private folder for its output and its last directory."""

    command: str
    seconds: int
    ws: Workspace
    call_id: str
    room: Path

    async def result(self) -> Result:
        env, notes = _surroundings(self.ws)
        mark = secrets.token_hex(12)
        # Appending: a background process and the shell must not write over each other.
        output = os.open(self.room / "output", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            self.ws.jobs.guard.begin()
            process = await asyncio.create_subprocess_exec(
                *self._argv(), cwd=self.ws.cwd, env=env | {MARK: mark}, stdin=asyncio.subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            family = Family(process.pid, mark)
            self.ws.jobs.guard.watch(family)
            ended = False
            try:
                stopped = await self._watch(process, output)
                ended = stopped == ""
            finally:
                # Reached by a cancellation too: nothing may be left of an interrupted command.
                if not ended:
                    await family.end()
                    await asyncio.shield(process.wait())
                    self.ws.jobs.guard.forget(family)
            left = await asyncio.to_thread(family.alive) if ended else []
            for _ in range(LEAVING if self.ws.sandbox is not None else 0):
                if not left:
                    break
                # Nothing outlives its sandbox, but the sandbox itself takes a moment to leave.
                await asyncio.sleep(LOOK)
                left = await asyncio.to_thread(family.alive)
            if not left:
                self.ws.jobs.guard.forget(family)
            else:
                self.ws.left_running.add(family)
                names = ", ".join(f"{pid} ({one_line(name, 20)})" for pid, name in left[:5])
                notes.append(f"still running in the background: {names}")
            text = await asyncio.to_thread(kept, output)
        except asyncio.CancelledError:
            self.ws.cut_short[self.call_id] = kept(output)
            raise
        finally:
            os.close(output)
        notes += self._follow()
        return _result(text, process.returncode, stopped, notes)

    def _argv(self) -> list[str]:
        """The shell with the command; on its way out the shell leaves its directory in a file."""
        leave = f"pwd -P > {shlex.quote(str(self.room / 'cwd'))} 2>/dev/null"
        return _argv(f"trap -- {shlex.quote(leave)} EXIT; {self.command}", self.ws, (self.room,))

    async def _watch(self, process: asyncio.subprocess.Process, output: int) -> str:
        """Wait for the end, handing on what is printed. Why it must be stopped; empty when it ended by itself."""
        waiting = asyncio.ensure_future(process.wait())
        growing = Growing(output)
        deadline = asyncio.get_running_loop().time() + self.seconds
        try:
            while True:
                done, _ = await asyncio.wait([waiting], timeout=LOOK)
                text = growing.look()
                if text:
                    self.ws.on_output(self.call_id, text)
                if done:
                    return ""
                if growing.shown > FLOOD:
                    return f"stopped: it printed more than {FLOOD // 1024 // 1024} MiB"
                if asyncio.get_running_loop().time() > deadline:
                    return (
                        f"stopped: it did not end within {self.seconds} seconds. Give a longer timeout "
                        f"(at most {LONGEST_TIMEOUT}) or background: true"
                    )
        finally:
            waiting.cancel()

    def _follow(self) -> list[str]:
        """Where the next command runs; a sentence when that is not where this one ended."""
        try:
            place = os.fsdecode((self.room / "cwd").read_bytes().removesuffix(b"\n"))
        except OSError:
            return []
        if not place or not os.path.isdir(place):
            return []
        real = Path(os.path.realpath(place))
        if self.ws.inside(real):
            self.ws.cwd = real
            return []
        self.ws.cwd = self.ws.folder
        return [f"{one_line(place, 200)} is outside {self.ws.folder}: the next command runs in {self.ws.folder} again"]


def _surroundings(ws: Workspace) -> tuple[dict[str, str], list[str]]:
    """A command's environment, in a directory that exists; and what there is to say about either."""
    notes: list[str] = []
    if not ws.cwd.is_dir():
        notes.append(f"the working directory {ws.cwd} is gone; the command ran in {ws.folder}")
        ws.cwd = ws.folder
    env, withheld = ws.environment.for_commands(ws.environ)
    if withheld and not ws.told_of_secrets:
        ws.told_of_secrets = True
        notes.append(f"environment variables not handed to commands: {one_line(', '.join(withheld), 400)}")
    return env, notes


def _argv(line: str, ws: Workspace, writable: tuple[Path, ...] = ()) -> list[str]:
    """The shell that runs `line`, in the sandbox where there is one."""
    shell = next(
        (s for s in ("/bin/bash", "/usr/bin/bash", shutil.which("bash")) if s and os.path.exists(s)), "/bin/sh"
    )
    argv = [shell, "-c", line]
    return argv if ws.sandbox is None else ws.sandbox.wrap(argv, ws.folder, ws.cwd, writable)


async def _begun(command: str, ws: Workspace) -> Result:
    """A job that runs, or has failed at once."""
    env, notes = _surroundings(ws)
    job = await ws.jobs.start(command, _argv(command, ws), ws.cwd, env)
    if ws.sandbox is not None and not ws.sandbox.policy.network:
        notes.append("it runs in a sandbox with the network off: other commands cannot reach a port of it")
    return _job_result(job, notes)


async def _asked_for(number: int, args: Args, ws: Workspace, call_id: str) -> Result:
    """What a job printed since it was last read, and where it stands."""
    before = ws.jobs.left_over(number)
    if before is not None:
        return Result(f"{before.rstrip() or '(no output)'}\n[job {number} ended with the program that ran it]")
    job = ws.jobs.find(number)
    job.awaited = True
    try:
        if args.get("stop"):
            await ws.jobs.stop(job, "stopped")
        elif args.get("timeout", 0) > 0:
            await _waited_for(job, min(LONGEST_TIMEOUT, args["timeout"]), ws, call_id)
    finally:
        job.awaited = False
    return _job_result(job, [])


async def _waited_for(job: Job, seconds: int, ws: Workspace, call_id: str) -> None:
    """Until it has ended or the time is up, showing what it prints."""
    output = os.open(job.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        growing = Growing(output, job.read)
        for _ in range(round(seconds / LOOK)):
            if not job.runs:
                return
            await job.wait(LOOK)
            text = growing.look()
            if text:
                ws.on_output(call_id, text)
    finally:
        os.close(output)


def _job_result(job: Job, notes: list[str]) -> Result:
    over = not job.runs
    body = job.fresh().rstrip("\n") or ("(no output)" if over else "(no new output)")
    job.told = over
    text = "\n".join([body, f"[job {job.number} {job.standing()}]", *(f"[{note}]" for note in notes)])
    status = None if job.status is None or job.stopped else job.status if job.status >= 0 else 128 - job.status
    return Result(text, bool(status), status)


def _result(text: str, code: int | None, stopped: str, notes: list[str]) -> Result:
    """The output, then one bracketed line for each thing to know."""
    said_so = ([stopped] if stopped else []) + ([status_words(code)] if code and not stopped else []) + notes
    body = text.rstrip("\n") or "(no output)"
    status = None if stopped or code is None else code if code >= 0 else 128 - code
    return Result("\n".join([body, *(f"[{note}]" for note in said_so)]), bool(stopped) or code != 0, status)
