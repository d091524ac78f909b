"""What a small screen leaves: rows for a question's diff, and how to stop beside a long command."""

from __future__ import annotations

import pytest
from textual.containers import VerticalScroll

from agent.wire import Asking, Busy, ToolRunning
from tests.tui.fake_worker import Tape
from tests.tui.pilots import stage
from tui.full.dialogs import Approval
from tui.full.status import Activity

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


@pytest.mark.parametrize("prefix", ["a.py", "python -m pytest tests/of/a/package/with/a/long/name -q --durations"])
@pytest.mark.parametrize("size", [(30, 10), (40, 12), (80, 24)])
async def test_every_choice_has_a_line_in_view_that_says_what_it_is_about(size: tuple[int, int], prefix: str) -> None:
    async with stage(size) as s:
        await s.play(
            *Tape().opened(), Busy("turn"), Asking(1, "c", "edit", "edit a.py", "write a.py", diff=DIFF, prefix=prefix)
        )
        await s.settle(lambda: s.app.query_one(Approval).display)
        choices = s.app.query_one("#choices")
        await s.settle(lambda: choices.size.height == 4 and choices.region.bottom <= size[1] - 1)
        rows = [choices.render_line(y).text.rstrip() for y in range(4)]
        assert "session: " + prefix[:10] in rows[1] or "session: " + prefix in rows[1]
        assert "project: " + prefix[:10] in rows[2]
        assert rows[3].endswith("no, and say why")


async def test_where_nothing_can_be_remembered_no_lasting_yes_is_offered() -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), Busy("turn"), Asking(1, "c", "edit", "edit .git/config", "others obey it"))
        await s.settle(lambda: s.app.query_one(Approval).display)
        assert [line.strip("> ") for line in s.text("#choices").split("\n")] == ["y  yes, once", "n  no, and say why"]


@pytest.mark.parametrize("width", [80, 40])
async def test_how_to_stop_stays_in_view_beside_a_long_command(width: int) -> None:
    async with stage((width, 24)) as s:
        await s.play(*Tape().opened(), Busy("turn"), ToolRunning("c", "bash", f"bash {'x' * 200}"))
        line = s.app.query_one(Activity).render_line(0).text.rstrip()
        assert line.endswith("esc stops")
        assert "…" in line
