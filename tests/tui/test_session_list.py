"""Earlier sessions on both screens: looking for one, looking into one, renaming one, and moving one to the trash."""

from __future__ import annotations

from agent.reading.session_rows import SessionRow
from agent.wire import Open, Rename
from tests.tui.fake_sessions import FakeSessions
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui import session_list
from tui.full.desk import Choices
from tui.full.naming import NameScreen
from tui.full.pickers import Picker

ROWS = (
    SessionRow("/s/a", "Port the importer", "2 h ago · m", "a1"),
    SessionRow("/s/b", "Retries", "1 d ago · m", "make the retries back off"),
)


def shelf() -> FakeSessions:
    return FakeSessions(ROWS, {"jitter": ("/s/a",)})


async def test_a_session_is_looked_into_and_found_by_what_it_holds() -> None:
    async with stage((120, 30), choices=Choices(shelf())) as s:
        await s.type("/resume")
        shown = await s.on(Picker)
        await s.settle(lambda: "what is in /s/a" in s.text("#picker-preview"))
        await s.press("down")
        await s.settle(lambda: "what is in /s/b" in s.text("#picker-preview"))
        await s.press(*"back off")
        await s.settle(lambda: [pick.label for pick in shown._shown] == ["Retries"])
        await s.press("ctrl+u", *"jitter")
        await s.settle(lambda: [pick.label for pick in shown._shown] == ["Port the importer"])
        await s.press("enter")
        await s.settle(lambda: s.worker.sent == [Open("/s/a")])


async def test_a_session_is_renamed() -> None:
    sessions = shelf()
    async with stage(choices=Choices(sessions)) as s:
        await s.type("/resume")
        shown = await s.on(Picker)
        await s.settle(lambda: shown.marked is not None)
        await s.press("down", "ctrl+r")
        await s.on(NameScreen)
        await s.press(*"Back", "enter")
        await s.settle(lambda: sessions.done == [("rename", "/s/b", "Back")])
        await s.settle(lambda: "The session is called 'Back'." in s.text("#transcript"))


async def test_the_open_session_is_renamed_by_its_own_worker() -> None:
    rows = (SessionRow("/s/session.jsonl", "this one", "now"),)
    async with stage(choices=Choices(FakeSessions(rows))) as s:
        await s.play(*Tape().opened())
        await s.type("/resume")
        shown = await s.on(Picker)
        await s.settle(lambda: shown.marked is not None)
        await s.press("ctrl+r")
        await s.on(NameScreen)
        await s.press(*"Mine", "enter")
        await s.settle(lambda: s.worker.sent == [Rename("Mine")])


async def test_a_session_goes_to_the_trash_after_a_yes_only() -> None:
    sessions = shelf()
    async with stage(choices=Choices(sessions)) as s:
        for keys in (("enter",), ("down", "enter")):
            await s.type("/resume")
            shown = await s.on(Picker)
            await s.settle(lambda: shown.marked is not None)  # noqa: B023
            await s.press("ctrl+x")
            await s.settle(lambda: "trash" in s.said(".sheet--title"))
            assert sessions.done == []
            await s.press(*keys)
        await s.settle(lambda: sessions.done == [("discard", "/s/a")])
        await s.settle(lambda: "Moved to the trash." in s.text("#transcript"))


async def test_without_sessions_it_is_said() -> None:
    async with stage() as s:
        await s.type("/resume")
        await s.settle(lambda: "There are no sessions to look into here." in s.text("#transcript"))


def test_inline_all_of_it() -> None:
    sessions = shelf()
    play = Play(choices=Choices(sessions))
    play.talk.enter("/resume")
    assert "  2  Retries  1 d ago · m" in play.paper.lines
    play.talk.enter("v 2")
    assert "  what is in /s/b" in play.paper.lines
    play.talk.enter("jitter")
    assert "Sessions that hold “jitter”" in play.paper.lines
    play.talk.enter("r 1")
    play.talk.enter("Importer")
    assert sessions.done == [("rename", "/s/a", "Importer")]
    assert "· The session is called 'Importer'." in play.paper.lines
    for answer in ("1", "2"):
        play.talk.enter("/resume")
        play.talk.enter("x 1")
        assert ("discard", "/s/a") not in sessions.done
        play.talk.enter(answer)
    assert sessions.done[1:] == [("discard", "/s/a")]
    play.talk.enter("/resume")
    play.talk.enter("no such words")
    assert any("none" in line for line in play.paper.lines)
    play.talk.enter("/resume")
    play.talk.enter("r 1")
    play.talk.enter("")
    play.talk.enter("/resume")
    play.talk.enter("1")
    assert play.worker.sent == [Open("/s/a")]


def test_rows_stop_where_the_first_comes_again() -> None:
    again = SessionRow("/s/a", "Named", "2 h ago")
    found = session_list.once(session_list.picks(FakeSessions([*ROWS, again, again])))
    assert [pick.label for pick in found] == ["Port the importer", "Retries"]
