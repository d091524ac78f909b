"""Text for terminals that know no more than ASCII: each other character becomes one that looks like it, or `?`.

Keeps every width: a wide character becomes two.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len

# What the program itself and most models write; a glyph with a meaning of its own has its ASCII form in `palette`.
ALIKE = dict(
    zip(
        "…·•→←↑↓≈≥≤×—–‐“”‘’«»│┃▌▕▏─━┌┐└┘├┤┬┴┼╭╮╰╯╎⫽●○✓✗▲█▓▒░▚",
        '~-*><^v~><x---""\'\'""||||]--+++++++++++++:/*o+x!#=+-%',
        strict=True,
    )
)


@lru_cache(maxsize=4_096)
def ascii_text(text: str) -> str:
    """`text` in ASCII, as wide as before."""
    return "".join(
        character if character.isascii() else ALIKE.get(character, "?" * cell_len(character)) for character in text
    )
