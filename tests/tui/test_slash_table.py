from __future__ import annotations

import re

import pytest

from agent.wire import (
    Compact,
    Inspect,
    Open,
    Pin,
    Prune,
    Rewind,
    SetBudget,
    SetMode,
    SetModel,
    Shell,
    Submit,
    Undo,
)
from tests.tui.fake_worker import Tape
from tui import completion
from tui.actions import CopyAnswer, Leave, PickModel, PickRewind, PickSession, Say, ShowSheet, TellBudget
from tui.commands import ELSEWHERE, TABLE, numbers, parse
from tui.costs import Costs
from tui.help_page import help_text
from tui.pastes import FOLD_LINES, Pastes, cleaned
from tui.recall import Recall


@pytest.mark.parametrize(
    ("line", "wish"),
    [
        ("fix the bug", Submit("fix the bug")),
        ("/tmp/x is broken", Submit("/tmp/x is broken")),
        ("!git status", Shell("git status")),
        ("!!git status", Shell("git status", join=False)),
        ("/compact", Compact()),
        ("/compact the importer", Compact(focus="the importer")),
        ("/compact --preview the importer", Compact(focus="the importer", preview=True)),
        ("/compact --review", Compact(review=True)),
        ("/prune", Prune(dry_run=True)),
        ("/prune 12 14-16", Prune(records=(12, 14, 15, 16), dry_run=True)),
        ("/prune --all", Prune(every=True, dry_run=True)),
        ("/context", Inspect()),
        ("/budget", TellBudget()),
        ("/budget min(200k, 80%)", SetBudget("min(200k, 80%)")),
        ("/model", PickModel()),
        ("/model opus", SetModel("opus")),
        ("/mode plan", SetMode("plan")),
        ("/undo", Undo()),
        ("/pin 12", Pin(12)),
        ("/unpin #12", Pin(12, on=False)),
        ("/rewind", PickRewind()),
        ("/rewind 3", Rewind(3, "ask")),
        ("/rewind --back", Rewind(0, back=True)),
        ("/new", Open(None)),
        ("/resume", PickSession()),
        ("/resume 2026-a", Open("2026-a")),
        ("/copy", CopyAnswer()),
        ("/help", ShowSheet("help")),
        ("/quit", Leave()),
    ],
)
def test_a_line_asks_for_one_thing(line: str, wish: object) -> None:
    assert parse(line) == wish


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/comapct", "Did you mean /compact?"),
        ("/xyzzy", "/help lists them all"),
        ("/prune 14-", "record numbers"),
        ("/prune 20-3", "record numbers"),
        ("/pin", "one record number"),
        ("/pin 1 2", "one record number"),
        ("/mode fast", "plan, ask, edits or auto"),
        ("/compact --previwe", "--preview"),
        ("/compact --preview --review", "not both"),
        ("!", "after the !"),
    ],
)
def test_a_mistyped_line_gets_a_sentence(line: str, words: str) -> None:
    wish = parse(line)
    assert isinstance(wish, Say)
    assert words in wish.text


def test_numbers_come_in_order_and_once() -> None:
    assert numbers("3 #1-3, 2") == (3, 1, 2)


@pytest.mark.parametrize("measure", [36, 76])
def test_help_lists_every_command_once_under_what_it_is_about_and_fits(measure: int) -> None:
    lines = help_text((), measure).split("\n")
    names = [
        found[1] for line in lines[: lines.index("Your own commands")] if (found := re.match(r"/(\w+)(?= |$)", line))
    ]
    assert names == list(TABLE)
    assert lines.index("The context") < lines.index("The model") < lines.index("Your own commands")
    assert max(map(len, lines)) <= measure


