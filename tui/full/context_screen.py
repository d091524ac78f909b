"""Everything in the context, item by item: to be sorted, filtered, viewed, pinned and marked, with what the marks are
worth.

Not a judgement of what should go, and no figure of its own: what the marks free, cost and pay back is the worker's
plan, asked for whenever they change. The table is `item_table`.

Invariants
 1. Enter prunes exactly the records of the plan the foot shows; without such a plan it prunes nothing.
 2. A marked item that cannot be pruned is never sent; the foot says why it stays.
 3. Marks and the filter outlive new numbers; a mark whose item is gone goes with it.
"""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from agent.wire import (
    Appended,
    Compact,
    Event,
    Finished,
    Inspect,
    Inspected,
    Opened,
    Pin,
    Plan,
    Planned,
    Prune,
    Row,
    Undo,
)
from tui.actions import ShowSheet, ViewWhole
from tui.full import items
from tui.full.item_table import ItemTable
from tui.full.items import Key, Order, key_of
from tui.full.overlay import Overlay
from tui.full.prompt import Wished
from tui.plain import percent, plural, safe, tokens
from tui.present import SEEN_ANYWAY, sentence
from tui.priced import brief, totals

# Marks set one after the other are asked about once: keys repeat every 30 ms at most, people press every 150; seconds.
PAUSE = 0.2

# Records arrive in bursts (a reply, its results); the table follows when they stop, seconds.
FOLLOW = 0.4

# Reasons listed below the totals; the rest is counted.
REASONS = 2

# A narrow screen has room for one line of keys, a wide one for all of them; cells.
WIDE_ENOUGH = 76

KEYS = (
    ("space", "mark"), ("enter", "prune the marked"), ("v", "view whole"), ("p", "pin"), ("c", "compact up to here"),
    ("/", "filter"), ("s", "sort"), ("r", "reverse"), ("a", "mark all"), ("u", "undo"), ("esc", "close"),
)  # fmt: skip
FEW_KEYS = "space mark · enter prune · ? keys"

# Fewer rows than this belong to the table: one line for the head, the totals in brief.
SHORT = 16


