"""What is said about the project's memory, on both screens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.plain import tokens

if TYPE_CHECKING:
    from agent.reading import Memory

TITLE = "The project's memory"


def about(memory: Memory, size: int) -> str:
    """Where it is, who reads it when, and what taking it in now costs. `size`: tokens in the context."""
    where = f"{memory.path}{'' if memory.text.strip() else ' (not there yet)'}"
    price = f" ({tokens(size)} tokens are read anew)" if size else ""
    return (
        f"{where}\nSummaries add what they learned of the project. A later session reads it at its start; this one "
        f"goes on with what it read, so that its cache holds. /reload takes it in now{price}."
    )


def held(memory: Memory) -> str:
    """What it holds."""
    return memory.text if memory.text.strip() else "Nothing is remembered of this project yet."
