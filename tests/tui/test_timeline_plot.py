from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.reading import RequestRow
from agent.wire import Metered
from tests.tui import scenes
from tests.tui.fake_worker import Tape
from tests.tui.pilots import FakeLog, stage
from tui.full.timeline import TimelineScreen
from tui.plot import ASCII_INK, Plot, fitting, plot, uncoloured


def row(n: int, size: int, read: int = 0, *, breaks: str | None = None, rewrites: Sequence[str] = ()) -> RequestRow:
    return RequestRow(n, 0.0, "m", size, size - read, read, 0, 10, read, 0.01, breaks, tuple(rewrites))


def drawn(rows: Sequence[RequestRow], width: int = 80, height: int = 14, *, budget: int | None = None,
          window: int | None = None, first: int | None = None) -> Plot:  # fmt: skip
    return plot(rows, width, height, budget=budget, window=window, first=first)


def columns(picture: Plot) -> list[str]:
    """The plot's columns, top to bottom, without the axis."""
    lines = [line.split("┤")[-1].split("├")[-1].split("│")[-1] for line in uncoloured(picture.lines)[:-2]]
    wide = max(map(len, lines))
    return ["".join(line.ljust(wide)[x] for line in lines) for x in range(wide)]


def test_every_request_has_as_many_columns_as_any_other_and_a_gap() -> None:
    tall = columns(drawn([row(3, 100), row(5, 100), row(7, 100)]))
    filled = "".join("#" if "▒" in column else "." for column in tall)
    assert filled == "#####.#####.#####."


def test_cached_lies_below_uncached_in_proportion() -> None:
    column = columns(drawn([row(3, 100, 50)], height=22))[0]
    assert column.lstrip().startswith("▒")
    assert abs(column.count("█") - column.count("▒")) <= 1
    assert set(column.strip()) == {"▒", "█"}
    assert "▒" not in column[column.index("█") :]


def test_the_newest_are_shown_and_older_ones_on_demand() -> None:
    rows = [row(n, 100) for n in range(200)]
    assert (drawn(rows).first, drawn(rows).count) == (200 - fitting(80), fitting(80))
    assert (drawn(rows, first=10).first, drawn(rows, first=10).count) == (10, fitting(80))


def test_what_was_rewritten_after_the_last_request_is_said_without_a_letter_and_only_beside_that_request() -> None:
    rows = [row(n, 100) for n in range(200)]
    said = "   after #199: asked.pruned, undone (the next request shows what it did)"

    def marks(first: int | None, since: Sequence[str]) -> tuple[str, ...]:
        return plot(rows, 80, 14, budget=None, window=None, first=first, since=since).marks

    assert marks(None, ("asked.pruned", "undone")) == (said,)
    assert marks(0, ("asked.pruned", "undone")) == marks(None, ()) == ()


async def test_the_timeline_screen_tells_of_a_rewrite_that_no_request_followed() -> None:
    async with stage(log=FakeLog(rows=[row(3, 100)], since=["asked.compacted"])) as s:
        await s.play(*Tape().opened())
        await s.pilot.press(*"/timeline", "escape", "enter")
        await s.settle(lambda: isinstance(s.app.screen, TimelineScreen))
        await s.settle(lambda: "after #3: asked.compacted" in s.text("#timeline-list"))


def test_marks_are_letters_with_a_line_each() -> None:
    rows = [row(3, 100), row(7, 60, breaks="pruned at #4", rewrites=["asked.pruned"]), row(9, 80, breaks="cold")]
    picture = drawn(rows)
    assert picture.marks == (
        "a  before #7: asked.pruned · cache broken: pruned at #4",
        "b  before #9: cache broken: cold",
    )
    text = "\n".join(uncoloured(picture.lines))
    assert text.count("a") == 1 and text.count("b") == 1


def test_a_near_budget_is_a_line_and_a_far_window_is_named() -> None:
    picture = drawn([row(3, 100)], budget=200, window=10_000)
    assert any("──────" in line for line in uncoloured(picture.lines)[:-2])
    assert "─ budget 200 · window 10k (above)" in picture.legend


def test_an_empty_session_is_a_sentence() -> None:
    assert drawn([]).legend == "no request was answered in this session yet"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2_000_000), st.integers(0, 2_000_000)), min_size=1, max_size=40),
    st.integers(20, 130),
    st.integers(6, 30),
)
def test_a_plot_is_never_wider_or_higher_than_asked(rows: list[tuple[int, int]], width: int, height: int) -> None:
    picture = plot(
        [row(n, size, min(size, read)) for n, (size, read) in enumerate(rows)], width, height, budget=50_000,
        window=None, ink=ASCII_INK,
    )  # fmt: skip
    lines = uncoloured(picture.lines)
    assert len(lines) <= height
    assert all(cell_len(line.rstrip()) <= width for line in lines)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("ascii", [False, True])
async def test_plot_legend_marks_and_keys_fit_the_screen(size: tuple[int, int], ascii: bool) -> None:
    rows = [row(2 * n + 3, 4_000 + 900 * n, 3_000, breaks="pruned at #4" if n == 9 else None) for n in range(20)]
    async with stage(size, log=FakeLog(rows=rows), ascii=ascii) as s:
        await s.play(*Tape().opened(), Metered(scenes.METER))
        await s.type("/timeline")
        screen = await s.on(TimelineScreen)
        await s.settle(lambda: screen.drawn is not None)
        await s.pilot.pause()
        await s.pilot.pause()
        strips = screen._compositor.render_strips()
        text = "\n".join(strip.text for strip in strips)
        assert "esc closes" in text
        assert "read from cache" in text
        assert "a  before #21" in text
        assert ("#" if ascii else "█") in text
        if ascii:
            assert text.isascii()


async def test_earlier_requests_are_paged_to() -> None:
    rows = [row(n, 100) for n in range(300)]
    async with stage(log=FakeLog(rows=rows)) as s:
        await s.play(*Tape().opened())
        await s.type("/timeline")
        screen = await s.on(TimelineScreen)
        await s.settle(lambda: screen.drawn is not None)
        newest = screen.drawn
        assert newest is not None
        await s.press("left")
        await s.settle(lambda: screen.drawn is not newest)
        assert screen.drawn is not None and screen.drawn.first < newest.first
        assert "of 300" in s.text("#timeline-title")


async def test_a_log_that_cannot_be_read_and_one_without_requests_are_sentences() -> None:
    for log, said in ((FakeLog(broken=True), "line 7 of the log"), (FakeLog(), "No request was answered")):
        async with stage(log=log) as s:
            await s.play(*Tape().opened())
            await s.type("/timeline")
            await s.on(TimelineScreen)
            await s.settle(lambda: s.app.screen.is_mounted and said in s.text("#timeline-plot"))  # noqa: B023
