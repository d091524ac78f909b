"""The first picture of the full screen: styled once, and painted when everything has its place."""

from __future__ import annotations

from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.screen import Screen
from textual.strip import Strip

from tests.tui.fake_worker import FakeWorker
from tests.tui.steady import steady
from tui.front import Choices
from tui.full.app import UllageApp
from tui.full.transcript import Transcript


class Watched(UllageApp):
    """Counts the pictures that are as large as the screen, and how often its style sheets are read again."""

    def __init__(self, theme: str = "ullage-dark") -> None:
        super().__init__(FakeWorker().send, choices=Choices(theme=theme))
        self.whole = self.read_again = 0

    def refresh_css(self, animate: bool = True) -> None:
        self.read_again += 1
        super().refresh_css(animate)

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        large = isinstance(renderable, ChopsUpdate) and len(renderable.spans) >= 24
        if (large or isinstance(renderable, LayoutUpdate)) and not self._batch_count:
            self.whole += 1
        super()._display(screen, renderable)


async def test_the_whole_screen_is_painted_at_its_layout_and_as_a_whole_and_not_before() -> None:
    app = Watched()
    async with steady(app) as pilot:
        await pilot.pause()
        assert app.whole <= 2
        assert not app._batch_count


@pytest.mark.parametrize("theme", ["ullage-dark", "ullage-light", "ansi-light", "nord"])
async def test_the_first_theme_is_on_before_the_style_sheets_are_read_and_is_all_that_a_later_one_is(
    theme: str,
) -> None:
    first, later = Watched(theme), Watched("textual-dark")
    async with steady(first) as pilot:
        await pilot.pause()
        assert first.read_again == 0
        expected = look(first)
    async with steady(later) as pilot:
        later.theme = theme
        await pilot.pause()
        assert later.read_again == 1
        assert look(later) == expected


def look(app: Watched) -> tuple[object, ...]:
    """All that a theme decides."""
    # What one of the terminal's sixteen colours becomes.
    red = Strip([Segment("x", Style(color="red"))])
    mapped = [filter.apply([*red], app.screen.background_colors[1]) for filter in app.get_line_filters()]
    background = app.query_one(Transcript).styles.background
    return app.theme, set(app.classes), app.theme_variables, mapped, background, app.screen.styles.background
