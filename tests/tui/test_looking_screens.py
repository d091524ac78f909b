from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widgets import OptionList

from agent.reading import Hit, Whole
from agent.wire import Compact, Finished, Opened, Pin, Plan, Planned, Price, Prune
from compaction.cache import Prices
from compaction.records import AssistantSaid, Compacted, Gate, Pruned, Reverted, Usage, UserSaid
from tests.tui import scenes
from tests.tui.fake_worker import Tape
from tests.tui.pilots import FakeLog, stage
from tui.actions import Examine, Export, SearchLog, ShowTimeline
from tui.commands import parse
from tui.costs import Costs
from tui.full.context_screen import ContextScreen
from tui.full.keys import key_help, written
from tui.full.pages import Lines, PageScreen
from tui.full.plans import PlanScreen, ReviewScreen
from tui.full.recall_screen import RecallScreen
from tui.full.timeline import TimelineScreen
from tui.help_page import help_text

HITS = (
    Hit(4, "read src/port.py", 9_000, "…the port is 4711…", "pruned"),
    Hit(9, "user", 40, "which port?", "live"),
    Hit(2, "assistant", 400, "I think", "rewound"),
)


def preview(rows: int = 2) -> Plan:
    goes = tuple((n, f"read file {n}", 1_000) for n in range(2, 2 + rows))
    return Plan("compact", tuple(r for r, _, _ in goes), goes, 9_000, 20_000, 11_000, 1, 5_000, Price(0.02, 0.09, 4),
                99, ((99, "the newest step", 400),), breaks_record=3, focus="the port")  # fmt: skip


async def test_a_preview_is_committed_from_its_own_screen_as_it_was_shown() -> None:
    async with stage() as s:
        await s.play(Planned(preview()))
        assert "#99     400  stays  the newest step" in s.text("#plan-rows")
        await s.press("enter")
        assert s.worker.sent == [Compact("the port", up_to=99)]


async def test_a_preview_of_nothing_commits_nothing() -> None:
    nothing = Plan("compact", (), (), 0, 10, 10, None, 0, Price(), kept_rows=((3, "hi", 4),), why_nothing="too young")
    async with stage() as s:
        await s.play(Planned(nothing))
        assert "enter" not in s.text("#plan-keys")
        await s.press("enter")
        assert s.worker.sent == []


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_a_long_plan_scrolls_and_its_totals_and_keys_stay_in_view(size: tuple[int, int]) -> None:
    async with stage(size) as s:
        await s.play(Planned(preview(5_000)))
        await s.pilot.pause()
        text = "\n".join(strip.text for strip in s.app.screen._compositor.render_strips())
        assert "frees 9k" in text
        assert "enter does exactly this" in text
        await s.press("end")
        assert "the newest step" in s.text("#plan-rows")


async def test_a_plan_without_a_price_says_so() -> None:
    plan = Plan("prune", (4,), ((4, "read", 900),), 800, 10_000, 9_200, 2, 100, Price(), breaks_record=4)
    async with stage() as s:
        await s.play(Planned(plan))
        assert "no price known for this model" in s.said(".sheet--facts")
        assert "the cache breaks at #4 (item 3)" in s.said(".sheet--facts")


async def test_hits_are_viewed_and_put_back() -> None:
    log = FakeLog({4: Whole(4, "read src/port.py", "PORT = 4711", "pruned", "[output removed]")}, HITS)
    async with stage(log=log) as s:
        await s.play(*Tape().opened())
        await s.type("/recall the port")
        await s.on(RecallScreen)
        await s.settle(lambda: s.app.screen.query_one(OptionList).option_count == 3)
        assert log.asked == [("hits", "/s/session.jsonl", "the port")]
        assert "#4 read src/port.py pruned · 9,000 characters …the port is 4711…" in s.said("#recall-hits")
        await s.press("enter")
        await s.on(PageScreen)
        await s.settle(lambda: "PORT = 4711" in s.text("#page-lines"))
        await s.press("escape", "p")
        assert s.worker.sent == [Pin(4)]
        await s.play(Finished("pin", False, 3, None, "pins would need 90,000 tokens"))
        assert "Pins would need 90,000 tokens." in s.said("#recall-foot")


async def test_what_is_there_already_or_left_behind_is_not_put_back() -> None:
    async with stage(log=FakeLog(found=HITS)) as s:
        await s.play(*Tape().opened())
        await s.type("/recall port")
        await s.on(RecallScreen)
        await s.settle(lambda: s.app.screen.query_one(OptionList).option_count)
        await s.press("down", "p")
        assert "in the context already" in s.said("#recall-foot")
        await s.press("down", "p")
        assert "cannot be put back" in s.said("#recall-foot")
        assert s.worker.sent == []


async def test_other_words_are_searched_from_the_same_screen() -> None:
    log = FakeLog(found=HITS)
    async with stage(log=log) as s:
        await s.play(*Tape().opened())
        await s.type("/recall one")
        await s.on(RecallScreen)
        await s.settle(lambda: s.app.screen.query_one(OptionList).has_focus)
        await s.press("slash", *"two", "enter")
        await s.settle(lambda: len(log.asked) == 2)
        assert log.asked[1] == ("hits", "/s/session.jsonl", "two")


