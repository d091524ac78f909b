"""What is printed for good: finished blocks, an answer as it arrives, and the end of a session that is gone on with.

Not the live area and no terminal: rows are collected, and handed out by `flush`.

Invariants
 1. What was printed is never printed again: of a streamed answer's record only what had not come yet is.
 2. A card is printed once, finished; a user's own command when its output is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tui.block import Block
from tui.inline.print import MOST_PROSE, Growing, Row, fitted, row, rows
from tui.inline.surface import Surface
from tui.plain import safe

# Of a session that is gone on with, this much is printed again: about two screens. Blocks.
REPLAYED = 40


@dataclass(slots=True)
class Printer:
    """Rows for one surface. `hidden` is the newest block of which not all was printed."""

    surface: Surface
    out: list[Row] = field(default_factory=list)
    hidden: Block | None = None
    _held: dict[str, Block] = field(default_factory=dict)
    _growing: Growing | None = None
    _replayed: deque[Block] = field(default_factory=lambda: deque(maxlen=REPLAYED))
    _replays: int = 0
    _thought: str = ""

    def print(self, more: Sequence[Row]) -> None:
        """Print with the batch."""
        self.out += more

    def flush(self) -> None:
        """All that was collected goes out."""
        if self.out:
            out, self.out, width = self.out, [], self.surface.width()
            self.surface.show([part for one in out for part in fitted(one, width)])

    def show(self, blocks: Sequence[Block]) -> None:
        """Blocks, those that may still change not yet."""
        for block in blocks:
            if block.role == "shell" and block.record is None:
                self._held[block.key] = block
            elif block.state != "running":
                self._held.pop(block.key, None)
                self._finished(block)

    def rest(self) -> None:
        """The work ended: what was held back will not change any more."""
        held, self._held = self._held, {}
        for block in held.values():
            self._finished(block)

    def _finished(self, block: Block) -> None:
        if block.role == "thinking" and block.key == self._thought:
            # Its line is printed; by now all of it is known.
            self.hidden = block if block.body else self.hidden
            return
        if block.role == "thinking":
            self._thought = block.key
        width = self.surface.width()
        if block.fold is not None and block.body and len(rows(block, width)) < len(rows(block, width, open=True)):
            self.hidden = block
        self.print(rows(block, width))

    # ── an answer that arrives ──

    def stream(self, text: str) -> None:
        """More of it."""
        text = safe(text)
        if self._growing is None:
            text = text.lstrip("\n")
            if not text:
                return
            self._growing = Growing(max(8, min(self.surface.width(), MOST_PROSE)))
            self.print([()])
        self.print(self._growing.feed(text))

    @property
    def tail(self) -> str:
        """What came of it and is no finished row."""
        return self._growing.tail if self._growing is not None else ""

    def settle(self, blocks: Sequence[Block]) -> None:
        """The record of what was streamed, as blocks."""
        growing = self._growing
        said = next((block for block in blocks if block.role == "agent"), None)
        if growing is not None and said is not None:
            given = growing.given if said.body.startswith(growing.given) else growing.given.rstrip("\n")
            if said.body.startswith(given):
                self.print(growing.feed(said.body[len(growing.given) :]))
                blocks = [block for block in blocks if block is not said]
                self.end_stream()
            else:
                self.end_stream("The whole answer:")
        self.end_stream()
        self.show(blocks)

    def end_stream(self, why: str = "") -> None:
        """No more comes of it."""
        if self._growing is not None:
            self.print(self._growing.end())
            self._growing = None
            if why:
                self.print([row(f"· {why}", "class:quiet")])

    # ── a session gone on with ──

    def forget(self) -> None:
        """Another session."""
        self._replayed.clear()
        self._replays, self.hidden, self._thought = 0, None, ""

    def replay(self, blocks: Sequence[Block]) -> None:
        """What was there before; only the end of it is printed, by `replayed`."""
        for block in blocks:
            if block.leaves is not None:
                self._fade(block.leaves)
            self._replayed.append(block)
        self._replays += len(blocks)

    def _fade(self, since: int) -> None:
        """What was said from a record on was left behind; what is printed already cannot be drawn anew."""
        held = list(self._replayed)
        left = (at for at, block in enumerate(held) if block.record is not None and block.record >= since)
        first = next(left, len(held))
        faded = [*held[:first], *(replace(block, faded=True) for block in held[first:])]
        self._replayed = deque(faded, maxlen=REPLAYED)

    def replayed(self) -> None:
        """All of it has come."""
        if not self._replays:
            return
        if (earlier := self._replays - len(self._replayed)) > 0:
            self.print([row(f"… {earlier} earlier; /context and /rewind know them all", "class:quiet")])
        last = list(self._replayed)
        self._replayed.clear()
        self._replays = 0
        self.show(last)
