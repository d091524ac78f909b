"""A project's file that waits for a yes, in the inline screen: printed when it is found, answered when asked for.

Not the words (`trust_words`). When a session opens the file is printed and nothing is asked, so that typing goes on;
`/trust` asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agent.wire import Proposed
from tui.inline.print import Row, prose, row
from tui.inline.questions import SHOWN, WAITS, Reply
from tui.trust_words import CHOICES, IGNORED, RUNS, answer, choices, lines, title, told

LATER = "/trust answers; nothing waits for it."


def _head(event: Proposed, width: int) -> list[Row]:
    out: list[Row] = [(), *prose(title(event), width, "class:warning", "! ")]
    for text in told(event):
        style = "class:quiet" if text.startswith(IGNORED) else "class:warning" if text.startswith(RUNS) else ""
        out += prose(text, width, style, "  · ", "    ")
    return out


def _file(event: Proposed, most: int | None) -> list[Row]:
    found = [row(f"  │ {line}") for line in lines(event)]
    if most is None or len(found) <= most:
        return found
    more = row(f"  … {len(found) - most} more lines; /trust and v show them all", "class:warning")
    return [*found[: most * 3 // 4], more, *found[len(found) - most // 4 :]]


def found_rows(event: Proposed, width: int) -> list[Row]:
    """What is printed when it is found."""
    return [*_head(event, width), *_file(event, SHOWN), *prose(LATER, width, "class:quiet", "  ")]


@dataclass(slots=True)
class Trusting:
    """The question."""

    event: Proposed
    guarded: ClassVar[bool] = True
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = False

    def _long(self) -> bool:
        return len(lines(self.event)) > SHOWN

    @property
    def hint(self) -> str:
        """The choices."""
        said = " · ".join(f"{key} {words}" for key, words in choices(self.event).items())
        return f"{said}{' · v all of it' if self._long() else ''} · esc not now"

    def rows(self, width: int) -> list[Row]:
        """What it would do, and the file."""
        return [*_head(self.event, width), *_file(self.event, SHOWN)]

    def key(self, key: str) -> Reply:
        """A letter; Enter is none."""
        if key == "v" and self._long():
            return Reply(rows=tuple(_file(self.event, None)), over=False)
        key = "n" if key == "escape" else key
        choice = CHOICES[key] if key in choices(self.event) else None
        return WAITS if choice is None else Reply((answer(self.event, choice),))

    def line(self, text: str) -> Reply:
        """Where no keys are heard."""
        word = text.strip().lower()
        return self.key({"yes": "y", "no": "n"}.get(word, word))
