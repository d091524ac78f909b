"""What the inline conversation asks of a terminal: a seam with two sides, a prompt that is drawn and plain lines.

Everything is called on the surface's own loop, and nothing blocks or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from agent.wire import Meter
from tui.attachments import Attached
from tui.inline.print import Row
from tui.inline.questions import Question

T = TypeVar("T")


class Surface(Protocol):
    """Where it happens."""

    @property
    def hides(self) -> bool:
        """Whether what is written for a `KeyLine` is not seen."""

    def width(self) -> int:
        """Cells of a row."""

    def show(self, rows: Sequence[Row]) -> None:
        """Print these, for good."""

    def changed(self) -> None:
        """The live area is another."""

    def ask(self, question: Question | None) -> None:
        """A question is asked, or none any more: the draft steps aside, or comes back."""

    def write(self, text: str) -> None:
        """Put `text` before the draft."""

    def attach(self, found: Attached) -> None:
        """Images come into the draft, at the cursor."""

    def fill(self, text: str) -> None:
        """What an open question is written about, to be changed."""

    def edit(self, text: str, then: Callable[[str], None]) -> None:
        """Let the user edit `text`."""

    def read(self, load: Callable[[], T], then: Callable[[T], None]) -> None:
        """Read on a thread, go on here."""

    def copy(self, text: str) -> bool:
        """To the clipboard, if there is a way."""

    def call(self, text: str) -> None:
        """Ask for attention."""

    def title(self, text: str) -> None:
        """Name the window."""

    def turned(self, meter: Meter) -> None:
        """A turn ended with these numbers."""

    def leave(self, status: int) -> None:
        """End."""
