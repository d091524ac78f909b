"""A screen over the main one that hears what the worker says while it lies there.

Not a wish and no wiring: the app hands every event to each overlay; most let most of them pass.
"""

from __future__ import annotations

from textual.screen import ModalScreen

from agent.wire import Event


class Overlay(ModalScreen[None]):
    """Takes the events it cares about."""

    def hear(self, event: Event) -> None:
        """One event, on the screen's thread. Not before the overlay is mounted."""

    def action_leave(self) -> None:
        """Close."""
        self.dismiss()
