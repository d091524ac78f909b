from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from textual import events
from textual.widgets import OptionList

from agent.reading.session_rows import SessionRow
from agent.wire import (
    Answer,
    Asking,
    Busy,
    Event,
    Idle,
    Inspect,
    Interrupt,
    JobRow,
    Jobs,
    Metered,
    Planned,
    Progress,
    Prune,
    Queued,
    Reload,
    Restreamed,
    Returned,
    Reviewed,
    Reviewing,
    Rewind,
    SetMode,
    Steer,
    Streaming,
    Submit,
    Told,
    ToolRunning,
    Unqueue,
)
from compaction.records import AssistantSaid, ToolReturned, UserSaid
from tests.tui import scenes
from tests.tui.fake_sessions import FakeSessions
from tests.tui.fake_worker import FakeWorker, Tape
from tests.tui.steady import Steady, steady
from tui.commands import TABLE
from tui.flow import Flow
from tui.full.app import UllageApp
from tui.full.desk import Choices
from tui.full.dialogs import Approval
from tui.full.keys import key_help
from tui.full.live import Live
from tui.full.meter_bar import MeterBar
from tui.full.pages import Lines, PageScreen
from tui.full.plans import PlanScreen, ReviewScreen
from tui.full.popup import Popup
from tui.full.prompt import ACTIONS, Prompt
from tui.full.status import Activity, Foot
from tui.full.transcript import Transcript
from tui.keytable import bound
from tui.plain import seconds


@dataclass
class Clock:
    """Time that moves when a test says so, seconds."""

    at: float = 100.0

    def read(self) -> float:
        return self.at


@dataclass
class Screen:
    """The app under test, its worker, and what can be read off it."""

    app: UllageApp
    worker: FakeWorker
    pilot: Steady
    clock: Clock

    @property
    def prompt(self) -> Prompt:
        return self.app.screen_stack[0].query_one(Prompt)

    @property
    def transcript(self) -> Transcript:
        return self.app.screen_stack[0].query_one(Transcript)

    def text(self) -> str:
        """The transcript's lines in view."""
        view = self.transcript
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))

    async def play(self, *events: Event) -> None:
        for event in events:
            self.app.post_event(event)
        await self.pilot.pause()

    async def settle(self, done: Callable[[], bool]) -> None:
        await self.pilot.until(done)


@asynccontextmanager
async def screen(
    size: tuple[int, int] = (80, 24), *, choices: Choices | None = None, ascii: bool = False, clock: Clock | None = None
) -> AsyncIterator[Screen]:
    worker, clock = FakeWorker(), clock or Clock()
    app = UllageApp(worker.send, choices=choices or Choices(), ascii=ascii, now=clock.read)
    worker.emit = app.post_event
    async with steady(app, size) as pilot:
        yield Screen(app, worker, pilot, clock)


async def test_enter_sends_and_the_worker_gets_the_text() -> None:
    async with screen() as s:
        await s.pilot.press(*"hi there", "enter")
        assert s.worker.sent == [Submit("hi there")]
        assert s.prompt.text == ""


async def test_newline_keys_do_not_send() -> None:
    async with screen() as s:
        await s.pilot.press("a", "ctrl+j", "b", "shift+enter", "c")
        assert s.prompt.text == "a\nb\nc"
        await s.pilot.press("\\", "enter", "d", "enter")
        assert s.worker.sent == [Submit("a\nb\nc\nd")]


async def test_ctrl_enter_steers() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"))
        await s.pilot.press(*"left", "ctrl+enter")
        assert s.worker.sent == [Steer("left")]


async def test_escape_closes_the_list_first_then_stops_and_keeps_the_draft() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"))
        await s.pilot.press("/")
        assert f"1/{len(TABLE)}" in str(s.app.query_one(Popup).render())
        await s.pilot.press("c", "o")
        assert s.app.query_one(Popup).open
        await s.pilot.press("escape")
        assert not s.app.query_one(Popup).open
        assert s.worker.sent == []
        await s.pilot.press("escape")
        assert s.worker.sent == [Interrupt()]
        assert s.prompt.text == "/co"


