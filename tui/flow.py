"""Words laid into lines of a given width, by cells; and text that grows at its end, laid out as it comes.

Not drawing: lines are plain strings, each at most `width` cells wide.

Invariants
 1. No line is wider than `width`; a wide character never straddles the edge.
 2. Joined, the lines hold every character but the blanks at which lines were broken.
 3. `Flow.feed` costs as much as what came, however much came before: only the last line can still change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len, chop_cells

_WORD = re.compile(r" *[^ ]+| +$")


def wrap(text: str, width: int) -> list[str]:
    """The lines of `text` in `width` cells; an empty text is one empty line."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _wrap_line(line, max(1, width))
    return lines


def columns(rows: Iterable[tuple[str, str]], wide: int, measure: int) -> list[str]:
    """Names and what they mean, the meanings under each other in lines of at most `measure` cells; a name of more than
    `wide` cells gets a line of its own, or more."""
    lines: list[str] = []
    for name, text in rows:
        first, *more = wrap(text, measure - wide - 2)
        lines += [f"{name:<{wide}}  {first}"] if len(name) <= wide else [*wrap(name, measure), f"{'':<{wide}}  {first}"]
        lines += [f"{'':<{wide}}  {line}" for line in more]
    return lines


def _wrap_line(line: str, width: int) -> list[str]:
    if len(line) <= width and (line.isascii() or cell_len(line) <= width):
        return [line]
    lines: list[str] = []
    current, room = "", width
    for found in _WORD.finditer(line):
        word = found[0]
        size = len(word) if word.isascii() else cell_len(word)
        if size <= room:
            current, room = current + word, room - size
            continue
        if current.strip():
            lines.append(current)
            word = word.lstrip(" ")
            current, room = "", width
            size = len(word) if word.isascii() else cell_len(word)
        else:
            # A long word after its indentation: the indentation stays with it.
            word, current, room = current + word, "", width
            size = cell_len(word)
        if size > width:
            *whole, word = chop_cells(word, width) if width > 1 else _chop_narrow(word)
            lines += whole
            size = cell_len(word)
        current, room = word, width - size
    lines.append(current)
    return lines


def _chop_narrow(word: str) -> list[str]:
    # chop_cells never ends on a character wider than the width; one cell can hold no wide one at all.
    return [character if cell_len(character) <= 1 else "?" for character in word]


@dataclass(slots=True)
class Flow:
    """Text that grows at its end, as lines of `width` cells."""

    width: int
    text: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=lambda: [""])

    def feed(self, text: str) -> int:
        """Add `text`; returns the index of the first line that changed."""
        first = len(self.lines) - 1
        self.text.append(text)
        self.lines[first:] = wrap(self.lines[first] + text, self.width)
        return first

    def resize(self, width: int) -> None:
        """Lay everything out anew."""
        if width != self.width:
            self.width = width
            self.text = ["".join(self.text)]
            self.lines = wrap(self.text[0], width)
