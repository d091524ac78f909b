"""Numbered lists to choose from: sessions, models, messages to go back to, hits in the log.

Not the things: rows and what choosing one wishes for are handed in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tui.actions import Wish
from tui.completion import rank
from tui.inline_print import Row, prose, row
from tui.inline_questions import WAITS, Reply
from tui.plain import one_line

# A list longer than this scrolls its own beginning away on a common terminal; typing finds the rest.
LISTED = 15

_NUMBER = re.compile(r"(p\s+)?([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Pick:
    """One row of a list: what is shown and searched, a quiet remark, what choosing it wishes for.

    `pin` is what `p 2` wishes for instead, where there is such a thing.
    """

    label: str
    wish: Wish
    remark: str = ""
    pin: Wish | None = None


@dataclass(slots=True)
class Picking:
    """A numbered list: a number chooses, words narrow it."""

    title: str
    picks: Sequence[Pick]
    shown: list[Pick] = field(default_factory=list)
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True

    @property
    def hint(self) -> str:
        """What may be answered."""
        if any(pick.pin is not None for pick in self.picks):
            return "a number shows it whole · p 2 puts it back · enter leaves"
        return "a number chooses · words narrow the list · enter leaves"

    def __post_init__(self) -> None:
        self.shown = list(self.picks)

    def rows(self, width: int) -> list[Row]:
        """The numbered rows."""
        out: list[Row] = [(), row(self.title, "class:strong")]
        for number, pick in enumerate(self.shown[:LISTED], 1):
            label, remark = one_line(pick.label, 100), one_line(pick.remark, 100)
            found = prose(f"{label}  {remark}" if remark else label, width, "", f"{number:>3}  ")
            out += [*found[:2]]
        if (more := len(self.shown) - LISTED) > 0:
            out.append(row(f"     … {more} more", "class:quiet"))
        return out

    def key(self, key: str) -> Reply:
        """Esc leaves."""
        return Reply() if key == "escape" else WAITS

    def line(self, text: str) -> Reply:
        """A number, or words."""
        said = text.strip()
        if not said:
            return Reply()
        if found_ := _NUMBER.fullmatch(said):
            return self._numbered(int(found_[2]), back=bool(found_[1]))
        labels = {f"{pick.label} {pick.remark} {index}": pick for index, pick in enumerate(self.picks)}
        found = [labels[name] for name in rank(said, labels, most=500)]
        if len(found) == 1:
            return Reply((found[0].wish,))
        if not found:
            return Reply(rows=(row(f"Nothing in the list holds “{one_line(said, 60)}”.", "class:warning"),), over=False)
        self.shown = found
        return Reply(rows=tuple(self.rows(80)), over=False)

    def _numbered(self, number: int, *, back: bool) -> Reply:
        if not 0 < number <= min(len(self.shown), LISTED):
            return Reply(rows=(row(f"There is no {number} in the list.", "class:warning"),), over=False)
        pick = self.shown[number - 1]
        if not back:
            # A list of hits stays open: one looks at several.
            return Reply((pick.wish,), over=all(other.pin is None for other in self.picks))
        if pick.pin is None:
            return Reply(rows=(row("That one cannot be put back.", "class:warning"),), over=False)
        return Reply((pick.pin,))
