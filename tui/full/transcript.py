"""The conversation on the screen: a virtual list of blocks, drawn line by line, with the answer growing at its end.

Not what a block looks like (`present` decides, `strips` draws) and not durable: a replay fills it again.

Invariants
 1. Only pieces near the view are laid out; ten thousand blocks cost what a screenful costs.
 2. A streaming answer is plain text laid out at its last line only, drawn at most `RATE` times a second; while
    somebody types, only behind the echo of a key.
 3. The end stays in view until the reader scrolls away, and again once they come back; what is read never jumps.
 4. A block whose key is known replaces the earlier one where it stands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.timer import Timer

from agent.wire import Streaming
from compaction.records import AssistantSaid, Record
from tui.block import Block, Fold, Role
from tui.flow import Flow
from tui.full import pieces
from tui.full.line_view import LineView
from tui.full.live import Live, runs
from tui.full.palette import Palette, palette
from tui.full.rows import Rows
from tui.full.strips import INDENT, PROSE, Piece
from tui.keytable import USUAL, Keys, hint

# Text drawn more often than this is not read any better and makes keys wait; times a second.
RATE = 15

# While somebody types: every drawing may be what the next key waits for, and whoever types reads what they type.
TYPED_RATE = 4

# The scroll bar of an answer that grows is drawn that seldom, seconds: it costs as much as the lines and hardly moves.
BAR = 0.5

# As long as this since the last key somebody is typing, seconds: slow typing, and short enough that text which waits
# for a key that does not come is not missed.
TYPING = 0.15


class Transcript(LineView, can_focus=False):
    """All blocks of a session, newest at the end."""

    COMPONENT_CLASSES = {"transcript--selected"}  # noqa: RUF012 - Textual reads a plain set

    unfolded: var[bool] = var(False)
    ascii: var[bool] = var(False)

    class Moved(Message):
        """The view moved; `lines_below` is how far the end is, 0 when it is in view."""

        def __init__(self, lines_below: int) -> None:
            super().__init__()
            self.lines_below = lines_below

    def __init__(self, *, ascii: bool = False, keys: Keys = USUAL, id: str | None = None) -> None:
        super().__init__(id=id)
        self._unfold = "".join(hint("unfold", keys))
        self.set_reactive(Transcript.ascii, ascii)
        self._rows = Rows(80, Palette())
        self._blocks: dict[str, tuple[int, int]] = {}  # key -> piece index at the time, number of pieces
        self._live: Live | None = None
        self._arrived: list[Streaming] = []
        self._timer: Timer | None = None
        self._drawn = self._typed = self._barred = 0.0
        self._follows = True
        self._moving = False
        self._measuring = self._filling = False
        self._opened: set[str] = set()

    # ── what others call ──

    def show(self, blocks: Iterable[Block]) -> None:
        """Add blocks, or replace those whose keys are known."""
        fresh: list[Piece] = []
        changed = False
        for block in blocks:
            if block.key in self._blocks:
                if fresh:
                    self._add(fresh)
                    fresh = []
                self._replace(block)
            else:
                cut = self._pieces(block, self._after(fresh))
                self._blocks[block.key] = (len(self._rows.pieces) + len(fresh), len(cut))
                if block.leaves is not None:
                    self._add(fresh)
                    self._fade(block.leaves)
                    fresh = []
                fresh += cut
            changed = True
        if fresh:
            self._add(fresh)
        if changed:
            self._measure_soon()

    def stream(self, event: Streaming) -> None:
        """Text that arrives now; drawn with the next beat."""
        self._arrived.append(event)
        if self._timer is None:
            self._timer = self.set_timer(1 / RATE, self._beat)

    def typed(self) -> None:
        """A key was pressed: what arrived is drawn behind its echo, so that the next key does not wait for it."""
        self._typed = time.monotonic()
        if self._arrived and self._typed - self._drawn >= 1 / TYPED_RATE:
            self.call_after_refresh(self._draw)

    def learn(self, record: Record) -> None:
        """A reply on disk takes the place of the text that arrived for it."""
        if isinstance(record.body, AssistantSaid):
            self.unstream()

    def unstream(self) -> None:
        """Forget what arrived: it is now a record, or starts over."""
        self._arrived.clear()
        if self._live is not None:
            self._live = None
            self._measure_soon()

    def forget(self) -> None:
        """Another session: an empty screen."""
        self._rows.clear()
        self._blocks.clear()
        self._opened.clear()
        self._follows = True
        self.unstream()
        self._measure_soon()

    def toggle(self) -> None:
        """Unfold everything that is folded, or fold it again."""
        self.unfolded = not self.unfolded

    def go(self, to: Literal["up", "down", "start", "end"]) -> None:
        """Scroll by a page, or all the way; at the end the view stays with it."""
        page = max(1, self.size.height - 2)
        match to:
            case "up":
                self.scroll_relative(y=-page, animate=False)
            case "down":
                self.scroll_relative(y=page, animate=False)
            case "start":
                self.scroll_to(y=0, animate=False)
            case "end":
                self._follows = True
                self._measure()

    def blocks(self, role: Role) -> list[Block]:
        """All blocks of one role, oldest first."""
        return [piece.block for piece in self._rows.pieces if piece.first and piece.block.role == role]

    def last_answer(self) -> str | None:
        """The newest answer as it was written: what `/copy` takes."""
        for piece in reversed(self._rows.pieces):
            if piece.block.role == "agent" and not piece.block.faded:
                return piece.block.body
        return None

    # ── blocks to pieces ──

    def _after(self, fresh: list[Piece]) -> Block | None:
        last = fresh or self._rows.pieces
        return last[-1].block if last else None

    def _pieces(self, block: Block, after: Block | None) -> list[Piece]:
        open = self.unfolded != (block.key in self._opened)
        gap = 1
        if after is None or (after.role == block.role and (after.role in ("quiet", "notice") or _bodiless(after))):
            gap = 0
        if block.form == "markdown" and block.role == "agent":
            texts = pieces.markdown(block.body)
        elif block.fold is None or open:
            texts = pieces.output(block.body)
        else:
            texts = [block.body]
        last = len(texts) - 1
        return [Piece(block, text, at == 0, at == last, open, gap) for at, text in enumerate(texts)]

    def _add(self, fresh: list[Piece]) -> None:
        self._rows.extend(fresh)

    def _replace(self, block: Block) -> None:
        first, count = self._blocks[block.key]
        found = self._rows.pieces
        while first < len(found) and found[first].block.key != block.key:
            first += 1
        gap = found[first].gap
        cut = [replace(piece, gap=gap) for piece in self._pieces(block, None)]
        if cut == found[first : first + count]:
            return
        self._rows.splice(first, first + count, cut)
        self._blocks[block.key] = (first, len(cut))
        if len(cut) != count:
            for key, (at, size) in self._blocks.items():
                if at > first:
                    self._blocks[key] = (at + len(cut) - count, size)

    def _fade(self, since: int) -> None:
        """What was said from a record on was left behind."""
        found = self._rows.pieces
        left = (at for at, piece in enumerate(found) if piece.block.record is not None and piece.block.record >= since)
        first = next(left, len(found))
        faded = [replace(piece, block=replace(piece.block, faded=True)) for piece in found[first:]]
        self._rows.splice(first, len(found), faded)

    def _refold(self) -> None:
        """Cut every block anew: what is open has changed."""
        blocks = [piece.block for piece in self._rows.pieces if piece.first]
        self._rows.clear()
        self._blocks.clear()
        self.show(blocks)

    def watch_unfolded(self) -> None:
        """Keep what is read in place while everything around it opens or folds."""
        self._keeping_place(self._refold)

    # ── sizes ──

    def _keeping_place(self, change: Callable[[], None]) -> None:
        top = round(self.scroll_y)
        index = self._rows.at(top)
        key = self._rows.pieces[index].block.key if index is not None else None
        offset = top - self._rows.start(index) if index is not None else 0
        change()
        if not self._follows and key is not None:
            start = self._rows.start(self._blocks[key][0])
            self._measure(start + min(offset, 2))

    def total(self) -> int:
        """All lines."""
        live = len(self._live.rows()) + 1 if self._live is not None else 0
        return self._rows.height + live

    @contextmanager
    def filling(self, *, more: bool) -> Iterator[None]:
        """Around a batch of events: with `more` to come (a replay) nothing is laid out before the last."""
        self._filling = more
        yield
        if not more and self._measuring:
            self.call_later(self._measure)

    def _measure_soon(self) -> None:
        """Once for all that one batch of events brings."""
        if not self._measuring:
            self._measuring = True
            if not self._filling:
                self.call_later(self._measure)

    def _measure(self, top: int | None = None) -> None:
        """Draw what the view shows, tell the scroll bar the new size, and keep the end or the place in view."""
        self._measuring = False
        height = self.size.height
        if height == 0:
            return
        self._moving = True
        if self._follows:
            self._rows.settle_end(height - (self.total() - self._rows.height))
            top = max(0, self.total() - height)
        else:
            top = round(self.scroll_y) if top is None else top
            top += self._rows.settle(top, top + height)
        self._tell_size()
        if round(self.scroll_y) != top:
            self.scroll_to(y=top, animate=False, force=True)
        self._moving = False
        self.move_bar()
        self.post_message(self.Moved(0 if self._follows else max(0, self.total() - height - top)))
        self.refresh()

    def _tell_size(self) -> None:
        """Not as a reactive: the bar is always there, so that nothing but it has to be laid out for more lines."""
        self.set_reactive(Transcript.virtual_size, Size(self.size.width, self.total()))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """The reader scrolled, or the end moved."""
        if self._moving:
            return
        super().watch_scroll_y(old_value, new_value)
        self._follows = new_value >= self.max_scroll_y - 0.5
        self._measure()

    def _on_resize(self, event: events.Resize) -> None:
        self._restyle()

    def on_mount(self) -> None:
        """Colours come from the theme; another theme, other colours."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._restyle())
        self._restyle()

    def _restyle(self) -> None:
        width = max(8, self.scrollable_content_region.width)
        drawn = replace(palette(self.app.theme_variables, ascii=self.ascii), unfold=self._unfold)

        def change() -> None:
            self._rows.resize(width, drawn)
            if self._live is not None:
                self._live.flow.resize(self._live_width())
            self._measure()

        self._keeping_place(change)

    # ── the growing answer ──

    def _live_width(self) -> int:
        return max(4, min(self._rows.width - INDENT - 1, PROSE))

    def _beat(self) -> None:
        self._timer = None
        if self._arrived and time.monotonic() - self._typed < TYPING:
            self._timer = self.set_timer(TYPING, self._beat)
        else:
            self._draw()

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        arrived, self._arrived = self._arrived, []
        for kind, text in runs(arrived):
            self._grow(kind, text)

    def _grow(self, kind: Role, text: str) -> None:
        if self._live is None or self._live.kind != kind:
            self._live = Live(kind, Flow(self._live_width()))
            text = text.lstrip("\n")
        before = len(self._live.rows())
        changed = self._live.flow.feed(text)
        if self._follows or len(self._live.rows()) != before:
            self._grown(changed)
        elif kind == "thinking":
            self.refresh()
        else:
            self.refresh_lines(self._rows.height + 1 + changed, len(self._live.rows()) - changed)

    def _grown(self, changed: int) -> None:
        """The text got longer: the lines from `changed` on are new, those before stay as they are."""
        total, top = self.total(), round(self.scroll_y)
        self._moving = True
        self._tell_size()
        end = max(0, total - self.size.height)
        if self._follows and end != top:
            self.scroll_to(y=end, animate=False, force=True)
            self.refresh()
        else:
            first = self._rows.height + 1 + changed - top
            self.post_message(self.Moved(0 if self._follows else end - top))
            if first < self.size.height:
                self.refresh(Region(0, max(0, first), self.size.width, self.size.height - max(0, first)))
        self._moving = False
        if self._drawn - self._barred >= BAR:
            self._barred = self._drawn
            self.move_bar()

    # ── drawing ──

    def line(self, line: int) -> Strip | None:
        """One line of the conversation, or of the answer that grows behind it."""
        if line < self._rows.height:
            return self._rows.line(line)
        return self._live.strip(line - self._rows.height - 1, self._rows.palette) if self._live is not None else None

    async def _on_click(self, event: events.Click) -> None:
        """A click on a card's title folds or unfolds that card."""
        index = self._rows.at(event.y + round(self.scroll_y))
        if index is None or self.text_selection is not None:
            return
        piece = self._rows.pieces[index]
        offset = event.y + round(self.scroll_y) - self._rows.start(index)
        if piece.first and piece.block.fold is not None and offset <= piece.gap:
            self._opened ^= {piece.block.key}
            self.show([piece.block])


def _bodiless(block: Block) -> bool:
    return block.role == "tool" and (not block.body or block.fold == Fold())