async def test_ctrl_c_clears_then_stops_then_quits() -> None:
    clock = Clock()
    async with screen(clock=clock) as s:
        await s.play(*Tape().opened(), Busy("turn"))
        await s.pilot.press("x", "ctrl+c")
        assert (s.prompt.text, s.worker.sent) == ("", [])
        clock.at += 5
        await s.pilot.press("ctrl+c")
        assert s.worker.sent == [Interrupt()]
        await s.pilot.press("ctrl+c")
        await s.pilot.pause()
        assert s.app.return_value == 0
    assert not s.app.is_running


async def test_a_cleared_draft_is_one_up_away() -> None:
    async with screen() as s:
        await s.pilot.press(*"precious", "ctrl+c", "up")
        assert s.prompt.text == "precious"


async def test_ctrl_d_quits_only_an_empty_prompt() -> None:
    async with screen() as s:
        await s.pilot.press("a", "ctrl+d")
        assert s.app.is_running
        await s.pilot.press("backspace", "ctrl+d")
        await s.pilot.pause()
    assert s.app.return_value == 0


async def test_shift_tab_goes_through_the_modes() -> None:
    async with screen() as s:
        await s.play(*Tape().opened())
        await s.pilot.press("shift+tab", "shift+tab", "shift+tab", "shift+tab")
        assert s.worker.sent == [SetMode("edits"), SetMode("auto"), SetMode("plan"), SetMode("ask")]


async def test_the_foot_names_the_mode_in_force_whichever_way_it_was_asked_for() -> None:
    async with screen() as s:
        await s.play(*Tape().opened())
        await s.pilot.press(*"/mode auto", "enter")
        await s.settle(lambda: str(s.app.query_one(Foot).render()).startswith("auto"))
        await s.pilot.press("shift+tab")
        await s.settle(lambda: s.worker.sent == [SetMode("auto"), SetMode("plan")])
        assert str(s.app.query_one(Foot).render()).startswith("plan only")


async def test_the_shells_keys_edit_the_line() -> None:
    async with screen() as s:
        await s.pilot.press(*"one two", "ctrl+w", "ctrl+a", *"x", "ctrl+f", "ctrl+k")
        assert s.prompt.text == "xo"
        await s.pilot.press("ctrl+e", "z", "ctrl+b", "y", "ctrl+e", "ctrl+u")
        assert s.prompt.text == ""


async def test_an_edit_is_taken_back_as_in_the_shell_and_ctrl_z_is_free_for_the_background() -> None:
    async with screen() as s:
        await s.pilot.press(*"word", "ctrl+u", "ctrl+underscore")
        assert s.prompt.text == "word"
        assert ACTIONS[bound({}, "full")["ctrl+z"]] == "app.suspend_process"


async def test_the_shells_keys_mean_the_whole_line_however_it_is_wrapped() -> None:
    async with screen((40, 24)) as s:
        s.prompt.write("word " * 30 + "end")
        await s.pilot.press("ctrl+a", "x", "ctrl+e", "y")
        assert s.prompt.text == "x" + "word " * 30 + "endy"
        await s.pilot.press("ctrl+u")
        assert s.prompt.text == ""
        s.prompt.write("one\ntwo")
        s.prompt.move_cursor((0, 1))
        await s.pilot.press("ctrl+k", "ctrl+k")
        assert s.prompt.text == "otwo"


async def test_a_large_paste_is_a_chip_and_is_sent_whole() -> None:
    pasted = "\n".join(f"line {n}" for n in range(84))
    async with screen() as s:
        s.prompt.paste(pasted.replace("\n", "\r"))
        assert s.prompt.text == "[pasted 84 lines]"
        await s.pilot.press(*" why?", "enter")
        assert s.worker.sent == [Submit(f"{pasted} why?")]


async def test_backspace_takes_a_chip_as_one() -> None:
    async with screen() as s:
        s.prompt.paste("x\n" * 50)
        await s.pilot.press("backspace")
        assert s.prompt.text == ""


async def test_tab_takes_the_marked_completion() -> None:
    async with screen() as s:
        await s.pilot.press(*"/und", "tab")
        assert s.prompt.text == "/undo"