class ContextScreen(Overlay):
    """The view, item by item."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "close"),
        Binding("ctrl+c", "close", "close", show=False),
        Binding("space", "mark", "mark the row, one down"),
        Binding("a", "mark_all", "mark all that are shown and can go, or none"),
        Binding("enter", "prune", "prune the marked"),
        Binding("v", "view", "view the whole item (a double click too)"),
        Binding("p", "pin", "pin, or unpin"),
        Binding("c", "compact", "compact up to here, after the preview"),
        Binding("slash", "filter", "filter; enter goes back to the table, esc drops the filter"),
        Binding("s", "sort", "sort by the next column (a click on its head sorts too)"),
        Binding("r", "reverse", "the other way round"),
        Binding("u", "undo", "take back the last prune or compaction"),
        Binding("question_mark", "keys", "these keys"),
    ]

    def __init__(self, event: Inspected, *, ascii: bool = False) -> None:
        super().__init__()
        self.event = event
        self.plan: Plan | None = None
        self._ascii = ascii
        self._order = Order()
        self._query = ""
        self._marked: set[Key] = set()
        self._said = ""
        self._probing: Timer | None = None
        self._following: Timer | None = None

    @classmethod
    def open(cls, app: App[int], event: Inspected, *, ascii: bool = False) -> None:
        """Show it, unless one is shown already or the numbers are for one that has been closed since."""
        shown = any(isinstance(screen, cls) for screen in app.screen_stack)
        if not shown and not event.again:
            app.push_screen(cls(event, ascii=ascii))

    def compose(self) -> ComposeResult:
        """Head, filter, table, foot."""
        with Vertical(classes="sheet whole-screen"):
            yield Static(id="context-head")
            yield Input(placeholder="words, #record, kind or state", id="context-filter")
            yield ItemTable(ascii=self._ascii, id="context-table")
            yield Static(id="context-foot")

    def on_mount(self) -> None:
        """Fill it; the newest is what one came for."""
        self.query_one("#context-filter").display = False
        self.query_one(ItemTable).focus()
        self.show(self.event)
        self.query_one(ItemTable).action_go("end")

    # ── what comes from the worker ──

    def hear(self, event: Event) -> None:
        """New numbers, the plan for the marks, how a wish ended, or a reason to look again."""
        match event:
            case Inspected():
                self.show(event)
            case Planned(plan=plan, offered=False) if plan.what == "prune" and self._is_ours(plan):
                self.plan = plan
                self._foot()
            case Finished(text=text) if text not in SEEN_ANYWAY:
                self._say(sentence(text))
            case Appended(replay=False) if self._following is None:
                self._following = self.set_timer(FOLLOW, self._look_again)
            case Opened():
                self.dismiss()
            case _:
                pass

    def _look_again(self) -> None:
        self._following = None
        self.post_message(Wished(Inspect(again=True)))

    def _is_ours(self, plan: Plan) -> bool:
        return {*plan.records, *(record for record, _ in plan.refused)} == {*self._able()}

    def show(self, event: Inspected) -> None:
        """New numbers."""
        self.event = event
        self._marked &= {key_of(row) for row in event.rows}
        meter = event.meter
        window = "unknown" if meter.window is None else f"{tokens(meter.window)} ({safe(meter.window_source)})"
        fixed = ", ".join(f"{safe(name)} {tokens(size)}" for name, size in event.largest_fixed)
        head = Content.assemble(
            (f"{'' if meter.exact else '~'}{tokens(meter.used)} of {tokens(meter.budget)} budget", "bold"),
            (f"  {percent(meter.used, meter.budget)} · window {window}", "dim"),
            (f" · {plural(len(event.rows), 'item')}", "dim"),
            (f"\nin every request: {fixed}" if fixed else "", "dim"),
        )
        if self._short:
            head = Content(f"{tokens(meter.used)} of {tokens(meter.budget)}/{window} · {len(event.rows):,} items")
        self.query_one("#context-head", Static).update(head)
        self._arrange()
        self._ask()

    # ── the table ──

    @property
    def shown(self) -> list[Row]:
        """The rows that the filter lets through, in order."""
        return items.arranged(items.matching(self.event.rows, self._query), self._order)

    def _arrange(self) -> None:
        table = self.query_one(ItemTable)
        table.show(self.shown, self._marked, self._order, self.event.meter.budget)
        self._foot()

    def _able(self) -> list[int]:
        """The marked records that pruning can take, as far as the rows tell; ascending."""
        rows = (row for row in self.event.rows if key_of(row) in self._marked)
        return sorted({row.record for row in rows if items.why_not(row) is None})

    def on_item_table_sorted(self, message: ItemTable.Sorted) -> None:
        """A click on a head; on the same head again the other way round."""
        again = message.name == self._order.name
        self._order = Order(message.name, not self._order.reverse if again else False)
        self._arrange()

    def on_item_table_chosen(self) -> None:
        """A double click."""
        self.action_view()

    # ── the foot ──

    @property
    def _short(self) -> bool:
        return self.app.size.height < SHORT

    def _say(self, text: str) -> None:
        self._said = text
        self._foot()

    def _foot(self) -> None:
        rows = [Content(line) for line in self._summary()]
        if self._said:
            rows.insert(0, Content.styled(self._said, "bold"))
        rows.append(Content.styled(self._hint(), "dim"))
        self.query_one("#context-foot", Static).update(Content("\n").join(rows))

    def _summary(self) -> list[str]:
        """What the marks come to, and which of them stay."""
        marked = [row for row in self.event.rows if key_of(row) in self._marked]
        if not marked:
            many = f"{plural(len(self.shown), 'item')} of {len(self.event.rows):,} match" if self._query else ""
            return [" · ".join(filter(None, [many, "nothing marked"]))]
        able = self._able()
        stay = [f"#{row.record} stays: {why}" for row in marked if (why := items.why_not(row))]
        if self.plan is not None and self._is_ours(self.plan):
            stay += [f"#{record} stays: {safe(why)}" for record, why in self.plan.refused]
            said = f"{len(marked)} marked: {(brief if self._short else totals)(self.plan)}"
        elif able:
            size = sum(row.tokens for row in marked if items.why_not(row) is None)
            said = f"{len(marked)} marked: about {tokens(size)} · working out the rest"
        else:
            said = f"{len(marked)} marked: none of it can go"
        if not stay or self._short:
            return [said]
        more = [f"and {len(stay) - REASONS} more"] if len(stay) > REASONS else []
        only = ["only tool results are pruned"] if any(row.kind != "tool" for row in marked) else []
        return [said, " · ".join(stay[:REASONS] + more + only)]

    def _hint(self) -> str:
        if self.app.size.width < WIDE_ENOUGH or self._short:
            return FEW_KEYS
        return " · ".join(f"{key} {what}" for key, what in KEYS)

    def on_resize(self, event: events.Resize) -> None:
        """Head and foot fit the screen."""
        self.show(self.event)

    # ── the marks ──

    def _ask(self) -> None:
        """The plan for the marks, once they have settled."""
        if self.plan is not None and self._is_ours(self.plan) and self.plan.before == self.event.meter.used:
            return
        self.plan = None
        if self._probing is not None:
            self._probing.stop()
        self._probing = self.set_timer(PAUSE, self._probe)

    def _probe(self) -> None:
        if able := self._able():
            self.post_message(Wished(Prune(tuple(able), force=True, dry_run=True, probe=True)))

    def _mark(self, keys: set[Key]) -> None:
        self._marked ^= keys
        self._said = ""
        self.query_one(ItemTable).mark(self._marked)
        self._ask()
        self._foot()

    def action_mark(self) -> None:
        """Mark the row, or not; down one."""
        table = self.query_one(ItemTable)
        if (row := table.current) is not None:
            self._mark({key_of(row)})
            table.action_move(1)

    def action_mark_all(self) -> None:
        """All that are shown and can go; when they are marked already, none."""
        able = {key_of(row) for row in self.shown if items.why_not(row) is None}
        self._mark(able & self._marked if able <= self._marked else able - self._marked)

    # ── wishes ──

    def action_prune(self) -> None:
        """What the plan in the foot says, and nothing else."""
        if not self._marked:
            self._say("Nothing is marked: space marks a row, v views it whole.")
        elif self.plan is None or not self._is_ours(self.plan):
            self._say("A moment: what the marks come to is not worked out yet." if self._able() else "")
        elif self.plan.records:
            self.post_message(Wished(Prune(self.plan.records, force=True)))
            self._marked.clear()
            self.plan = None
            self._arrange()

    def action_pin(self) -> None:
        """Pin or unpin."""
        if (row := self.query_one(ItemTable).current) is not None:
            self.post_message(Wished(Pin(row.record, on=row.state != "pinned")))

    def action_compact(self) -> None:
        """The preview of a compaction up to here; Enter there does it."""
        if (row := self.query_one(ItemTable).current) is not None:
            self.post_message(Wished(Compact(preview=True, up_to=row.record)))

    def action_undo(self) -> None:
        """Take back the last rewrite."""
        self.post_message(Wished(Undo()))

    def action_view(self) -> None:
        """The whole item."""
        if (row := self.query_one(ItemTable).current) is not None:
            self.post_message(Wished(ViewWhole(row.record)))

    # ── order and filter ──

    def action_sort(self) -> None:
        """The next column."""
        self._order = self._order.after()
        self._arrange()

    def action_reverse(self) -> None:
        """The other way round."""
        self._order = Order(self._order.name, not self._order.reverse)
        self._arrange()

    def action_filter(self) -> None:
        """Write the filter."""
        field = self.query_one("#context-filter", Input)
        field.display = True
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """The table follows every letter."""
        self._query = event.value.strip()
        self._arrange()

    def on_input_submitted(self) -> None:
        """Back to the table; the filter stays."""
        self.query_one("#context-filter").display = bool(self._query)
        self.query_one(ItemTable).focus()

    def action_leave(self) -> None:
        """The filter first, then the screen."""
        field = self.query_one("#context-filter", Input)
        if not field.display and not self._query:
            self.dismiss()
            return
        field.value, self._query = "", ""
        field.display = False
        self.query_one(ItemTable).focus()
        self._arrange()

    def action_close(self) -> None:
        """Close, whatever is filtered."""
        self.dismiss()

    def action_keys(self) -> None:
        """All keys of this screen."""
        self.post_message(Wished(ShowSheet("keys")))
