"""The message by which a widget says what the user wants; the wishes themselves are in `actions` and on the wire."""

from __future__ import annotations

from textual.message import Message

from tui.actions import Wish


class Wished(Message):
    """The user wants something: of the worker, or of the screen."""

    def __init__(self, wish: Wish) -> None:
        super().__init__()
        self.wish = wish
