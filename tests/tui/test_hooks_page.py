"""The page of hooks in both screens, and how what a hook added looks."""

from __future__ import annotations

from agent.wire import Appended, Sheet, ShowHooks
from compaction.records import Noted, Record
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui.block import plain
from tui.commands import parse
from tui.full.pages import PageScreen
from tui.present import Presenter

SHEET = Sheet("Hooks", "prompt\n    cat [red]x[/]\n    last: went on\x1b[2J")


def test_the_slash_table_asks_for_it() -> None:
    assert parse("/hooks") == ShowHooks()


async def test_it_is_a_page_over_the_full_screen() -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), SHEET)
        await s.on(PageScreen)
        await s.settle(lambda: "cat [red]x[/]" in s.text("#page-lines"))
        assert "Hooks" in s.said("#page-title") and "\x1b" not in s.text("#page-lines")
        await s.press("escape")
        assert not isinstance(s.app.screen, PageScreen)


def test_it_is_printed_in_the_inline_screen() -> None:
    play = Play()
    play.take(*Tape().opened(), SHEET)
    assert "cat [red]x[/]" in play.text and "Hooks" in play.text and "\x1b" not in play.text


def test_what_a_hook_added_is_shown_as_it_is_and_folded() -> None:
    text = "[added by the user's hook on prompt]\n" + "\n".join(f"line {n}" for n in range(20))
    (block,) = Presenter().show(Appended(Record(3, 0.0, Noted(text, "hook", to_model=True))))
    assert plain(block).split("\n") == [*text.split("\n")[:4], "… 17 more lines"]
    assert plain(block, open=True) == text
