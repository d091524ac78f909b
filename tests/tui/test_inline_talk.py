"""The inline conversation on paper: what is printed, what is asked, and what an answer sends."""

from __future__ import annotations

import pytest

from agent.reading.session_rows import SessionRow
from agent.wire import (
    Answer,
    Asking,
    Busy,
    Compact,
    Idle,
    Inspect,
    Inspected,
    Interrupt,
    Open,
    Pin,
    Plan,
    Planned,
    Price,
    Prune,
    Queued,
    Restreamed,
    Returned,
    Reviewed,
    Reviewing,
    Rewind,
    Row,
    SetMode,
    Shell,
    Steer,
    Streaming,
    Submit,
    ToolRunning,
    Undo,
)
from compaction.records import AssistantSaid, Pinned, ToolReturned, UserSaid
from tests.tui import scenes
from tests.tui.fake_sessions import FakeSessions
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tui.actions import CycleMode, ToggleFolds
from tui.front import Choices
from tui.inline.plain import spoken

IDLE = Idle("2026-swift-otter", "/s/session.jsonl")
ASK = Asking(7, "c1", "bash", "Run a command", "no rule allows it", command="git push", prefix="git push")
ITEMS = (
    Row(2, "user", "fix it", 8, 3, "live", True),
    Row(4, "tool", "read a.py", 9_000, 2, "live", True),
    Row(6, "tool", "bash pytest", 700, 1, "pinned", False),
)
INSPECTED = Inspected(scenes.METER, ITEMS, (("system prompt", 900),))


def test_an_answer_is_printed_as_it_arrives_and_not_again_by_its_record() -> None:
    play, tape = Play(), Tape()
    text = "First line.\n\nA second paragraph that ends **boldly**"
    for at in range(0, len(text), 5):
        play.take(Streaming(text[at : at + 5]))
    play.take(tape.said(AssistantSaid(text + ".", (), None, "done", "m", 1)), IDLE)
    assert play.paper.lines == ["", "First line.", "", "A second paragraph that ends boldly."]


@pytest.mark.parametrize("size", [1, 3, 7, 200])
def test_streamed_words_are_broken_as_the_whole_would_be(size: int) -> None:
    text = "\n".join("word " * n + "終わり" for n in range(12)) + "\n```\nx = 1\n```\nthe end"
    whole, streamed = Play(columns=40), Play(columns=40)
    said = AssistantSaid(text, (), None, "done", "m", 1)
    whole.take(Tape().said(said))
    for at in range(0, len(text), size):
        streamed.take(Streaming(text[at : at + size]))
    streamed.take(Tape().said(said))
    assert streamed.paper.lines == whole.paper.lines


def test_an_answer_that_starts_over_says_so_and_is_printed_whole() -> None:
    play, tape = Play(), Tape()
    play.take(Streaming("half of it\nand"), Restreamed(), Streaming("anew"))
    play.take(tape.said(AssistantSaid("anew, whole", (), None, "done", "m", 1)))
    assert play.paper.lines == ["", "half of it", "and", "· The answer starts over.", "", "anew, whole"]


def test_a_record_that_differs_from_the_stream_is_printed_whole() -> None:
    play, tape = Play(), Tape()
    play.take(Streaming("one thing"), tape.said(AssistantSaid("another", (), None, "done", "m", 1)))
    assert play.paper.lines == ["", "one thing", "· The whole answer:", "", "another"]


def test_a_card_is_printed_once_when_it_is_finished() -> None:
    play, tape = Play(), Tape()
    play.take(tape.said(AssistantSaid("", (scenes.call("c1", "bash", command="ls"),), None, "calls", "m", 1)))
    play.take(ToolRunning("c1", "bash", "bash ls", "a\n"))
    assert play.paper.lines == []
    play.take(tape.said(ToolReturned("c1", "bash", "bash ls", "a\nb", exit_status=0, took=0.4)))
    assert [line for line in play.paper.lines if "bash ls" in line] == ["✓ bash ls  exit 0 · 0.4 s · #2"]


def test_the_users_own_command_is_printed_when_its_output_is_known() -> None:
    play = Play()
    play.take(Busy("shell"), ToolRunning("shell-3", "shell", "date"))
    assert play.text == ""
    play.take(ToolRunning("shell-3", "shell", "date", "Monday"), IDLE)
    assert [line for line in play.paper.lines if line] == ["$ date  yours", "  Monday"]


