"""Lines for terminals that know no more than ASCII: each other character becomes one that looks like it, or `?`.

The last step before the terminal, so it keeps every width: a wide character becomes two.
"""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from tui.alphabet import ascii_text as ascii_text


class AsciiOnly(LineFilter):
    """Segment by segment."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same cells, in ASCII."""
        return [
            segment if segment.text.isascii() else Segment(ascii_text(segment.text), segment.style, segment.control)
            for segment in segments
        ]
