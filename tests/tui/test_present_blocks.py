from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent.wire import Appended, Asking, Crashed, Event, Finished, Idle, Opened, Planned, Returned, Told, ToolRunning
from compaction.judge import Rejected, judge
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowLearned,
)
from tests.tui import scenes
from tui import cards, present
from tui.block import Block, Fold, plain
from tui.present import Presenter
from tui.wording import FAILURES, GATES, as_lines


def shown(*events: Event) -> list[str]:
    presenter = Presenter()
    return [plain(block) for event in events for block in presenter.show(event)]


def said(body: Body, id: int = 7, at: float = 0.0) -> Appended:
    return Appended(Record(id, at, body))


def test_a_session_in_plain_text() -> None:
    presenter = Presenter()
    latest: dict[str, Block] = {}
    for event in scenes.working():
        for block in presenter.show(event):
            latest[block.key] = block
    texts = [plain(block) for block in latest.values()]
    assert texts[:5] == [
        "Ullage (new session · 2026-swift-otter)\nclaude-sonnet\n/home/ada/project",
        "The retries hammer the server. Find out why and fix it, please.",
        "I'll read the code and run its tests first.",
        "✓ read src/retry.py (0.4 s · 120 lines · ~60 tokens · #3)",
        "✗ bash pytest -q tests/test_retry.py (exit 1 · 2.7 s · ~435 tokens · #4)\n"
        + "\n".join(scenes.PYTEST.split("\n")[:6])
        + "\n… 31 more lines\n"
        + "\n".join(scenes.PYTEST.split("\n")[-6:]),
    ]


def test_brackets_are_text_and_controls_are_gone() -> None:
    texts = shown(
        said(UserSaid("[red]x[/] [/] \x1b[31mred\x00")),
        said(AssistantSaid("a\x1b]52;c;x\x07b", (), None, "done", "m", 1)),
    )
    assert texts == ["[red]x[/] [/] red", "ab"]


def test_an_edit_is_shown_as_the_diff_its_arguments_ask_for() -> None:
    call = ToolCall("c", "edit", json.dumps({"path": "a.py", "old": "one\ntwo", "new": "one\nthree"}))
    reply = AssistantSaid("", (call,), None, "calls", "m", 1)
    texts = shown(
        said(reply, 1, 0.0), said(ToolReturned("c", "edit", "edit a.py", "ok", changed=True, took=1.5), 2, 60.0)
    )
    assert texts == ["… edit a.py", "✓ edit a.py (1.5 s · #2)\n one\n-two\n+three"]


def test_a_failed_edit_shows_what_the_tool_said_instead() -> None:
    call = ToolCall("c", "edit", json.dumps({"path": "a.py", "old": "one", "new": "two"}))
    reply = AssistantSaid("", (call,), None, "calls", "m", 1)
    texts = shown(said(reply), said(ToolReturned("c", "edit", "edit a.py", "`old` is not in a.py", failed=True)))
    assert texts[-1] == "✗ edit a.py (#7)\n`old` is not in a.py"


@pytest.mark.parametrize("arguments", ["{", "[]", "null", '"x"', '{"path": 3}', "[" * 5_000])
def test_arguments_that_are_no_object_still_give_a_card(arguments: str) -> None:
    assert cards.waiting(ToolCall("c", "edit", arguments)).title == "edit"


def test_a_running_tool_shows_the_end_of_what_it_printed() -> None:
    presenter = Presenter()
    presenter.show(ToolRunning("c", "bash", "bash make", "one\n"))
    (block,) = presenter.show(ToolRunning("c", "", "", "two\n"))
    assert (block.key, block.title, block.state, block.body) == ("call:c", "bash make", "running", "one\ntwo\n")


def test_the_users_own_command_is_one_card_from_start_to_record() -> None:
    presenter = Presenter()
    (started,) = presenter.show(ToolRunning("shell-7", "shell", "git status"))
    (ended,) = presenter.show(ToolRunning("shell-7", "shell", "git status", "clean"))
    (joined,) = presenter.show(said(UserSaid("I ran `git status`:\n\nclean", "shell"), 7))
    assert [(block.key, block.role, block.title, block.body) for block in (started, ended, joined)] == [
        ("call:shell-7", "shell", "git status", ""),
        ("call:shell-7", "shell", "git status", "clean"),
        ("call:shell-7", "shell", "git status", "clean"),
    ]


