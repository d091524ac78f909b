"""`exec`: the answer alone on standard output, or one JSON object a line; and the exit status."""

from __future__ import annotations

import pytest

from agent.session_log import as_json
from agent.wire import (
    Answer,
    Asking,
    Busy,
    Crashed,
    Gated,
    Idle,
    Metered,
    Quit,
    Restreamed,
    Returned,
    Streaming,
    Submit,
    Told,
    ToolRunning,
)
from compaction.records import AssistantSaid, Noted, ToolCall, ToolReturned, Usage, UserSaid
from tests.tui.headless_play import DONE, OPENED, Ran, appended, new, options_of, resumed, run
from tests.tui.headless_samples import METER

SAID = UserSaid("fix it")
CALLS = AssistantSaid("let me look", (ToolCall("c1", "read", '{"path":"a.py"}'),), Usage(10, 0, 0, 5), "calls", "m", 2)
RESULT = ToolReturned("c1", "read", "read a.py", "text", characters=4)
ANSWER = AssistantSaid("It is\tfixed.\n", (), Usage(20, 0, 0, 5), "done", "m", 4)

TURN = (
    Busy("turn"), appended(2, SAID), appended(3, CALLS), ToolRunning("c1", "read", "read a.py"), appended(4, RESULT),
    Streaming("It is"), appended(5, ANSWER), Metered(METER), DONE,
)  # fmt: skip


def test_exec_prints_the_answer_alone() -> None:
    ran = run("exec fix it", TURN)
    assert (ran.code, ran.out) == (0, "It is\tfixed.\n")
    assert ran.sent == [Submit("fix it"), Quit()]
    assert ran.ended


def test_what_the_model_says_between_its_calls_and_what_ran_goes_to_standard_error() -> None:
    ran = run("exec fix it", TURN)
    assert "let me look\n  read a.py\n" in ran.err
    assert "a1b2c3d4" in ran.err


def test_a_rewrite_is_said_on_standard_error() -> None:
    gate = Gated("proactive", "compacted", "proactive.compacted", 151_200, 42_100)
    ran = run("exec go", (Busy("turn"), gate, DONE))
    assert "ullage: context: compacted, 151,200 to 42,100 tokens (over the trigger)\n" in ran.err


def test_the_last_words_are_the_answer_when_a_turn_ends_on_calls_that_nobody_runs() -> None:
    ran = run("exec fix it", (Busy("turn"), appended(2, SAID), appended(3, CALLS), appended(4, RESULT), DONE))
    assert ran.out == "let me look\n"


def test_what_had_arrived_of_an_interrupted_answer_is_printed() -> None:
    partial = AssistantSaid("It i", (), None, "aborted", "m", 2)
    ran = run("exec go", (Busy("turn"), appended(3, partial), Idle("s", "p", "interrupted", None, 130)))
    assert (ran.code, ran.out) == (130, "It i\n")


def test_answers_of_an_earlier_run_are_not_printed_again() -> None:
    ran = run("exec go", (Busy("turn"), appended(4, ANSWER), DONE), opening=resumed(UserSaid("x"), ANSWER))
    assert ran.out == "It is\tfixed.\n"


def test_control_characters_of_an_answer_reach_no_terminal() -> None:
    evil = AssistantSaid("a\x1b]0;title\x07b\x1b[31mc\u202ed\x9b1me", (), None, "done", "m", 2)
    assert run("exec go", (Busy("turn"), appended(3, evil), DONE)).out == "abcde\n"


@pytest.mark.parametrize(
    ("idle", "code"),
    [
        (Idle("s", "p"), 0),
        (Idle("s", "p", "failed", "the provider said no", 1), 1),
        (Idle("s", "p", "failed", "no key is set for openai", 2), 2),
        (Idle("s", "p", "refused", "210,000 tokens do not fit 190,000", 3), 3),
        (Idle("s", "p", "interrupted", None, 130), 130),
    ],
)
@pytest.mark.parametrize("json", ["", " --json"])
def test_the_exit_status_is_the_workers_word(idle: Idle, code: int, json: str) -> None:
    ran = run(f"exec{json} go", (Busy("turn"), idle))
    assert ran.code == code
    assert idle.error is None or f"ullage: {idle.error}\n" in ran.err


def test_a_session_that_does_not_open_gets_no_command() -> None:
    refused = Idle("", "", "failed", "no session 'xyz'", 2)
    ran = run("exec --json go", opening=(Busy("opening"), refused))
    idle = {"event": "idle", "session": "", "path": "", "stop": "failed", "error": "no session 'xyz'", "code": 2}
    assert (ran.code, ran.sent, ran.lines) == (2, [Quit()], [idle])


def test_a_fault_of_ours_is_a_failure_with_an_end_and_a_traceback_aside() -> None:
    ran = run("exec --json go", (Busy("turn"), Crashed("KeyError: 'x'", "Traceback: …")))
    assert ran.code == 1
    assert ran.lines[-1]["event"] == "idle"
    assert (ran.lines[-1]["session"], ran.lines[-1]["stop"]) == ("a1b2c3d4", "failed")
    assert "Traceback: …" in ran.err


def test_a_question_is_answered_with_no_and_a_reason() -> None:
    asking = Asking(7, "c1", "bash", "rm -rf /", "it deletes")
    ran = run("exec go", (Busy("turn"), asking, DONE))
    answers = [command for command in ran.sent if isinstance(command, Answer)]
    assert [(a.id, a.choice) for a in answers] == [(7, "refuse")]
    assert "nobody" in answers[0].reason


# ── where the message comes from ──


def test_a_dash_reads_standard_input() -> None:
    assert run("exec -", stdin="from the pipe\n").sent[0] == Submit("from the pipe")


