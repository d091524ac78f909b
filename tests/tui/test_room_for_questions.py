"""What a small screen leaves: rows for a question's diff, and how to stop beside a long command."""

from __future__ import annotations

import pytest
from textual.containers import VerticalScroll

from agent.wire import Asking, Busy, ToolRunning
from tests.tui.fake_worker import Tape
from tests.tui.pilots import stage
from tui.dialogs import Approval
from tui.status import Activity

DIFF = "--- a\n+++ b\n" + "\n".join(f"+line {number}" for number in range(100))


@pytest.mark.parametrize(("size", "least"), [((80, 24), 10), ((100, 30), 10), ((120, 40), 20), ((40, 12), 3)])
async def test_a_diff_has_most_of_the_screen_and_the_choices_stay_in_view(size: tuple[int, int], least: int) -> None:
    async with stage(size) as s:
        await s.play(*Tape().opened(), Busy("turn"), Asking(1, "c", "edit", "edit a.py", "write a.py", diff=DIFF))
        await s.settle(lambda: s.app.query_one(Approval).display)
        body = s.app.query_one("#body", VerticalScroll)
        await s.settle(lambda: body.size.height >= least)
        choices = s.app.query_one("#choices")
        assert choices.region.y >= 0
        assert choices.region.bottom <= size[1]
        assert "say why" in s.text("#choices")
        await s.press("pagedown")
        await s.settle(lambda: body.scroll_offset.y > 0)


@pytest.mark.parametrize("width", [80, 40])
async def test_how_to_stop_stays_in_view_beside_a_long_command(width: int) -> None:
    async with stage((width, 24)) as s:
        await s.play(*Tape().opened(), Busy("turn"), ToolRunning("c", "bash", f"bash {'x' * 200}"))
        line = s.app.query_one(Activity).render_line(0).text.rstrip()
        assert line.endswith("esc stops")
        assert "…" in line
