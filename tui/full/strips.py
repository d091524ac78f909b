"""One piece of a block drawn as strips: lines of styled cells, ready for the screen.

Not a widget and holds no state: the same piece, width and palette give the same strips, so the transcript may cache.

Invariants
 1. No strip is wider than the width.
 2. Drawing never parses markup; only `form == "markdown"` is Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.block import Block, Fold, folded
from tui.flow import wrap
from tui.full.palette import Palette
from tui.full.pieces import LONGEST_LINE

# Prose is read best at 60 to 100 characters a line; code, output and diffs take the whole width.
PROSE = 100

# Body text stands this far in, under the title's text; cells.
INDENT = 2

# A card's body stands behind a rail under its title, cells.
RAIL = 4

# On a screen narrower than this the facts go below the title, cells.
FACTS_BESIDE = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a block small enough to draw at once. `first` draws the title; `gap` blank lines go before it."""

    block: Block
    text: str
    first: bool = True
    last: bool = True
    open: bool = False
    gap: int = 1


def load() -> None:
    """What the first Markdown would otherwise wait for; on a thread, once the screen stands."""
    _markdown("", 80, Palette())


def _markdown(text: str, width: int, palette: Palette) -> list[list[Segment]]:
    # Here, because its parser and highlighter cost a start 30 ms before there is anything to draw with them.
    from tui.full.markdown import lines

    return lines(text, width, palette)


def draw(piece: Piece, width: int, palette: Palette) -> list[Strip]:
    """The piece's lines."""
    width = max(8, width)
    strips = [Strip.blank(0)] * (piece.gap if piece.first else 0)
    match piece.block.role:
        case "user":
            lines = _user(piece, width, palette)
        case "agent":
            lines = _prose(piece, width, palette)
        case "tool" | "shell":
            lines = _card(piece, width, palette)
        case "divider":
            lines = _divider(piece, width, palette)
        case "banner":
            lines = _banner(piece, width, palette)
        case "thinking":
            lines = _thought(piece, width, palette)
        case "quiet":
            lines = _said(piece, width, palette, "", palette.quiet, palette.quiet)
        case "notice":
            lines = _said(piece, width, palette, palette.glyphs.notice, palette.quiet, palette.quiet)
        case "warning":
            lines = _said(piece, width, palette, palette.glyphs.warning, palette.warning, palette.text)
        case "error":
            lines = _said(piece, width, palette, palette.glyphs.failed, palette.error, palette.text)
    if piece.block.faded:
        lines = ([Segment(part.text, palette.quiet) for part in line] for line in lines)
    return strips + [_within(Strip(Segment.simplify(line)), width) for line in lines]


def _within(strip: Strip, width: int) -> Strip:
    """Cut what a very narrow screen leaves no room for."""
    return strip if strip.cell_length <= width else strip.crop(0, width)


def estimate(piece: Piece, width: int) -> int:
    """About how many lines the piece takes, without drawing it."""
    gap = piece.gap if piece.first else 0
    block = piece.block
    if block.fold is not None and not piece.open:
        newlines = piece.text.count("\n") + 1 if piece.text else 0
        shown = min(newlines, block.fold.head + block.fold.tail + 1) if block.fold != Fold() else 0
        return gap + 1 + shown
    inner = max(8, min(width, PROSE) - 4)
    lines = piece.text.count("\n") + 1 + len(piece.text) // (inner * 2) if piece.text else 0
    return gap + max(1, lines + (1 if block.title and piece.first else 0))


_Line = list[Segment]


def _more(palette: Palette) -> str:
    return f" ({palette.unfold})" if palette.unfold else ""


def _body_lines(piece: Piece, palette: Palette) -> Iterator[tuple[str, bool]]:
    """The body's lines as shown, and whether a line is the note of what is hidden."""
    if not piece.text:
        return
    fold = piece.block.fold
    if fold is None or piece.open:
        for line in piece.text.split("\n"):
            yield line, False
        return
    if fold == Fold():
        return
    head, hidden, tail = folded(piece.text, fold)
    yield from ((line[:LONGEST_LINE], False) for line in head)
    if hidden:
        yield (f"{hidden:,} more lines" if head or tail else f"{hidden:,} lines") + _more(palette), True
    yield from ((line[:LONGEST_LINE], False) for line in tail)


def _facts(block: Block, palette: Palette) -> str:
    number = [f"#{block.record}"] if block.record is not None else []
    return f" {palette.glyphs.dot} ".join([*block.meta, *number])