def test_no_message_reads_standard_input() -> None:
    assert run("exec --json", stdin="zwei\nZeilen\n").sent[0] == Submit("zwei\nZeilen")


def test_lone_surrogates_of_an_argument_are_mended() -> None:
    options = options_of("exec x")
    options.prompt = ["a\udcffb"]
    assert run("", options=options).sent[0] == Submit("a\ufffdb")


@pytest.mark.parametrize(("line", "stdin"), [("exec", ""), ("exec -", " \n\t"), ("exec --json -", "")])
def test_an_empty_message_is_a_mistake_and_opens_nothing(line: str, stdin: str) -> None:
    ran = run(line, stdin=stdin)
    assert (ran.code, ran.out, ran.sent, ran.ended) == (2, "", [], False)
    assert ran.err == "ullage: the message is empty; write it after the command, or pipe it in\n"


# ── JSON lines ──


def test_the_lines_are_those_of_the_contract() -> None:
    gate = Gated("proactive", "compacted", "proactive.compacted", 151_200, 42_100)
    ran = run("exec --json fix it", (*TURN[:-1], gate, DONE))
    kinds = ["opened", "appended", "metered", "appended", "appended", "appended", "streaming", "appended", "metered"]
    assert [line["event"] for line in ran.lines] == [*kinds, "gate", "idle"]
    assert ran.lines[7] == {"event": "appended", "record": as_json(appended(5, ANSWER).record)}
    assert ran.lines[6] == {"event": "streaming", "text": "It is"}
    assert ran.lines[8] == {
        "event": "metered",
        "used": 61_400,
        "known": 58_100,
        "estimated": 3_300,
        "exact": False,
        "budget": 160_000,
        "budget_rule": "min(200k, 80%)",
        "trigger": 143_616,
        "landing": 127_232,
        "window": 200_000,
        "window_source": "catalogue",
        "limit": 190_000,
        "parts": {"system": 1_100, "tools": 1_300, "summary": 0, "user": 900, "assistant": 8_200, "tool": 49_900},
        "cache": {"predicted": 58_000, "reported": 57_800, "warm_s": 251.0, "break": None},
        "cost": 0.42,
        "next_cost": None,
        "automatic": "on",
        "model": "scripted",
        "ceiling": None,
        "reasoning": 0,
    }
    assert ran.lines[9] == {
        "event": "gate",
        "gate": "proactive",
        "outcome": "compacted",
        "tag": "proactive.compacted",
        "before": 151_200,
        "after": 42_100,
        "text": "",
    }
    assert ran.lines[10] == {
        "event": "idle",
        "session": "a1b2c3d4",
        "path": "/data/session.jsonl",
        "stop": "done",
        "error": None,
        "code": 0,
    }


def test_every_line_of_a_record_carries_id_time_and_kind() -> None:
    records = [line["record"] for line in run("exec --json fix it", TURN).lines if line["event"] == "appended"]
    assert [(r["id"], r["kind"]) for r in records] == [
        (1, "started"), (2, "user_said"), (3, "assistant_said"), (4, "tool_returned"), (5, "assistant_said"),
    ]  # fmt: skip
    assert all("at" in r for r in records)


def test_records_that_were_there_before_are_not_repeated() -> None:
    ran = run("exec --json go", (Busy("turn"), appended(4, SAID), DONE), opening=resumed(SAID, ANSWER))
    assert [line["record"]["id"] for line in ran.lines if line["event"] == "appended"] == [4]


def test_what_the_door_appended_to_a_resumed_session_is_shown() -> None:
    opening = [*resumed(SAID, CALLS)]
    opening.insert(-2, appended(4, RESULT))
    ran = run("exec --json go", (Busy("turn"), DONE), opening=opening)
    assert [line["record"]["id"] for line in ran.lines if line["event"] == "appended"] == [4]


def test_only_the_answers_text_streams() -> None:
    streamed = (Streaming("hm", "thinking"), Streaming("read", "call"), Streaming("a"), Restreamed(), Streaming("b"))
    lines = run("exec --json go", (Busy("turn"), *streamed, DONE)).lines[3:-1]
    assert lines == [
        {"event": "streaming", "text": "a"},
        {"event": "restreamed"},
        {"event": "streaming", "text": "b"},
    ]


def test_a_prompt_that_does_not_fit_comes_back() -> None:
    back = Returned("long", "it needs 210,000 tokens", 3)
    ran = run("exec --json go", (Busy("turn"), back, Idle("s", "p", "refused", "it needs 210,000 tokens", 3)))
    assert ran.code == 3
    assert ran.lines[-2] == {"event": "returned", "text": "long", "why": "it needs 210,000 tokens", "code": 3}
    assert ran.lines[-1]["stop"] == "refused"


def test_sentences_for_people_are_on_standard_error_too() -> None:
    told = (Told("the window is 8,000 tokens", "warning"), appended(3, Noted("nested rules found", "nested")))
    ran = run("exec --json go", (Busy("turn"), *told, DONE))
    assert "ullage: warning: the window is 8,000 tokens\n" in ran.err
    assert ran.lines[-3] == {"event": "told", "level": "warning", "text": "the window is 8,000 tokens"}


def test_notices_of_the_opening_are_shown() -> None:
    opened = type(OPENED)(*(getattr(OPENED, n) for n in OPENED.__slots__[:-1]), ("unknown key `budgte`",))
    ran = run("exec go", opening=(Busy("opening"), opened, *new()[2:]))
    assert "ullage: unknown key `budgte`\n" in ran.err


def test_nothing_but_json_is_on_standard_output_whatever_happens() -> None:
    ran: Ran = run("exec --json go", (Busy("turn"), Crashed("x", "y")))
    assert [line["event"] for line in ran.lines] == ["opened", "appended", "metered", "idle"]