async def test_enter_on_a_marked_command_runs_it() -> None:
    async with screen() as s:
        await s.pilot.press(*"/contex", "enter")
        assert s.worker.sent == [Inspect()]


async def test_keys_faster_than_the_offers_send_what_was_typed() -> None:
    async with screen() as s:
        await s.pilot.press(*"/re")
        for name in (*"load", "enter"):
            s.prompt.post_message(events.Key(name, name if len(name) == 1 else "\r"))
        await s.settle(lambda: s.worker.sent != [])
        assert s.worker.sent == [Reload()]


async def test_keys_that_come_in_one_burst_act_in_their_order() -> None:
    async with screen() as s:
        for name in (*"wrong", "ctrl+u", *"teh", "backspace", "backspace", *"he", "ctrl+a", "X", "ctrl+e", "Y"):
            s.prompt.post_message(events.Key(name, name if len(name) == 1 else None))
        await s.settle(lambda: "Y" in s.prompt.text)
        await s.pilot.pause()
        assert s.prompt.text == "XtheY"


async def test_paths_complete_after_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "retry.py").write_text("")
    async with screen() as s:
        s.prompt.folder = str(tmp_path)
        await s.pilot.press(*"see @rety")
        await s.settle(lambda: s.app.query_one(Popup).open)
        await s.pilot.press("tab")
        assert s.prompt.text == "see @src/retry.py "


async def test_ctrl_r_finds_an_earlier_message() -> None:
    async with screen() as s:
        await s.play(Tape().said(UserSaid("fix the importer"), replay=True))
        await s.pilot.press(*"import", "ctrl+r", "enter")
        assert s.prompt.text == "fix the importer"
        assert s.worker.sent == []


async def test_waiting_messages_are_seen_and_taken_back() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"), Queued(("later",)))
        assert s.app.query_one("#queue").display
        await s.pilot.press("alt+up")
        assert s.worker.sent == [Unqueue()]
        await s.play(Queued(()), Returned("later", "", 0))
        assert s.prompt.text == "later"
        assert not s.app.query_one("#queue").display


async def test_a_refused_prompt_comes_back_before_what_is_being_written() -> None:
    async with screen() as s:
        await s.pilot.press(*"new")
        await s.play(Returned("old", "It would not fit in the window."))
        assert s.prompt.text == "old\nnew"
        assert "It would not fit in the window." in s.text()


async def test_streamed_text_is_replaced_by_its_record() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*tape.opened(), Busy("turn"), Streaming("the **ans"), Streaming("wer**"))
        await s.settle(lambda: "the **answer**" in s.text())
        await s.play(tape.said(AssistantSaid("the **answer**", (), None, "done", "m", 1)), tape.idle())
        assert s.text().count("the answer") == 1
        assert "**" not in s.text()


async def test_a_restarted_request_forgets_what_had_arrived() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"), Streaming("half a thought"))
        await s.settle(lambda: "half" in s.text())
        await s.play(Restreamed())
        assert "half" not in s.text()


async def test_ten_thousand_records_load_and_only_what_is_near_is_drawn() -> None:
    async with screen() as s:
        await s.play(*scenes.long_session(10_000))
        assert "finished 2499" in s.text()
        assert len(s.transcript._rows._drawn) < 200


async def test_the_end_stays_in_view_until_the_reader_scrolls_away() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*scenes.long_session(400))
        await s.pilot.press("pageup")
        seen = s.text()
        tape.number = 1_000
        await s.play(tape.said(UserSaid("a new message")))
        assert s.text() == seen
        await s.pilot.press("ctrl+end")
        await s.play(tape.said(UserSaid("and another")))
        assert "and another" in s.text()


async def test_whoever_sends_something_sees_the_end_again() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*scenes.long_session(400))
        await s.pilot.press("pageup", *"go on", "enter")
        tape.number = 1_000
        await s.play(tape.said(UserSaid("go on")))
        assert "go on" in s.text()


