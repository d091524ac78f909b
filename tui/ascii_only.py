"""Lines for terminals that know no more than ASCII: each other character becomes one that looks like it, or `?`.

The last step before the terminal, so it keeps every width: a wide character becomes two.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

# What the program itself and most models write; a glyph with a meaning of its own has its ASCII form in `palette`.
ALIKE = dict(
    zip(
        "…·•→←↑↓≈≥≤×—–‐“”‘’«»│┃▌▕▏─━┌┐└┘├┤┬┴┼╭╮╰╯╎⫽●○✓✗▲█▓▒░▚",
        '~-*><^v~><x---""\'\'""||||]--+++++++++++++:/*o+x!#=+-%',
        strict=True,
    )
)


class AsciiOnly(LineFilter):
    """Segment by segment."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same cells, in ASCII."""
        return [
            segment if segment.text.isascii() else Segment(ascii_text(segment.text), segment.style, segment.control)
            for segment in segments
        ]


@lru_cache(maxsize=4_096)
def ascii_text(text: str) -> str:
    """`text` in ASCII, as wide as before."""
    return "".join(
        character if character.isascii() else ALIKE.get(character, "?" * cell_len(character)) for character in text
    )
