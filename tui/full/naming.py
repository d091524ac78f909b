"""A line to write a name on, over the screen. Not the renaming: what is written becomes a wish."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui.actions import Wish
from tui.full.prompt import Wished
from tui.plain import one_line


class NameScreen(ModalScreen[None]):
    """Enter takes what is written, Esc leaves everything as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "leave", "leave")]

    def __init__(self, title: str, text: str, wish: Callable[[str], Wish]) -> None:
        super().__init__()
        self._title, self._text, self._wish = title, text, wish

    def compose(self) -> ComposeResult:
        """Title, line, keys."""
        with Vertical(classes="sheet"):
            yield Static(Content.styled(self._title, "bold"), classes="sheet--title")
            yield Input(one_line(self._text), select_on_focus=True)
            yield Static(Content.styled("enter takes it · esc leaves it as it is", "dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A name."""
        if event.value.strip():
            self.post_message(Wished(self._wish(event.value.strip())))
            self.dismiss()

    def action_leave(self) -> None:
        """No other name."""
        self.dismiss()