def test_the_result_takes_the_place_of_the_running_card() -> None:
    presenter = Presenter()
    (running,) = presenter.show(ToolRunning("c", "bash", "bash make", ""))
    (done,) = presenter.show(said(ToolReturned("c", "bash", "bash make", "ok", exit_status=0)))
    assert running.key == done.key


def test_a_prune_breaks_the_cache_where_its_first_result_stands_not_at_the_first_that_was_logged() -> None:
    both = (ToolCall("slow", "read", '{"path":"a"}'), ToolCall("quick", "read", '{"path":"b"}'))
    texts = shown(
        said(AssistantSaid("", both, None, "calls", "m", 2), 3),
        said(ToolReturned("quick", "read", "read b", "b"), 4),
        said(ToolReturned("slow", "read", "read a", "a"), 5),
        said(Pruned((4, 5), "pruned", Gate.ASKED, 9_000, 4_000), 9),
    )
    assert "cache breaks at #5" in texts[-1]


def test_rewrites_are_dividers_with_sizes_and_reasons() -> None:
    texts = shown(
        said(Pruned((14, 15), "pruned", Gate.PROACTIVE, 143_900, 118_200), 20),
        said(Pruned((14,), "spilled", Gate.PRE_FLIGHT, 190_000, 20_000), 21),
        said(Compacted("sum", "facts", 57, 2, None, "tests", Gate.ASKED, 118_200, 31_200, "m", cost=0.04), 22),
        said(Compacted("sum", "", 57, 2, None, "", Gate.EMERGENCY, 118_200, 31_200, "m"), 23),
        said(Reverted(22, 31_200, 118_200), 24),
        said(Rewound(12), 25),
    )
    assert texts == [
        "pruned 2 results (144k → 118k · cache breaks at #14 · over the trigger · #20)",
        "moved 1 result to disk (190k → 20k · cache breaks at #14 · before sending · #21)",
        "compacted (118k → 31.2k · kept from #57 · focus: tests · $0.04 · #22)",
        "cut back without asking the model (118k → 31.2k · kept from #57 · as a last resort · #23)",
        "undone: #22 (31.2k → 118k · #24)",
        "rewound to before #12 (#25)",
    ]


@pytest.mark.parametrize(
    "outcome", [o for o in Outcome if o not in (Outcome.SPILLED, Outcome.PRUNED, Outcome.COMPACTED)]
)
def test_every_failure_has_its_sentence(outcome: Outcome) -> None:
    assert outcome in FAILURES


def test_every_gate_has_its_words() -> None:
    assert set(GATES) == set(Gate)


def test_a_failed_compaction_says_what_was_kept_and_why() -> None:
    (text,) = shown(said(CompactionFailed(Gate.PROACTIVE, Outcome.NOT_SMALLER, "", 31_000, prior=True)))
    assert text == (
        "The summary would not have made the conversation smaller; it was not used. (over the trigger, at 31k)"
    )


def test_what_the_log_said_is_not_said_again() -> None:
    failed = CompactionFailed(Gate.ASKED, Outcome.NOT_SMALLER, "", 31_000)
    texts = shown(
        said(failed),
        Finished("compact", False, 1, "asked.not_smaller.no_prior", "not smaller"),
        said(Noted("The provider is down.", "error")),
        Idle("s", "p", "failed", "The provider is down."),
    )
    assert len(texts) == 2


def test_a_wish_that_changed_nothing_says_why() -> None:
    assert shown(Finished("prune", False, 4, None, "nothing to prune")) == ["Nothing to prune."]
    assert shown(Finished("prune", True, 0, "asked.pruned", "pruned 3 results")) == []
    assert shown(Finished("budget", True, 0, None, "the budget is 60k")) == ["The budget is 60k."]
    assert shown(said(SettingsChanged(budget="60k"))) == []