def test_escape_sequences_of_a_model_reach_no_terminal() -> None:
    play, tape = Play(), Tape()
    play.take(Streaming("\x1b[2Jcleared\x07\n"), tape.said(UserSaid("a\x1b]0;title\x07b")), ASK)
    assert not any(ord(character) < 32 for line in play.paper.lines for character in line)


@pytest.mark.parametrize(
    ("typed", "wish"),
    [
        ("hello", Submit("hello")),
        ("/undo", Undo()),
        ("/compact the tests", Compact("the tests")),
        ("!ls", Shell("ls")),
        ("!!ls", Shell("ls", join=False)),
        ("/prune 4", Prune((4,), dry_run=True)),
        ("/context", Inspect()),
    ],
)
def test_a_line_means_what_it_means_on_the_full_screen(typed: str, wish: object) -> None:
    play = Play()
    play.talk.enter(typed)
    assert play.worker.sent == [wish]
    assert play.remembered == [typed]


def test_a_line_may_join_the_running_turn() -> None:
    play = Play()
    play.talk.enter("also the docs", steer=True)
    assert play.worker.sent == [Steer("also the docs")]


# ── approvals ──


def test_case_61_a_key_in_flight_when_a_question_opens_does_nothing() -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.talk.key("y")  # not drawn yet
    play.talk.asks.seen()
    play.time += 0.29
    play.talk.key("y")
    assert play.worker.sent == []
    play.time += 0.02
    play.talk.key("y")
    assert play.worker.sent == [Answer(7, "once")]
    assert play.talk.question is None


@pytest.mark.parametrize(("key", "choice"), [("y", "once"), ("s", "session"), ("p", "project")])
def test_a_choice_is_a_letter(key: str, choice: str) -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.look()
    play.talk.key(key)
    assert play.worker.sent == [Answer(7, choice)]  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["enter", "a", "x", " ", "\t"])
def test_no_other_key_answers(key: str) -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.look()
    play.talk.key(key)
    assert play.worker.sent == []
    assert play.talk.question is not None


def test_a_refusal_brings_its_reason() -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.look()
    play.talk.key("n")
    assert play.worker.sent == []
    play.talk.enter("use a branch")
    assert play.worker.sent == [Answer(7, "refuse", "use a branch")]


def test_without_a_prefix_nothing_is_allowed_for_the_project() -> None:
    play = Play()
    play.take(Busy("turn"), Asking(8, "c", "bash", "Run", "", command="x | y"))
    play.look()
    play.talk.key("p")
    assert play.worker.sent == []


def test_escape_at_a_question_stops_the_turn_and_the_end_of_the_turn_closes_it() -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.look()
    play.talk.stop()
    assert play.worker.sent == [Interrupt()]
    play.take(IDLE)
    assert play.talk.question is None
    assert play.paper.asked[-1] is None


def test_questions_are_asked_in_the_order_they_came_and_each_is_waited_for() -> None:
    play = Play()
    play.take(Busy("turn"), ASK, Asking(9, "c2", "bash", "Another", "", command="rm x"))
    assert "Another?" not in play.text
    play.look()
    play.talk.key("y")
    assert "Another?" in play.text
    play.talk.key("y")
    assert play.worker.sent == [Answer(7, "once")]


def test_a_long_diff_is_shortened_and_shown_whole_when_asked() -> None:
    play = Play()
    diff = "--- a\n+++ b\n" + "\n".join(f"+line {n}" for n in range(200))
    play.take(Busy("turn"), Asking(1, "c", "edit", "Edit a", "", diff=diff))
    assert "+line 100" not in play.text
    play.look()
    play.talk.key("v")
    assert "+line 100" in play.text
    assert play.worker.sent == []


# ── plans, reviews, the context ──


def test_enter_commits_exactly_the_records_of_the_plan() -> None:
    play = Play()
    play.take(Planned(scenes.PLAN))
    assert " #  tokens        what" in play.paper.lines
    play.look()
    play.talk.key("enter")
    assert play.worker.sent == [Prune(records=(14, 15, 18), force=True)]


