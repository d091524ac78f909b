"""A long body cut into pieces, so that only what is near the view is ever laid out.

Not folding (that is `block`): all of the text stays, in order.

Invariants
 1. Each piece of Markdown renders alone as it would inside the whole: cuts lie between blocks, and a fence that is
    cut is closed and opened again.
 2. Joined, pieces hold every line of the body.
"""

from __future__ import annotations

import re

# Markdown takes some 7 ms per thousand characters to draw; a screen shows two to four of these.
PIECE = 1_000

# As far as that the cut waits for a place between two blocks that stand for themselves, in pieces: what belongs to a
# list may be indented, and is read as something else without its list.
WAITS = 4

_ALONE = re.compile(r"(?![ \t]|[-*+] |\d+[.)] )")

# Output is plain lines; fewer, larger pieces. Lines.
OUTPUT_LINES = 200

# One line longer than this is cut: no eye follows it, and laying it out would be felt. Characters.
LONGEST_LINE = 20_000

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")


def markdown(text: str, most: int = PIECE) -> list[str]:
    """Pieces of about `most` characters, cut at blank lines outside fences, or inside a fence that is itself long."""
    if len(text) <= most * WAITS:
        return [text]
    pieces: list[str] = []
    lines: list[str] = []
    size, fence, opening = 0, "", ""
    short = _short_lines(text)
    for line, after in zip(short, [*short[1:], ""], strict=True):
        found = _FENCE.match(line)
        lines.append(line)
        size += len(line) + 1
        if found and not fence:
            fence, opening = found[1], line
        elif found and fence and found[1].startswith(fence) and not found[2].strip():
            fence = ""
        if size < most:
            continue
        if fence and size >= most * WAITS:
            pieces.append("\n".join([*lines, fence]))
            lines, size = [opening], 0
        elif (not line.strip() and (_ALONE.match(after) or size >= most * WAITS)) or size >= most * WAITS * 2:
            pieces.append("\n".join(lines))
            lines, size = [], 0
    if lines and lines != [opening]:
        pieces.append("\n".join(lines))
    return [piece for piece in pieces if piece.strip()] or [""]


def output(text: str, most: int = OUTPUT_LINES) -> list[str]:
    """Pieces of `most` lines."""
    lines = _short_lines(text)
    return ["\n".join(lines[start : start + most]) for start in range(0, len(lines), most)] or [""]


def _short_lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= LONGEST_LINE:
            lines.append(line)
        else:
            lines += [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)]
    return lines