async def test_how_far_the_end_is_grows_with_what_arrives() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*scenes.long_session(400))
        await s.pilot.press("pageup")
        before = s.app.query_one(Activity).below
        tape.number = 1_000
        await s.play(tape.said(UserSaid("one\ntwo\nthree")))
        assert s.app.query_one(Activity).below > before > 0


async def test_scrolling_to_the_start_over_guessed_heights_shows_the_beginning() -> None:
    async with screen() as s:
        await s.play(*scenes.long_session(2_000))
        await s.pilot.press("ctrl+home")
        assert "Ullage" in s.text()
        assert "question 0" in s.text()


async def test_another_size_keeps_the_end_in_view() -> None:
    async with screen((120, 40)) as s:
        await s.play(*scenes.long_session(400))
        await s.pilot.resize_terminal(40, 12)
        await s.settle(lambda: "finished 99" in s.text())


async def test_ctrl_o_opens_folded_output_and_folds_it_again() -> None:
    async with screen() as s:
        tape = Tape()
        output = "\n".join(f"out {n}" for n in range(18))
        await s.play(*tape.opened(), tape.said(ToolReturned("c", "bash", "bash ls", output, exit_status=0)))
        assert "13 more lines" in s.text()
        await s.pilot.press("ctrl+o")
        await s.pilot.pause()
        assert "out 9" in s.text()
        await s.pilot.press("ctrl+o")
        await s.pilot.pause()
        assert "out 9" not in s.text()


async def test_a_huge_answer_is_laid_out_at_its_end_only() -> None:
    live = Live("agent", Flow(70))
    for _ in range(400):
        live.flow.feed("word " * 200)
    first = live.flow.feed("and more")
    assert len(live.flow.lines) - first <= 2


async def test_case_55_brackets_in_every_place_are_shown_as_they_are() -> None:
    evil = "[/] [red]x[/blue] [@click=app.bell]y[/]"
    async with screen() as s:
        tape = Tape()
        await s.play(
            *tape.opened(),
            tape.said(UserSaid(evil)),
            tape.said(AssistantSaid(evil, (), None, "done", "m", 1)),
            tape.said(ToolReturned("c", "bash", evil, evil)),
            Busy("turn"),
            Queued((evil,)),
            Asking(1, "c", "bash", evil, evil, command=evil, prefix=evil),
        )
        await s.pilot.pause()
        assert s.text().count("[/] [red]x[/blue]") >= 3
        assert "[red]x" in s.app.export_screenshot().replace("&#160;", " ")


ASK = Asking(7, "c", "bash", "Run a command", "no rule", command="rm -rf build\n" * 30, prefix="rm")


async def test_case_61_a_key_in_flight_when_an_approval_opens_does_not_approve() -> None:
    clock = Clock()
    async with screen(clock=clock) as s:
        approval = s.app.query_one(Approval)
        await s.play(*Tape().opened(), Busy("turn"), ASK)
        await s.pilot.press("y", "enter")
        assert s.worker.sent == []
        clock.at += 0.29
        await s.pilot.press("y", "s", "p", "n", "enter")
        assert s.worker.sent == []
        clock.at += 0.31
        await s.pilot.press("y")
        assert s.worker.sent == [Answer(7, "once")]
        assert not approval.display


async def test_somebody_who_types_on_does_not_approve_however_long() -> None:
    clock = Clock()
    async with screen(clock=clock) as s:
        await s.play(*Tape().opened(), Busy("turn"), ASK)
        await s.pilot.pause()
        for letter in "yes, and say why":
            clock.at += 0.2
            await s.pilot.press(letter if letter.isalpha() else "space")
        assert s.worker.sent == []
        assert s.app.query_one(Approval).display


async def asked(s: Screen) -> None:
    await s.play(*Tape().opened(), Busy("turn"), ASK)
    await seen(s)


async def seen(s: Screen) -> None:
    """The panel has been in view for long enough."""
    await s.pilot.pause()
    s.clock.at += 1


async def test_choices_by_arrow_and_enter() -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press("down", "down", "enter")
        assert s.worker.sent == [Answer(7, "project")]


