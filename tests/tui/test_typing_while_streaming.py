"""Keys and an arriving answer share one screen: neither keeps the other away."""

from __future__ import annotations

from agent.wire import Busy, Streaming
from tests.tui.fake_worker import FakeWorker, Tape
from tui.full.app import UllageApp
from tui.full.prompt import Prompt
from tui.full.transcript import Transcript


def shown(app: UllageApp) -> str:
    view = app.query_one(Transcript)
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_text_is_drawn_between_the_keys_of_somebody_who_types_on_and_after_the_last() -> None:
    app = UllageApp(FakeWorker().send)
    async with app.run_test(size=(80, 24)) as pilot:
        for event in [*Tape().opened(), Busy("turn")]:
            app.post_event(event)
        await pilot.pause()
        for n in range(200):
            app.post_event(Streaming(f"word{n} "))
            await pilot.press("x")
            if "word0" in shown(app):
                break
        assert "word0" in shown(app)
        assert set(app.query_one(Prompt).text) == {"x"}
        app.post_event(Streaming("the last"))
        for _ in range(200):
            await pilot.pause(0.02)
            if "the last" in shown(app):
                break
        assert "the last" in shown(app)
