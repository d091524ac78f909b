"""The timeline as a plot of characters: one bar a request, what was read from the cache below what was not.

Not the figures (those are `agent.reading`'s rows) and not a screen; plotext draws, and is imported when something is
drawn. It keeps one figure for the whole process, so one plot is drawn at a time.

Invariants
 1. Every request in the picture has the same number of columns, and no two share one.
 2. Cached and uncached differ by glyph, not by colour alone; a mark is a letter, and each letter has a line below.
 3. A budget or window that would flatten the bars is named in the legend instead of drawn.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.plain import dollars, one_line, percent, tokens

if TYPE_CHECKING:
    from agent.reading import RequestRow

Colour = tuple[int, int, int]

# plotext's figure is the module's own.
_ONE = threading.Lock()

# A bar wider than this says nothing more, cells.
WIDEST = 6

# `1.05M` is the longest number at the side; one more cell is the axis.
SIDE = 5

# Rows below this show no heights; the axis and its numbers take two more.
LEAST_ROWS = 6

# A line up to this many times above the highest bar is drawn; beyond it the bars would be crushed to a row or two.
NEAR = 2.5
FEW_ROWS = 12
NEAR_ON_FEW_ROWS = 1.3

# Narrower than this the legend takes one line, cells.
NARROW = 56

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Ink:
    """The colours and the two fills."""

    read: Colour = (143, 180, 217)
    fresh: Colour = (224, 179, 106)
    budget: Colour = (214, 217, 223)
    window: Colour = (150, 150, 150)
    mark: Colour = (224, 122, 122)
    read_fill: str = "█"
    fresh_fill: str = "▒"


ASCII_INK = Ink(read_fill="#", fresh_fill="+")


@dataclass(frozen=True, slots=True)
class Plot:
    """The lines, with colour codes; the legend below them; one line for each mark; and which rows they are of."""

    lines: tuple[str, ...]
    legend: str
    marks: tuple[str, ...]
    first: int
    count: int


def fitting(width: int) -> int:
    """How many requests fit `width` cells."""
    return max(1, width - SIDE - 1)


def what_happened(row: RequestRow) -> str:
    """What was rewritten before a request and why its cached prefix ended; empty where nothing was."""
    said = [", ".join(one_line(tag) for tag in row.rewrites)] if row.rewrites else []
    if row.breaks:
        said.append(f"cache broken: {one_line(row.breaks)}")
    return " · ".join(said)


def happened_since(tags: Sequence[str]) -> str:
    """What was rewritten after the last request, whose effect the next one will show."""
    return f"{', '.join(one_line(tag) for tag in tags)} (the next request shows what it did)"


def plot(
    rows: Sequence[RequestRow], width: int, height: int, *, budget: int | None, window: int | None, ink: Ink = Ink(),
    first: int | None = None, since: Sequence[str] = (),
) -> Plot:  # fmt: skip
    """The requests from `first` on (None: the newest that fit) in `width` by `height` cells.

    `budget` and `window` in tokens; None draws no line. `since`: what was rewritten after the last of all.
    """
    room = fitting(width)
    first = max(0, len(rows) - room) if first is None else max(0, min(first, len(rows) - 1))
    chosen = rows[first : first + room]
    if not chosen:
        return Plot((), "no request was answered in this session yet", (), 0, 0)
    marked = [(n, row) for n, row in enumerate(chosen) if what_happened(row)]
    letters = {n: LETTERS[i % len(LETTERS)] for i, (n, _) in enumerate(marked)}
    highest = max(row.size for row in chosen) or 1
    levels = [("budget", budget, ink.budget), ("window", window, ink.window)]
    near = highest * (NEAR if height >= FEW_ROWS else NEAR_ON_FEW_ROWS)
    drawn = [(name, level, colour) for name, level, colour in levels if level and level <= near]
    top = max([highest, *(level for _, level, _ in drawn)]) * 1.12
    lines = _drawn(chosen, letters, drawn, top, width, max(LEAST_ROWS, height), ink)
    marks = tuple(f"{letters[n]}  before #{row.record}: {what_happened(row)}" for n, row in marked)
    if since and first + len(chosen) == len(rows):
        marks += (f"   after #{chosen[-1].record}: {happened_since(since)}",)
    legend = _brief(chosen, ink) if width < NARROW else _legend(chosen, levels, drawn, ink)
    return Plot(lines, legend, marks, first, len(chosen))


def _drawn(
    rows: Sequence[RequestRow], letters: dict[int, str], levels: Sequence[tuple[str, int | None, Colour]], top: float,
    width: int, height: int, ink: Ink,
) -> tuple[str, ...]:  # fmt: skip
    import plotext

    each = max(1, min(WIDEST, fitting(width) // len(rows)))
    filled = max(1, each - 1)
    columns = [n * each + cell for n in range(len(rows)) for cell in range(filled)]
    sizes = [row.size for row in rows for _ in range(filled)]
    # A bar of no height would still blank the lowest row of the one behind it.
    read = {n * each + cell: row.cache_read for n, row in enumerate(rows) if row.cache_read for cell in range(filled)}
    ticks = _ticks(top, 4 if height >= 12 else 2)
    named = [n for n in range(len(rows)) if n % _every(len(rows), each) == 0]
    with _ONE:
        plotext.clear_figure()
        plotext.theme("clear")
        # Never as wide or high as the terminal that happens to be there, but as asked.
        plotext.limitsize(False, False)
        plotext.plotsize(len(rows) * each + SIDE + 1, height)
        # A bar of one column each: wider ones are rounded to their neighbours' columns.
        plotext.bar(columns, sizes, marker=ink.fresh_fill, color=ink.fresh, width=0.02, minimum=0)
        if read:
            plotext.bar([*read], [*read.values()], marker=ink.read_fill, color=ink.read, width=0.02, minimum=0)
        for _, level, colour in levels:
            plotext.horizontal_line(level, color=colour)
        for n, letter in letters.items():
            plotext.text(letter, x=n * each, y=min(top, rows[n].size + top / height), color=ink.mark)
        plotext.xlim(0, max(1, len(rows) * each - 1))
        plotext.ylim(0, top)
        plotext.yticks(ticks, [f"{tokens(tick):>{SIDE}}" for tick in ticks])
        plotext.xticks([n * each for n in named], [f"#{rows[n].record}" for n in named])
        plotext.xaxes(True, False)
        plotext.yaxes(True, False)
        text: str = plotext.build()
        plotext.clear_figure()
    return tuple(text.rstrip("\n").split("\n"))


def _ticks(top: float, steps: int) -> list[int]:
    """Round numbers from 0 to `top`, about `steps` apart."""
    rough = max(1.0, top / steps)
    power = 10 ** math.floor(math.log10(rough))
    step = next(round(power * by) for by in (1, 2, 2.5, 5, 10) if power * by >= rough * 0.99)
    return list(range(0, int(top) + 1, max(1, step)))


def _every(count: int, each: int) -> int:
    """Record numbers need some ten cells each."""
    return max(1, -(-10 // each), -(-count // 12))


def _brief(rows: Sequence[RequestRow], ink: Ink) -> str:
    costs = [row.cost for row in rows if row.cost is not None]
    said = f"{ink.read_fill} read from cache {ink.fresh_fill} not"
    return f"{said} · {dollars(sum(costs))}" if costs else said


def _legend(
    rows: Sequence[RequestRow], levels: Sequence[tuple[str, int | None, Colour]],
    drawn: Sequence[tuple[str, int | None, Colour]], ink: Ink,
) -> str:  # fmt: skip
    size, read = sum(row.size for row in rows), sum(row.cache_read for row in rows)
    costs = [row.cost for row in rows if row.cost is not None]
    said = [f"{ink.read_fill} read from cache ({percent(read, size)})", f"{ink.fresh_fill} not"]
    inside = {name for name, _, _ in drawn}
    for name, level, _ in levels:
        if level:
            said.append(f"{'─ ' if name in inside else ''}{name} {tokens(level)}{'' if name in inside else ' (above)'}")
    said.append(f"{len(rows):,} requests" + (f", {dollars(sum(costs))}" if costs else ""))
    return " · ".join(said)


def uncoloured(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines without colour codes."""
    import plotext

    return tuple(plotext.uncolorize(line) for line in lines)