def test_escape_leaves_a_plan_and_so_does_a_turn_that_ends_not() -> None:
    play = Play()
    play.take(Busy("prune"), Planned(scenes.PLAN), IDLE)
    assert play.talk.question is not None
    play.look()
    play.talk.stop()
    assert play.worker.sent == []
    assert play.talk.question is None


def test_a_preview_of_a_compaction_is_printed_and_asks_nothing() -> None:
    play = Play()
    rows = ((2, "fix it", 50),)
    play.take(Planned(Plan("compact", (2,), rows, 900, 2_000, 1_100, 2, 300, Price(), 9, ((9, "later", 40),))))
    assert "What a compaction would do" in play.text
    assert "stays" in play.text
    assert play.talk.question is None


def test_a_review_is_accepted_edited_or_dropped_with_two_keys() -> None:
    play = Play()
    review = Reviewing("## Goal\nfix", "files: a", 9_000, 900)
    play.paper.editor = lambda text: text + "\nand more"
    play.take(Busy("compact"), review)
    play.look()
    play.talk.key("e")
    assert "  and more" in play.paper.lines
    play.talk.key("escape")
    assert play.worker.sent == []
    play.talk.key("a")
    assert play.worker.sent == [Reviewed("## Goal\nfix\nand more")]
    play.take(review)
    play.look()
    play.talk.stop()
    play.talk.stop()
    assert play.worker.sent[1:] == [Reviewed(None)]


def test_without_an_editor_a_summary_is_edited_where_answers_are_written() -> None:
    play = Play()
    play.talk.asks.editor = False
    play.take(Busy("compact"), Reviewing("old", "", 9_000, 900))
    play.look()
    play.talk.key("e")
    assert play.paper.drafts == ["old"]
    play.talk.enter("new")
    assert play.worker.sent == [Reviewed("new")]


def test_numbers_in_the_context_ask_for_the_plan_that_prunes_them() -> None:
    play = Play()
    play.take(INSPECTED)
    play.talk.enter("4 6")
    assert play.worker.sent == [Prune((4, 6), force=True, dry_run=True)]


def test_the_context_pins_compacts_sorts_and_narrows_by_short_words() -> None:
    play, tape = Play(), Tape()
    play.take(INSPECTED)
    play.talk.enter("p 4")
    play.talk.enter("p 6")
    assert play.worker.sent == [Pin(4), Pin(6, on=False)]
    play.take(tape.said(Pinned(4, True)))
    assert play.worker.sent[2:] == [Inspect(again=True)]
    before = len(play.paper.lines)
    play.talk.enter("s tokens")
    sorted_ = [line.split()[0] for line in play.paper.lines[before:] if line.strip()[:1].isdigit()][1:]
    assert sorted_ == ["2", "6", "4"]
    before = len(play.paper.lines)
    play.talk.enter("/pytest")
    assert [line.split()[0] for line in play.paper.lines[before + 3 :]] == ["#", "6"]
    play.talk.enter("c 4")
    assert play.worker.sent[3:] == [Compact(up_to=4)]
    assert play.talk.question is None


def test_a_command_leaves_the_list_it_is_typed_into_but_words_of_a_list_narrow_it() -> None:
    play = Play()
    play.take(INSPECTED)
    play.talk.enter("/read")
    play.talk.enter("/pytest")
    assert play.talk.question is not None
    play.talk.enter("/undo")
    assert play.talk.question is None and play.worker.sent == [Undo()]
    play.talk.enter("/keys")
    play.talk.enter("/theme")
    play.talk.enter("/nothing")
    assert play.talk.question is not None
    play.talk.enter("/context")
    assert play.talk.question is None and play.worker.sent == [Undo(), Inspect()]


def test_a_command_is_no_answer_to_a_tool_that_asks() -> None:
    play = Play()
    play.take(Busy("turn"), ASK)
    play.look()
    play.talk.enter("/undo")
    assert play.talk.question is not None and play.worker.sent == []


def test_an_item_is_shown_whole() -> None:
    play, tape = Play(), Tape()
    tape.number = 3
    play.take(tape.said(ToolReturned("c", "read", "read a.py", "one\n" * 500 + "the end")), INSPECTED)
    play.talk.enter("v 4")
    assert play.paper.lines[-1] == "  the end"


