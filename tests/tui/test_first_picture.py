"""The first picture of the full screen: painted once, when everything has its place."""

from __future__ import annotations

from typing import Any

from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.screen import Screen

from tests.tui.fake_worker import FakeWorker
from tests.tui.steady import steady
from tui.full.app import UllageApp


class Watched(UllageApp):
    """Counts the pictures that are as large as the screen."""

    def __init__(self) -> None:
        super().__init__(FakeWorker().send)
        self.whole = 0

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        large = isinstance(renderable, ChopsUpdate) and len(renderable.spans) >= 24
        if (large or isinstance(renderable, LayoutUpdate)) and not self._batch_count:
            self.whole += 1
        super()._display(screen, renderable)


async def test_the_whole_screen_is_painted_once_at_the_start() -> None:
    app = Watched()
    async with steady(app) as pilot:
        await pilot.pause()
        assert app.whole == 1
        assert not app._batch_count
