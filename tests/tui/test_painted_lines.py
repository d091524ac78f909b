"""What the transcript writes to the terminal is what textual itself would have written, only cheaper."""

from __future__ import annotations

from rich.style import Style
from textual.geometry import Offset, Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from agent.wire import Busy, Streaming
from tests.tui.fake_worker import FakeWorker, Tape
from tests.tui.steady import steady
from tui.full.app import UllageApp
from tui.full.transcript import Transcript

ANSWER = "An answer that is long enough to be laid out in more than one line of this screen, 漢字 in it.\n\n" * 12


def cells(strip: Strip) -> list[tuple[str, object, object, object]]:
    return [
        (character, style.color, style.bgcolor, style.bold)
        for segment in strip
        for style in [segment.style or Style()]
        for character in segment.text
    ]


def same(view: Transcript, part: Region) -> bool:
    view._styles_cache.clear()
    theirs = ScrollView.render_lines(view, part)
    return [cells(strip) for strip in view.render_lines(part)] == [cells(strip) for strip in theirs]


async def test_lines_are_those_of_textual_while_text_grows_when_it_is_selected_and_in_another_theme() -> None:
    app = UllageApp(FakeWorker().send)
    async with steady(app) as pilot:
        for event in [*Tape().opened(), Busy("turn")]:
            app.post_event(event)
        await pilot.pause()
        view = app.query_one(Transcript)
        whole = Region(0, 0, view.region.width, view.region.height)
        assert same(view, whole)
        for _ in range(3):
            app.post_event(Streaming(ANSWER))
            await pilot.pause(0.2)
            assert same(view, whole)
        assert any("漢" in s.text for s in view.render_lines(whole))
        assert same(view, Region(3, 2, 20, 5))
        top = view.scroll_offset.y
        app.screen.selections = {view: Selection(Offset(4, top + 1), Offset(9, top + 3))}
        plain = [cells(s) for s in view.render_lines(whole)]
        assert same(view, whole)
        app.screen.clear_selection()
        assert [cells(s) for s in view.render_lines(whole)] != plain
        before = [cells(s) for s in view.render_lines(whole)]
        app.theme = "textual-light"
        await pilot.pause()
        assert same(view, whole)
        assert [cells(s) for s in view.render_lines(whole)] != before


async def test_the_scroll_bar_knows_the_whole_answer_once_it_has_ended() -> None:
    app = UllageApp(FakeWorker().send)
    async with steady(app) as pilot:
        tape = Tape()
        for event in [*tape.opened(), Busy("turn")]:
            app.post_event(event)
        await pilot.pause()
        view = app.query_one(Transcript)
        for _ in range(4):
            app.post_event(Streaming(ANSWER))
            await pilot.pause(0.1)
        assert view.virtual_size.height == view.total() > 50
        assert view.scroll_offset.y == view.max_scroll_y
        app.query_one(Transcript).unstream()
        await pilot.pause()
        assert view.vertical_scrollbar.window_virtual_size == view.total()
        assert view.vertical_scrollbar.position == view.scroll_y
