"""A model's reasoning as one line once its answer comes: how long it took, how much it was, and the text behind a fold.

Not the text while it streams (each front end shows that live). Only what is known is said: the time of what was seen
live, the tokens that the provider reported (until then a guess from the text that came, so marked), its text.

Invariants
 1. The line that stands when the answer begins and the one made of the record have one key: the second replaces it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.wire import Restreamed, Streaming, reasoned
from compaction.records import AssistantSaid
from tui.block import Block, Fold
from tui.plain import safe, seconds, tokens

# Of English and of code, one token is about as long; characters.
TOKEN = 4

# Fewer are not worth a guess; tokens.
FEW = 10


@dataclass(slots=True)
class Thoughts:
    """The reasoning of the reply that comes."""

    now: Callable[[], float] = time.monotonic
    number: int = 0
    since: float | None = None
    span: float | None = None
    heard: int = 0
    guessed: int = 0

    def hear(self, event: Streaming | Restreamed) -> tuple[Block, ...]:
        """The line, once, when something else than reasoning follows it."""
        if isinstance(event, Restreamed):
            self.since, self.span, self.heard, self.guessed = None, None, 0, 0
        elif event.kind == "thinking":
            self.since = self.now() if self.since is None else self.since
            self.heard += len(event.text)
        elif self.since is not None and self.span is None:
            self.span = self.now() - self.since
            guess = self.heard // TOKEN
            self.guessed = guess if guess >= FEW else 0
            return (self._block(self.guessed, "", "~"),)
        return ()

    def settled(self, body: AssistantSaid) -> Iterator[Block]:
        """The line as the record has it; nothing for a reply without reasoning."""
        if self.since is not None and self.span is None:
            self.span = self.now() - self.since
        text = safe(reasoned(body.thinking)).strip("\n")
        spent = body.usage.reasoning if body.usage is not None else 0
        if text or spent or self.span is not None:
            yield self._block(spent, text)
        self.over()

    def amiss(self, body: AssistantSaid) -> str:
        """What the provider counted, where the guess that was shown is more than a quarter off; else nothing."""
        guess, self.guessed = self.guessed, 0
        spent = body.usage.reasoning if body.usage is not None else 0
        return f"{tokens(spent)} tokens of reasoning, says the provider" if guess and _far(guess, spent) else ""

    def over(self) -> None:
        """What comes now belongs to another reply."""
        self.since, self.span, self.heard = None, None, 0
        self.number += 1

    def _block(self, spent: int, text: str, about: str = "") -> Block:
        said = "thought" if self.span is None else f"thought for {seconds(self.span)}"
        title = f"{said} · {about}{tokens(spent)} tokens" if spent else said
        return Block(f"thought:{self.number}", "thinking", title, text, fold=Fold() if text else None)


def _far(guess: int, spent: int) -> bool:
    return bool(spent) and abs(guess - spent) * 4 > spent
