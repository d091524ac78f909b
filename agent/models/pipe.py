"""One JSON object a line, over a pipe: the framing that the program and its child processes share.

Not a protocol for untrusted peers: both ends are this program.

Invariants
 1. A line is ASCII, so a lone surrogate survives the trip and no byte sequence can be cut inside a character.
 2. The order of keys is kept, because request bodies must be the same bytes every time.
 3. A line that is no JSON object (a stray print) is skipped, never an error.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]


def encode(message: Message) -> bytes:
    """The line for `message`, its newline included."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


class Lines:
    """Cuts a stream of bytes into messages; keeps the unfinished rest."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes, in order."""
        first, newline, after = data.partition(b"\n")
        self._rest.append(first)
        if not newline:
            return []
        whole = [b"".join(self._rest), *after.split(b"\n")]
        self._rest = [whole.pop()]
        return [message for message in map(_decode, whole) if message is not None]


def _decode(line: bytes) -> Message | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def own_pipes() -> tuple[int, int]:
    """For a child: takes descriptors 0 and 1 for ourselves and points the names at nothing and at the log."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return source, sink


def write_all(sink: int, data: bytes) -> None:
    """For a child: writes everything. Raises `BrokenPipeError` where the parent is gone."""
    while data:
        data = data[os.write(sink, data) :]