async def test_a_refusal_carries_its_reason() -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press("n")
        await s.pilot.press(*"use make clean", "enter")
        assert s.worker.sent == [Answer(7, "refuse", "use make clean")]


async def test_escape_in_the_panel_stops_the_turn_and_answers_nothing() -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press("escape")
        assert s.worker.sent == [Interrupt()]
        await s.play(Tape().idle())
        assert not s.app.query_one(Approval).display
        assert s.prompt.has_focus


async def test_the_key_that_stops_does_so_beside_a_question_too() -> None:
    async with screen(choices=Choices(keys={"stop": "f3"})) as s:
        await asked(s)
        await s.pilot.press("f3")
        assert s.worker.sent == [Interrupt()]


async def test_questions_are_answered_in_the_order_asked() -> None:
    async with screen() as s:
        await asked(s)
        await s.play(Asking(8, "d", "edit", "Edit a file", "", diff="-a\n+b", prefix="a.py"))
        await s.pilot.press("y")
        await seen(s)
        await s.pilot.press("s")
        assert s.worker.sent == [Answer(7, "once"), Answer(8, "session")]


async def test_the_choices_are_in_view_on_twelve_lines() -> None:
    async with screen((40, 12)) as s:
        await asked(s)
        await s.pilot.pause()
        choices = s.app.query_one("#choices")
        assert choices.region.height == 4
        assert choices.region.bottom <= 12
        assert s.app.query_one("#body").size.height >= 2
        assert s.app.query_one("#body").max_scroll_y > 0


async def test_few_rows_of_a_diff_begin_at_what_it_changes() -> None:
    diff = "@@ -1,7 +1,7 @@\n one\n two\n three\n-old\n+new\n five\n six"
    async with screen((60, 12)) as s:
        await s.play(*Tape().opened(), Busy("turn"), Asking(8, "d", "edit", "edit a.py", "", diff=diff))
        body = s.app.query_one("#body")
        await s.settle(lambda: body.scroll_y == 3)
        await s.pilot.resize_terminal(60, 40)
        await s.settle(lambda: body.scroll_y == 0)


async def test_a_compaction_leaves_its_count_of_tokens_and_its_clock_behind() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"), Progress("compacting", 1_234, 7_200.0))
        activity = s.app.query_one(Activity)
        assert "tokens" in str(activity.render())
        clock = seconds(7_200)
        assert clock in str(activity.render())
        await s.play(ASK)
        assert "waiting for your answer" in str(activity.render())
        assert "tokens" not in str(activity.render())
        assert clock not in str(activity.render())
        assert activity.elapsed() < 7_200  # what is told when the turn ends is the turn's own


@pytest.mark.parametrize("keys", [["y"], ["n", *"why", "enter"]])
async def test_what_is_typed_after_an_answer_goes_to_the_draft_while_the_turn_runs(keys: list[str]) -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press(*keys)
        await s.pilot.press(*"next")
        assert s.prompt.text == "next"


async def test_letters_typed_into_the_panel_do_not_reach_the_draft() -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press("q", "w")
        assert s.prompt.text == ""
        assert s.worker.sent == []


async def test_a_message_typed_into_the_panel_is_no_answer_with_its_enter() -> None:
    async with screen() as s:
        await asked(s)
        await s.pilot.press("m", "o", "enter")
        assert s.worker.sent == []
        await seen(s)
        await s.pilot.press("enter")
        assert s.worker.sent == [Answer(7, "once")]


async def test_enter_commits_exactly_the_records_of_the_plan() -> None:
    async with screen() as s:
        await s.play(Planned(scenes.PLAN))
        assert isinstance(s.app.screen, PlanScreen)
        await s.pilot.press("enter")
        assert s.worker.sent == [Prune(records=(14, 15, 18), force=True)]


async def test_escape_leaves_the_plan_undone() -> None:
    async with screen() as s:
        await s.play(Planned(scenes.PLAN))
        await s.pilot.press("escape")
        assert s.worker.sent == []
        assert not isinstance(s.app.screen, PlanScreen)


