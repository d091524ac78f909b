"""What a simulated session is made of: results, what summarisers answer, and the check that a view is valid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from compaction.cut import Cut
from compaction.records import Outcome, Stop
from compaction.summary import Prompts
from compaction.view import View

PROMPTS = Prompts("Summarise.", "FIRST in {words} words", "UPDATE in {words} words", "HERE")
OUT_OF_STEPS = "[answer now]"


@dataclass(frozen=True)
class Said:
    """What a summariser answered; or `fault`, how it did not."""

    text: str = ""
    stop: Stop = "done"
    calls: bool = False
    fault: Outcome | None = None


Summariser = Callable[[Cut, View], str | Said]
Fault = Literal["refuse", "number", "asked", "bytes", "silent"]


@dataclass(frozen=True)
class Result:
    """One tool result as a script gives it."""

    text: str
    tool: str = "read"
    title: str | None = None
    arguments: str | None = None
    paths: tuple[str, ...] = ()
    changed: bool = False
    exit_status: int | None = None
    failed: bool = False


def short_summary(cut: Cut, view: View) -> str:
    """The least that passes the judge."""
    return f"## Goal\n- work on\n## Done\n- {len(cut.prefix)} messages"


def drops_everything(cut: Cut, view: View) -> str:
    """Shaped right, holds nothing."""
    return "## Goal\n- continue"


def fails(cut: Cut, view: View) -> str:
    return ""


def quarter_token(text: str) -> int:
    """A token for four characters."""
    return (len(text) + 3) // 4


def check_pairs(view: View) -> None:
    """Each call has exactly one result, adjacent, in order, and no result stands alone."""
    waiting: list[str] = []
    for item in view.items:
        if item.role == "tool":
            assert waiting and waiting.pop(0) == item.call, f"a result without its call at record {item.record}"
            continue
        assert not waiting, f"calls without results: {waiting}"
        waiting = [c.id for c in item.calls]
    assert not waiting
