"""Before a rewrite: the plan of a prune, the preview of a compaction, and the summary to review.

Not planning (the worker did that): lists and totals, and one command for what the user decides.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from agent.wire import Compact, Plan, Prune, Reviewed, Reviewing
from tui.full.overlay import Overlay
from tui.full.pages import Lines
from tui.full.prompt import Wished
from tui.plain import one_line, plural, safe, tokens
from tui.priced import totals

# The rows around a plan: frame, title, totals in up to three lines, keys, and the blank lines between. The sheet takes
# nine tenths of the screen.
AROUND = 10

# Without the frame and the blank lines, on a sheet as high as the screen.
AROUND_SHORT = 6
SHORT = 16


class PlanScreen(ModalScreen[bool]):
    """A plan as a list with its totals; Enter does exactly what it shows, Esc leaves everything as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "commit", "do exactly this", priority=True),
        Binding("escape,q,ctrl+c", "cancel", "leave it"),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.plan = plan

    @classmethod
    def offer(cls, app: App[int], plan: Plan) -> None:
        """Show it, if there is something to show; why there is nothing is said in the conversation."""
        if not (plan.rows or plan.kept_rows or not plan.why_nothing):
            return

        def ended(committed: bool | None) -> None:
            # A compaction is watched in the conversation.
            while committed and plan.what == "compact" and isinstance(app.screen, Overlay):
                app.pop_screen()

        app.push_screen(cls(plan), ended)

    def compose(self) -> ComposeResult:
        """Title, rows, totals, keys."""
        prune = self.plan.what == "prune"
        title = f"Prune {plural(len(self.plan.records), 'result')}" if prune else "What a compaction would do"
        with Vertical(classes="sheet"):
            yield Static(Content.styled(title, "bold"), classes="sheet--title")
            yield Lines(id="plan-rows")
            yield Static(Content(totals(self.plan)), classes="sheet--facts")
            able = "enter does exactly this · esc leaves it" if self._able else "esc closes"
            yield Static(Content.styled(able, "dim"), id="plan-keys")

    def on_mount(self) -> None:
        """The rows scroll."""
        self.query_one(Lines).focus()
        self._lay()

    def on_resize(self) -> None:
        """The rows take what title, totals and keys leave."""
        self._lay()

    def _lay(self) -> None:
        rows = [*(_row(*row, fate="goes") for row in self.plan.rows)]
        rows += [_row(*row, fate="stays") for row in self.plan.kept_rows]
        lines, height = self.query_one(Lines), self.app.size.height
        room = height - AROUND_SHORT if height < SHORT else height * 9 // 10 - AROUND
        lines.styles.height = max(1, min(len(rows), room))
        lines.show(rows)

    @property
    def _able(self) -> bool:
        return bool(self.plan.records) and (self.plan.what == "prune" or self.plan.first_kept is not None)

    def action_cancel(self) -> None:
        """Nothing changes."""
        self.dismiss(False)

    def action_commit(self) -> None:
        """The records listed, no other; or a compaction that keeps what was listed as kept."""
        plan = self.plan
        if self._able and plan.what == "prune":
            self.post_message(Wished(Prune(records=plan.records, force=True)))
        elif self._able:
            self.post_message(Wished(Compact(plan.focus, up_to=plan.first_kept)))
        self.dismiss(self._able)


def _row(record: int, name: str, size: int, *, fate: str) -> str:
    return f"{f'#{record}':>6}  {tokens(size):>6}  {fate:<5}  {one_line(name, 200)}"


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
