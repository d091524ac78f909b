"""Lists to choose from: what is typed, what stands beside the marked row, what else a row can be asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from textual.widgets import OptionList

from agent.wire import Open, Pin, Rename, Undo
from tests.tui.pilots import Stage
from tests.tui.pilots import stage as screen
from tests.tui.steady import HANGING
from tui.actions import Say, ShowText
from tui.full.pages import PageScreen
from tui.full.pickers import DEEP_RESTS, Picker
from tui.full.prompt import Wished
from tui.inline.lists import Picking
from tui.picks import Other, Pick, fitting, merged

PICKS = (
    Pick("importer", Open("/a"), "2 h ago", preview=lambda: "ported it\nall of it", key="a"),
    Pick("retry", Open("/b"), "1 d ago", foot="retries for ever", sought="backoff jitter", key="b"),
    Pick("docs", Open("/c"), others=(Other("r", "renames it", Rename("x")), Other("y", "looks", Undo(), closes=False))),
)


async def opened(s: Stage, picker: Picker) -> Picker:
    # A list is there as soon as it is asked for; its rows come from a thread.
    s.app.push_screen(picker)
    shown = await s.on(Picker)
    await s.settle(lambda: shown._ended)
    await s.pilot.pause()
    return shown


async def test_beside_the_marked_row_stands_its_preview_and_under_the_list_its_foot() -> None:
    async with screen(size=(120, 30)) as s:
        await opened(s, Picker("Choose", lambda: PICKS, "nothing"))
        await s.settle(lambda: "all of it" in s.text("#picker-preview"))
        assert not s.app.screen.query_one("#picker-foot").display
        await s.press("down")
        await s.settle(lambda: "all of it" not in s.text("#picker-preview"))
        assert s.text("#picker-foot") == "retries for ever"


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 8), ((120, 35), 12), ((40, 12), 3)])
async def test_the_rows_keep_their_room_beside_a_long_preview(size: tuple[int, int], rows: int) -> None:
    many = [Pick(f"row {n}", Open(f"/{n}"), preview=lambda: "line\n" * 60, key=str(n)) for n in range(12)]
    async with screen(size=size) as s:
        await opened(s, Picker("Choose", lambda: many, "nothing"))
        await s.settle(lambda: "line" in s.text("#picker-preview"))
        await s.settle(lambda: s.app.screen.query_one(OptionList).size.height >= rows)


async def test_a_list_without_previews_stays_small() -> None:
    async with screen() as s:
        await opened(s, Picker("Choose", lambda: PICKS[1:], "nothing"))
        assert not s.app.screen.query_one("#picker-beside").display


async def test_a_preview_that_comes_late_is_not_shown_beside_another_row() -> None:
    begun, may_go, gone = threading.Event(), threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        may_go.wait(HANGING)
        gone.set()
        return "too late"

    picks = (Pick("slow", Undo(), preview=slow), Pick("fast", Undo(), preview=lambda: "in time"))
    async with screen(size=(120, 30)) as s:
        s.pilot.threads = False
        await opened(s, Picker("Choose", lambda: picks, "nothing"))
        await s.settle(begun.is_set)
        await s.press("down")
        await s.settle(lambda: "in time" in s.text("#picker-preview"))
        may_go.set()
        await s.settle(gone.is_set)
        s.pilot.threads = True
        await s.pilot.pause()
        assert "in time" in s.text("#picker-preview")


async def test_rows_stand_as_they_come_and_a_later_one_takes_its_earlier_place() -> None:
    go_on = threading.Event()

    def load() -> Iterator[Pick]:
        yield Pick("first", Undo(), key="1")
        yield Pick("second", Undo(), key="2")
        go_on.wait(HANGING)
        yield Pick("first, renamed", Undo(), key="1")

    async with screen() as s:
        s.pilot.threads = False
        s.app.push_screen(Picker("Choose", load, "nothing", batch=0.0))
        shown = await s.on(Picker)
        await s.settle(lambda: len(shown._shown) == 2)
        await s.press("down")
        assert shown.marked is not None and shown.marked.label == "second"
        go_on.set()
        await s.settle(lambda: shown._ended)
        await s.settle(lambda: [pick.label for pick in shown._shown] == ["first, renamed", "second"])
        assert shown.marked is not None and shown.marked.label == "second"


async def test_words_that_no_row_says_are_looked_for_deeper() -> None:
    asked: list[str] = []

    def deep(query: str) -> tuple[str, ...]:
        asked.append(query)
        return ("b",)

    async with screen() as s:
        shown = await opened(s, Picker("Choose", lambda: PICKS, "nothing", deep=deep))
        await s.press(*"zz")
        await s.pilot.pause(2 * DEEP_RESTS)  # too few letters to be looked for, however long they rest
        assert asked == [] and shown._shown == []
        await s.press(*"zeta")
        await s.settle(lambda: [pick.label for pick in shown._shown] == ["retry"])
        assert asked[-1] == "zzzeta"


async def test_a_letter_with_ctrl_asks_the_marked_row_for_something_else() -> None:
    async with screen() as s:
        await opened(s, Picker("Choose", lambda: PICKS, "nothing"))
        await s.press("ctrl+r")
        assert s.worker.sent == []
        await s.press("down", "down")
        assert "ctrl+r renames it" in s.text("#hint")
        await s.press("ctrl+y")
        await s.settle(lambda: s.worker.sent == [Undo()])
        assert isinstance(s.app.screen, Picker)
        await s.press("ctrl+r")
        await s.settle(lambda: s.worker.sent == [Undo(), Rename("x")])
        assert not isinstance(s.app.screen, Picker)


async def test_a_text_is_shown_over_the_screen_and_its_control_characters_are_not() -> None:
    async with screen() as s:
        s.app.post_message(Wished(ShowText("A page", lambda: "one\x1b[31mtwo", "3 lines")))
        await s.on(PageScreen)
        await s.settle(lambda: "two" in s.text("#page-lines"))
        assert "\x1b" not in s.text("#page-lines")
        assert s.text("#page-title").startswith("A page  3 lines")


def test_rows_are_filtered_by_what_is_not_shown_too_and_never_by_their_place() -> None:
    assert [pick.label for pick in fitting("jitter", PICKS)] == ["retry"]
    assert [pick.label for pick in fitting("0", PICKS)] == []
    assert [pick.label for pick in fitting("zzz", PICKS, {"a"})] == ["importer"]


def test_a_row_takes_the_place_of_the_one_with_its_key() -> None:
    a, b, c = Pick("a", Undo(), key="1"), Pick("b", Undo()), Pick("c", Undo(), key="1")
    assert merged([a, b], [c, b]) == [c, b, b]


def test_inline_a_letter_before_a_number_asks_for_something_else() -> None:
    list = Picking("Choose", PICKS)
    assert list.hint == (
        "a number chooses · words narrow the list · v 2 looks at it · r 2 renames it · y 2 looks · enter leaves"
    )
    assert list.line("r 3").wishes == (Rename("x"),)
    assert list.line("y 3") == list.line("y 3") and not list.line("y 3").over
    (look,) = list.line("v 1").wishes
    assert isinstance(look, ShowText) and look.load() == "ported it\nall of it"
    assert list.line("r 1").wishes == () and not list.line("r 1").over
    assert any("retries for ever" in text for row in list.rows(80) for _, text in row)


def test_inline_words_that_no_row_holds_may_be_looked_for_elsewhere() -> None:
    assert Picking("Choose", PICKS, elsewhere=Say).line("zzzeta").wishes == (Say("zzzeta"),)
    assert Picking("Choose", PICKS).line("zzzeta").wishes == ()


def test_inline_a_list_that_stays_is_not_over_when_something_was_chosen() -> None:
    pick = Pick("#3 read", Undo(), others=(Other("p", "puts it back", Pin(3)),))
    assert not Picking("Hits", (pick,), stays=True).line("1").over
    assert Picking("Hits", (pick,), stays=True).line("p 1").over