@pytest.mark.parametrize("columns", [40, 80])
def test_tables_fit_the_terminal(columns: int) -> None:
    play = Play(columns=columns)
    play.take(Planned(scenes.PLAN), INSPECTED)
    play.talk.key("escape")
    play.look()
    play.talk.key("escape")
    assert "of 160k budget" in play.text
    assert max(len(line) for line in play.paper.lines) <= columns


# ── lists, stopping, leaving ──


def test_a_session_is_chosen_by_number_or_by_words() -> None:
    sessions = [SessionRow("/s/a", "Port the importer", "a"), SessionRow("/s/b", "Fix retries", "b")]
    play = Play(choices=Choices(FakeSessions(sessions)))
    play.talk.enter("/resume")
    assert "  2  Fix retries  b" in play.paper.lines
    play.talk.enter("2")
    play.talk.enter("/resume")
    play.talk.enter("importer")
    assert play.worker.sent == [Open("/s/b"), Open("/s/a")]


def test_escape_stops_what_runs_and_twice_at_rest_offers_to_rewind() -> None:
    play, tape = Play(), Tape()
    play.take(tape.said(UserSaid("fix it")), Busy("turn"))
    play.talk.stop()
    assert play.worker.sent == [Interrupt()]
    play.take(IDLE)
    play.time += 5
    play.talk.stop()
    play.talk.stop()
    play.talk.enter("1")
    assert play.worker.sent[1:] == [Rewind(1, "ask")]


def test_ctrl_c_clears_then_stops_and_twice_leaves() -> None:
    play = Play()
    assert play.talk.break_off(draft=True)
    play.time += 5
    play.take(Busy("turn"))
    assert not play.talk.break_off(draft=False)
    assert play.worker.sent == [Interrupt()]
    assert play.paper.left is None
    play.talk.break_off(draft=False)
    assert play.paper.left == 0


def test_waiting_messages_are_seen_and_refused_ones_come_back() -> None:
    play = Play()
    play.take(Busy("turn"), Queued(("then the docs",)), Returned("too long a text", "would not fit"))
    live = play.talk.live.rows(80, None, short=False, ascii=False)
    assert any("then the docs" in text for row in live for _, text in row)
    assert play.paper.drafts == ["too long a text"]


def test_a_resumed_session_prints_its_end_alone() -> None:
    play = Play()
    play.take(*scenes.long_session(400))
    assert any("earlier; /context" in line for line in play.paper.lines)
    assert "finished 99" in play.text
    assert "finished 50" not in play.text


def test_what_the_opening_wrote_stands_behind_what_was_there() -> None:
    play, tape = Play(), Tape()
    opened, meter = tape.opened(resumed=True)
    was = [tape.said(UserSaid("run the tests"), replay=True)]
    closed = tape.said(ToolReturned("c1", "bash", "bash make test", "[no result]", failed=True))
    play.take(opened, *was, closed, meter, tape.idle())
    assert 0 < play.text.index("run the tests") < play.text.index("bash make test")


def test_the_mode_goes_round_and_the_folded_is_printed_whole() -> None:
    play = Play()
    play.take(*scenes.working())
    play.talk.wish(CycleMode())
    assert play.worker.sent == [SetMode("edits")]
    play.talk.wish(SetMode("auto"))
    play.talk.wish(CycleMode())
    assert play.worker.sent[1:] == [SetMode("auto"), SetMode("plan")]
    before = len(play.paper.lines)
    play.talk.wish(ToggleFolds())
    assert len(play.paper.lines) - before > 30


def test_the_end_of_a_turn_closes_every_question_of_it_and_no_other() -> None:
    play = Play()
    play.take(Busy("turn"), ASK, Asking(9, "c2", "bash", "Another", "", command="rm x"), Planned(scenes.PLAN), IDLE)
    play.look()
    play.talk.key("y")
    play.talk.key("enter")
    assert play.worker.sent == [Prune(records=(14, 15, 18), force=True)]


def test_the_meter_is_a_sentence_for_those_who_read_with_their_ears() -> None:
    assert spoken(scenes.METER) == "ctx 61.4k of 160k budget (38%) · window 200k"
