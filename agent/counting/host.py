"""The child process that counts tokens: making the vocabulary holds an interpreter's lock, and a screen's must be free.

Run by `child` as `python -P -m agent.counting.host`. Not a library, and nothing but counting.

Invariants
 1. The process ends when its input ends, so it does not outlive its parent.
 2. Only the greeting and answers are written to the output pipe: descriptor 1 is the log's from the first line on.
"""

from __future__ import annotations

import os

from agent.counting import counter
from agent.counting.pipe import HEAD, SIZE, Greeting, answer, greet, texts_of


def serve(source: int, sink: int) -> None:
    """Answers until the input ends."""
    _write(sink, greet(Greeting(counter.exact, counter.why)))
    while head := _read(source, HEAD.size):
        count, size = HEAD.unpack(head)
        _write(sink, answer([counter(text) for text in texts_of(count, _read(source, count * SIZE.size + size))]))


def _read(source: int, size: int) -> bytes:
    """Exactly so many bytes; a parent that is gone ends this process."""
    data = bytearray()
    while len(data) < size:
        more = os.read(source, size - len(data))
        if not more:
            os._exit(0)
        data += more
    return bytes(data)


def _write(sink: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(sink, data) :]
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    own = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    serve(*own)
