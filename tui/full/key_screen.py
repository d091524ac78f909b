"""A line for a provider's key, over the screen: what is typed is not shown, not remembered, and goes to the worker.

Not the keeping.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agent.wire import SaveKey
from tui.full.prompt import Wished


class KeyScreen(ModalScreen[None]):
    """Enter saves, Esc leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "leave", "leave")]

    def __init__(self, provider: str) -> None:
        super().__init__()
        self._provider = provider

    def compose(self) -> ComposeResult:
        """Title, the masked line, hint."""
        with Vertical(classes="sheet"):
            yield Static(Content.styled(f"Key for {self._provider}", "bold"), classes="sheet--title")
            yield Input(password=True, placeholder="it is not shown")
            yield Static(Content.styled("enter saves it · esc leaves", "dim"), id="hint")

    def on_mount(self) -> None:
        """Ready to be pasted into."""
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter."""
        event.stop()
        key = event.value.strip()
        self.dismiss()
        if key:
            self.post_message(Wished(SaveKey(self._provider, key)))

    def action_leave(self) -> None:
        """Nothing saved."""
        self.dismiss()
