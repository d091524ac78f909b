"""Where an edit's `old` text stands in a file, and the splice of all edits at once.

Not the `edit` tool (paths, permission, writing) and no guessing: a text is found exactly, or by one of two stated
rules, in exactly one place, or the edit is refused with what would help.

Rules, tried in order; the first that finds anything decides
 1. exact: the same characters, `\\r\\n` and `\\n` being the same.
 2. numbered: `old` copied with the line numbers of `read` in front; they are taken off.
 3. loose: whole lines that are equal but for blanks at their ends and one indentation added to, or missing from, all of
    them; the new text is shifted by the same indentation.

Invariants
 1. All edits are looked up in the file as it was; two that overlap are refused; all are applied or none.
 2. What lies outside the places found stays byte for byte, mixed line ends included.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.sanitise import visible
from agent.tools.contract import Refused

# Looking for the nearest text compares one line with every line of the file; bounds that keep it under a second.
COMPARED_LINES = 20_000
COMPARED_CHARACTERS = 300

# Less alike than this is no help to look at; the ratio of difflib, 0 to 1.
ALIKE = 0.6

# Lines of the nearest text shown, and places named when there are several.
SHOWN_LINES = 12
SHOWN_PLACES = 10

_NUMBERED = re.compile(r"[ ]*\d+\t")


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `old` by `new`; in every place where `every`."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """`text[start:end]` becomes `new`; offsets into the text with `\\n` line ends."""

    start: int
    end: int
    new: str


@dataclass(frozen=True, slots=True)
class Spliced:
    """The text after all edits, with its own line ends; the old text's line numbers; which edits were loose."""

    raw: str
    places: int
    lines: tuple[int, ...]
    loose: tuple[int, ...]


def splice(raw: str, newline: str, edits: Sequence[Edit], shown: str) -> Spliced:
    """All `edits` applied to `raw`; the lines they bring end in `newline`. Raises `Refused` for all or none."""
    text = raw.replace("\r\n", "\n")
    found: list[tuple[Place, int]] = []
    loose: list[int] = []
    for number, edit in enumerate(edits, 1):
        label = f"Edit {number}" if len(edits) > 1 else "The edit"
        places, rule = _find(text, edit, label)
        if not places:
            raise Refused(f"{label} was not found in {shown}. Nothing was written.{_nearest(text, edit)}")
        if len(places) > 1 and not edit.every:
            where = ", ".join(str(_line(text, p.start)) for p in places[:SHOWN_PLACES])
            where += f" and {len(places) - SHOWN_PLACES} more" if len(places) > SHOWN_PLACES else ""
            raise Refused(
                f"{label} matches {len(places)} places in {shown} (lines {where}). Nothing was written. "
                "Give more surrounding lines in old, or all: true to change every one."
            )
        found += [(p, number) for p in places]
        if rule == "loose":
            loose.append(number)
    found.sort(key=lambda f: (f[0].start, f[0].end))
    for (one, a), (two, b) in pairwise(found):
        if two.start < one.end:
            raise Refused(
                f"Edits {a} and {b} overlap at line {_line(text, two.start)}. Nothing was written; join them."
            )
    return Spliced(
        _apply(raw, text, newline, [p for p, _ in found]),
        len(found),
        tuple(_line(text, p.start) for p, _ in found),
        tuple(loose),
    )


def _apply(raw: str, text: str, newline: str, places: Sequence[Place]) -> str:
    # Offsets (in `text`) of the newlines that are \r\n in `raw`: so many characters more lie before them there.
    pairs = [m.start() - i for i, m in enumerate(re.finditer("\r\n", raw))] if "\r\n" in raw else []
    parts: list[str] = []
    at = 0
    for place in places:
        start, end = (n + bisect_left(pairs, n) for n in (place.start, place.end))
        parts += [raw[at:start], place.new if newline == "\n" else place.new.replace("\n", newline)]
        at = end
    return "".join([*parts, raw[at:]])


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _find(text: str, edit: Edit, label: str) -> tuple[list[Place], str]:
    old, new = edit.old.replace("\r\n", "\n"), edit.new.replace("\r\n", "\n")
    if old == "":
        raise Refused(f"{label} has an empty old text, which stands nowhere. Use write for a new file.")
    if old == new:
        raise Refused(f"{label} changes nothing: old and new are the same.")
    places = [Place(i, i + len(old), new) for i in _occurrences(text, old)]
    if places:
        return places, "exact"
    bare = _without_numbers(old)
    if bare is not None and bare != "":
        new_bare = _without_numbers(new)
        places = [Place(i, i + len(bare), new if new_bare is None else new_bare) for i in _occurrences(text, bare)]
        if places:
            return places, "numbered"
    return list(_loose(text, old, new)), "loose"


