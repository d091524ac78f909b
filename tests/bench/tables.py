"""How the figures are printed: small tables, each with the ratio that is to be looked at; times are in milliseconds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> None:
    """Prints one; the first column is words, the others are figures."""
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    print(f"\n{title}")
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  " + "  ".join(cells).rstrip())
    if note:
        print(f"  {note}")


def ms(seconds: float) -> str:
    return f"{seconds * 1_000:.1f}" if seconds < 1 else f"{seconds * 1_000:,.0f}"


def times(ratio: float) -> str:
    return f"{ratio:.2f}x"


def quantile(values: Sequence[float], share: float) -> float:
    """The least value that `share` of all lie at or below."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def middle(values: Sequence[float]) -> float:
    return statistics.median(values)