def test_a_plan_of_nothing_says_why_once() -> None:
    plan = replace(scenes.PLAN, records=(), rows=(), why_nothing="every result is young")
    ended = (Finished("prune", False, 4, None, "a plan: nothing was changed"),)
    idle = Idle("s", "p", "failed", "a plan: nothing was changed")
    assert shown(Planned(plan), *ended, idle) == ["Every result is young."]


def test_errors_and_refused_prompts_are_sentences() -> None:
    assert shown(Returned("draft", "It would not fit.")) == ["It would not fit."]
    assert shown(Idle("s", "p", "failed", "The key was refused.")) == ["The key was refused."]
    assert shown(Idle("s", "p", "interrupted")) == ["Stopped."]
    (crash,) = shown(Crashed("KeyError: 'x'", "trace"))
    assert crash.startswith("Ullage itself failed: KeyError: 'x'. The session log is whole")


def test_the_small_records_are_one_line_each() -> None:
    texts = shown(
        said(Pinned(12)),
        said(Pinned(12, on=False)),
        said(Reloaded("s", ("a", "b"), ())),
        Appended(Record(7, 0.0, SettingsChanged(model="opus", budget="60%")), replay=True),
        said(WindowLearned("opus", "e", 200_000, None, 231_000)),
        said(WindowLearned("opus", "e", None, 90_000, 90_000)),
        Told("Cleaned up.", "info"),
    )
    assert texts == [
        "#12 is pinned.",
        "#12 is no longer pinned.",
        "instructions read anew (2 instruction files · #7)",
        "Model is now opus, budget is now 60%.",
        "The provider refused the request of about 231k as too long: the window of opus is 200k."
        " Learned for next time.",
        "The provider refused the request of about 90k as too long without saying its window;"
        " it is taken to be under 90k.",
        "Cleaned up.",
    ]


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        ("length", "cut at its output limit"),
        ("filtered", "filter withheld"),
        ("aborted", "Stopped."),
    ],
)
def test_an_answer_that_ended_early_says_why(stop: str, words: str) -> None:
    texts = shown(said(AssistantSaid("half", (), Usage(), stop, "m", 1)))  # type: ignore[arg-type]
    assert words in texts[-1]


@pytest.mark.parametrize("topic", ["files", "steps", "job"])
def test_what_only_the_model_is_told_is_said_to_be_that_without_its_brackets(topic: str) -> None:
    assert shown(said(Noted("[read them before relying on them]", topic, to_model=True)))[0].startswith(
        "The model is told: read them before relying on them."
    )


def test_the_lines_of_a_fact_sheet_stay_lines() -> None:
    sheet = "[facts]\nCommands:\n- make: exit 0\n- ls: exit 0\nFiles read: a.py\nRecords 2 to 9 are out."
    assert as_lines(sheet) == (
        "[facts]\n\nCommands:\n- make: exit 0\n- ls: exit 0\n\nFiles read: a.py\n\nRecords 2 to 9 are out."
    )


def test_the_rules_of_a_folder_that_join_are_folded() -> None:
    [block] = Presenter().show(said(Noted("<file>\n" + "a rule\n" * 30, "nested", to_model=True)))
    assert block.fold is not None


def test_an_answer_that_broke_off_is_told_once() -> None:
    why = "The answer of m broke off before its end; what had arrived is kept. Send a message to go on."
    texts = shown(
        said(AssistantSaid("half", (), None, "failed", "m", 1)), said(Noted(why, "error"), 8),
        Idle("s", "p", "failed", why, 1),
    )  # fmt: skip
    assert texts == ["half (#7)" if "(#7)" in texts[0] else "half", why]


def test_opening_says_the_notices_once() -> None:
    texts = shown(Opened("s", "p", "/f", "m", "ask", False, ("unknown setting `bugdet`: did you mean `budget`?",)))
    assert texts[-1] == "Unknown setting `bugdet`: did you mean `budget`?"


def test_a_fold_never_hides_a_single_line() -> None:
    block = Block("k", "tool", "t", "1\n2\n3\n4", fold=Fold(2, 1))
    assert plain(block) == "t\n1\n2\n3\n4"


