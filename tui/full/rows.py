"""A list of pieces as a column of lines: which piece is at which line, with heights guessed until a piece is drawn.

Not a widget: no scrolling and no screen, so its arithmetic is tested by itself.

Invariants
 1. A line belongs to exactly one piece; the piece's first line is the sum of the heights before it.
 2. Only pieces that are looked at are drawn; drawing one corrects its height.
 3. Finding a line costs a bisection; changing one height costs only the sums after it that are asked for again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable

from textual.strip import Strip

from tui.full.palette import Palette
from tui.full.strips import Piece, draw, estimate

# Drawn pieces kept: some forty screens of them, under 10 MB.
KEPT = 800


class Rows:
    """Pieces in order, in `width` cells."""

    def __init__(self, width: int, palette: Palette) -> None:
        self.width = width
        self.palette = palette
        self.pieces: list[Piece] = []
        self._heights: list[int] = []
        self._exact: list[bool] = []
        self._sums: list[int] = [0]  # line at which piece i starts; valid for as many as there are
        self._drawn: OrderedDict[int, list[Strip]] = OrderedDict()

    @property
    def height(self) -> int:
        """All lines."""
        return self.start(len(self.pieces))

    def start(self, index: int) -> int:
        """The first line of piece `index`."""
        sums = self._sums
        while len(sums) <= index:
            sums.append(sums[-1] + self._heights[len(sums) - 1])
        return sums[index]

    def at(self, line: int) -> int | None:
        """The piece that line `line` belongs to."""
        if not 0 <= line < self.height:
            return None
        return bisect_right(self._sums, line) - 1

    def extend(self, pieces: Iterable[Piece]) -> None:
        """Add pieces at the end, undrawn."""
        for piece in pieces:
            self.pieces.append(piece)
            self._heights.append(estimate(piece, self.width))
            self._exact.append(False)

    def splice(self, first: int, last: int, pieces: list[Piece]) -> None:
        """Put `pieces` in place of those from `first` up to but without `last`."""
        self.pieces[first:last] = pieces
        self._heights[first:last] = [estimate(piece, self.width) for piece in pieces]
        self._exact[first:last] = [False] * len(pieces)
        self._forget(first)

    def clear(self) -> None:
        """Nothing any more."""
        self.splice(0, len(self.pieces), [])

    def resize(self, width: int, palette: Palette) -> None:
        """Another width or other colours: every height is a guess again."""
        if (width, palette) == (self.width, self.palette):
            return
        self.width, self.palette = width, palette
        self._heights = [estimate(piece, width) for piece in self.pieces]
        self._exact = [False] * len(self.pieces)
        self._forget(0)

    def strips(self, index: int) -> list[Strip]:
        """The piece's lines, drawn now or before; its height is exact from here on."""
        strips = self._drawn.get(index)
        if strips is None:
            strips = self._drawn[index] = draw(self.pieces[index], self.width, self.palette)
            while len(self._drawn) > KEPT:
                self._drawn.popitem(last=False)
        else:
            self._drawn.move_to_end(index)
        if not self._exact[index]:
            self._exact[index] = True
            if self._heights[index] != len(strips):
                self._heights[index] = len(strips)
                del self._sums[index + 1 :]
        return strips

    def settle(self, top: int, bottom: int) -> int:
        """Draw all that lies between two lines; returns by how much the line at `top` has moved down.

        A piece that begins above `top` and turns out taller or shorter than guessed moves what is read below it; the
        caller scrolls by the returned number and the reader sees nothing jump.
        """
        moved = 0
        index = self.at(max(0, top))
        while index is not None and index < len(self.pieces) and self.start(index) < bottom + moved:
            before, above = self._heights[index], self.start(index) < top + moved
            self.strips(index)
            if above:
                moved += self._heights[index] - before
            index += 1
        return moved

    def settle_end(self, lines: int) -> None:
        """Draw the last pieces, as few as fill so many lines."""
        index = len(self.pieces)
        while index > 0 and lines > 0:
            index -= 1
            lines -= len(self.strips(index))

    def line(self, line: int) -> Strip | None:
        """One line, drawn if need be."""
        index = self.at(line)
        if index is None:
            return None
        strips, offset = self.strips(index), line - self.start(index)
        return strips[offset] if offset < len(strips) else None

    def _forget(self, first: int) -> None:
        del self._sums[first + 1 :]
        for index in [index for index in self._drawn if index >= first]:
            del self._drawn[index]
