"""Blocks as rows of styled text for a terminal's own scrollback: printed once, never drawn again.

Not a screen and no library's types: a row is (style, text) pairs, whose styles `prompt` names colours for and
`plain` drops.

Invariants
 1. Prose is broken at words, no row of it wider than `width`; code and output keep their lines, for copying, but for
    those that do not fit: `fitted` breaks them before a terminal would, in a word.
 2. Everything is told by a glyph or a place, nothing by colour alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from rich.cells import cell_len

from tui.block import Block, folded
from tui.flow import Flow, wrap

Row: TypeAlias = tuple[tuple[str, str], ...]

# Wider prose is hard to read back; cells.
MOST_PROSE = 100

# A rule across a very wide terminal says no more; cells.
MOST_RULE = 78

_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_HEADING = re.compile(r"^ {0,3}(#{1,6}) +(.*)$")
_ITEM = re.compile(r" *(?:(?:[-*+]|[0-9]{1,9}[.)]) +)?")
_MARKS = re.compile(r"(\*\*|`)")


def row(text: str, style: str = "") -> Row:
    """One row in one style."""
    return ((style, text),)


def text_of(one: Row) -> str:
    """A row's text alone."""
    return "".join(text for _, text in one)


def fitted(one: Row, width: int) -> list[Row]:
    """The row, broken at words where it is wider than `width`, each part behind the blanks it began with."""
    text = text_of(one)
    if cell_len(text) <= width:
        return [one]
    blanks = text[: min(len(text) - len(text.lstrip(" ")), width // 2)]
    styles = [style for style, part in one for _ in part]
    found: list[Row] = []
    at = len(blanks)
    for line in wrap(text[at:], max(2, width - len(blanks))):
        at = text.index(line, at)
        runs = groupby(zip(styles[at : at + len(line)], line, strict=True), key=itemgetter(0))
        found.append((("", blanks), *((style, "".join(letter for _, letter in run)) for style, run in runs)))
        at += len(line)
    return found


def prose(text: str, width: int, style: str = "", first: str = "", rest: str | None = None) -> list[Row]:
    """`text` broken at words; `first` stands before its first row, `rest` before the others."""
    rest = " " * cell_len(first) if rest is None else rest
    lines = wrap(text, max(8, min(width, MOST_PROSE) - max(cell_len(first), cell_len(rest))))
    return [row((first if index == 0 else rest) + line, style) for index, line in enumerate(lines)]


@dataclass(slots=True)
class Markdown:
    """Markdown line by line, as it arrives: light marks become styles, everything else stays as it was written."""

    fence: str = ""
    strong: bool = False
    code: bool = False
    heading: bool = False

    def row(self, line: str, *, fresh: bool) -> Row:
        """One row; `fresh` when it begins a line of the text."""
        if fresh:
            self.strong = self.code = self.heading = False
            if found := _FENCE.match(line):
                if not self.fence or found[1] == self.fence:
                    self.fence = "" if self.fence else found[1]
                return row(line, "class:quiet")
            if not self.fence and (found := _HEADING.match(line)):
                self.heading, line = True, found[2]
            elif not self.fence and line.startswith(">"):
                return row(line, "class:quiet")
        if self.fence:
            return row(line, "class:code")
        return tuple(self._spans(line))

    def _spans(self, line: str) -> Iterable[tuple[str, str]]:
        for part in _MARKS.split(line):
            if part == "`":
                self.code = not self.code
                yield "class:quiet", part
            elif part == "**" and not self.code:
                self.strong = not self.strong
            elif part:
                yield "class:code" if self.code else "class:strong" if self.strong or self.heading else "", part


@dataclass(slots=True)
class Growing:
    """An answer that arrives: rows come out as soon as no later word can change them.

    The rows of an item of a list stand below its first word, not below its number.
    """

    width: int
    given: str = ""
    flow: Flow = field(init=False)
    markdown: Markdown = field(default_factory=Markdown)
    fresh: bool = True
    hang: int = 0

    def __post_init__(self) -> None:
        self.flow = Flow(self.width)

    def feed(self, text: str) -> list[Row]:
        """More of it; the rows that are finished."""
        self.given += text
        rows: list[Row] = []
        *lines, last = text.split("\n")
        for line in lines:
            self.flow.feed(line)
            rows += self._take(whole=True)
            self.flow, self.fresh, self.hang = Flow(self.width), True, 0
        self.flow.feed(last)
        return rows + self._take(whole=False)

    def _take(self, *, whole: bool) -> list[Row]:
        """The rows that are ready; `whole`: nothing more comes to this line."""
        found: list[Row] = []
        if self.fresh and len(self.flow.lines) > 1:
            first = self.flow.lines[0]
            self.hang = 0 if self.markdown.fence else min(_hanging(first), self.width // 2)
            found.append(self.markdown.row(first, fresh=True))
            self.fresh = False
            # The first row is a beginning of the line; what follows has less room.
            rest = "".join(self.flow.text)[len(first) :].lstrip(" ")
            self.flow = Flow(self.width - self.hang)
            self.flow.feed(rest)
        count = len(self.flow.lines) - (0 if whole else 1)
        for line in self.flow.lines[:count]:
            one = self.markdown.row(line, fresh=self.fresh)
            found.append((("", " " * self.hang), *one) if self.hang else one)
            self.fresh = False
        del self.flow.lines[:count]
        return found

    @property
    def tail(self) -> str:
        """What is not yet a row."""
        return " " * self.hang + self.flow.lines[-1] if self.flow.lines else ""

    def end(self) -> list[Row]:
        """The last row."""
        return self._take(whole=True) if self.tail.strip() else []


def _hanging(line: str) -> int:
    """How far in the text of a line begins, behind blanks and an item's mark; cells."""
    found = _ITEM.match(line)
    return 0 if found is None else len(found[0])


def markdown(text: str, width: int) -> list[Row]:
    """A whole answer."""
    growing = Growing(min(width, MOST_PROSE))
    return growing.feed(text) + growing.end()


def body(block: Block, *, open: bool = False) -> list[Row]:
    """Output or a diff, indented, folded unless `open`."""
    if block.fold is None or open:
        first, hidden, last = (block.body.rstrip("\n").split("\n") if block.body else []), 0, list[str]()
    else:
        first, hidden, last = folded(block.body, block.fold)
        if not first and not last:
            return []
    more = [row(f"  … {hidden} more lines", "class:quiet")] if hidden else []
    return [*(_line(line, block) for line in first), *more, *(_line(line, block) for line in last)]


def _line(line: str, block: Block) -> Row:
    style = "class:output"
    if block.form == "diff" and line.startswith("+") and not line.startswith("+++ "):
        style = "class:added"
    elif block.form == "diff" and line.startswith("-") and not line.startswith("--- "):
        style = "class:removed"
    return row(f"  {line}", style)


def rows(block: Block, width: int, *, open: bool = False) -> list[Row]:
    """The block, with a blank row before what begins something new; behind a rail when it was left behind."""
    if block.faded:
        found = rows(replace(block, faded=False), max(10, width - 2), open=open)
        return [row(f"┊ {text_of(one)}", "class:quiet") if one else one for one in found]
    facts = " · ".join([*block.meta, *([f"#{block.record}"] if block.record is not None else [])])
    match block.role:
        case "banner":
            head: Row = (("class:strong", block.title), ("class:quiet", f"  {facts}"))
            return [head, *(row(line, "class:quiet") for line in block.body.split("\n"))]
        case "user":
            shown = block if open or block.fold is None else None
            first, hidden, last = (block.body.split("\n"), 0, list[str]()) if shown else _folded(block)
            lines = [*first, *([f"… {hidden} more lines"] if hidden else []), *last]
            said = [one for line in lines for one in prose(line, width, "class:user", "▌ ", "▌ ")]
            return [(), *said, *([row(f"  {' · '.join(block.meta)}", "class:quiet")] if block.meta else [])]
        case "thinking":
            whole = block.fold is None or open
            more = "" if whole or not block.body else " (ctrl+o)"
            lines = block.body.split("\n") if whole and block.body else []
            said = [one for line in lines for one in prose(line, width, "class:quiet", "    ", "    ")]
            return [(), row(f"  {block.title}{more}", "class:quiet"), *said]
        case "agent":
            return [(), *markdown(block.body, width)]
        case "tool" | "shell":
            mark = {"running": "◌", "done": "✓", "failed": "✗", None: "$"}[block.state]
            style = {"running": "class:quiet", "done": "class:good", "failed": "class:error", None: "class:user"}
            return [(), *_title(style[block.state], mark, block.title, facts, width), *body(block, open=open)]
        case "divider":
            said_ = f"── {block.title}" + (f" · {facts}" if facts else "") + " "
            ruled = said_ + "─" * max(2, min(width, MOST_RULE) - cell_len(said_))
            fits = cell_len(ruled) <= width
            head_ = [row(ruled, "class:divider")] if fits else prose(said_.rstrip(), width, "class:divider", "", "   ")
            return [(), *head_, *(markdown(block.body, width) if open else [])]
        case "warning" | "error":
            mark = "▲ " if block.role == "warning" else "✗ "
            return [(), *_paragraphs(block.body, width, f"class:{block.role}", mark)]
        case "notice" | "quiet":
            return _paragraphs(block.body, width, "class:quiet" if block.role == "quiet" else "class:notice", "· ")


def _title(style: str, mark: str, title: str, facts: str, width: int) -> list[Row]:
    """On one row if it fits; else the facts go under it."""
    whole = f"{mark} {title}" + (f"  {facts}" if facts else "")
    if cell_len(whole) <= width:
        return [((style, f"{mark} "), ("class:strong", title), ("class:quiet", f"  {facts}" if facts else ""))]
    first, *others = prose(title, width, "class:strong", f"{mark} ", "  ")
    head: Row = ((style, f"{mark} "), ("class:strong", text_of(first)[2:]))
    return [head, *others, *(prose(facts, width, "class:quiet", "  ") if facts else [])]


def _folded(block: Block) -> tuple[list[str], int, list[str]]:
    assert block.fold is not None
    return folded(block.body, block.fold)


def _paragraphs(text: str, width: int, style: str, mark: str) -> list[Row]:
    lines = text.split("\n")
    found = prose(lines[0], width, style, mark)
    for line in lines[1:]:
        found += prose(line, width, style, "  ")
    return found


def table(text: str, heads: Sequence[str], cells: Iterable[Sequence[str]], width: int) -> list[Row]:
    """A title, and columns as wide as they need; the last one is cut at `width`. The first columns stand right."""
    lines = [list(heads), *(list(line) for line in cells)]
    wide = [max(cell_len(line[column]) for line in lines) for column in range(len(heads) - 1)]
    out = [row(text, "class:strong")] if text else []
    for index, line in enumerate(lines):
        head = "  ".join(" " * (size - cell_len(one)) + one for size, one in zip(wide, line, strict=False))
        out.append(row(cut(f"{head}  {line[-1]}".rstrip(), width), "class:quiet" if index == 0 else ""))
    return out


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells, its end marked when cut."""
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = text[: -max(1, (cell_len(text) - width + 1) // 2)]
    return f"{text}…"
