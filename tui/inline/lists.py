"""Numbered lists to choose from: sessions, models, messages to go back to, hits in the log.

Not the things: rows and what choosing one wishes for are handed in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tui.actions import ShowText, Wish
from tui.inline.print import Row, prose, row
from tui.inline.questions import WAITS, Reply
from tui.picks import Pick, fitting
from tui.plain import one_line

# A list longer than this scrolls its own beginning away on a common terminal; typing finds the rest.
LISTED = 15

_NUMBER = re.compile(r"(?:([a-z])\s+)?([0-9]{1,6})")


@dataclass(slots=True)
class Picking:
    """A numbered list: a number chooses, words narrow it, a letter before a number asks for something else.

    `stays`: choosing leaves the list open, since one looks at several. `elsewhere`: what words wish for that no row
    holds. `lines` stand above the rows, `foot` is said once below them.
    """

    title: str
    picks: Sequence[Pick]
    stays: bool = False
    elsewhere: Callable[[str], Wish] | None = None
    foot: str = ""
    lines: Sequence[Row] = ()
    shown: list[Pick] = field(default_factory=list)
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True

    @property
    def hint(self) -> str:
        """What may be answered."""
        said = ["a number shows it whole"] if self.stays else ["a number chooses", "words narrow the list"]
        if any(pick.preview is not None for pick in self.picks):
            said.append("v 2 looks at it")
        others = {other.letter: other.what for pick in self.picks for other in pick.others}
        said += [f"{letter} 2 {what}" for letter, what in others.items()]
        return " · ".join([*said, "enter leaves"])

    def __post_init__(self) -> None:
        self.shown = list(self.picks)

    def rows(self, width: int) -> list[Row]:
        """The numbered rows."""
        out: list[Row] = [(), *prose(self.title, width, "class:strong"), *self.lines]
        for number, pick in enumerate(self.shown[:LISTED], 1):
            label, remark = one_line(pick.label, 100), one_line(pick.remark, 100)
            found = prose(f"{label}  {remark}" if remark else label, width, "", f"{number:>3}  ")
            out += [*found[:2]]
            if pick.foot:
                out += prose(one_line(pick.foot, 160), width, "class:quiet", "     ")[:1]
        if (more := len(self.shown) - LISTED) > 0:
            out.append(row(f"     … {more} more", "class:quiet"))
        if self.foot:
            out += prose(self.foot, width, "class:quiet")
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
            return self._numbered(int(found_[2]), found_[1])
        found = fitting(said, self.picks)
        if len(found) == 1:
            return Reply((found[0].wish,), over=not self.stays)
        if not found and self.elsewhere is not None:
            return Reply((self.elsewhere(said),))
        if not found:
            return Reply(rows=(row(f"Nothing in the list holds “{one_line(said, 60)}”.", "class:warning"),), over=False)
        self.shown = found
        return Reply(rows=tuple(self.rows(80)), over=False)

    def _numbered(self, number: int, letter: str | None) -> Reply:
        if not 0 < number <= min(len(self.shown), LISTED):
            return Reply(rows=(row(f"There is no {number} in the list.", "class:warning"),), over=False)
        pick = self.shown[number - 1]
        if letter is None:
            return Reply((pick.wish,), over=not self.stays)
        if letter == "v" and pick.preview is not None:
            return Reply((ShowText(pick.label, pick.preview),), over=False)
        for other in pick.others:
            if other.letter == letter:
                return Reply((other.wish,), over=other.closes)
        return Reply(rows=(row(f"“{letter}” says nothing about that one.", "class:warning"),), over=False)
