"""The questions that are open: one is asked, the others wait, and an answer becomes wishes.

Not the questions themselves (`questions`, `context`) and not keys.

Invariants
 1. A guarded question hears nothing until it was seen for `SETTLE` seconds.
 2. Questions are asked one at a time, in the order they came; those of a turn end with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tui.actions import Wish
from tui.front import SETTLE
from tui.inline.print import row
from tui.inline.printer import Printer
from tui.inline.questions import Question, Reply, Review
from tui.inline.surface import Surface


@dataclass(slots=True)
class Asks:
    """`wish` carries a reply's wishes out; `editor`: a text is edited in $EDITOR, not where answers are written."""

    surface: Surface
    printer: Printer
    wish: Callable[[Wish], None]
    now: Callable[[], float]
    editor: bool = True
    open: Question | None = None
    _waiting: deque[Question] = field(default_factory=deque)
    _seen_at: float | None = None

    def ask(self, question: Question) -> None:
        """One more."""
        self._waiting.append(question)
        if self.open is None:
            self._next()

    def leave(self) -> None:
        """The open one is not answered."""
        self._next()

    def end_of_turn(self) -> None:
        """What only the turn wanted to know is not asked any more."""
        self._waiting = deque(question for question in self._waiting if not question.of_turn)
        if self.open is not None and self.open.of_turn:
            self._next()

    def _next(self) -> None:
        self.open = self._waiting.popleft() if self._waiting else None
        self._seen_at = None
        if self.open is not None:
            self.printer.print(self.open.rows(self.surface.width()))
        self.surface.ask(self.open)

    def seen(self) -> None:
        """The surface has drawn the question."""
        if self._seen_at is None and self.open is not None and not self.printer.out:
            self._seen_at = self.now()

    def _early(self) -> bool:
        if self.open is None or not self.open.guarded:
            return False
        return self._seen_at is None or self.now() - self._seen_at < SETTLE

    def key(self, key: str) -> None:
        """A key for the question."""
        if self.open is not None and not self._early():
            self._reply(self.open.key(key))

    def line(self, text: str) -> None:
        """A line for the question."""
        if self.open is None:
            return
        if self._early():
            said = "That came before the question could be read; it still waits."
            self.printer.print([row(said, "class:warning")])
        else:
            self._reply(self.open.line(text))

    def _reply(self, reply: Reply) -> None:
        question = self.open
        self.printer.print(reply.rows)
        if reply.over:
            self._next()
        if reply.draft is not None and isinstance(question, Review):
            self._edit(question, reply.draft)
        for wish in reply.wishes:
            self.wish(wish)

    def _edit(self, review: Review, text: str) -> None:
        def back(edited: str) -> None:
            if self.open is review:
                self._reply(review.edited(edited))
                self.printer.flush()
                self.surface.changed()

        if self.editor:
            self.surface.edit(text, back)
        else:
            review.write_here()
            self.surface.fill(text)
