"""Keys and an arriving answer share one screen: neither keeps the other away."""

from __future__ import annotations

import asyncio

from agent.wire import Busy, Streaming
from tests.tui.fake_worker import FakeWorker, Tape
from tests.tui.steady import HANGING, steady
from tui.full.app import UllageApp
from tui.full.prompt import Prompt
from tui.full.transcript import Transcript


def shown(app: UllageApp) -> str:
    view = app.query_one(Transcript)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_text_is_drawn_between_the_keys_of_somebody_who_types_on_and_after_the_last() -> None:
    app = UllageApp(FakeWorker().send)
    async with steady(app) as pilot:
        for event in [*Tape().opened(), Busy("turn")]:
            app.post_event(event)
        await pilot.pause()
        async with asyncio.timeout(HANGING):
            while "word0" not in shown(app):
                app.post_event(Streaming(f"word{len(app.query_one(Prompt).text)} "))
                await pilot.press("x")
        assert set(app.query_one(Prompt).text) == {"x"}
        app.post_event(Streaming("the last"))
        await pilot.until(lambda: "the last" in shown(app))
