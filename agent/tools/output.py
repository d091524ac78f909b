"""What a command prints, from its file: the part that is kept for a result, and the part that is shown as it comes.

Not the running of a command (that is `bash` and `jobs`).

Invariants
 1. What leaves here is clean text; of a huge output the head and the tail, with the exact number of bytes between.
 2. Live text put together as `Growing` says reads as the same bytes cleaned at once, but for lines longer than `LINE`.
"""

from __future__ import annotations

import codecs
import os
import re
import signal
from dataclasses import dataclass, field

from agent.sanitise import clean, decode

# What is kept of an output for the result, bytes.
KEPT_HEAD = 2 * 1024 * 1024
KEPT_TAIL = 6 * 1024 * 1024

# Live output a look, characters: more than a screen is not seen.
LIVE = 16_000

# A progress bar is drawn over within this many characters; a longer line is shown as it comes.
LINE = 4_000

# A sequence that the next look may end: a string (a title, a link) or any other.
_UNFINISHED = re.compile(r"\x1b(?:[\]PX^_][^\x07\x1b\n]{0,4096}\x1b?|[^A-Za-z\]PX^_\x07\\]{0,64})\Z")


def kept(output: int, start: int = 0) -> str:
    """What a file holds from `start` on, as clean text; of a huge output head and tail. `output` is its descriptor."""
    size = os.fstat(output).st_size
    if size - start <= KEPT_HEAD + KEPT_TAIL:
        return clean(decode(read(output, start, size - start)))
    head, tail = read(output, start, KEPT_HEAD), read(output, size - KEPT_TAIL, KEPT_TAIL)
    left_out = size - start - KEPT_HEAD - KEPT_TAIL
    return f"{clean(decode(head))}\n[… {left_out:,} bytes of output left out …]\n{clean(decode(tail))}"


def read(output: int, start: int, size: int) -> bytes:
    """So many bytes from `start` on; fewer at the end."""
    parts: list[bytes] = []
    while size > 0:
        part = os.pread(output, size, start)
        if not part:
            break
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return b"".join(parts)


def status_words(code: int) -> str:
    """`exit status 1` or `killed by SIGTERM`."""
    if code >= 0:
        return f"exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}"


@dataclass
class Growing:
    """A file that grows, as text to show: each look brings what came since.

    A text that begins with a carriage return takes the place of the line that stands unfinished.
    """

    output: int
    shown: int = 0
    _line: str = ""
    _pending: str = ""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def look(self) -> str:
        """What came since the last look, clean; of much only the end."""
        size = os.fstat(self.output).st_size
        if size <= self.shown:
            return ""
        skipped = max(0, size - self.shown - LIVE)
        data = os.pread(self.output, size - self.shown - skipped, self.shown + skipped)
        self.shown = size
        fresh = self._pending + self._decoder.decode(data)
        # An escape sequence may come in two looks, and so may the two characters of a line's end.
        unfinished = _UNFINISHED.search(fresh)
        self._pending = unfinished[0] if unfinished else "\r" if fresh.endswith("\r") else ""
        fresh = fresh[: len(fresh) - len(self._pending)]
        if skipped:
            self._line = ""
            return f"…\n{self._drawn(fresh)}"
        return self._drawn(fresh)

    def _drawn(self, fresh: str) -> str:
        before, self._line = self._line, ""
        whole = before + fresh
        line = whole.rpartition("\n")[2]
        self._line = line if len(line) <= LINE else ""
        again = bool(before) and ("\r" in fresh.partition("\n")[0] or "\x08" in fresh.partition("\n")[0])
        if again or "\r" in before.partition("\n")[0]:
            return f"\r{clean(whole)}"
        return clean(fresh)
