"""Tables and lines for people: columns line up in cells, numbers are whole, nothing foreign acts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.wire import CacheState, Gated, Inspected, Meter, Plan, Price, Row
from compaction.records import ToolReturned
from tests.tui.headless_samples import METER, PLAN
from tui.headless import lines
from tui.headless.lines import count, cut, money, size, table, tool, when, width


@pytest.mark.parametrize(
    ("text", "cells"),
    [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200db", 2), ("ｆ", 2), ("→", 1), ("👩", 2)],
)
def test_a_text_is_as_wide_as_its_cells(text: str, cells: int) -> None:
    assert width(text) == cells


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [("short", 5, "short"), ("longer", 5, "long…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("a\nb", 5, "a")],
)
def test_a_cut_text_fits_its_cells(text: str, most: int, shown: str) -> None:
    assert cut(text, most) == shown
    assert width(shown) <= most


def test_columns_line_up_by_cells_and_numbers_end_together() -> None:
    rows = [("日本", "1"), ("ab", "1,000")]
    assert table(("NAME", "N"), rows, right=(1,)) == "NAME      N\n日本      1\nab    1,000"


def test_a_cell_cannot_break_its_line_or_reach_the_terminal() -> None:
    assert table(("A", "B"), [("x\ny\x1b[31m", "\u202ez\x07")]) == "A  B\nx  z"


def test_numbers_that_nobody_knows_are_question_marks() -> None:
    assert (count(None), count(61_400), money(None), money(0.42)) == ("?", "61,400", "", "$0.42")


def test_sizes_and_times_are_short() -> None:
    assert [size(0), size(999), size(61_400), size(2_500_000)] == ["0 B", "999 B", "61 kB", "2.5 MB"]
    assert (when(0.0), when(1e300), when(-5.0)) == ("", "", "")
    assert when(1_700_000_000.0).startswith("2023-11-1")


def test_the_meter_in_lines() -> None:
    assert lines.meter(METER) == (
        "context  ~61,400 of 160,000 tokens (38% of the budget; budget min(200k, 80%))\n"
        "         58,100 counted by the provider, 3,300 estimated; trigger 143,616, landing 127,232\n"
        "window   200,000 (catalogue), limit 190,000\n"
        "parts    system 1,100, tools 1,300, user 900, assistant 8,200, tool 49,900\n"
        "cache    warm for 4 min 11 s; expected 58,000, read 57,800 tokens\n"
        "cost     $0.42 so far"
    )


def test_a_meter_that_knows_little_says_so() -> None:
    unknown = Meter(
        budget=200_000, budget_rule="200k", window_source="unknown", ceiling=9_000, automatic="automatic off"
    )
    text = lines.meter(replace(unknown, cache=CacheState(predicted=5, broken="pruned at #14")))
    assert "window   unknown, limit ?, refused at 9,000" in text
    assert "cold; expected 5, read ? tokens; broken: pruned at #14" in text
    assert text.endswith("note     automatic off")


def test_the_context_is_the_meter_its_items_and_what_cannot_shrink() -> None:
    rows = (
        Row(2, "user", "fix it", 900, 4, "pinned", True),
        Row(57, "tool", "read " + "x" * 80, 13_412, 0, "live", False),
    )
    text = lines.context(Inspected(METER, rows, (("tool schemas", 1_300),)))
    table = text.split("\n\n")[1].split("\n")
    assert table[0].split() == ["#", "KIND", "TITLE", "TOKENS", "BUDGET", "AGE", "STATE", "CACHE"]
    assert table[1].split() == ["2", "user", "fix", "it", "900", "1%", "4", "pinned", "cached"]
    assert table[2].split()[0] == "57"
    assert max(map(width, table)) <= 100
    assert text.endswith("IN EVERY REQUEST  TOKENS\ntool schemas       1,300")


def test_a_plan_without_a_price_says_that_and_one_that_never_pays_too() -> None:
    assert lines.plan(replace(PLAN, price=Price())).endswith("no price is known for this model")
    assert lines.plan(replace(PLAN, price=Price(0.03, 0.12))).endswith("it does not pay for itself")


def test_a_compactions_plan_shows_what_stays() -> None:
    text = lines.plan(replace(PLAN, what="compact", first_kept=40, kept_rows=((40, "and then", 100),)))
    assert "kept word for word, from #40 on:\n #  TITLE     TOKENS\n40  and then     100\n" in text


def test_an_empty_plan_is_a_sentence() -> None:
    empty = Plan("prune", (), (), 0, 9, 9, None, 0, Price(), why_nothing="there are no tool results in the view")
    assert lines.plan(empty) == "nothing to prune: there are no tool results in the view"


def test_a_gate_says_what_it_did_and_why_in_words() -> None:
    did = Gated("proactive", "compacted", "proactive.compacted", 151_200, 42_100, "working budget reached")
    failed = Gated("asked", "summary_empty", "asked.summary_empty.no_prior", 9_000, 9_000)
    assert lines.gate(did) == (
        "context: compacted, 151,200 to 42,100 tokens (over the trigger): working budget reached"
    )
    assert lines.gate(failed) == (
        "context: the model returned an empty summary; it was not used (asked for, at 9,000 tokens)"
    )


def test_a_tool_says_how_it_ended() -> None:
    assert tool(ToolReturned("c", "bash", "bash make", "no", exit_status=2)) == "  bash make (exit 2)"
    assert tool(ToolReturned("c", "read", "read \x1b[1mx", "no such file\nat all", failed=True)) == (
        "  read x (failed: no such file)"
    )
    assert tool(ToolReturned("c", "read", "", "text")) == "  read"
