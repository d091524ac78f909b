"""Everything in the context as a table: what it is, what it takes of the budget, how old, pinned or pruned, cached.

Not a judgement of what should go (that is the plan of a prune); Enter on marked rows asks for that plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from agent.wire import Compact, Inspect, Inspected, Pin, Prune, Row
from tui.plain import one_line, percent, safe, tokens
from tui.prompt import Wished

ORDERS: dict[str, Callable[[Row], object]] = {
    "number": lambda row: row.record,
    "tokens": lambda row: -row.tokens,
    "kind": lambda row: (row.kind, row.record),
    "age": lambda row: -row.age,
}

# A narrow screen shows what a choice is made by; the rest is a wider screen away. Cells.
WIDE_ENOUGH = 60
ALL = (" ", "#", "kind", "tokens", "share", "age", "state", "cached", "what")
NARROW = (" ", "#", "kind", "tokens", "what")
KEYS = "space mark · enter prune · p pin · c compact up to here · s sort · esc close"


class ContextScreen(ModalScreen[None]):
    """The view, item by item."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", "close"),
        Binding("space", "mark", "mark"),
        Binding("s", "sort", "sort"),
        Binding("p", "pin", "pin"),
        Binding("c", "compact", "compact up to here"),
        Binding("enter", "prune", "prune the marked", priority=True),
    ]

    def __init__(self, event: Inspected) -> None:
        super().__init__()
        self.event = event
        self._order = "number"
        self._marked: set[int] = set()

    @classmethod
    def open(cls, app: App[int], event: Inspected) -> None:
        """Show it, or refresh the one that is shown."""
        if isinstance(app.screen, cls):
            app.screen.show(event)
        else:
            app.push_screen(cls(event))

    def compose(self) -> ComposeResult:
        """Head, table, foot."""
        with Vertical(classes="sheet"):
            yield Static(id="context-head")
            table: DataTable[Text] = DataTable(cursor_type="row")
            for name in self._columns():
                table.add_column(name, key=name)
            yield table
            yield Static(id="context-foot")

    def on_mount(self) -> None:
        """Fill it."""
        self.query_one(DataTable).focus()
        self.show(self.event)

    def show(self, event: Inspected) -> None:
        """New numbers; the cursor stays on its record."""
        here = self._here()
        self.event = event
        meter = event.meter
        fixed = ", ".join(f"{safe(name)} {tokens(size)}" for name, size in event.largest_fixed)
        window = "?" if meter.window is None else tokens(meter.window)
        head = Content.assemble(
            (f"{tokens(meter.used)} of {tokens(meter.budget)} budget", "bold"),
            (f"  {percent(meter.used, meter.budget)} · window {window} ({safe(meter.window_source)})", "dim"),
            (f"\nin every request: {fixed}" if fixed else "", "dim"),
        )
        self.query_one("#context-head", Static).update(head)
        table = self.query_one(DataTable)
        table.clear()
        for row in sorted(event.rows, key=ORDERS[self._order]):  # type: ignore[arg-type]
            table.add_row(*self._cells(row), key=f"{row.record}:{row.kind}:{row.title}"[:200], label=None)
        if here is not None:
            self._go_to(here)
        self._foot()

    def _columns(self) -> tuple[str, ...]:
        return NARROW if self.app.size.width < WIDE_ENOUGH else ALL

    def _cells(self, row: Row) -> list[Text]:
        # A table takes a plain string for markup; a Text it takes as it is.
        cells = {
            " ": "*" if row.record in self._marked else " ",
            "#": f"{row.record:>3}",
            "kind": safe(row.kind),
            "tokens": f"{tokens(row.tokens):>6}",
            "share": f"{percent(row.tokens, self.event.meter.budget):>5}",
            "age": f"{row.age:>3}",
            "state": safe(row.state) if row.state != "live" else "",
            "cached": "yes" if row.cached else "no",
            "what": one_line(row.title, 100),
        }
        return [Text(cells[name], no_wrap=True) for name in self._columns()]

    def _rows(self) -> list[Row]:
        return sorted(self.event.rows, key=ORDERS[self._order])  # type: ignore[arg-type]

    def _here(self) -> int | None:
        table, rows = self.query_one(DataTable), self._rows()
        return rows[table.cursor_row].record if table.row_count and table.cursor_row < len(rows) else None

    def _go_to(self, record: int) -> None:
        for index, row in enumerate(self._rows()):
            if row.record == record:
                self.query_one(DataTable).move_cursor(row=index)
                return

    def _foot(self) -> None:
        freed = sum(row.tokens for row in self.event.rows if row.record in self._marked)
        first = min(self._marked, default=None)
        said = (
            f"{len(self._marked)} marked: {tokens(freed)}, the cache would break at #{first}"
            if first
            else "nothing marked"
        )
        keys = KEYS if self.app.size.width >= WIDE_ENOUGH else "space mark · enter prune · s sort"
        self.query_one("#context-foot", Static).update(Content.assemble(said, (f"\n{keys} · by {self._order}", "dim")))

    def action_mark(self) -> None:
        """Mark the row, or not; down one."""
        if (here := self._here()) is not None:
            self._marked ^= {here}
            table = self.query_one(DataTable)
            at = table.cursor_row
            self.show(self.event)
            table.move_cursor(row=min(at + 1, table.row_count - 1))

    def action_sort(self) -> None:
        """The next order."""
        names = list(ORDERS)
        self._order = names[(names.index(self._order) + 1) % len(names)]
        self.show(self.event)

    def action_pin(self) -> None:
        """Pin or unpin, and look again."""
        for row in self._rows():
            if row.record == self._here():
                self.post_message(Wished(Pin(row.record, on=row.state != "pinned")))
                self.post_message(Wished(Inspect()))
                return

    def action_compact(self) -> None:
        """Compact everything up to here."""
        if (here := self._here()) is not None:
            self.post_message(Wished(Compact(up_to=here)))
            self.dismiss()

    def action_prune(self) -> None:
        """The plan for what is marked, or for the row itself."""
        here = self._here()
        chosen = tuple(sorted(self._marked)) or ((here,) if here is not None else ())
        if chosen:
            self.post_message(Wished(Prune(records=chosen, dry_run=True)))
            self.dismiss()

    def action_leave(self) -> None:
        """Close."""
        self.dismiss()
