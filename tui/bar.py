"""The meter's bar: parts of the context and two marks on a row of cells.

Not its words (those are `meter`).

Invariants
 1. The bar is exactly as wide as asked, and both marks are always on it, the trigger left of the budget.
 2. The part up to the budget keeps at least `IN_USE` of the width; what lies beyond is drawn on a coarser scale.
 3. Every role has its own glyph, a single cell, in ASCII too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from agent.wire import Meter

Role: TypeAlias = Literal[
    "fixed", "summary", "user", "agent", "tool",
    "free", "beyond", "budget", "trigger", "frame",
    "text", "quiet", "warning", "alarm", "warm", "cold",
]  # fmt: skip

# The part up to the budget keeps at least this share of the bar; a larger window is drawn behind a scale break.
IN_USE = 0.7

ORDER: tuple[Role, ...] = ("fixed", "summary", "user", "agent", "tool")

# How the worker's names for the parts of the view map to the five kinds; what is not here is part of every request.
PART_ROLE: dict[str, Role] = {
    "summary": "summary",
    "user": "user",
    "you": "user",
    "assistant": "agent",
    "agent": "agent",
    "tool": "tool",
    "tool results": "tool",
    "results": "tool",
}


@dataclass(frozen=True, slots=True)
class Marks:
    """The glyphs of one alphabet; each a single cell."""

    parts: dict[Role, str]
    left: str
    right: str
    over: str
    budget: str
    trigger: str
    beyond: str
    scale: str
    warm: str
    cold: str
    about: str
    dot: str


UNICODE = Marks(
    {"fixed": "█", "summary": "▚", "user": "▓", "agent": "▒", "tool": "░"},
    "▕", "▏", "▶", "┃", "╎", "·", "⫽", "●", "○", "≈", "·",
)  # fmt: skip
ASCII = Marks(
    {"fixed": "#", "summary": "%", "user": "=", "agent": "+", "tool": "-"},
    "[", "]", ">", "|", ":", ".", "/", "*", "o", "~", "-",
)  # fmt: skip


class Span(NamedTuple):
    """A piece of a line and what it stands for."""

    text: str
    role: Role


def bar(meter: Meter, cells: int, marks: Marks = UNICODE) -> tuple[Span, ...]:
    """The inside of the bar, exactly `cells` wide."""
    scale = _Scale.of(meter, cells)
    filled = scale.cell(meter.used) if meter.used < scale.extent else cells
    if meter.used > 0:
        filled = max(1, filled)
    roles = _fill(meter, filled, cells, scale)
    glyphs: list[tuple[str, Role]] = []
    for index in range(cells):
        role = roles[index] if index < filled else None
        if role is not None:
            glyphs.append((marks.parts[role], role))
        elif index > scale.budget_cell:
            glyphs.append((marks.beyond, "beyond") if meter.window is not None else (" ", "beyond"))
        else:
            glyphs.append((" ", "free"))
    if 0 <= scale.trigger_cell < cells:
        glyphs[scale.trigger_cell] = (marks.trigger, "trigger")
    if 0 <= scale.budget_cell < cells:
        glyphs[scale.budget_cell] = (marks.budget, "budget")
    after = scale.budget_cell + 1
    if meter.window is None and after < cells:
        glyphs[after] = ("?", "beyond")
    elif scale.broken and after < cells:
        glyphs[after] = (marks.scale, "beyond")
    spans: list[Span] = []
    for glyph, role in glyphs:
        if spans and spans[-1].role == role:
            spans[-1] = Span(spans[-1].text + glyph, role)
        else:
            spans.append(Span(glyph, role))
    return tuple(spans)


@dataclass(frozen=True, slots=True)
class _Scale:
    """How tokens lie on cells: one scale up to the budget, a coarser one beyond where the window is far larger."""

    cells: int
    budget: int
    extent: int
    budget_cell: int
    trigger_cell: int
    broken: bool

    @classmethod
    def of(cls, meter: Meter, cells: int) -> _Scale:
        budget = max(1, meter.budget)
        extent = max(meter.window or 0, budget)
        if meter.window is None:
            extent = max(round(budget / (1 - 3 / cells)), budget + 1)  # budget mark, question mark and a blank
        broken = budget / extent < IN_USE
        at = round(cells * IN_USE + 0.5) if broken else round(cells * budget / extent)
        budget_cell = min(cells - 1, at)
        trigger_cell = -1
        if 0 < meter.trigger < budget:
            trigger_cell = max(0, min(budget_cell - 1, round(budget_cell * meter.trigger / budget)))
        return cls(cells, budget, extent, budget_cell, trigger_cell, broken)

    def cell(self, count: int) -> int:
        """How many cells `count` tokens fill."""
        if count <= self.budget:
            return round(self.budget_cell * count / self.budget)
        beyond = self.cells - self.budget_cell - 1
        share = (count - self.budget) / max(1, self.extent - self.budget)
        return self.budget_cell + 1 + round(beyond * share)


def _fill(meter: Meter, filled: int, cells: int, scale: _Scale) -> list[Role]:
    """The role of each filled cell: the parts in order, their ends rounded on the same scale."""
    sums: dict[Role, int] = dict.fromkeys(ORDER, 0)
    for name, count in meter.parts:
        sums[PART_ROLE.get(name, "fixed")] += max(0, count)
    total = sum(sums.values())
    if total <= 0:
        return ["fixed"] * filled
    roles: list[Role] = []
    reached = 0
    for role in ORDER:
        reached += sums[role]
        end = min(filled, scale.cell(round(meter.used * reached / total)))
        roles += [role] * max(0, end - len(roles))
    last: Role = next((role for role in reversed(ORDER) if sums[role]), "fixed")
    return roles + [last] * (min(filled, cells) - len(roles))
