"""Cutting one text to a number of characters, the same way every time.

Not a decision about whether to cut (that is `cut`, `summary`, or the agent's admission).

Invariants
 1. Pure and idempotent: `shorten(shorten(t, n), n) == shorten(t, n)`.
 2. A base character keeps its combining marks, joiners and variation selectors: a cut falls between clusters only.
 3. The marker states exactly how many characters are missing.
"""

from __future__ import annotations

import unicodedata

# Zero-width joiner and non-joiner: both belong to the letters on either side.
_JOINERS = "\u200c\u200d"

# Variation selectors (two blocks), skin tones, tags: code points that colour or name what stands before them.
_BELONGING = ((0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))

# A count with more digits than this was never written by `marker`.
_MOST_DIGITS = 15


def _sticks(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` would tear a character from what belongs to it."""
    if at <= 0 or at >= len(text):
        return False
    here, before = text[at], text[at - 1]
    if here in _JOINERS or before in _JOINERS:
        return True
    if before == "\r" and here == "\n":
        return True
    if unicodedata.category(here) in ("Mn", "Me", "Mc"):
        return True
    code = ord(here)
    if any(first <= code <= last for first, last in _BELONGING):
        return True
    return 0x1F1E6 <= code <= 0x1F1FF and 0x1F1E6 <= ord(before) <= 0x1F1FF


def head_end(text: str, at: int) -> int:
    """The largest legal cut at or before `at` (an index into `text`)."""
    while at > 0 and _sticks(text, at):
        at -= 1
    return at


def tail_start(text: str, at: int) -> int:
    """The smallest legal cut at or after `at` (an index into `text`)."""
    while at < len(text) and _sticks(text, at):
        at += 1
    return at


def marker(removed: int, note: str = "") -> str:
    """The line that stands for what was removed (characters)."""
    return f"\n[… {removed:,} characters removed{'; ' + note if note else ''} …]\n"


def _is_marker(text: str, note: str) -> bool:
    """Whether a text is nothing but what `marker` writes."""
    start, end = marker(0, note).split("0", 1)
    digits = text.removeprefix(start).removesuffix(end).replace(",", "")
    return digits.isdecimal() and len(digits) <= _MOST_DIGITS and text == marker(int(digits), note)


def shorten(text: str, most: int, note: str = "") -> str:
    """`text` in at most `most` characters: three quarters head, one quarter tail, and the marker between.

    Below the marker's own length (about 50 characters plus the note) only the marker is left, so the result may then
    be longer than `most`, never longer than the text.
    """
    if len(text) <= most or _is_marker(text, note):
        return text
    room = max(0, most - len(marker(len(text), note)))
    head = head_end(text, room * 3 // 4)
    tail = tail_start(text, len(text) - (room - room * 3 // 4))
    short = text[:head] + marker(tail - head, note) + text[tail:]
    return short if len(short) < len(text) else text
