"""Earlier messages, walked through with Up and Down, and the draft one came from.

Not a file: what is kept between runs is handed in, and handed out by whoever sends.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Recall:
    """Messages, oldest first. `at` is the one shown; None is the draft."""

    messages: list[str] = field(default_factory=list)
    at: int | None = None
    draft: str = ""

    def add(self, text: str) -> None:
        """Keep `text`, unless it says nothing or repeats the newest."""
        if text.strip() and self.messages[-1:] != [text]:
            self.messages.append(text)

    def leave(self) -> None:
        """Back to writing; the draft one came from is spent."""
        self.at, self.draft = None, ""

    def older(self, written: str) -> str | None:
        """The message before the one shown; None at the oldest. `written` is kept as the draft."""
        at = len(self.messages) if self.at is None else self.at
        if at == 0:
            return None
        if self.at is None:
            self.draft = written
        self.at = at - 1
        return self.messages[self.at]

    def newer(self) -> str | None:
        """The message after the one shown; after the newest, the draft; None while writing."""
        if self.at is None:
            return None
        if self.at + 1 >= len(self.messages):
            self.at = None
            return self.draft
        self.at += 1
        return self.messages[self.at]
