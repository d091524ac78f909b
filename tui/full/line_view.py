"""A view of a long column of lines: drawn as cheaply as a terminal allows, and text in it can be selected.

Not what the lines are: whoever inherits says how many there are and what each one is.

Invariants
 1. What goes to the terminal (`render_lines`) and what a mouse finds there (`render_line`) are the same characters.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from tui.full.paint import Ground, Paint


class LineView(ScrollView):
    """Draws `line(n)` for every n in view. The widget has no border and no padding above or below."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._paint = Paint()

    def line(self, line: int) -> Strip | None:
        """Line `line` of all, not yet as wide as the view; None behind the last."""
        raise NotImplementedError

    def total(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def move_bar(self) -> None:
        """Tell the scroll bar how much there is, and where in it the view stands."""
        if self.show_vertical_scrollbar and self.styles.scrollbar_size_vertical:
            self.vertical_scrollbar.window_virtual_size = self.virtual_size.height
            self.vertical_scrollbar.position = self.scroll_y

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the view as they go to the terminal."""
        padding, (below, background) = self.styles.padding, self.background_colors
        if self.opacity != 1:
            return super().render_lines(crop)
        beside = Style.from_color(None, (below + background).rich_color)
        width, filters = self.size.width, self.get_line_filters()
        self._paint.stand_on(Ground(width, padding.left, padding.right, self.rich_style, beside, background, filters))
        top, across = self.scroll_offset.y, crop.column_span
        strips = [self._paint.dress(self._marked(line)) for line in range(top + crop.y, top + crop.bottom)]
        return strips if across == (0, self.region.width) else [strip.crop(*across) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One line of the view, with what a mouse needs to know where in the text it is."""
        line = y + self.scroll_offset.y
        width, style = self.size.width, self.rich_style
        strip = self._marked(line)
        if strip is None:
            return Strip.blank(width, style)
        return strip.crop_extend(0, width, None).apply_style(style).apply_offsets(0, line)

    def _marked(self, line: int) -> Strip | None:
        """The line, what is selected of it standing out."""
        strip, selection = self.line(line), self.text_selection
        span = selection.get_span(line) if selection is not None else None
        if span is None or strip is None:
            return strip
        style = self.screen.get_component_rich_style("screen--selection")
        text = strip.text
        start = strip.index_to_cell_position(min(span[0], len(text)))
        end = strip.cell_length if span[1] < 0 else strip.index_to_cell_position(min(span[1], len(text)))
        if end <= start:
            return strip
        inside = Strip([Segment(s.text, (s.style or Style()) + style) for s in strip.crop(start, end)])
        return Strip.join([strip.crop(0, start), inside, strip.crop(end)])

    def selection_updated(self, selection: Selection | None) -> None:
        """What is selected changed."""
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, without the marks at its left."""
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else self.total() - 1
        taken: list[str] = []
        for line in range(first, last + 1):
            strip, span = self.line(line), selection.get_span(line)
            text = strip.text if strip is not None else ""
            if span is not None:
                taken.append((text[span[0] :] if span[1] < 0 else text[span[0] : span[1]]).rstrip())
        return "\n".join(taken), "\n"
