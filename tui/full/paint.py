"""Lines made ready for the terminal once: on their ground, as wide as the widget, through the program's filters.

Not what a line says (`strips` and `live` draw that) and not what a mouse finds in it: those lines carry their offsets.
Textual dresses every line anew at every paint, which for a screenful keeps a key waiting 5 ms; a line that only moved
is dressed already.

Invariants
 1. A line is dressed again when anything it is dressed with has changed: the ground, a width, the filters.
 2. What is kept is bounded, and no line is taken for another: each is kept with what it was made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.strip import Strip

# Dressed lines kept: some thirty screens of them, about 2 MB.
KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Ground:
    """What lines are dressed with. `left` and `right` are blank cells beside `width` cells of text."""

    width: int
    left: int
    right: int
    text: Style
    beside: Style
    background: Color
    filters: Sequence[LineFilter]


class Paint:
    """Dresses lines, and remembers them."""

    def __init__(self) -> None:
        self._ground: Ground | None = None
        self._dressed: dict[int, tuple[Strip, Strip]] = {}
        self._blank = Strip.blank(0)

    def stand_on(self, ground: Ground) -> None:
        """From now on lines are dressed so."""
        if ground != self._ground:
            self._ground = ground
            self._dressed.clear()

    def dress(self, strip: Strip | None) -> Strip:
        """The line ready to be written; None is an empty one."""
        strip = self._blank if strip is None else strip
        kept = self._dressed.get(id(strip))
        if kept is not None:
            return kept[1]
        if len(self._dressed) >= KEPT:
            self._dressed.clear()
        done = self._made(strip)
        self._dressed[id(strip)] = (strip, done)
        return done

    def _made(self, strip: Strip) -> Strip:
        ground = self._ground
        assert ground is not None
        line = strip.crop_extend(0, ground.width, None).apply_style(ground.text)
        left, right = Segment(" " * ground.left, ground.beside), Segment(" " * ground.right, ground.beside)
        beside = [[side] if side.text else [] for side in (left, right)]
        done = Strip([*beside[0], *line, *beside[1]], ground.left + ground.width + ground.right)
        for each in ground.filters:
            done = done.apply_filter(each, ground.background)
        return done


__all__ = ["Ground", "Paint"]
