"""The text that arrives now: plain, laid out at its last line only, dropped when its record comes.

Not Markdown (a half-written table is none yet) and not a block: nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from agent.wire import Streaming
from tui.block import Role
from tui.flow import Flow
from tui.full.palette import Palette
from tui.full.strips import INDENT
from tui.plain import safe

# Reasoning scrolls by in this many lines, so that it never pushes the conversation away.
THINKING_LINES = 4

# Drawn lines kept: some ten screens of them.
KEPT = 400

KINDS: dict[str, Role] = {"text": "agent", "thinking": "thinking"}


@dataclass(slots=True)
class Live:
    """One growing answer, or the reasoning before it."""

    kind: Role
    flow: Flow
    drawn: dict[str, Strip] = field(default_factory=dict)
    style: Style | None = None

    def rows(self) -> list[str]:
        """The lines shown."""
        return self.flow.lines if self.kind == "agent" else self.flow.lines[-THINKING_LINES:]

    def strip(self, at: int, palette: Palette) -> Strip | None:
        """Line `at`, drawn."""
        rows = self.rows()
        if not 0 <= at < len(rows):
            return None
        style = palette.text if self.kind == "agent" else palette.quiet
        if style is not self.style or len(self.drawn) > KEPT:
            self.style = style
            self.drawn.clear()
        # The same strip for the same line, so that it is known again once it has moved.
        strip = self.drawn.get(rows[at])
        if strip is None:
            strip = self.drawn[rows[at]] = Strip([Segment(" " * INDENT), Segment(rows[at], style)])
        return strip


def runs(arrived: Iterable[Streaming]) -> Iterator[tuple[Role, str]]:
    """What arrived since the last beat, in as few texts as there are changes of kind; the names of calls left out."""
    shown = (event for event in arrived if event.kind in KINDS)
    for kind, events in groupby(shown, key=lambda event: event.kind):
        yield KINDS[kind], safe("".join(event.text for event in events))
