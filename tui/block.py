"""What a front end draws: one block of text with a role, and how much of it is shown.

Not a widget and no drawing: `present` makes blocks, each front end spells them for its own screen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Role: TypeAlias = Literal[
    "banner", "user", "agent", "thinking", "tool", "shell", "divider", "notice", "quiet", "warning", "error"
]
Form: TypeAlias = Literal["plain", "markdown", "diff", "output"]
State: TypeAlias = Literal["running", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Fold:
    """How many lines of a body are shown while it is folded: from its head and from its tail."""

    head: int = 0
    tail: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """One thing on the screen. A block with a `key` seen before replaces the earlier one.

    All text in it is safe for a terminal. `meta` are short facts for the title line (exit status, time, tokens);
    `fold` None shows the whole body. `record` is the log's number, for people to name it by. All blocks before one with
    `leaves`, from that record on, were left behind: they are drawn `faded` from then on.
    """

    key: str
    role: Role
    title: str = ""
    body: str = ""
    form: Form = "plain"
    meta: tuple[str, ...] = ()
    fold: Fold | None = None
    state: State | None = None
    record: int | None = None
    leaves: int | None = None
    faded: bool = False


def folded(body: str, fold: Fold) -> tuple[list[str], int, list[str]]:
    """The head, how many lines are hidden, and the tail; nothing is hidden to save a single line."""
    lines = body.rstrip("\n").split("\n") if body.strip() else []
    hidden = len(lines) - fold.head - fold.tail
    if hidden <= (1 if fold.head + fold.tail else 0):
        return lines, 0, []
    return lines[: fold.head], hidden, lines[len(lines) - fold.tail :]


def plain(block: Block, *, open: bool = False) -> str:
    """The block as plain text: for screen readers, for copying, and for tests."""
    mark = {"running": "… ", "done": "✓ ", "failed": "✗ ", None: ""}[block.state]
    facts = " · ".join([*block.meta, *([f"#{block.record}"] if block.record is not None else [])])
    head = f"{mark}{block.title}" + (f" ({facts})" if facts and block.title else "")
    lines = [head] if head else []
    if block.fold is None or open:
        lines += block.body.rstrip("\n").split("\n") if block.body else []
    elif block.fold != Fold():
        first, hidden, last = folded(block.body, block.fold)
        lines += first + ([f"… {hidden} more lines"] if hidden else []) + last
    return "\n".join(lines)
