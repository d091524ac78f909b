"""The installed `ullage` in a real pseudo-terminal, read as raw bytes; and a provider on this machine to script.

Not a terminal emulator: what the screen shows is asked by looking for bytes that can stand nowhere else, so that the
measuring costs the machine next to nothing.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

# The window of the terminal: rows, columns.
SIZE = (30, 100)

# The foot of the screen is painted last: when it is there, all is.
PAINTED = b"? keys"

# A wait that long is a fault, not a figure, seconds.
HANGING = 90.0


def homes(root: Path) -> dict[str, str]:
    """An environment in which nothing of the user's is read or written."""
    names = ("DATA", "CONFIG", "STATE", "CACHE")
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")}
    return {
        **kept, **{f"XDG_{name}_HOME": str(root / name.lower()) for name in names}, "TERM": "xterm-256color",
        "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8",
    }  # fmt: skip


def program() -> str:
    """The installed command beside the running interpreter."""
    return str(Path(sys.executable).with_name("ullage"))


class Terminal:
    """A process in a pseudo-terminal. `seen` is all it has printed."""

    def __init__(self, command: Sequence[str], environ: dict[str, str], folder: Path) -> None:
        self.seen = bytearray()
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], list(command), environ)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))

    def read(self, seconds: float) -> bool:
        """Takes what comes within `seconds`; False when nothing did."""
        if not select.select([self._fd], [], [], max(0.0, seconds))[0]:
            return False
        try:
            self.seen += os.read(self._fd, 1 << 16)
        except OSError:  # the other side is gone
            return False
        return True

    def drain(self, seconds: float) -> None:
        """Reads for so long, whatever comes."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def send(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def until(self, mark: bytes, since: int = 0) -> float:
        """Waits until `mark` was printed behind offset `since`; the time it came, as `perf_counter` gives it."""
        end = time.perf_counter() + HANGING
        start = since
        while self.seen.find(mark, start) < 0:
            start = max(since, len(self.seen) - len(mark))
            if not self.read(end - time.perf_counter()):
                raise TimeoutError(f"{mark!r} never came; the last of the screen: {bytes(self.seen[-400:])!r}")
        return time.perf_counter()

    def close(self) -> None:
        """Ends the process, hard if it will not."""
        os.kill(self.pid, signal.SIGTERM)
        end = time.perf_counter() + 5
        while time.perf_counter() < end:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            self.read(0.05)
        else:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self._fd)


@contextmanager
def provider(root: Path, steps: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A scripted provider in a process of its own; gives its address."""
    script = root / "script.json"
    script.write_text(json.dumps({"steps": steps}))
    # A provider is on another machine: ours yields to what is measured.
    command = ["nice", "-n", "19", sys.executable, "-m", "agent.models.stub_server", str(script), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()