async def test_a_summary_is_edited_and_accepted() -> None:
    async with screen() as s:
        await s.play(Reviewing("## Goal\nport", "files", 100, 10))
        assert isinstance(s.app.screen, ReviewScreen)
        await s.pilot.press("ctrl+home", "X", "ctrl+s")
        assert s.worker.sent == [Reviewed("X## Goal\nport")]


async def test_a_summary_is_dropped_by_two_escapes_only() -> None:
    async with screen() as s:
        await s.play(Reviewing("## Goal\nport", "files", 100, 10))
        await s.pilot.press("escape")
        assert s.worker.sent == []
        await s.pilot.press("escape")
        assert s.worker.sent == [Reviewed(None)]


async def test_a_session_is_picked_from_the_list_that_was_handed_in() -> None:
    rows = [SessionRow("/s/a", "importer", "2 h ago"), SessionRow("/s/b", "retry", "1 d ago")]
    choices = Choices(sessions=FakeSessions(rows))
    async with screen(choices=choices) as s:
        await s.pilot.press(*"/resume", "enter")
        await s.settle(lambda: s.app.screen.query_one(OptionList).option_count == len(rows))
        await s.pilot.press(*"ret", "enter")
        await s.settle(lambda: bool(s.worker.sent))
        assert [getattr(command, "path", None) for command in s.worker.sent] == ["/s/b"]


async def test_escape_twice_while_resting_offers_the_messages_to_go_back_to() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*tape.opened(), tape.said(UserSaid("first")), tape.said(UserSaid("second")))
        await s.pilot.press("escape", "escape")
        await s.settle(lambda: s.app.screen.query_one(OptionList).option_count == 2)
        await s.pilot.press("down", "enter")
        await s.settle(lambda: bool(s.worker.sent))
        assert s.worker.sent == [Rewind(1, "ask")]


async def test_a_question_mark_in_an_empty_prompt_lists_the_keys() -> None:
    async with screen() as s:
        await s.pilot.press("?")
        assert len(s.app.screen_stack) == 2
        await s.pilot.press("escape", "w", "?")
        assert s.prompt.text == "w?"


async def test_events_that_came_before_the_screen_stood_are_shown() -> None:
    app = UllageApp(lambda command: None, ascii=False)
    for event in scenes.rewritten():
        app.post_event(event)
    async with steady(app) as pilot:
        await pilot.pause()
        await pilot.pause()
        view = app.query_one(Transcript)
        assert any("compacted" in view.render_line(y).text for y in range(view.size.height))


async def test_the_meter_takes_one_line_on_a_short_screen_and_two_on_a_tall_one() -> None:
    async with screen((80, 24)) as s:
        await s.play(Metered(scenes.METER))
        assert s.app.query_one(MeterBar).size.height == 2
    async with screen((40, 12)) as s:
        await s.play(Metered(scenes.METER))
        bar = s.app.query_one(MeterBar)
        assert bar.size.height == 1
        assert bar.render_line(0).text.strip() == "38% of 160k/200k ● 4:12"


async def test_an_ascii_terminal_gets_ascii_alone() -> None:
    async with screen(ascii=True) as s:
        await s.play(*scenes.streaming())
        await s.pilot.pause(0.1)
        svg = s.app.export_screenshot()
    shown = svg[svg.index('-matrix">') :].replace("&#160;", " ")
    assert all(character.isascii() for character in shown)


async def test_idle_after_busy_gives_the_prompt_back() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"))
        seen_busy = [s.prompt.busy]
        await s.play(Idle("s", "p", "failed", "The key was refused by the provider."))
        seen_busy.append(s.prompt.busy)
        assert seen_busy == [True, False]
        assert "The key was refused by the provider." in s.text()


async def test_a_result_takes_the_place_of_its_running_card() -> None:
    async with screen() as s:
        tape = Tape()
        listing = scenes.call("c", "bash", command="make")
        await s.play(*tape.opened(), Busy("turn"), tape.said(AssistantSaid("", (listing,), None, "calls", "m", 1)))
        await s.play(ToolRunning("c", "bash", "bash make"), ToolRunning("c", "", "", "compiling\n"))
        assert "compiling" in s.text()
        await s.play(tape.said(ToolReturned("c", "bash", "bash make", "linked", exit_status=0)), Told("Saved."))
        assert s.text().count("bash make") == 1
        assert "compiling" not in s.text()
        assert s.text().index("linked") < s.text().index("Saved.")


