"""How a project's file that waits for a yes is told, in both screens: title, what it would do, and the file itself.

Not the panels and not what the file would do (the worker says that).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from agent.wire import Proposed, SetTrust
from tui.plain import safe

Choice: TypeAlias = Literal["trust", "later", "never"]

# The answers by letter.
CHOICES: dict[str, Choice] = {"y": "trust", "n": "later", "x": "never"}

WORDS: dict[Choice, str] = {
    "trust": "trust this content",
    "later": "not now",
    "never": "never ask for this content",
}

# What begins a line that is about something that does nothing, and what runs programs.
IGNORED = "ignored:"
RUNS = ("runs ", "starts ")


def title(event: Proposed) -> str:
    """What waits."""
    path = safe(event.path).replace("\n", " ")
    if event.then:
        return f"{path} came with this project. Send its text?"
    return f"{path} came with this project and is not used. Trust it?"


def told(event: Proposed) -> list[str]:
    """What it would do, a line each."""
    said = [safe(text).replace("\n", " ") for text in event.says]
    return said or ["nothing: it sets nothing that a project may set"]


def lines(event: Proposed) -> list[str]:
    """The file, line by line."""
    return safe(event.text).rstrip("\n").split("\n")


def quotation(event: Proposed) -> str:
    """All of it as one text: what it would do, what runs programs marked, and the file."""
    marks = ["! " if text.startswith(RUNS) else "  " if text.startswith(IGNORED) else "· " for text in told(event)]
    said = [mark + text for mark, text in zip(marks, told(event), strict=True)]
    return "\n".join(["It would do this:", *said, "The whole file:", *(f"│ {line}" for line in lines(event))])


def answer(event: Proposed, choice: Choice) -> SetTrust:
    """The word on it."""
    return SetTrust(event.path, event.digest, choice, event.then)


def choices(event: Proposed) -> dict[str, str]:
    """Letters and what they say; a command that is not sent asks again the next time it is typed."""
    if event.then:
        return {"y": "yes, from now on", "n": "no"}
    return {key: WORDS[choice] for key, choice in CHOICES.items()}