def _occurrences(text: str, old: str) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + len(old))


def _without_numbers(text: str) -> str | None:
    """`text` without the line numbers `read` puts before every line; None when a line has none."""
    lines = text.split("\n")
    ends = lines[-1] == ""
    body = lines[:-1] if ends else lines
    if not body or not all(_NUMBERED.match(line) for line in body):
        return None
    return "\n".join([_NUMBERED.sub("", line, count=1) for line in body] + [""] * ends)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _loose(text: str, old: str, new: str) -> Iterator[Place]:
    """Whole lines equal to `old` but for trailing blanks and one shift of the indentation."""
    ends = old.endswith("\n")
    wanted = [line.rstrip() for line in (old[:-1] if ends else old).split("\n")]
    if not any(wanted):
        return
    lines = text.split("\n")
    bare = [line.strip() for line in lines]
    key = [line.strip() for line in wanted]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    first = 0
    while first + len(wanted) <= len(lines):
        if bare[first : first + len(wanted)] == key:
            shift = _shift(wanted, lines[first : first + len(wanted)])
            shifted = None if shift is None else _shifted(new, *shift)
            if shifted is not None:
                last = first + len(wanted) - 1
                # `old` ended with a newline: it is taken only where there is one.
                end = min(starts[last + 1], len(text)) if ends else starts[last] + len(lines[last])
                yield Place(starts[first], end, shifted)
                first = last
        first += 1


def _shift(wanted: Sequence[str], lines: Sequence[str]) -> tuple[str, str] | None:
    """(blanks to add, blanks to take away) that turn every indentation of `wanted` into that of `lines`."""
    shifts: set[tuple[str, str]] = set()
    for want, line in zip(wanted, lines, strict=True):
        if want.strip():
            mine, theirs = _indent(want), _indent(line)
            if theirs.endswith(mine):
                shifts.add((theirs[: len(theirs) - len(mine)], ""))
            elif mine.endswith(theirs):
                shifts.add(("", mine[: len(mine) - len(theirs)]))
            else:
                return None
    return shifts.pop() if len(shifts) == 1 else None


def _shifted(new: str, add: str, take: str) -> str | None:
    """`new` with every line that is not blank shifted; None when a line has not the blanks to take."""
    lines = new.split("\n")
    if take and not all(line.startswith(take) for line in lines if line.strip()):
        return None
    return "\n".join((add + line[len(take) :]) if line.strip() else line for line in lines)


def _nearest(text: str, edit: Edit) -> str:
    """What the model should look at instead: the text already changed, or the lines most like `old`."""
    new = edit.new.replace("\r\n", "\n")
    at = text.find(new) if new.strip() and len(new) > 3 else -1
    if at >= 0:
        return f" The new text is already there, at line {_line(text, at)}."
    lines = text.split("\n")
    wanted = edit.old.replace("\r\n", "\n").strip("\n").split("\n")
    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted[anchor].strip()[:COMPARED_CHARACTERS])
    best, where = ALIKE, -1
    for index, line in enumerate(lines[:COMPARED_LINES]):
        matcher.set_seq1(line.strip()[:COMPARED_CHARACTERS])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best and matcher.ratio() > best:
            best, where = matcher.ratio(), index
    if where < 0:
        return " No part of the file is like it; read the file again."
    first = max(0, where - min(anchor, SHOWN_LINES - 1))
    shown = lines[first : max(first + min(len(wanted), SHOWN_LINES), where + 1)]
    numbered = "\n".join(f"{first + i + 1}\t{visible(line[:COMPARED_CHARACTERS])}" for i, line in enumerate(shown))
    return f" The nearest text is:\n{numbered}"
