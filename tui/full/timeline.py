"""The timeline over the screen: the plot of all requests, and below it what happened before which.

Not the plot (that is `plot`) and not its rows: reading a log and drawing both take long enough to be felt, so both are
done on a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color, ColorParseError
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from agent.wire import Meter
from tui.full.overlay import Overlay
from tui.plot import ASCII_INK, NARROW, Colour, Ink, Plot, fitting, plot

if TYPE_CHECKING:
    from agent.reading import Requests

KEYS = "← → earlier and later · ↑ ↓ the marks · esc closes"

# Rows around the plot: title, legend in two lines, four marks, keys, the frame, and blank lines between.
AROUND = 13

# On a short screen the marks share the rows with the plot's own numbers.
AROUND_SHORT = 6
SHORT = 16


class TimelineScreen(Overlay):
    """One bar a request."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", "close"),
        Binding("left,h", "earlier", "earlier requests"),
        Binding("right,l", "later", "later requests"),
        Binding("up,k", "scroll(-1)", "scroll the marks", show=False),
        Binding("down,j", "scroll(1)", "scroll the marks"),
    ]

    class Read(Message, bubble=False):
        """A thread has read the rows; `trouble` is a sentence when it could not."""

        def __init__(self, rows: Requests | None, trouble: str) -> None:
            super().__init__()
            self.rows, self.trouble = rows, trouble

    class Drawn(Message, bubble=False):
        """A thread has drawn them for a size."""

        def __init__(self, size: tuple[int, int], drawn: Plot) -> None:
            super().__init__()
            self.size, self.drawn = size, drawn

    def __init__(self, load: Callable[[], tuple[Requests | None, str]], meter: Meter, *, ascii: bool = False) -> None:
        """`load` is called on a thread and raises nothing; `meter` says where budget and window stand."""
        super().__init__()
        self._load, self._meter, self._ascii = load, meter, ascii
        self._rows: Requests | None = None
        self._first: int | None = None
        self.drawn: Plot | None = None

    def compose(self) -> ComposeResult:
        """Title, plot, legend, marks, keys."""
        with Vertical(classes="sheet whole-screen"):
            yield Static(Content.styled("Timeline: one bar a request", "bold"), id="timeline-title")
            yield Static(Content.styled("reading the log", "dim"), id="timeline-plot")
            yield Static(id="timeline-legend", markup=False)
            with VerticalScroll(id="timeline-marks", can_focus=False):
                yield Static(id="timeline-list", markup=False)
            yield Static(id="timeline-keys")

    def on_mount(self) -> None:
        """Reading takes a while."""
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        self.post_message(self.Read(*self._load()))

    def on_timeline_screen_read(self, message: Read) -> None:
        """The rows are here."""
        self._rows = message.rows
        if message.trouble or not message.rows:
            said = message.trouble or "No request was answered in this session yet."
            self.query_one("#timeline-plot", Static).update(Content(said))
            return
        self._draw_soon()

    def _draw_soon(self) -> None:
        self.call_after_refresh(self._begin)

    def _cells(self) -> tuple[int, int]:
        around = AROUND_SHORT if self.app.size.height < SHORT else AROUND
        width = self.query_one("#timeline-plot").parent.size.width if self.is_mounted else 80  # type: ignore[union-attr]
        return width, max(6, min(self.app.size.height - around, self.app.size.height * 3 // 4))

    def _begin(self) -> None:
        if self._rows:
            self._draw(self._rows, self._cells(), self._first, self._ink())

    @work(thread=True, exclusive=True, group="plot")
    def _draw(self, rows: Requests, size: tuple[int, int], first: int | None, ink: Ink) -> None:
        meter = self._meter
        self.post_message(
            self.Drawn(
                size,
                plot(rows, *size, budget=meter.budget, window=meter.window, ink=ink, first=first, since=rows.since),
            )
        )

    def on_timeline_screen_drawn(self, message: Drawn) -> None:
        """Show it, unless the size is another by now."""
        if message.size != self._cells():
            return
        self.drawn = drawn = message.drawn
        total = len(self._rows or ())
        if drawn.count < total:
            title = f"Timeline: requests {drawn.first + 1} to {drawn.first + drawn.count} of {total:,}"
            self.query_one("#timeline-title", Static).update(Content.styled(title, "bold"))
        self.query_one("#timeline-plot", Static).update(Text("\n").join(Text.from_ansi(line) for line in drawn.lines))
        self.query_one("#timeline-legend", Static).update(Content.styled(drawn.legend, "dim"))
        marks = "\n".join(drawn.marks) or "Nothing was rewritten before these requests, and the cache never broke."
        self.query_one("#timeline-list", Static).update(Content(marks))

    def _ink(self) -> Ink:
        if self._ascii:
            return ASCII_INK
        variables = self.app.theme_variables

        def colour(name: str, fallback: Colour) -> Colour:
            try:
                found = Color.parse(variables.get(name, ""))
            except ColorParseError:
                return fallback
            return fallback if found.ansi is not None else found.rgb

        own = Ink()
        return Ink(
            colour("primary", own.read), colour("warning", own.fresh), colour("foreground", own.budget),
            colour("border", own.window), colour("error", own.mark),
        )  # fmt: skip

    def on_resize(self, event: events.Resize) -> None:
        """Another size, another plot."""
        keys = "← → ↑ ↓ · esc closes" if self.app.size.width < NARROW else KEYS
        self.query_one("#timeline-keys", Static).update(Content.styled(keys, "dim"))
        self._draw_soon()

    def _page(self, by: int) -> None:
        if not self._rows or self.drawn is None:
            return
        room = fitting(self._cells()[0])
        last = max(0, len(self._rows) - room)
        self._first = max(0, min(last, self.drawn.first + by * max(1, room // 2)))
        self._draw_soon()

    def action_earlier(self) -> None:
        """Half a picture back."""
        self._page(-1)

    def action_later(self) -> None:
        """Half a picture on."""
        self._page(1)

    def action_scroll(self, by: int) -> None:
        """The list of marks."""
        self.query_one("#timeline-marks", VerticalScroll).scroll_relative(y=by, animate=False)
