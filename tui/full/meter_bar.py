"""The meter as a widget: two lines, or one on a narrow or short screen; the countdown ticks once a second.

Not the wording or the arithmetic (those are `meter`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.segment import Segment
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from agent.wire import Meter
from tui.full.palette import palette
from tui.meter import Line, meter_lines

# On a screen shorter than this one line is all the meter may take, rows.
SHORT_ROWS = 16

# From here on there is room for a question, the draft and the air between them, rows.
TALL_ROWS = 30


class MeterBar(Widget, can_focus=False):
    """The context meter at the foot of the screen."""

    DEFAULT_CSS = "MeterBar { height: auto; }"

    meter: var[Meter] = var(Meter())
    ascii: var[bool] = var(False)

    def __init__(
        self, *, ascii: bool = False, now: Callable[[], float] = time.monotonic, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.set_reactive(MeterBar.ascii, ascii)
        self._now = now
        self._since = now()

    def on_mount(self) -> None:
        """The countdown moves by itself."""
        self.set_interval(1.0, self._tick)

    def show(self, meter: Meter) -> None:
        """New numbers."""
        self._since = self._now()
        self.meter = meter
        self.tooltip = tooltip(meter)
        self.refresh()

    def _tick(self) -> None:
        if self.meter.cache.warm_s is not None:
            self.refresh()

    def _lines(self) -> tuple[Line, ...]:
        lines = meter_lines(self.meter, max(1, self.size.width), ascii=self.ascii, age=self._now() - self._since)
        return lines[: self._rows()]

    def _rows(self) -> int:
        return 1 if self.app.size.height < SHORT_ROWS or self.app.size.width < 60 else 2

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """One or two lines."""
        return self._rows()

    def render_line(self, y: int) -> Strip:
        """A line of spans in the theme's colours."""
        lines, base = self._lines(), self.rich_style
        if y >= len(lines):
            return Strip.blank(self.size.width, base)
        colours = palette(self.app.theme_variables, ascii=self.ascii)
        segments = [Segment(span.text, colours.meter_style(span.role)) for span in lines[y]]
        return Strip(segments).crop_extend(0, self.size.width, None).apply_style(base)


def tooltip(meter: Meter) -> str:
    """Where the numbers come from."""
    window = "unknown" if meter.window is None else f"{meter.window:,} ({meter.window_source})"
    budget = f"budget {meter.budget:,} ({meter.budget_rule})" if meter.budget_rule else f"budget {meter.budget:,}"
    parts = ", ".join(f"{name} {count:,}" for name, count in meter.parts)
    return f"window {window} · {budget} · trigger {meter.trigger:,}\n{parts}"