def test_a_name_from_elsewhere_leads_to_the_one_here() -> None:
    assert ELSEWHERE.keys().isdisjoint(TABLE) and set(ELSEWHERE.values()) <= set(TABLE)
    said = parse("/clear")
    assert isinstance(said, Say) and "/new: start another session" in said.text
    assert [found.insert for found in completion.slashes("clea")] == ["/new"]
    assert completion.slashes("con")[0].insert == "/context"
    assert [found.insert for found in completion.slashes("config")] == ["/settings "]


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("/co", completion.Token("slash", "co", 0)),
        ("look at @src/re", completion.Token("path", "src/re", 8)),
        ("@", completion.Token("path", "", 0)),
        ("mail a@b", None),
        ("/compact foo", None),
        ("say /co", None),
    ],
)
def test_the_token_at_the_cursor(text: str, token: completion.Token | None) -> None:
    assert completion.token_at(text, len(text)) == token


def test_slash_completion_is_fuzzy_and_keeps_arguments_in_sight() -> None:
    labels = [candidate.label for candidate in completion.slashes("cmp")]
    assert labels[0].startswith("/compact [--preview")


def test_the_files_own_name_counts_most() -> None:
    files = ["docs/retry/notes.md", "src/other.py", "src/retry.py"]
    assert completion.rank("retry", files) == ["src/retry.py", "docs/retry/notes.md"]
    assert completion.rank("zzz", files) == []


def test_what_a_dot_hides_comes_after_what_it_does_not() -> None:
    files = [".github/ISSUE_TEMPLATE/tabulate.yml", "tabulate/__init__.py", "docs/.tabs/tabulate.md"]
    assert completion.rank("tabul", files)[0] == "tabulate/__init__.py"
    assert completion.rank(".github", files) == [".github/ISSUE_TEMPLATE/tabulate.yml"]


def test_the_newest_earlier_message_comes_first_and_once() -> None:
    found = completion.earlier("fix", ["fix a", "other", "fix b", "fix a"])
    assert [candidate.insert for candidate in found] == ["fix a", "fix b"]


def test_a_long_paste_folds_and_is_sent_whole() -> None:
    pastes, text = Pastes(), "\n".join(map(str, range(84)))
    chip = pastes.fold(text)
    assert chip == "[pasted 84 lines]"
    assert pastes.unfold(f"look: {chip} and [pasted 9 lines]") == f"look: {text} and [pasted 9 lines]"
    other = pastes.fold(text + "!")
    assert other == "[pasted 84 lines #2]"
    assert pastes.chip_before(f"a {other}") == len(other)


def test_a_paste_of_fifteen_lines_stays_and_one_more_folds() -> None:
    assert Pastes().fold("x\n" * FOLD_LINES) == "x\n" * FOLD_LINES
    assert Pastes().fold("x\n" * (FOLD_LINES + 1)) == f"[pasted {FOLD_LINES + 1} lines]"


def test_an_enormous_single_line_folds_too() -> None:
    assert Pastes().fold("x" * 400_000) == "[pasted 400,000 characters]"


def test_pasted_text_is_cleaned() -> None:
    assert cleaned("a\r\nb\rc\x00\x1b[31m \ud800\t.") == "a\nb\nc[31m \ufffd    ."


def test_history_goes_up_and_comes_back_to_the_draft() -> None:
    recall = Recall(["one", "two"])
    assert [recall.older("dra"), recall.older("two"), recall.older("one")] == ["two", "one", None]
    assert [recall.newer(), recall.newer(), recall.newer()] == ["two", "dra", None]


def test_costs_add_up_and_say_what_they_do_not_know() -> None:
    from compaction.records import AssistantSaid, Usage

    costs, tape = Costs(), Tape()
    assert costs.table() == "No request has been made in this session."
    costs.add(tape.said(AssistantSaid("", (), Usage(100, 900, 0, 50), "done", "m", 1, cost=0.02)).record)
    costs.add(tape.said(AssistantSaid("", (), Usage(200, 1_000, 0, 50), "done", "m", 2)).record)
    lines = costs.table().splitlines()
    assert lines[-2].split() == ["all", "300", "1.9k", "0", "100", "$0.02"]
    assert lines[-1] == "No price is known for 1 request; the tokens are counted all the same."
    assert lines[2].split()[-1] == "?"
