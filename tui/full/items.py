"""The rows of the context table: their columns, their orders, and the words they are filtered by.

Not a widget and no judgement of what should go; whether a row *can* go is the only thing said here, and the worker's
plan has the last word.

Invariants
 1. A row of cells is at most `width` cells wide; the first line takes what the other columns leave.
 2. Sorting is stable: rows that an order does not tell apart stay in the view's own order.
 3. Every cell is safe for a terminal and says what it says without colour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from rich.cells import cell_len, set_cell_size

from agent.wire import Row
from tui import bar
from tui.plain import one_line, percent, safe, tokens

# What a row is marked and found by: several items may come from one record, of different kinds.
Key: TypeAlias = tuple[int, str]

# The first line says something from this many cells on; columns give way until it has them.
LEAST_TITLE = 18

# A first line is drawn at most this wide: no screen is wider. Characters.
LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `width` in cells, 0 for the one that takes the rest; `leaves` orders who gives way first on a narrow
    screen (0 never does). `falls`: the largest come first.
    """

    name: str
    head: str
    width: int
    right: bool
    leaves: int
    cell: Callable[[Row, int], str]
    by: Callable[[Row], Any]
    falls: bool = False


COLUMNS: tuple[Column, ...] = (
    Column("number", "#", 5, True, 0, lambda row, budget: f"{row.record}", lambda row: row.record),
    Column("kind", "kind", 11, False, 4, lambda row, budget: safe(row.kind), lambda row: row.kind),
    Column("first line", "first line", 0, False, 0,
           lambda row, budget: one_line(row.title, LONGEST_TITLE), lambda row: row.title.casefold()),
    Column("tokens", "tokens", 6, True, 0, lambda row, budget: tokens(row.tokens), lambda row: -row.tokens, True),
    Column("share", "share", 5, True, 1,
           lambda row, budget: percent(row.tokens, budget), lambda row: -row.tokens, True),
    Column("age", "age", 4, True, 2, lambda row, budget: f"{row.age}", lambda row: -row.age, True),
    Column("state", "state", 7, False, 5, lambda row, budget: "" if row.state == "live" else safe(row.state),
           lambda row: (row.state == "live", row.state)),
    Column("cached", "cached", 6, False, 3, lambda row, budget: "yes" if row.cached else "no",
           lambda row: not row.cached),
)  # fmt: skip
BY_NAME = {column.name: column for column in COLUMNS}

# The mark, the kind's glyph in front of its name, and the blank between two columns; cells.
MARK = 2
GLYPH = 2
GAP = 1


@dataclass(frozen=True, slots=True)
class Order:
    """A column to sort by, and whether the other way round."""

    name: str = "number"
    reverse: bool = False

    @property
    def falls(self) -> bool:
        """Whether the largest come first."""
        return BY_NAME[self.name].falls is not self.reverse

    def after(self) -> Order:
        """The next column's."""
        names = [column.name for column in COLUMNS]
        return Order(names[(names.index(self.name) + 1) % len(names)])


def key_of(row: Row) -> Key:
    """What a row is marked by."""
    return row.record, row.kind


def why_not(row: Row) -> str | None:
    """Why pruning cannot take this row; None when it can."""
    match row.kind, row.state:
        case "tool", "live":
            return None
        case "tool", "pinned":
            return "it is pinned, p unpins it"
        case "tool", state:
            return f"it is {state} already"
        case "user", _:
            return "it is your message"
        case "assistant", _:
            return "it is the agent's answer"
        case "summary", _:
            return "it is the summary, u takes it back"
        case kind, _:
            return f"it is a {safe(kind)}"


def arranged(rows: Iterable[Row], order: Order) -> list[Row]:
    """The rows in an order."""
    return sorted(rows, key=BY_NAME[order.name].by, reverse=order.reverse)


def words_of(row: Row) -> str:
    """What a filter looks through."""
    cached = "cached" if row.cached else "uncached"
    return f"#{row.record} {row.kind} {row.state} {cached} {row.title}".casefold()


def matching(rows: Sequence[Row], query: str) -> list[Row]:
    """The rows that hold every word of `query`."""
    terms = query.casefold().split()
    if not terms:
        return [*rows]
    texts = ((row, words_of(row)) for row in rows)
    return [row for row, text in texts if all(term in text for term in terms)]


@lru_cache(maxsize=64)
def shown_in(width: int) -> tuple[tuple[Column, int], ...]:
    """The columns that fit `width` cells with their widths, left to right."""
    columns = list(COLUMNS)
    while True:
        taken = MARK + sum(column.width + GAP for column in columns if column.width)
        leavers = [column for column in columns if column.leaves]
        if width - taken >= LEAST_TITLE or not leavers:
            break
        columns.remove(min(leavers, key=lambda column: column.leaves))
    rest = max(1, width - taken)
    return tuple((column, column.width or rest) for column in columns)


def fitted(text: str, width: int, *, right: bool) -> str:
    """`text` in exactly `width` cells, its end cut off where it is too long."""
    size = len(text) if text.isascii() else cell_len(text)
    if size > width:
        return set_cell_size(text, max(0, width - 1)) + "…" if width else ""
    return " " * (width - size) + text if right else text + " " * (width - size)


def role_of(row: Row) -> bar.Role:
    """The meter's role for a kind, for its colour and glyph."""
    return bar.PART_ROLE.get(row.kind, "fixed")
