"""prune, compact, undo and pin without a screen: one command, one line of JSON, one exit status."""

from __future__ import annotations

from typing import Any

import pytest

from agent.wire import (
    Busy,
    Compact,
    Crashed,
    Finished,
    Gated,
    Idle,
    Pin,
    Planned,
    Prune,
    Quit,
    Rewind,
    Undo,
)
from tests.tui.headless_play import DONE, Ran, run
from tests.tui.headless_samples import PLAN

PRUNED = Finished("prune", True, 0, "asked.pruned", "pruned 2 results: 61,400 to 48,600 tokens", 61_400, 48_600)
COMPACTED = Finished("compact", True, 0, "asked.compacted", "compacted: 61,400 to 12,000 tokens", 61_400, 12_000, 57)

PLAN_JSON: dict[str, Any] = {
    "records": [14, 17],
    "freed": 12_800,
    "before": 61_400,
    "after": 48_600,
    "breaks_at": 14,
    "reread": 40_000,
    "price": {"keep": 0.03, "rewrite": 0.12, "breakeven_turns": 9},
    "first_kept": None,
    "why_nothing": None,
}


def ended(finished: Finished) -> tuple[Busy, Finished, Idle]:
    """How the worker ends a wish."""
    stop = {0: "done", 3: "refused", 4: "done", 130: "interrupted"}.get(finished.code, "failed")
    error = None if finished.code == 0 else finished.text
    return Busy(finished.wish), finished, Idle("a1b2c3d4", "/data/session.jsonl", stop, error, finished.code)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("prune last", Prune()),
        ("prune last 12 14-16,#20", Prune((12, 14, 15, 16, 20))),
        ("prune last --all --force", Prune(every=True, force=True)),
        ("compact last keep the port", Compact("keep the port")),
        ("undo last", Undo()),
        ("pin last 12", Pin(12)),
        ("rewind last 12", Rewind(12)),
        ("rewind last 12 --files", Rewind(12, "both")),
        ("rewind last --back", Rewind(0, back=True)),
        ("pin last 12 --remove", Pin(12, on=False)),
    ],
)
def test_a_command_line_becomes_one_command(line: str, command: object) -> None:
    assert run(line).sent == [command, Quit()]


@pytest.mark.parametrize(
    "line", ["prune last x", "prune last 18-14", "prune last 1-99999999", "prune last 12-", "prune last 3 --all"]
)
def test_numbers_that_are_none_are_a_mistake_and_open_nothing(line: str) -> None:
    ran = run(line)
    assert (ran.code, ran.out, ran.ended) == (2, "", False)
    assert ran.err.startswith("ullage: ")


def test_prune_gives_its_plan_as_one_line() -> None:
    ran = run("prune last --json", (Busy("prune"), Planned(PLAN), PRUNED, DONE))
    assert ran.lines == [{"plan": PLAN_JSON, "committed": True, "tag": "asked.pruned", "error": None}]
    assert ran.code == 0


def test_compact_gives_its_end_as_one_line() -> None:
    ran = run("compact last --json", ended(COMPACTED))
    assert ran.code == 0
    assert ran.lines == [
        {
            "committed": True,
            "tag": "asked.compacted",
            "before": 61_400,
            "after": 12_000,
            "first_kept": 57,
            "error": None,
        }
    ]


@pytest.mark.parametrize("line", ["rewind last", "rewind last 3 --back"])
def test_a_rewind_to_nowhere_is_a_mistake(line: str) -> None:
    assert run(line).code == 2


def test_rewind_says_what_went_back() -> None:
    said = "going on from before record 12; put back a.txt"
    ran = run("rewind last 12 --files --json", ended(Finished("rewind", True, 0, None, said)))
    (line,) = ran.lines
    assert (line["committed"], line["record"], line["files"], line["text"]) == (True, 12, True, said)
    assert ran.code == 0
    assert run("rewind last 7", ended(Finished("rewind", False, 4, None, "no message"))).code == 4


def test_undo_gives_its_sizes_as_one_line() -> None:
    ran = run("undo last --json", ended(Finished("undo", True, 0, None, "taken back", 12_000, 61_400)))
    assert ran.lines == [
        {"committed": True, "tag": None, "before": 12_000, "after": 61_400, "first_kept": None, "error": None}
    ]


def test_pin_names_its_record() -> None:
    (line,) = run("pin last 12 --json", ended(Finished("pin", True, 0, None, "record 12 is pinned"))).lines
    assert (line["committed"], line["record"], line["on"], line["error"]) == (True, 12, True, None)


@pytest.mark.parametrize("line", ["compact last --json", "undo last --json", "pin last 3 --json", "prune last --json"])
@pytest.mark.parametrize("code", [1, 2, 3, 4, 130])
def test_a_wish_that_changed_nothing_says_why_and_its_code_is_the_exit_status(line: str, code: int) -> None:
    ran = run(line, ended(Finished("wish", False, code, None, "nothing was changed", 9, 9)))
    assert ran.code == code
    assert (ran.lines[0]["committed"], ran.lines[0]["error"]) == (False, "nothing was changed")
    assert ran.err == "ullage: nothing was changed\n" if code != 0 else True


def test_a_log_that_cannot_be_written_leaves_its_tag() -> None:
    gate = Gated("asked", "log_failed", "asked.log_failed", 9, 9, "disk full")
    ran = run("compact last --json", (Busy("compact"), gate, Idle("s", "p", "failed", "disk full", 1)))
    assert ran.code == 1
    assert ran.lines == [
        {
            "committed": False,
            "tag": "asked.log_failed",
            "before": 0,
            "after": 0,
            "first_kept": None,
            "error": "disk full",
        }
    ]


@pytest.mark.parametrize("line", ["compact last --json", "undo last --json", "pin last 3 --json", "prune last --json"])
def test_there_is_one_line_even_when_the_session_does_not_open_or_we_fail(line: str) -> None:
    unopened = run(line, opening=(Busy("opening"), Idle("", "", "failed", "in use by process 7", 1)))
    crashed = run(line, (Busy("wish"), Crashed("KeyError", "Traceback")))
    for ran in (unopened, crashed):
        assert ran.code == 1
        (only,) = ran.lines
        assert only["committed"] is False
        assert only["error"]


def test_people_get_a_table_and_a_sentence() -> None:
    ran: Ran = run("prune last", (Busy("prune"), Planned(PLAN), PRUNED, DONE))
    assert ran.out == (
        " #  TITLE            TOKENS\n"
        "14  read src/app.py   9,000\n"
        "17  bash make         4,000\n"
        "\n"
        "frees 12,800 tokens: 61,400 before, 48,600 after\n"
        "the cache breaks at #14; 40,000 tokens are read anew\n"
        "next turn $0.03 as it is, $0.12 after; it pays for itself after 9 turns\n"
        "pruned 2 results: 61,400 to 48,600 tokens\n"
    )


def test_people_read_on_standard_error_why_nothing_was_done() -> None:
    ran = run("compact last", ended(Finished("compact", False, 4, "asked.nothing_to_do", "nothing to compact")))
    assert (ran.code, ran.out, ran.err) == (4, "", "ullage: nothing to compact\n")
