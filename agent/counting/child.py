"""Counting in a process of its own, as its parent sees it: the same function, and the screen's interpreter stays free.

Not the counting (that is `counting`, which the child runs). For a program with a screen; a command without one counts
by itself.

Invariants
 1. It never raises and never writes to the terminal; who counts waits, with the interpreter's lock released.
 2. A child that ended is started once more; after that, or where none can be started, the rule of thumb goes on, and
    `trouble` says so once.
 3. The child ends with its parent: its input is a pipe that only the parent holds.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

from agent.counting import VOCABULARY, rule_of_thumb
from agent.counting.pipe import SIZE, ask, counts_of, greeting_of
from agent.models.host_process import environment, package_root

# Texts and characters of one question: a megabyte is counted in a third of a second, and the answer (8 KB) fits what a
# pipe takes before anybody reads.
MOST_TEXTS, MOST_CHARACTERS = 2_000, 1_000_000

# Without a byte for that long the child hangs, seconds: it begins within a second, on a cold disk within several.
PATIENCE = 60.0

# The child, and one more: what ends twice will end again.
TRIES = 2

COMMAND = (sys.executable, "-P", "-m", "agent.counting.host")


class _Ended(Exception):
    """The child is gone or talks nonsense; why it cannot count, where it said so."""


class CountChild:
    """A counting function over a child process. Any thread may use it; one question is asked at a time."""

    def __init__(self, command: Sequence[str] = COMMAND, patience: float = PATIENCE) -> None:
        self._command, self._patience = command, patience
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._greeted = self._closed = False
        self._tries = 0
        self._trouble = ""
        self._told = False

    def start(self) -> None:
        """Starts the child without waiting for it; harmless when it runs."""
        with self._lock:
            if self._process is None and not self._guesses:
                self._begin()

    def close(self) -> None:
        """Ends the child and waits for its end; whoever counts then goes on by the rule of thumb."""
        self._closed = True
        # Not under the lock: a thread that waits for an answer holds it, and the end of the child is what frees it.
        process = self._process
        if process is not None:
            process.kill()
            process.wait()
        with self._lock:
            self._drop()

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is none."""
        return None if self._process is None else self._process.pid

    @property
    def name(self) -> str:
        """What counts: the vocabulary, or `heuristic` after a failure."""
        return "heuristic" if self._guesses else VOCABULARY

    def trouble(self) -> str:
        """A sentence, once, when sizes are only guessed from now on; else nothing."""
        if self._told or not self._trouble:
            return ""
        self._told = True
        return f"Sizes are estimated by a rule of thumb until the next start: {self._trouble}."

    def __call__(self, text: str) -> int:
        """Tokens of `text`."""
        return self.many((text,))[0]

    def many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in few round trips."""
        with self._lock:
            return [count for some in _batches(texts) for count in self._counted(some)]

    @property
    def _guesses(self) -> bool:
        return bool(self._trouble) or self._closed

    def _counted(self, texts: Sequence[str]) -> list[int]:
        while not self._guesses:
            try:
                return self._exchange(texts)
            except (_Ended, OSError, ValueError, TypeError) as error:
                self._drop()
                if isinstance(error, _Ended) and error.args:
                    self._trouble = str(error)
                elif self._tries >= TRIES:
                    self._trouble = self._trouble or "the process that counts tokens ended twice"
        return [rule_of_thumb(text) for text in texts]

    def _exchange(self, texts: Sequence[str]) -> list[int]:
        if self._process is None:
            self._begin()
        process = self._process
        if process is None:
            return [rule_of_thumb(text) for text in texts]
        assert process.stdin is not None
        assert process.stdout is not None
        source = process.stdout.fileno()
        if not self._greeted:
            greeting = greeting_of(self._read(source, SIZE.unpack(self._read(source, SIZE.size))[0]))
            if not greeting.exact:
                raise _Ended(greeting.why or "the vocabulary is not there")
            self._greeted = True
        self._write(process.stdin.fileno(), ask(texts))
        return counts_of(self._read(source, len(texts) * SIZE.size))

    def _begin(self) -> None:
        self._tries += 1
        self._greeted = False
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd=os.path.abspath(os.sep),
                env=environment(os.environ, package_root()),
                start_new_session=True,
            )
        except OSError as error:
            self._trouble = f"the process that counts tokens cannot be started ({error.strerror or error})"
            return
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _read(self, source: int, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            self._wait(source, select.POLLIN)
            more = os.read(source, size - len(data))
            if not more:
                raise _Ended
            data += more
        return bytes(data)

    def _write(self, sink: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(sink, left) :]
            except BlockingIOError:
                self._wait(sink, select.POLLOUT)

    def _wait(self, pipe: int, what: int) -> None:
        waiting = select.poll()
        waiting.register(pipe, what)
        # Asked once more without waiting: a program that was stopped for a while finds its time over, and the answer.
        if not waiting.poll(self._patience * 1_000) and not waiting.poll(0):
            raise _Ended


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    first = size = 0
    for at, text in enumerate(texts):
        if at > first and (at - first >= MOST_TEXTS or size + len(text) > MOST_CHARACTERS):
            yield texts[first:at]
            first, size = at, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]


__all__ = ["CountChild"]
