from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.reading import Whole
from agent.wire import (
    Appended,
    Command,
    Compact,
    Event,
    Finished,
    Inspect,
    Inspected,
    Pin,
    Plan,
    Planned,
    Price,
    Prune,
    Row,
    Undo,
)
from compaction.records import Pinned, Record
from tests.tui import scenes
from tests.tui.fake_worker import Tape
from tests.tui.pilots import FakeLog, Stage, stage
from tui.full import items
from tui.full.context_screen import ContextScreen
from tui.full.item_table import ItemTable
from tui.full.items import Order
from tui.full.pages import PageScreen

ROWS = (
    Row(2, "user", "fix the importer", 40, 2, "live", True),
    Row(3, "assistant", "I'll read it", 60, 2, "live", True),
    Row(4, "tool", "read src/importer.py", 9_000, 2, "live", True),
    Row(5, "tool", "bash pytest -q", 4_000, 1, "pinned", True),
    Row(6, "tool", "grep schema", 2_000, 1, "pruned", False),
    Row(7, "tool", "bash make", 3_000, 0, "live", False),
)


def inspected(rows: Sequence[Row] = ROWS, *, again: bool = False) -> Inspected:
    return Inspected(scenes.METER, tuple(rows), (("system prompt", 2_000),), again)


PAYS = Price(0.05, 0.31, 6)


def plan(*records: int, refused: tuple[tuple[int, str], ...] = (), price: Price = PAYS) -> Plan:
    rows = tuple((record, f"result {record}", 1_000) for record in records)
    return Plan("prune", records, rows, 12_000, scenes.METER.used, scenes.METER.used - 12_000, 2, 40_000, price,
                breaks_record=records[0] if records else None, refused=refused)  # fmt: skip


def weighing(command: Command) -> Sequence[Event]:
    """Answers every probe with a plan of exactly what was asked."""
    match command:
        case Prune(records=records, probe=True):
            return (Planned(plan(*records), offered=False),)
        case _:
            return ()


async def weighed(s: Stage) -> None:
    screen = s.app.screen
    assert isinstance(screen, ContextScreen)
    await s.settle(lambda: screen.plan is not None)


def order_of(s: Stage) -> list[int]:
    screen = s.app.screen
    assert isinstance(screen, ContextScreen)
    return [row.record for row in screen.shown]


async def test_enter_prunes_exactly_what_the_foot_shows() -> None:
    async with stage(reply=weighing) as s:
        await s.play(inspected())
        await s.press("home", "down", "down", "space", "end", "space")
        await weighed(s)
        foot = s.said("#context-foot")
        assert "2 marked: frees 12k (61.4k → 49.4k) · the cache breaks at #4 (item 3)" in foot
        assert "40k to be read again" in foot
        assert "next turn $0.31 instead of $0.05 · pays for itself after 6 turns" in foot
        await s.press("enter")
        assert s.sent(Prune)[-1] == Prune(records=(4, 7), force=True)
        assert isinstance(s.app.screen, ContextScreen)
        assert "nothing marked" in s.said("#context-foot")


async def test_without_a_plan_for_these_marks_enter_prunes_nothing() -> None:
    async with stage() as s:
        await s.play(inspected())
        await s.press("end", "space", "enter")
        assert all(command.probe for command in s.sent(Prune))
        assert "not worked out yet" in s.said("#context-foot")
        # The answer to an earlier question is no answer to this one.
        await s.play(Planned(plan(4), offered=False))
        await s.press("enter")
        assert all(command.probe for command in s.sent(Prune))
        await s.play(Planned(plan(7), offered=False))
        await s.press("enter")
        assert s.sent(Prune)[-1] == Prune(records=(7,), force=True)


async def test_marks_set_one_after_the_other_are_asked_about_once() -> None:
    async with stage(reply=weighing) as s:
        await s.play(inspected())
        await s.press("home")
        screen = await s.on(ContextScreen)
        for _ in ROWS:
            # Faster than any key: a busy machine would make pauses between real ones.
            screen.action_mark()
        await weighed(s)
        assert s.sent(Prune) == [Prune(records=(4, 7), force=True, dry_run=True, probe=True)]


async def test_what_cannot_go_is_marked_and_the_foot_says_why_it_stays() -> None:
    async with stage((120, 40), reply=weighing) as s:
        await s.play(inspected())
        await s.press("home", "space")
        assert "1 marked: none of it can go" in s.said("#context-foot")
        assert "#2 stays: it is your message · only tool results are pruned" in s.said("#context-foot")
        await s.press("end", "up", "space")
        assert "#6 stays: it is pruned already" in s.said("#context-foot")
        await s.press("enter")
        assert s.sent(Prune) == []


