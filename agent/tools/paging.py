"""One page of a text file, read from the disk in pieces: nothing in memory is larger than a page and a piece.

Not the `read` tool (paths, kinds of file, wording). A page ends at `PAGE_LINES` lines, at `PAGE_BYTES` bytes of text,
or at the characters it is given, whichever comes first; it always holds at least one line, cut if need be.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import BinaryIO

from agent.sanitise import visible
from agent.tools.contract import Refused
from agent.tools.text_files import some
from agent.tools.workspace import PAGE_BYTES, PAGE_LINES

# A line longer than this is data or minified code; the rest of it is counted, not shown. Characters.
LONGEST_LINE = 2_000

# Room for the mark that says how much of a line is missing, with a number of 15 digits; characters.
CUT_MARK = 60

# The disk is read in pieces of this size, and at most so much to reach an offset or to count what follows: beyond it
# (half a second) other tools do better. Bytes.
PIECE = 256 * 1024
FARTHEST = 256 * 1024 * 1024
COUNTED = 32 * 1024 * 1024


@dataclass
class Page:
    """Lines `first` to `last` (from 1) as shown; `total` lines in the file, None where not all were counted.

    `invalid` bytes were not UTF-8; `crlf` lines ended in `\\r\\n`; `cut` lines were shortened; `spelled` says that
    control characters were spelled out.
    """

    first: int
    lines: list[str] = field(default_factory=list)
    total: int | None = None
    more: bool = False
    invalid: int = 0
    crlf: int = 0
    cut: int = 0
    spelled: bool = False

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.first + len(self.lines) - 1

    @property
    def text(self) -> str:
        """The lines with their numbers."""
        return "\n".join(f"{self.first + i}\t{line}" for i, line in enumerate(self.lines))


class _Lines:
    """Reads a file line by line; a line's end beyond `keep` bytes is counted and dropped."""

    def __init__(self, file: BinaryIO, stop: threading.Event) -> None:
        self._file = file
        self._stop = stop
        self._piece = b""
        self._at = 0
        self.read = 0

    def _fill(self) -> bool:
        if self._stop.is_set():
            raise Refused("Interrupted.")
        self._piece, self._at = some(self._file, PIECE, "The file"), 0
        self.read += len(self._piece)
        return bool(self._piece)

    def skip(self, lines: int) -> int:
        """Pass over `lines` lines; how many there were. Stops at `FARTHEST` bytes by raising `Refused`."""
        passed = 0
        while passed < lines:
            if self._at >= len(self._piece) and not self._fill():
                return passed
            if self.read > FARTHEST:
                raise Refused(
                    f"Line {lines + 1:,} lies more than {FARTHEST // 1024 // 1024} MiB into the file; "
                    "use bash with sed, tail or cut."
                )
            here = self._piece.count(b"\n", self._at)
            if passed + here < lines:
                passed += here
                self._at = len(self._piece)
                continue
            while passed < lines:
                self._at = self._piece.index(b"\n", self._at) + 1
                passed += 1
        return passed

    def next(self, keep: int) -> tuple[bytes, int, bool] | None:
        """The next line without its `\\n`: its first `keep` bytes, how many follow, whether those were all counted."""
        kept = b""
        dropped = 0
        begun = False
        while True:
            if self._at >= len(self._piece) and not self._fill():
                return (kept, dropped, True) if begun else None
            begun = True
            end = self._piece.find(b"\n", self._at)
            stop = len(self._piece) if end < 0 else end
            part = self._piece[self._at : stop]
            room = keep - len(kept)
            kept += part[:room] if room > 0 else b""
            dropped += max(0, len(part) - max(0, room))
            self._at = stop + 1
            if end >= 0:
                return kept, dropped, True
            if dropped > COUNTED:
                return kept, dropped, False

    def rest(self) -> int | None:
        """How many lines follow; None after `COUNTED` bytes."""
        lines, last = 0, b""
        read = self.read
        while True:
            lines += self._piece.count(b"\n", self._at)
            last = self._piece[-1:] if self._at < len(self._piece) else last
            if not self._fill():
                return lines + (last not in (b"", b"\n"))
            if self.read - read > COUNTED:
                return None


def page(file: BinaryIO, offset: int, limit: int, characters: int, stop: threading.Event) -> Page:
    """Up to `limit` lines from line `offset` (from 1), in at most `characters` characters with their numbers.

    Raises `Refused` when the file has fewer lines, naming how many; `OSError`.
    """
    reader = _Lines(file, stop)
    passed = reader.skip(offset - 1)
    result = Page(offset)
    room, room_bytes = characters, PAGE_BYTES
    while len(result.lines) < min(limit, PAGE_LINES):
        # Four bytes a character at most, and a few more so that a cut never falls into one that is shown.
        found = reader.next(LONGEST_LINE * 4 + 4)
        if found is None:
            break
        line, notes = _shown(*found, most=min(LONGEST_LINE, room if not result.lines else LONGEST_LINE))
        cost = len(line) + len(str(result.last + 1)) + 2
        size = len(line.encode("utf-8")) + cost - len(line)
        if result.lines and (cost > room or size > room_bytes):
            result.more = True
            break
        result.lines.append(line)
        room, room_bytes = room - cost, room_bytes - size
        result.invalid += notes[0]
        result.crlf += notes[1]
        result.cut += notes[2]
        result.spelled = result.spelled or bool(notes[3])
        if not found[2]:
            result.more = True
            return result
    if not result.lines and passed < offset - 1 + (offset > 1):
        raise Refused(f"Line {offset:,} is past the end: the file has {_count(passed)}.")
    unread = reader.rest()
    if unread is None:
        result.more = True
    else:
        result.total = result.last + unread + result.more
        result.more = result.more or unread > 0
    return result


def _count(lines: int) -> str:
    return f"{lines:,} {'line' if lines == 1 else 'lines'}"


def _shown(kept: bytes, dropped: int, counted: bool, most: int) -> tuple[str, tuple[int, int, int, int]]:
    """A line for the page, and (invalid bytes, CRLF, cut, spelled out) of it."""
    if dropped and _partial(kept):
        # The last bytes kept are a part of a character; it belongs to what was dropped.
        whole = len(kept.decode("utf-8", "ignore").encode("utf-8"))
        kept, dropped = kept[:whole], dropped + len(kept) - whole
    crlf = kept.endswith(b"\r") and not dropped
    text = kept.decode("utf-8", "replace").removesuffix("\r" if crlf else "")
    invalid = text.count("\ufffd") - kept.count("\ufffd".encode())
    line = visible(text)
    notes = (invalid, int(crlf), 0, int(line != text))
    if len(line) <= most and not dropped:
        return line, notes
    end = len(text) if len(line) <= most - CUT_MARK else max(0, most - CUT_MARK)
    while len(visible(text[:end])) > max(0, most - CUT_MARK):
        end = end * 3 // 4
    gone = f"{len(text) - end:,} characters"
    if dropped:
        gone = f"{'' if counted else 'more than '}{dropped + len(text[end:].encode()):,} bytes"
    return f"{visible(text[:end])} [… {gone} more on this line]", (invalid, int(crlf), 1, notes[3])


def _partial(data: bytes) -> bool:
    """Whether `data` ends inside a character."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end == len(data) and error.reason == "unexpected end of data"
    return False
