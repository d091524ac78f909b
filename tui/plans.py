"""Before a rewrite: the plan of a prune, the preview of a compaction, and the summary to review.

Not planning (the worker did that): tables and totals, and one command for what the user decides.
"""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static, TextArea

from agent.wire import Plan, Prune, Reviewed, Reviewing
from tui.plain import one_line, plural, safe, tokens
from tui.priced import totals
from tui.prompt import Wished


class PlanScreen(ModalScreen[None]):
    """A plan as a table; Enter commits a prune, Esc leaves everything as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "cancel", "leave it"),
        Binding("enter", "commit", "do it", priority=True),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    @classmethod
    def offer(cls, app: App[int], plan: Plan) -> None:
        """Show it, if there is something to show; why there is nothing is said in the conversation."""
        if plan.rows or plan.kept_rows or not plan.why_nothing:
            app.push_screen(cls(plan))

    def compose(self) -> ComposeResult:
        """Title, rows, totals, keys."""
        prune = self.plan.what == "prune"
        title = f"Prune {plural(len(self.plan.records), 'result')}" if prune else "What a compaction would do"
        with Vertical(classes="sheet"):
            yield Static(Content.styled(title, "bold"), classes="sheet--title")
            table: DataTable[Text] = DataTable(cursor_type="row", zebra_stripes=False)
            table.add_columns("#", "tokens", "", "what")
            for record, name, size in self.plan.rows:
                table.add_row(*_row(record, size, "goes", name))
            for record, name, size in self.plan.kept_rows:
                table.add_row(*_row(record, size, "stays", name))
            if self.plan.rows or self.plan.kept_rows:
                yield table
            yield Static(Content(totals(self.plan)), classes="sheet--facts")
            able = prune and self.plan.records
            hint = "enter does exactly this · esc leaves it" if able else "esc closes · /compact does it"
            yield Static(Content.styled(hint if able or not prune else "esc closes", "dim"))

    def action_cancel(self) -> None:
        """Nothing changes."""
        self.dismiss()

    def action_commit(self) -> None:
        """Commit the records listed, no other."""
        if self.plan.what == "prune" and self.plan.records:
            self.post_message(Wished(Prune(records=self.plan.records)))
        self.dismiss()


def _row(record: int, size: int, fate: str, name: str) -> tuple[Text, Text, Text, Text]:
    # A table takes a plain string for markup; a Text it takes as it is.
    return Text(f"{record}", justify="right"), Text(f"{tokens(size):>6}"), Text(fate), Text(one_line(name, 80))


class ReviewScreen(ModalScreen[None]):
    """A summary to accept as it stands, to edit first, or to drop."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "accept", "accept", priority=True),
        Binding("escape", "drop", "drop", priority=True),
    ]

    def __init__(self, review: Reviewing) -> None:
        super().__init__()
        self.review = review
        self._sure = False

    def compose(self) -> ComposeResult:
        """The editor, the fact sheet's size, and the keys."""
        with Vertical(classes="sheet"):
            sizes = f"{tokens(self.review.before)} → {tokens(self.review.after)}"
            yield Static(Content.assemble(("The summary, to be edited if you like  ", "bold"), (sizes, "dim")))
            yield TextArea(safe(self.review.summary), soft_wrap=True, id="summary")
            lines = plural(self.review.fact_sheet.count("\n") + 1, "line")
            yield Static(Content.styled(f"A fact sheet of {lines} is added by the program.", "dim"))
            yield Static(Content("ctrl+s accepts · esc drops it"), id="keys")

    def on_mount(self) -> None:
        """Writing can begin."""
        self.query_one(TextArea).focus()

    def action_accept(self) -> None:
        """What stands in the editor becomes the summary."""
        self.post_message(Wished(Reviewed(self.query_one(TextArea).text)))
        self.dismiss()

    def action_drop(self) -> None:
        """Esc twice: a summary costs money, one slip must not throw it away."""
        if not self._sure:
            self._sure = True
            self.query_one("#keys", Static).update(Content("esc once more drops the summary · ctrl+s accepts it"))
            return
        self.post_message(Wished(Reviewed(None)))
        self.dismiss()
