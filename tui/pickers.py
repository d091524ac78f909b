"""Lists to choose one thing from, filtered by typing: sessions, models, messages to go back to.

Not the things: rows and what choosing one wishes for are handed in; a list that must be read from disk is read on a
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.actions import Wish
from tui.completion import rank
from tui.plain import safe
from tui.prompt import Wished


@dataclass(frozen=True, slots=True)
class Pick:
    """One row: what is filtered by and shown, a quiet remark, and what choosing it wishes for."""

    label: str
    wish: Wish
    remark: str = ""


class Picker(ModalScreen[None]):
    """Type to filter, Enter chooses, Esc leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "leave"),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
    ]

    class Loaded(Message, bubble=False):
        """A thread has read the rows; `nothing` is the sentence for none."""

        def __init__(self, picks: Sequence[Pick], nothing: str) -> None:
            super().__init__()
            self.picks, self.nothing = picks, nothing

    def __init__(self, title: str, load: Callable[[], Sequence[Pick]], nothing: str) -> None:
        super().__init__()
        self._title, self._load, self._nothing = title, load, nothing
        self._picks: Sequence[Pick] = ()
        self._shown: list[Pick] = []

    def compose(self) -> ComposeResult:
        """Title, filter, rows."""
        with Vertical(classes="sheet"):
            yield Static(Content.styled(self._title, "bold"), classes="sheet--title")
            yield Input(placeholder="type to filter")
            yield OptionList(markup=False)
            yield Static(Content.styled("enter chooses · esc leaves", "dim"), id="hint")

    def on_mount(self) -> None:
        """The rows may take a while to read."""
        self.query_one(Input).focus()
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        try:
            self.post_message(self.Loaded(tuple(self._load()), self._nothing))
        except OSError as error:
            self.post_message(self.Loaded((), f"the list could not be read: {error}"))

    def on_picker_loaded(self, message: Loaded) -> None:
        """The rows are here."""
        self._picks = message.picks
        if not message.picks:
            self.query_one("#hint", Static).update(Content(message.nothing))
        self._filter(self.query_one(Input).value.strip())

    def _filter(self, query: str) -> None:
        by_label = {f"{pick.label} {pick.remark} {index}": pick for index, pick in enumerate(self._picks)}
        names = rank(query, by_label, most=500)
        self._shown = [by_label[name] for name in names]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(
            Option(Content.assemble(safe(pick.label), ("  " + safe(pick.remark), "dim")), id=str(index))
            for index, pick in enumerate(self._shown)
        )
        options.highlighted = 0 if self._shown else None

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter."""
        self._filter(event.value.strip())

    def on_input_submitted(self) -> None:
        """Enter: the marked row."""
        marked = self.query_one(OptionList).highlighted
        if marked is not None:
            self._choose(marked)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self._choose(event.option_index)

    def _choose(self, index: int) -> None:
        self.post_message(Wished(self._shown[index].wish))
        self.dismiss()

    def action_move(self, by: int) -> None:
        """The arrows move the mark while the filter is written."""
        options = self.query_one(OptionList)
        if by < 0:
            options.action_cursor_up()
        else:
            options.action_cursor_down()

    def action_leave(self) -> None:
        """Nothing chosen."""
        self.dismiss()