def _user(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    shade, bar = palette.shade, Segment(f"{palette.glyphs.bar} ", palette.accent + palette.shade)
    facts = _facts(piece.block, palette) if piece.first and piece.block.meta else ""
    inner = min(width, PROSE + INDENT) - INDENT - 1
    rows = [
        (row, palette.quiet if note else palette.text)
        for line, note in _body_lines(piece, palette)
        for row in wrap(line, inner)
    ]
    for row, style in rows + ([(row, palette.quiet) for row in wrap(facts, inner)] if facts else []):
        yield [bar, *Segment.adjust_line_length([Segment(row, style + shade)], width - INDENT, style=shade)]


def _prose(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    inner = max(4, min(width - INDENT - 1, PROSE))
    pad = Segment(" " * INDENT)
    for line in _markdown(piece.text, inner, palette):
        yield [pad, *line]


def _card(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    block, glyphs = piece.block, palette.glyphs
    mark, style = {
        "running": (glyphs.running, palette.accent),
        "done": (glyphs.done, palette.good),
        "failed": (glyphs.failed, palette.error),
        None: (glyphs.shell, palette.accent),
    }[block.state]
    if piece.first:
        title = _two_tone(block, palette)
        yield from _title_line([Segment(f"{mark} ", style)], title, _facts(block, palette), width, palette)
    rail = Segment(" " * (RAIL - 2) + f"{glyphs.rail} ", palette.faint)
    for line, note in _body_lines(piece, palette):
        tone = palette.quiet if note else _line_style(line, block, palette)
        line = f"{glyphs.more} {line}" if note else line
        for row in wrap(line, width - RAIL - 1):
            yield [rail, Segment(row, tone)]


def _two_tone(block: Block, palette: Palette) -> list[Segment]:
    """The tool's name stands out from what it was given."""
    name, space, rest = block.title.partition(" ")
    return [Segment(name, palette.strong), Segment(space + rest, palette.text)]


def _line_style(line: str, block: Block, palette: Palette) -> Style:
    if block.form != "diff":
        return palette.quiet
    if line.startswith(("--- ", "+++ ", "diff ", "index ", "@@")):
        return palette.quiet
    if line.startswith("+"):
        return palette.good
    if line.startswith("-"):
        return palette.error
    return palette.quiet


def _title_line(head: _Line, title: _Line, facts: str, width: int, palette: Palette) -> Iterator[_Line]:
    """The title with its facts at the right edge, or below it where there is no room."""
    room = width - Segment.get_line_length(head) - 1
    size, beside = Segment.get_line_length(title), cell_len(facts)
    if width >= FACTS_BESIDE and beside <= width // 2:
        left = room - beside - 2 if facts else room
        if size > left:
            title = _cut(title, left, palette)
        gap = Segment(" " * (room - Segment.get_line_length(title) - beside))
        yield [*head, *title, gap, Segment(facts, palette.quiet)]
        return
    yield [*head, *(_cut(title, room, palette) if size > room else title)]
    for row in wrap(facts, width - RAIL) if facts else []:
        yield [Segment(" " * INDENT), Segment(row, palette.quiet)]


def _cut(line: _Line, size: int, palette: Palette) -> _Line:
    kept: _Line = []
    room = max(0, size - 1)
    for segment in line:
        length = cell_len(segment.text)
        if length > room:
            kept.append(Segment(set_cell_size(segment.text, room).rstrip(), segment.style))
            break
        kept.append(segment)
        room -= length
    return [*kept, Segment(palette.glyphs.more, palette.quiet)]


def _divider(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    block, glyphs = piece.block, palette.glyphs
    if piece.first:
        number = [f"#{block.record}"] if block.record is not None else []
        hint = [f"{palette.unfold} shows the summary"] if block.body and palette.unfold and not piece.open else []
        left = [Segment(f"{glyphs.rule * 3} ", palette.faint), Segment(block.title, palette.second)]
        rows = _filled([*block.meta, *number, *hint], width - Segment.get_line_length(left) - 6, width - 6, palette)
        for index, row in enumerate(rows):
            line = [*(left if index == 0 else [Segment("  ")]), Segment(f"  {row}", palette.quiet)]
            if index == len(rows) - 1:
                fill = width - Segment.get_line_length(line) - 2
                line.append(Segment(" " + glyphs.rule * max(0, fill), palette.faint))
            yield line
    if piece.open and piece.text:
        rail = Segment(f"  {glyphs.rail} ", palette.faint)
        for line in _markdown(piece.text, max(4, min(width - RAIL - 1, PROSE)), palette):
            yield [rail, *line]


def _filled(facts: list[str], first: int, rest: int, palette: Palette) -> list[str]:
    """Facts joined by dots into as few rows as hold them, none torn apart that fits a row."""
    rows: list[str] = [""]
    for fact in facts:
        room = first if len(rows) == 1 else rest
        joined = f"{rows[-1]} {palette.glyphs.dot} {fact}" if rows[-1] else fact
        if cell_len(joined) <= room:
            rows[-1] = joined
        else:
            more = wrap(fact, max(4, rest))
            rows += more
    return rows


def _banner(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    block = piece.block
    yield from _title_line(
        [], [Segment(block.title, palette.accent + Style(bold=True))], _facts(block, palette), width, palette
    )
    for line, _ in _body_lines(piece, palette):
        for row in wrap(line, width - 1):
            yield [Segment(row, palette.quiet)]


def _thought(piece: Piece, width: int, palette: Palette) -> Iterator[_Line]:
    """Its line, and behind that, when unfolded, the reasoning."""
    folds = piece.block.fold is not None
    if piece.first:
        more = "" if not folds or piece.open else _more(palette)
        yield [Segment("  "), Segment(f"{piece.block.title}{more}", palette.quiet)]
    if not folds or piece.open:
        for line in piece.text.split("\n") if piece.text else ():
            for row in wrap(line, max(4, min(width, PROSE) - INDENT * 2 - 1)):
                yield [Segment(" " * INDENT * 2), Segment(row, palette.quiet)]


def _said(piece: Piece, width: int, palette: Palette, mark: str, tone: Style, text: Style) -> Iterator[_Line]:
    head = f"{mark} " if mark else "  "
    title = [piece.block.title] if piece.block.title and piece.first else []
    if piece.text or not title:
        title += piece.text.split("\n")
    first = True
    for line in title:
        for row in wrap(line, max(4, min(width, PROSE) - INDENT - 1)):
            yield [Segment(head if first and piece.first else "  ", tone), Segment(row, text)]
            first = False
