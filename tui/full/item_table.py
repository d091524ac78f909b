"""The context table as a widget: only the lines in view are drawn, so ten thousand items scroll like ten.

Not what is in it (that is `items`) and no command. A table of widgets or of stored cells takes over a second to fill
with ten thousand rows and again to sort them; lines drawn on demand take as long as the screen is high.

Invariants
 1. Drawing one line costs the same however many rows there are.
 2. The cursor stays on its row through sorting, filtering and new numbers, as long as that row is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent.wire import Row
from tui import bar
from tui.full import items
from tui.full.items import Key, Order, key_of
from tui.full.palette import Palette, palette

HEAD = 1


class ItemTable(ScrollView, can_focus=True):
    """Rows under a head that stays."""

    DEFAULT_CSS = "ItemTable { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go('start')", show=False),
        Binding("end,G", "go('end')", show=False),
    ]

    ascii: var[bool] = var(False)

    class Sorted(Message):
        """A head was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Chosen(Message):
        """A row was clicked a second time."""

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(ItemTable.ascii, ascii)
        self._rows: Sequence[Row] = ()
        self._marked: Collection[Key] = ()
        self._order = Order()
        self._budget = 0
        self._at = 0
        self._palette = Palette()
        self._under = Style()

    # ── what the screen calls ──

    def show(self, rows: Sequence[Row], marked: Collection[Key], order: Order, budget: int) -> None:
        """These rows in this order; the cursor stays on its row, or on its line when that is gone."""
        here = self.current
        self._rows, self._marked, self._order, self._budget = rows, marked, order, budget
        found = None if here is None else next((n for n, row in enumerate(rows) if key_of(row) == key_of(here)), None)
        self._at = found if found is not None else max(0, min(self._at, len(rows) - 1))
        self.virtual_size = Size(self.size.width, len(rows) + HEAD)
        self._into_view()
        self.refresh()

    def mark(self, marked: Collection[Key]) -> None:
        """Other marks, the same rows."""
        self._marked = marked
        self.refresh()

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._at] if 0 <= self._at < len(self._rows) else None

    # ── moving ──

    def action_move(self, by: int) -> None:
        """Up and down."""
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        """A screenful."""
        self._go(self._at + by * max(1, self.size.height - HEAD - 1))

    def action_go(self, to: str) -> None:
        """All the way."""
        self._go(0 if to == "start" else len(self._rows) - 1)

    def _go(self, at: int) -> None:
        before, self._at = self._at, max(0, min(at, len(self._rows) - 1))
        if not self._into_view():
            for line in (before, self._at):
                self.refresh(Region(0, line + HEAD - self.scroll_offset.y, self.size.width, 1))

    def _into_view(self) -> bool:
        """Scrolls as little as shows the cursor; whether it did."""
        top, body = self.scroll_offset.y, max(1, self.size.height - HEAD)
        wanted = min(max(top, self._at - body + 1), self._at)
        if wanted != top:
            self.scroll_to(y=wanted, animate=False, force=True)
            self.refresh()
        return wanted != top

    def on_resize(self) -> None:
        """The cursor stays in view."""
        self.virtual_size = Size(self.size.width, len(self._rows) + HEAD)
        self.call_after_refresh(self._into_view)

    def on_click(self, event: events.Click) -> None:
        """A head sorts, a row takes the cursor."""
        self.focus()
        if event.y < HEAD:
            at = items.MARK
            for column, width in items.shown_in(self._width()):
                if at <= event.x < at + width + items.GAP:
                    self.post_message(self.Sorted(column.name))
                at += width + items.GAP
            return
        at = event.y - HEAD + self.scroll_offset.y
        if at == self._at and event.chain > 1:
            self.post_message(self.Chosen())
        elif at < len(self._rows):
            self._go(at)

    # ── drawing ──

    def on_mount(self) -> None:
        """Colours come from the theme."""
        self.app.theme_changed_signal.subscribe(self, lambda _: self._restyle())
        self._restyle()

    def _restyle(self) -> None:
        variables = self.app.theme_variables
        self._palette = palette(variables, ascii=self.ascii)
        own = self._palette.shade.bgcolor is None
        self._under = Style(reverse=True) if own else Style(bgcolor=Color.parse(variables["panel"]).rich_color)
        self.refresh()

    def _width(self) -> int:
        return max(8, self.scrollable_content_region.width)

    def render_line(self, y: int) -> Strip:
        """The head, or one row."""
        width, base = self._width(), self.rich_style
        if y < HEAD:
            strip = Strip(self._head(width))
        else:
            at = y - HEAD + self.scroll_offset.y
            strip = Strip(self._row(at, width)) if at < len(self._rows) else Strip.blank(width)
        return strip.crop_extend(0, self.size.width, None).apply_style(base)

    def _head(self, width: int) -> list[Segment]:
        drawn, quiet = self._palette, self._palette.quiet
        segments = [Segment(" " * items.MARK, quiet)]
        for column, room in items.shown_in(width):
            sorts = column.name == self._order.name
            arrow = ("↓" if self._order.falls else "↑") if sorts else " "
            head = column.head + arrow
            cell = items.fitted(head, room + items.GAP, right=column.right)
            segments.append(Segment(cell, drawn.accent if sorts else quiet))
        return segments

    def _row(self, at: int, width: int) -> list[Segment]:
        row, drawn = self._rows[at], self._palette
        here, marked = at == self._at, key_of(row) in self._marked
        kind = drawn.meter_style(items.role_of(row))
        glyph = (bar.ASCII if self.ascii else bar.UNICODE).parts[items.role_of(row)]
        text = drawn.strong if marked else drawn.text
        if row.state in ("pruned", "spilled"):
            text = drawn.quiet
        can = items.why_not(row) is None
        mark = (">" if here else " ") + (("*" if can else "x") if marked else " ")
        segments = [Segment(mark, drawn.accent if can else drawn.warning)]
        for column, room in items.shown_in(width):
            cell = column.cell(row, self._budget)
            style = text if column.name in ("number", "first line") else drawn.text if here or marked else drawn.quiet
            if column.name == "kind":
                segments.append(Segment(f"{glyph} ", kind))
                room, style = room - items.GLYPH, kind
            segments.append(Segment(items.fitted(cell, room, right=column.right) + " " * items.GAP, style))
        if here:
            segments = [Segment(s.text, (s.style or Style()) + self._under) for s in segments]
        return segments