async def test_what_the_worker_refuses_is_said_and_not_sent() -> None:
    async with stage((120, 40)) as s:
        await s.play(inspected())
        await s.press("a")
        await s.settle(lambda: s.sent(Prune))
        await s.play(Planned(plan(4, refused=((7, "it is no larger than its placeholder would be"),)), offered=False))
        assert "#7 stays: it is no larger than its placeholder would be" in s.said("#context-foot")
        await s.press("enter")
        assert s.sent(Prune)[-1] == Prune(records=(4,), force=True)


async def test_a_model_without_a_price_is_said_to_be_one() -> None:
    async with stage((120, 40)) as s:
        await s.play(inspected())
        await s.press("end", "space")
        await s.settle(lambda: s.sent(Prune))
        await s.play(Planned(plan(7, price=Price()), offered=False))
        assert "no price known for this model" in s.said("#context-foot")
        assert "pay" not in s.said("#context-foot")


async def test_keys_and_clicks_on_heads_sort() -> None:
    async with stage((100, 24)) as s:
        await s.play(inspected())
        await s.press("s", "s", "s")
        assert order_of(s) == [4, 5, 7, 6, 3, 2]
        assert "tokens↓" in s.text("ItemTable")
        await s.press("r")
        assert order_of(s) == [2, 3, 6, 7, 5, 4]
        await s.pilot.click(ItemTable, offset=(10, 0))
        assert order_of(s) == [3, 4, 5, 6, 7, 2]
        await s.pilot.click(ItemTable, offset=(10, 0))
        assert order_of(s)[0] == 2


async def test_the_cursor_stays_on_its_row_whatever_the_order() -> None:
    async with stage() as s:
        await s.play(inspected())
        await s.press("home", "down", "down")
        table = s.app.screen.query_one(ItemTable)
        assert table.current == ROWS[2]
        await s.press("s", "s", "s", "r")
        assert table.current == ROWS[2]
        await s.play(inspected(ROWS[1:], again=True))
        assert table.current == ROWS[2]


async def test_a_slash_filters_enter_keeps_it_and_escape_drops_it_before_it_closes() -> None:
    async with stage(reply=weighing) as s:
        await s.play(inspected())
        await s.press("slash", *"bash", "enter")
        assert order_of(s) == [5, 7]
        await s.press("a")
        await weighed(s)
        assert s.sent(Prune)[0].records == (7,)
        await s.press("escape")
        assert isinstance(s.app.screen, ContextScreen)
        assert len(order_of(s)) == 6
        await s.press("escape")
        assert not isinstance(s.app.screen, ContextScreen)


async def test_letters_of_a_filter_do_nothing_else() -> None:
    async with stage() as s:
        await s.play(inspected())
        await s.press("slash", *"puacv")
        assert s.worker.sent == []
        assert order_of(s) == []


async def test_pin_unpin_undo_and_compact_up_to_here_are_asked_of_the_worker() -> None:
    async with stage() as s:
        await s.play(inspected())
        await s.press("home", "down", "p", "down", "down", "p", "c", "u")
        assert s.worker.sent == [Pin(3), Pin(5, on=False), Compact(preview=True, up_to=5), Undo()]


async def test_a_compaction_previewed_from_here_is_watched_in_the_conversation() -> None:
    async with stage() as s:
        await s.play(inspected())
        goes = Plan("compact", (2, 3), ((2, "fix", 40),), 90, 100, 10, 1, 0, Price(), 4, ((4, "read", 9),), up_to=4)
        await s.play(Planned(goes))
        await s.press("enter")
        assert s.worker.sent == [Compact(up_to=4)]
        assert len(s.app.screen_stack) == 1


async def test_the_table_follows_the_log_and_closing_it_is_final() -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), inspected())
        await s.play(Appended(Record(9, 1.0, Pinned(4))), Appended(Record(10, 1.0, Pinned(7))))
        await s.settle(lambda: s.sent(Inspect))
        assert s.sent(Inspect) == [Inspect(again=True)]
        await s.press("escape")
        await s.play(inspected(again=True))
        assert not isinstance(s.app.screen, ContextScreen)


async def test_how_a_wish_ended_is_said_in_the_foot() -> None:
    async with stage() as s:
        await s.play(inspected())
        await s.play(Finished("pin", False, 3, None, "pins would need 9,000 tokens"))
        assert "Pins would need 9,000 tokens." in s.said("#context-foot")
        await s.play(Finished("prune", False, 0, None, "a plan: nothing was changed"))
        assert "a plan" not in s.said("#context-foot")