async def test_another_session_closes_what_lay_over_the_old_one() -> None:
    async with stage(log=FakeLog(found=HITS)) as s:
        await s.play(*Tape().opened())
        await s.type("/recall one")
        await s.on(RecallScreen)
        await s.pilot.pause()
        await s.play(Opened("b", "/s/b.jsonl", "/home", "m", "ask", False))
        assert len(s.app.screen_stack) == 1


async def test_the_doctor_and_the_costs_are_pages() -> None:
    async with stage(log=FakeLog()) as s:
        await s.play(*Tape().opened(), *scenes.working()[2:])
        await s.type("/doctor")
        await s.on(PageScreen)
        await s.settle(lambda: "keys  ANTHROPIC_API_KEY" in s.text("#page-lines"))
        await s.press("escape")
        await s.type("/cost")
        await s.on(PageScreen)
        await s.settle(lambda: "uncached" in s.text("#page-lines"))


async def test_an_export_goes_where_it_is_told(tmp_path: Path) -> None:
    async with stage(log=FakeLog(text="all of it\n")) as s:
        await s.play(Opened("b", "/s/b.jsonl", str(tmp_path), "m", "ask", False))
        await s.type("/export md")
        place = tmp_path / "ullage-b.md"
        await s.settle(place.exists)
        assert place.read_text() == "all of it\n"
        await s.type("/export json /nowhere/at/all.json")
        await s.settle(lambda: "could not be written" in s.said("#transcript"))


def test_the_new_commands_become_actions() -> None:
    assert parse("/export html a b.html") == Export("html", "a b.html")
    assert parse("/recall  what was it") == SearchLog("what was it")
    assert parse("/timeline") == ShowTimeline()
    assert parse("/doctor") == Examine()
    assert parse("/prune --force 3-4") == Prune((3, 4), force=True, dry_run=True)
    assert "takes md, html or json" in getattr(parse("/export pdf"), "text", "")


@pytest.mark.parametrize("screen", [ContextScreen, PlanScreen, ReviewScreen, TimelineScreen, RecallScreen, PageScreen])
def test_every_key_that_is_shown_is_on_the_page_of_keys(screen: type) -> None:
    page = " ".join(key_help({}).split())
    for binding in screen.BINDINGS:  # type: ignore[attr-defined]
        assert isinstance(binding, Binding)
        if binding.show:
            assert f"{written(binding.key)} {binding.description}" in page


@pytest.mark.parametrize(
    ("command", "laid"), [("help", lambda n: help_text((), n)), ("keys", lambda n: key_help({}, n))]
)
async def test_what_stands_in_two_columns_is_laid_out_for_the_width_there_is(
    command: str, laid: Callable[[int], str]
) -> None:
    async with stage((40, 12)) as s:
        await s.pilot.press(*f"/{command}", "escape", "enter")
        await s.settle(lambda: isinstance(s.app.screen, PageScreen) and bool(s.app.screen.query_one(Lines)._lines))
        lines = s.app.screen.query_one(Lines)
        assert lines._lines == laid(lines.room).split("\n")
        await s.pilot.resize_terminal(120, 35)
        await s.settle(lambda: lines.room > 60 and lines._lines == laid(lines.room).split("\n"))


def usage(uncached: int, read: int = 0) -> Usage:
    return Usage(uncached=uncached, cache_read=read, output=10)


def test_rewrites_are_told_with_what_they_cost_and_saved() -> None:
    costs, tape = Costs(), Tape()

    def add(body: object) -> None:
        costs.add(tape.said(body).record)  # type: ignore[arg-type]

    add(UserSaid("hi"))
    add(AssistantSaid("", (), usage(50_000), "done", "m", 1, cost=0.15))
    add(Pruned((4,), "pruned", Gate.ASKED, 50_000, 30_000))
    add(AssistantSaid("", (), usage(12_000, 18_000), "done", "m", 2, cost=0.05))
    add(AssistantSaid("", (), usage(100, 30_000), "done", "m", 3, cost=0.01))
    said = costs.table().splitlines()[-1]
    assert said == "1 rewrite · read again after them 12k · not sent since 40k"
    priced = costs.table(Prices(3.0, 15.0, cached=0.3)).splitlines()
    assert priced[-2].endswith("read again after them 12k (about $0.03 more) · not sent since 40k (about $0.01)")
    assert priced[-1] == "in all they have cost about $0.02 more than they saved so far"


def test_what_an_undo_took_back_saves_nothing_any_more() -> None:
    costs, tape = Costs(), Tape()
    answer = AssistantSaid("", (), usage(100), "done", "m", 1)
    pruned = tape.said(Pruned((4,), "pruned", Gate.ASKED, 50_000, 30_000)).record
    for record in (pruned, tape.said(answer).record, tape.said(Reverted(pruned.id, 30_000, 50_000)).record,
                   tape.said(answer).record):  # fmt: skip
        costs.add(record)
    assert costs.spared == 20_000


def test_a_summary_is_counted_and_named() -> None:
    costs, tape = Costs(), Tape()
    body = Compacted("s", "", 9, 2, None, "", Gate.ASKED, 50_000, 9_000, "m", usage(40_000), cost=0.12)
    costs.add(tape.said(body).record)
    assert "1 rewrite · summary 40k, $0.12" in costs.table()
