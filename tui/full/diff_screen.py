"""What the session changed in files, over the screen: the list, then every diff, scrolled; `n` and `p` go by files.

Not the comparing: the page is read on a thread, and wrapped there for the width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from tui.diff_lines import Kind
from tui.flow import wrap
from tui.full.overlay import Overlay
from tui.full.pages import Lines
from tui.full.palette import Palette, palette
from tui.plain import safe

Line = tuple[Kind, str]


class DiffLines(Lines):
    """Lines of several kinds."""

    kinds: Sequence[Kind] = ()

    def show_kinds(self, found: Sequence[Line]) -> None:
        """These."""
        self.kinds = [kind for kind, _ in found]
        self.show([text for _, text in found])

    def render_line(self, y: int) -> Strip:
        """One line, in the style of its kind."""
        at, drawn = y + self.scroll_offset.y, palette(self.app.theme_variables)
        if at >= len(self.kinds):
            return Strip.blank(self.size.width, self.rich_style)
        segment = Segment(self._lines[at], style_of(self.kinds[at], drawn))
        return Strip([segment]).crop_extend(0, self.size.width, None).apply_style(self.rich_style)

    def go(self, by: int) -> None:
        """To the next file, or the one before."""
        here = round(self.scroll_y)
        heads = [at for at, kind in enumerate(self.kinds) if kind == "head"]
        there = [at for at in heads if at > here] if by > 0 else [at for at in heads if at < here][::-1]
        if there:
            # There may be less below than a screenful: the place is reached as far as it can be.
            self.virtual_size = Size(self.size.width, max(self.virtual_size.height, there[0] + self.size.height))
            self.scroll_to(y=there[0], animate=False)


def style_of(kind: Kind, drawn: Palette) -> Style:
    """Colours as in an edit's card; every kind has its sign too."""
    styles: dict[str, Style] = {
        "head": drawn.strong, "quiet": drawn.quiet, "added": drawn.good, "removed": drawn.error, "place": drawn.accent
    }  # fmt: skip
    return styles.get(kind, drawn.text)


class DiffScreen(Overlay):
    """The page; Esc closes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "leave", "close"),
        Binding("n", "file(1)", "next file"),
        Binding("p", "file(-1)", "file before"),
    ]

    class Loaded(Message, bubble=False):
        """A thread has read and wrapped it."""

        def __init__(self, title: str, remark: str, lines: Sequence[Line]) -> None:
            super().__init__()
            self.title, self.remark, self.lines = title, remark, lines

    def __init__(self, load: Callable[[], tuple[str, str, Sequence[Line]]]) -> None:
        """`load` gives title, remark and lines; called on a thread, it raises nothing."""
        super().__init__()
        self._load = load

    def compose(self) -> ComposeResult:
        """Title, lines, keys."""
        with Vertical(classes="sheet whole-screen"):
            yield Static("comparing the files", id="page-title")
            yield DiffLines(id="page-lines")
            yield Static(Content.styled("n next file · p the one before · esc closes", "dim"), id="page-foot")

    def on_mount(self) -> None:
        """Comparing may take a while."""
        self.query_one(DiffLines).focus()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._read(self.query_one(DiffLines).room)

    @work(thread=True)
    def _read(self, width: int) -> None:
        title, remark, lines = self._load()
        wrapped = [(kind, part) for kind, text in lines for part in (wrap(safe(text), width) or [""])]
        self.post_message(self.Loaded(title, remark, wrapped))

    def on_diff_screen_loaded(self, message: Loaded) -> None:
        """Here it is."""
        head = Content.assemble((safe(message.title), "bold"), (f"  {safe(message.remark)}", "dim"))
        self.query_one("#page-title", Static).update(head)
        self.query_one(DiffLines).show_kinds(message.lines)

    def action_file(self, by: int) -> None:
        """Another file."""
        self.query_one(DiffLines).go(by)