async def test_marks_outlive_new_numbers_and_go_with_their_item() -> None:
    async with stage(reply=weighing) as s:
        await s.play(inspected())
        await s.press("a")
        await weighed(s)
        await s.play(inspected([row for row in ROWS if row.record != 4], again=True))
        assert "1 marked" in s.said("#context-foot")


async def test_an_item_is_viewed_whole_with_what_the_model_is_sent_instead() -> None:
    whole = Whole(6, "grep schema", "line\n" * 500 + "\x1b[31mthe end\x07", "pruned", "[output removed]")
    log = FakeLog({6: whole})
    async with stage((60, 20), log=log) as s:
        await s.play(*Tape().opened(), inspected())
        await s.press("end", "up", "v")
        page = await s.on(PageScreen)
        await s.settle(lambda: "line" in s.text("#page-lines"))
        assert log.asked == [("whole", "/s/session.jsonl", 6)]
        assert "#6 grep schema  pruned · 2,513 characters" in s.text("#page-title")
        await s.press("end")
        assert "the end" in s.text("#page-lines")
        assert "[output removed]" in s.text("#page-lines")
        assert "\x1b" not in s.text("#page-lines")
        assert page.query_one("#page-lines").max_scroll_y > 400
        await s.press("escape")
        assert isinstance(s.app.screen, ContextScreen)


async def test_a_log_that_cannot_be_read_is_a_sentence() -> None:
    async with stage(log=FakeLog(broken=True)) as s:
        await s.play(*Tape().opened(), inspected())
        await s.press("v")
        await s.settle(lambda: isinstance(s.app.screen, PageScreen) and "line 7" in s.text("#page-lines"))


async def test_ten_thousand_items_are_drawn_a_screen_at_a_time() -> None:
    rows = [Row(n, "tool", f"bash {n}", n, 9, "live", True) for n in range(2, 10_002)]
    async with stage() as s:
        await s.play(inspected(rows))
        table = s.app.screen.query_one(ItemTable)
        assert table.current == rows[-1]
        assert "10001" in s.text("ItemTable")
        await s.press("home")
        assert "bash 2 " in s.text("ItemTable")
        await s.press("s", "s", "s")
        assert table.current == rows[0]
        await s.press("home", "pagedown")
        assert "bash 9990 " in s.text("ItemTable")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("ascii", [False, True])
async def test_table_totals_and_keys_are_in_view(size: tuple[int, int], ascii: bool) -> None:
    async with stage(size, ascii=ascii, reply=weighing) as s:
        await s.play(inspected([*(replace(ROWS[5], record=n, title=f"bash make {n}") for n in range(10, 70)), ROWS[5]]))
        await s.press("end", "space")
        await weighed(s)
        text = "\n".join(strip.text for strip in s.app.screen._compositor.render_strips())
        assert "1 marked" in text
        assert "prune" in text
        assert "bash make" in text
        if ascii:
            assert text.isascii()


def test_a_narrow_table_keeps_number_first_line_and_tokens() -> None:
    assert [column.name for column, _ in items.shown_in(74)] == [column.name for column in items.COLUMNS]
    assert [column.name for column, _ in items.shown_in(36)] == ["number", "first line", "tokens"]


@given(st.integers(8, 200), st.text(max_size=60), st.integers(0, 2**40))
def test_a_row_is_exactly_as_wide_as_the_table(width: int, title: str, size: int) -> None:
    row = Row(7, "tool", title, size, 3, "live", True)
    shown = items.shown_in(width)
    cells = [items.fitted(column.cell(row, 1_000), room, right=column.right) for column, room in shown]
    assert [cell_len(cell) for cell in cells] == [room for _, room in shown]
    if width >= 40:
        assert items.MARK + sum(room + items.GAP for _, room in shown) <= width + items.GAP


def test_a_filter_wants_every_word_in_any_of_number_kind_state_and_title() -> None:
    assert [row.record for row in items.matching(ROWS, "BASH")] == [5, 7]
    assert [row.record for row in items.matching(ROWS, "tool pinned")] == [5]
    assert [row.record for row in items.matching(ROWS, "#7")] == [7]
    assert [row.record for row in items.matching(ROWS, "uncached bash")] == [7]
    assert items.matching(ROWS, "  ") == [*ROWS]


def test_orders_are_stable() -> None:
    rows = [replace(ROWS[2], title=str(n)) for n in range(5)]
    for column in items.COLUMNS:
        if column.name != "first line":
            assert items.arranged(rows, Order(column.name)) == rows