def test_files_that_a_mention_brought_are_named_and_not_repeated() -> None:
    text = 'look at @a.py and @b\n\n<file path="a.py">\nx\n\ny\n</file>\n\n<file path="b">\nz\n</file>'
    block = present.user("k", 1, UserSaid(text))
    assert block.body == "look at @a.py and @b"
    assert block.meta == ("with a.py, b",)
    text = (
        'see @docs:a://"x" and @a.py\n\n<file path="a.py">\nx\n</file>\n\n<resource server="docs" uri="a://"x"">\ny\n'
        "</resource>"
    )
    block = present.user("k", 1, UserSaid(text))
    assert block.body == 'see @docs:a://"x" and @a.py'
    assert block.meta == ('with a.py, docs:a://"x"',)


@pytest.mark.parametrize(
    ("phrase", "said"),
    [
        ("openai/stub is busy", "openai/stub is busy."),
        ("http://127.0.0.1:8971/v1 cannot be reached.", "http://127.0.0.1:8971/v1 cannot be reached."),
        ("the server says: “no.”", "The server says: “no.”"),
        ("record 7: none has that number", "Record 7: none has that number."),
    ],
)
def test_a_phrase_becomes_a_sentence_and_a_name_stays_as_it_is(phrase: str, said: str) -> None:
    assert present.sentence(phrase) == said


def test_a_question_says_nothing_twice() -> None:
    diff = "--- a/src/new.py\n+++ b/src/new.py\n@@ -0,0 +1 @@\n+one"
    edit = Asking(1, "c", "edit", "edit src/new.py", "write src/new.py", diff=diff, prefix="src/new.py")
    assert present.question(edit) == ("edit src/new.py", "", "@@ -0,0 +1 @@\n+one")
    line = "echo $HOME"
    shell = Asking(1, "c", "bash", f"bash {line}", "it substitutes a variable", command=line, prefix=f"= {line}")
    assert present.question(shell) == (f"bash {line}", "it substitutes a variable", "")
    assert present.lasting(shell, 60) == "exactly this"
    assert present.lasting(replace(shell, prefix="echo"), 60) == "echo"


def test_a_question_keeps_what_only_one_of_its_parts_says() -> None:
    outside = Asking(1, "c", "bash", "bash echo x > /etc/motd", "write /etc/motd", command="echo x > /etc/motd\nls")
    assert present.question(outside) == ("bash: this command", outside.why, outside.command)
    line, why = "env 'A=1' x", "run env A=1 x: env starts another program"
    doubt = Asking(1, "c", "bash", f"bash {line}", why, command=line)
    assert present.question(doubt) == (doubt.title, "env starts another program", "")
    one_of_two = Asking(1, "c", "bash", "bash ls && make 'x'", "run make x", command="ls && make 'x'")
    assert present.question(one_of_two) == (one_of_two.title, "run make x", "")


def test_a_command_too_long_for_the_title_is_named_once() -> None:
    line = "python -m pytest -q -p no:cacheprovider 'tests/one.py' tests/two.py tests/three.py tests/four.py"
    told = line.replace("'", "")[:59] + "…"
    asking = Asking(1, "c", "bash", f"bash {line}"[:79] + "…", f"run {told}", command=line)
    assert present.question(asking) == ("bash: this command", "", line)


def test_a_summary_that_was_not_one_is_told_once() -> None:
    judged = judge("", "calls", True, cap_tokens=1_000, count=len)
    assert isinstance(judged, Rejected)
    (block,) = shown(said(CompactionFailed(Gate.ASKED, judged.outcome, judged.detail, 31_000)))
    assert block.count("tool") == 1
    cut = judge("## Goal\nall", "length", False, cap_tokens=1_000, count=len)
    assert isinstance(cut, Rejected)
    (block,) = shown(said(CompactionFailed(Gate.ASKED, cut.outcome, cut.detail, 31_000)))
    assert block.count("output limit") == 1


def test_a_command_whose_text_is_folded_does_not_point_to_it() -> None:
    (block,) = shown(said(UserSaid("Say hi to Bob", typed="/greet Bob")))
    assert "below" not in block and "its text was sent" in present.user("k", 3, UserSaid("Hi", typed="/greet")).meta
