"""The `bash` tool: one command line, run in the shell's place, watched while it runs, ended with all it started.

Not a terminal: no input, no colours, no pager. Not a judge of what may run (that is `permissions`).

Invariants
 1. The command's output goes to a file, so a process left in the background can neither block nor hang the call.
 2. After a timeout, a flood or a cancellation nothing the command started is alive.
 3. `cd` lasts to the next call while it stays in the session's folder; else the next call starts at the folder again.
 4. What the model reads is clean text; of a huge output the head and the tail, with the exact number of bytes between.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import secrets
import shlex
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import clean, decode, one_line
from agent.tools.contract import Args, Need, Refused, Result, Schema, said
from agent.tools.processes import MARK, Family
from agent.tools.workspace import Workspace

# A build or a test run takes a minute or two; what takes longer than ten belongs in the background. Seconds.
TIMEOUT = 120
LONGEST_TIMEOUT = 600

# Live output is looked at ten times a second: faster is not seen, slower feels stuck. Seconds, and characters a look.
LOOK = 0.1
LIVE = 16_000

# How often a sandbox that is about to leave is looked at again before anything is called left running.
LEAVING = 5

# The kernel takes at most 128 KiB as one argument; our own line goes in front. Bytes.
LONGEST_COMMAND = 100_000

# What is kept of an output for the result, and what is a flood that would fill the disk; bytes.
KEPT_HEAD = 2 * 1024 * 1024
KEPT_TAIL = 6 * 1024 * 1024
FLOOD = 256 * 1024 * 1024

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_UNFINISHED = re.compile(r"\x1b[^A-Za-z\x07\\]{0,64}\Z")


def _command(args: Args) -> str:
    command: str = args["command"]
    if not command.strip():
        raise Refused("The command is empty.")
    if _HIDDEN.search(command):
        # Whoever approves it must see what runs.
        raise Refused("The command contains control characters; write them as escapes, such as $'\\x1b'.")
    if len(command.encode("utf-8")) > LONGEST_COMMAND:
        raise Refused(f"The command is longer than {LONGEST_COMMAND:,} bytes; write a script to a file and run that.")
    return command


@dataclass(frozen=True, slots=True)
class Bash:
    """`bash(command, timeout)`; the timeout in seconds."""

    name: str = "bash"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Run a shell command."
        timeout: Schema = {"type": "integer"}
        if not short:
            about += (
                " The working directory is kept between calls; there is no input."
                " Start servers in the background with their output in a file: cmd > log 2>&1 &"
            )
            timeout["description"] = f"seconds, default {TIMEOUT}, at most {LONGEST_TIMEOUT}"
        properties: Schema = {"command": {"type": "string"}, "timeout": timeout}
        parameters = {"type": "object", "properties": properties, "required": ["command"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`bash COMMAND`."""
        return one_line(f"bash {args.get('command', '')}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Running the command, exactly as written."""
        return Need("run", command=_command(args))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Run it to its end, its timeout, or the cancellation."""
        try:
            command = _command(args)
            room = await asyncio.to_thread(tempfile.mkdtemp, prefix="ullage-")
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        except OSError as error:
            return Result(said(error, tempfile.gettempdir()), failed=True)
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
    shown: int = 0

    async def result(self) -> Result:
        notes: list[str] = []
        if not self.ws.cwd.is_dir():
            notes.append(f"the working directory {self.ws.cwd} is gone; the command ran in {self.ws.folder}")
            self.ws.cwd = self.ws.folder
        mark = secrets.token_hex(12)
        env, withheld = self.ws.environment.for_commands(self.ws.environ)
        if withheld and not self.ws.told_of_secrets:
            self.ws.told_of_secrets = True
            notes.append(f"environment variables not handed to commands: {one_line(', '.join(withheld), 400)}")
        # Appending: a background process and the shell must not write over each other.
        output = os.open(self.room / "output", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                *self._argv(), cwd=self.ws.cwd, env=env | {MARK: mark}, stdin=asyncio.subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
            family = Family(process.pid, mark)
            ended = False
            try:
                stopped = await self._watch(process, output)
                ended = stopped == ""
            finally:
                # Reached by a cancellation too: nothing may be left of an interrupted command.
                if not ended:
                    await family.end()
                    await asyncio.shield(process.wait())
            left = await asyncio.to_thread(family.alive) if ended else []
            for _ in range(LEAVING if self.ws.sandbox is not None else 0):
                if not left:
                    break
                # Nothing outlives its sandbox, but the sandbox itself takes a moment to leave.
                await asyncio.sleep(LOOK)
                left = await asyncio.to_thread(family.alive)
            if left:
                self.ws.left_running.add(family)
                names = ", ".join(f"{pid} ({one_line(name, 20)})" for pid, name in left[:5])
                notes.append(f"still running in the background: {names}")
            text = await asyncio.to_thread(_kept, output)
        finally:
            os.close(output)
        notes += self._follow()
        return _result(text, process.returncode, stopped, notes)

    def _argv(self) -> list[str]:
        """The shell with the command; on its way out the shell leaves its directory in a file."""
        shell = next(
            (s for s in ("/bin/bash", "/usr/bin/bash", shutil.which("bash")) if s and os.path.exists(s)), "/bin/sh"
        )
        leave = f"pwd -P > {shlex.quote(str(self.room / 'cwd'))} 2>/dev/null"
        argv = [shell, "-c", f"trap -- {shlex.quote(leave)} EXIT; {self.command}"]
        sandbox = self.ws.sandbox
        return argv if sandbox is None else sandbox.wrap(argv, self.ws.folder, self.ws.cwd, (self.room,))

    async def _watch(self, process: asyncio.subprocess.Process, output: int) -> str:
        """Wait for the end, handing on what is printed. Why it must be stopped; empty when it ended by itself."""
        waiting = asyncio.ensure_future(process.wait())
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        deadline = asyncio.get_running_loop().time() + self.seconds
        pending = ""
        try:
            while True:
                done, _ = await asyncio.wait([waiting], timeout=LOOK)
                size = os.fstat(output).st_size
                if size > self.shown:
                    skipped = max(0, size - self.shown - LIVE)
                    data = os.pread(output, size - self.shown - skipped, self.shown + skipped)
                    self.shown = size
                    fresh = pending + decoder.decode(data)
                    unfinished = _UNFINISHED.search(fresh)
                    pending = unfinished[0] if unfinished else ""
                    text = clean(fresh[: len(fresh) - len(pending)])
                    if text:
                        self.ws.on_output(self.call_id, f"…\n{text}" if skipped else text)
                if done:
                    return ""
                if size > FLOOD:
                    return f"stopped: it printed more than {FLOOD // 1024 // 1024} MiB"
                if asyncio.get_running_loop().time() > deadline:
                    return (
                        f"stopped: it did not end within {self.seconds} seconds. Give a longer timeout "
                        f"(at most {LONGEST_TIMEOUT}) or run it in the background"
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


def _kept(output: int) -> str:
    """What the command printed, as clean text; of a huge output head and tail."""
    size = os.fstat(output).st_size
    if size <= KEPT_HEAD + KEPT_TAIL:
        return clean(decode(_read(output, 0, size)))
    head, tail = _read(output, 0, KEPT_HEAD), _read(output, size - KEPT_TAIL, KEPT_TAIL)
    return (
        f"{clean(decode(head))}\n[… {size - KEPT_HEAD - KEPT_TAIL:,} bytes of output left out …]\n{clean(decode(tail))}"
    )


def _read(output: int, start: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        part = os.pread(output, size, start)
        if not part:
            break
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return b"".join(parts)


def _status(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}"


def _result(text: str, code: int | None, stopped: str, notes: list[str]) -> Result:
    """The output, then one bracketed line for each thing to know."""
    said_so = ([stopped] if stopped else []) + ([_status(code)] if code and not stopped else []) + notes
    body = text.rstrip("\n") or "(no output)"
    status = None if stopped or code is None else code if code >= 0 else 128 - code
    return Result("\n".join([body, *(f"[{note}]" for note in said_so)]), bool(stopped) or code != 0, status)
