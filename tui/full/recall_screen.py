"""Searching the whole session log, pruned and compacted parts included, and putting a hit back.

Not the search (that is `agent.reading`) and not the list of earlier prompts (that is `recall`). Putting back is a pin:
a pruned result comes back whole, what a compaction swallowed is quoted beside the summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.wire import Event, Finished, Opened, Pin
from tui.actions import ViewWhole
from tui.full.overlay import Overlay
from tui.full.prompt import Wished
from tui.plain import one_line, plural
from tui.present import sentence
from tui.wording import STANDING

if TYPE_CHECKING:
    from agent.reading import Hit


class RecallScreen(Overlay):
    """A query, its hits, and what can be done with one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "close"),
        Binding("q", "leave", "close", show=False),
        Binding("ctrl+c", "leave", "close", show=False),
        Binding("enter", "view", "view the whole record", show=True),
        Binding("p", "pin", "put it back: keep it word for word in the context"),
        Binding("slash", "query", "other words"),
        Binding("down", "list", "to the hits", show=False),
    ]

    class Found(Message, bubble=False):
        """A thread has searched; `trouble` is a sentence when it could not."""

        def __init__(self, query: str, hits: Sequence[Hit], trouble: str) -> None:
            super().__init__()
            self.query, self.hits, self.trouble = query, hits, trouble

    def __init__(self, query: str, search: Callable[[str], tuple[Sequence[Hit], str]]) -> None:
        """`search` is called on a thread and raises nothing."""
        super().__init__()
        self._wanted, self._search = query, search
        self._hits: Sequence[Hit] = ()
        self._said = ""
        self._putting_back = False

    def compose(self) -> ComposeResult:
        """Query, hits, foot."""
        with Vertical(classes="sheet whole-screen"):
            yield Input(self._wanted, placeholder="words, or a record's number", id="recall-query")
            yield OptionList(markup=False, id="recall-hits")
            yield Static(id="recall-foot")

    def on_mount(self) -> None:
        """With words given the search begins."""
        self.query_one(Input).focus()
        self._foot()
        if self._wanted:
            self._look(self._wanted)

    @work(thread=True, exclusive=True)
    def _look(self, query: str) -> None:
        self.post_message(self.Found(query, *self._search(query)))

    def on_recall_screen_found(self, message: Found) -> None:
        """The hits, best first."""
        self._hits = message.hits
        if message.trouble:
            self._said = sentence(message.trouble)
        elif self._putting_back:
            self._putting_back = False
        else:
            found = plural(len(message.hits), "record") if message.hits else "No record"
            self._said = f"{found} with {one_line(message.query, 60)}"
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(self._row(hit)) for hit in message.hits)
        if message.hits:
            options.highlighted = 0
            options.focus()
        self._foot()

    @staticmethod
    def _row(hit: Hit) -> Content:
        standing = STANDING[hit.standing]
        head = Content.assemble(
            (f"#{hit.record} ", "bold"), one_line(hit.title, 80),
            (f"  {standing} · {hit.characters:,} characters", "dim"),
        )  # fmt: skip
        return Content.assemble(head, "\n  ", one_line(hit.excerpt, 300))

    @property
    def current(self) -> Hit | None:
        """The marked hit."""
        at = self.query_one(OptionList).highlighted
        return self._hits[at] if at is not None and at < len(self._hits) else None

    def _foot(self) -> None:
        keys = "enter view whole · p put back · / other words · esc close"
        if self.query_one(Input).has_focus:
            keys = "enter search · ↓ to the hits · esc close"
        self.query_one("#recall-foot", Static).update(
            Content.assemble((f"{self._said}\n" if self._said else "", "bold"), (keys, "dim"))
        )

    def on_descendant_focus(self) -> None:
        """Other keys mean something."""
        self._foot()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search."""
        if event.value.strip():
            self._said = "searching"
            self._foot()
            self._look(event.value.strip())

    def on_option_list_option_selected(self) -> None:
        """Enter or a click."""
        self.action_view()

    def action_view(self) -> None:
        """The whole record."""
        if (hit := self.current) is not None:
            self.post_message(Wished(ViewWhole(hit.record)))

    def action_pin(self) -> None:
        """Put it back."""
        hit = self.current
        if hit is None:
            return
        if hit.standing == "live":
            self._said = f"#{hit.record} is in the context already."
        elif hit.standing == "rewound":
            self._said = f"#{hit.record} was left behind by a rewind; it cannot be put back."
        else:
            self._said = f"Putting #{hit.record} back."
            self.post_message(Wished(Pin(hit.record)))
        self._foot()

    def action_query(self) -> None:
        """Other words."""
        self.query_one(Input).focus()

    def action_list(self) -> None:
        """From the words to the hits."""
        if self._hits:
            self.query_one(OptionList).focus()

    def hear(self, event: Event) -> None:
        """How the pin ended."""
        match event:
            case Finished(wish="pin", text=text, committed=committed):
                self._said = sentence(text)
                self._foot()
                query = self.query_one(Input).value.strip()
                if committed and query:
                    self._putting_back = True
                    self._look(query)
            case Opened():
                self.dismiss()
            case _:
                pass