async def test_text_selected_with_the_mouse_is_copied_by_ctrl_c() -> None:
    async with screen() as s:
        tape = Tape()
        await s.play(*tape.opened(), tape.said(AssistantSaid("one two three", (), None, "done", "m", 1)))
        line = next(y for y in range(s.transcript.size.height) if "one two" in s.transcript.render_line(y).text)
        await s.pilot.mouse_down(s.transcript, offset=(7, line))
        await s.pilot.hover(s.transcript, offset=(10, line))
        await s.pilot.mouse_up(s.transcript, offset=(10, line))
        await s.pilot.press("ctrl+c")
        await s.pilot.pause()
        assert s.app.clipboard.strip() == "two"


async def test_the_time_that_counts_begins_when_nothing_covers_the_panel() -> None:
    clock = Clock()
    async with screen(clock=clock) as s:
        await s.pilot.press("?")
        await s.play(*Tape().opened(), Busy("turn"), ASK)
        clock.at += 10
        await s.pilot.press("escape", "y")
        assert s.worker.sent == []
        await s.settle(lambda: s.app.query_one(Approval)._shown_at == clock.at)
        clock.at += 0.31
        await s.pilot.press("y")
        assert s.worker.sent == [Answer(7, "once")]


async def test_help_names_the_key_that_lists_the_keys() -> None:
    async with screen(choices=Choices(keys={"keys": "f1"})) as s:
        await s.pilot.press(*"/help ", "enter")
        await s.settle(lambda: isinstance(s.app.screen, PageScreen) and bool(s.app.screen.query_one(Lines)._lines))
        said = [line[:2].rstrip() for line in s.app.screen.query_one(Lines)._lines]
        assert "f1" in said and "?" not in said


async def test_a_key_can_be_rebound_and_the_list_of_keys_says_so() -> None:
    app = UllageApp(lambda command: None, ascii=False, keymap={"unfold": "f2"})
    async with steady(app) as pilot:
        await pilot.press("f2")
        assert app.query_one(Transcript).unfolded
        await pilot.press("ctrl+o")
        assert app.query_one(Transcript).unfolded
    assert "f2 " in key_help({"unfold": "f2"})


@pytest.mark.parametrize(("size", "where"), [((80, 24), "#foot"), ((40, 12), "#activity")])
async def test_commands_in_the_background_are_counted_on_a_screen_of_any_height(
    size: tuple[int, int], where: str
) -> None:
    rows = tuple(JobRow(number, "sleep 100", runs, "", 0.0, "") for number, runs in ((1, True), (2, True), (3, False)))
    async with screen(size) as s:
        await s.play(*Tape().opened(), Jobs(rows))
        assert "2 jobs" in str(s.app.query_one(where).render())
        assert s.app.query_one(where).display
        await s.play(Busy("turn"))
        assert "2 jobs" in str(s.app.query_one(where).render())
        await s.play(*Tape().opened())
        assert "job" not in str(s.app.query_one(where).render())


async def test_what_is_said_above_a_growing_answer_stands_beside_what_runs_for_a_while() -> None:
    clock = Clock()
    async with screen(clock=clock) as s:
        await s.play(*Tape().opened(), Told("said before"), Busy("turn"), Streaming("text", "word " * 2_000))
        assert "Said before" not in str(s.app.query_one("#activity").render())
        await s.play(Told("the other model waits until what runs has ended"))
        assert "The other model waits until what runs" in str(s.app.query_one("#activity").render())
        assert "esc stops" in str(s.app.query_one("#activity").render())
        clock.at += 6
        assert "The other model" not in str(s.app.query_one("#activity").render())


async def test_the_foot_names_the_model_of_the_meter_once_a_rewind_left_a_switch_behind() -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Metered(replace(scenes.METER, model="openai/other")))
        assert "openai/other" in str(s.app.query_one("#foot").render())
