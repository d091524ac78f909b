"""A long text over the screen: one record whole, or any other page that may be larger than a screen.

Not a list to choose from (`pickers`). A text of megabytes is laid out on a thread and only the lines in view are drawn.

Invariants
 1. Opening never waits for the text, nor scrolling for its length.
 2. What is shown is `safe`, and complete: nothing is cut off at the right but wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Static

from tui.flow import wrap
from tui.full.overlay import Overlay
from tui.plain import plural, safe


@dataclass(frozen=True, slots=True)
class Page:
    """A title, a quiet remark, and the text; or what lays it out for a width in cells, where it has columns."""

    title: str
    remark: str
    text: str | Callable[[int], str]


class Lines(ScrollView, can_focus=True):
    """Lines under each other; what does not fit the width was wrapped before."""

    DEFAULT_CSS = "Lines { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("pageup,b", "page_up", show=False),
        Binding("pagedown,space", "page_down", show=False),
        Binding("home,g", "scroll_home", show=False),
        Binding("end,G", "scroll_end", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[str] = ()

    def show(self, lines: Sequence[str]) -> None:
        """These, from where one was."""
        self._lines = lines
        self.virtual_size = Size(self.size.width, len(lines))
        self.refresh()

    @property
    def room(self) -> int:
        """The cells a line may take."""
        return max(8, self.scrollable_content_region.width)

    def render_line(self, y: int) -> Strip:
        """One line of the view."""
        at, base = y + self.scroll_offset.y, self.rich_style
        text = self._lines[at] if at < len(self._lines) else ""
        return Strip([Segment(text, Style())]).crop_extend(0, self.size.width, None).apply_style(base)


class PageScreen(Overlay):
    """The page; Esc closes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", "close"),
    ]

    class Loaded(Message, bubble=False):
        """A thread has the text."""

        def __init__(self, page: Page) -> None:
            super().__init__()
            self.page = page

    class Laid(Message, bubble=False):
        """A thread has laid it out for a width."""

        def __init__(self, width: int, lines: Sequence[str]) -> None:
            super().__init__()
            self.width, self.lines = width, lines

    def __init__(self, load: Callable[[], Page]) -> None:
        """`load` is called on a thread; it raises nothing."""
        super().__init__()
        self._load = load
        self._page = Page("", "reading it", "")

    def compose(self) -> ComposeResult:
        """Title, text, keys."""
        with Vertical(classes="sheet whole-screen"):
            yield Static(id="page-title")
            yield Lines(id="page-lines")
            yield Static(id="page-foot")

    def on_mount(self) -> None:
        """The text may take a while."""
        lines = self.query_one(Lines)
        lines.focus()
        # A bar that comes with many lines takes a column from all of them.
        self.watch(lines, "show_vertical_scrollbar", self._refit, init=False)
        self._draw_head(0)
        self._read()

    @work(thread=True)
    def _read(self) -> None:
        self.post_message(self.Loaded(self._load()))

    def refresh_page(self) -> None:
        """Read it again."""
        self._read()

    def on_page_screen_loaded(self, message: Loaded) -> None:
        """Here it is; now for the width."""
        self._page = message.page
        self._lay(self.query_one(Lines).room)

    @work(thread=True, exclusive=True, group="lay")
    def _lay(self, width: int) -> None:
        text = self._page.text
        self.post_message(self.Laid(width, wrap(safe(text if isinstance(text, str) else text(width)), width)))

    def on_page_screen_laid(self, message: Laid) -> None:
        """Show it, unless the width is another by now."""
        if message.width == self.query_one(Lines).room:
            self.query_one(Lines).show(message.lines)
            self._draw_head(len(message.lines))

    def _draw_head(self, lines: int) -> None:
        page = self._page
        head = Content.assemble((safe(page.title), "bold"), (f"  {safe(page.remark)}" if page.remark else "", "dim"))
        self.query_one("#page-title", Static).update(head)
        foot = f"{plural(lines, 'line')} · esc closes" if lines else "esc closes"
        self.query_one("#page-foot", Static).update(Content.styled(foot, "dim"))

    def on_resize(self, event: events.Resize) -> None:
        """Another width, other lines."""
        self._refit()

    def _refit(self) -> None:
        self.call_after_refresh(lambda: self._lay(self.query_one(Lines).room))
