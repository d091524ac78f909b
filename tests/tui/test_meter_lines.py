from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.wire import CacheState, Meter
from tests.tui.scenes import METER
from tui.bar import UNICODE, bar
from tui.meter import meter_lines, plain, state


def lines(meter: Meter, width: int, **more: object) -> list[str]:
    return [plain(line) for line in meter_lines(meter, width, **more)]  # type: ignore[arg-type]


def test_at_120_columns_the_meter_says_everything() -> None:
    assert lines(METER, 120) == [
        "ctx ▕███▚▚▚▓▓▒▒▒▒▒░░░░░░░░░                              ╎     ┃·············▏"
        " 61.4k of 160k budget (38%) · window 200k",
        "cache ● warm 4:12 · 58.1k read (94%) · $0.42 · next turn ≈ $0.03",
    ]


def test_at_80_columns_nothing_is_missing() -> None:
    assert lines(METER, 80) == [
        "ctx ▕█▚▚▓▒▒░░░░             ╎  ┃······▏ 61.4k of 160k budget (38%) · window 200k",
        "cache ● warm 4:12 · 58.1k read (94%) · $0.42 · next turn ≈ $0.03",
    ]


def test_at_40_columns_there_is_one_short_line() -> None:
    assert lines(METER, 40) == ["38% of 160k/200k ● 4:12"]


def test_over_the_trigger_the_window_gets_its_percentage_too() -> None:
    meter = replace(METER, used=240_000, budget=250_000, trigger=233_616, window=400_000, limit=380_000)
    assert "240k of 250k budget (96%) · window 400k (60%)" in lines(meter, 80)[0]
    assert "240k of 250k budget (96%) · over the trigger · window 400k (60%)" in lines(meter, 120)[0]


def test_over_the_budget_the_words_name_the_budget_and_not_the_window() -> None:
    meter = replace(METER, used=168_000)
    assert "168k of 160k budget (105%) · working budget reached · window 200k (84%)" in lines(meter, 120)[0]
    assert state(meter) == "alarm"
    assert "full" not in lines(meter, 120)[0]


def test_over_the_limit_the_models_window_is_full() -> None:
    meter = replace(METER, used=196_000)
    assert "the model's window is full: 196k of 200k (98%)" in lines(meter, 80)[0]
    assert lines(meter, 40)[0].startswith("window full 98% of 200k")


def test_over_the_window_nothing_is_clamped_and_the_bar_ends_in_an_arrow() -> None:
    meter = replace(METER, used=231_000)
    assert "231k of 200k (116%)" in lines(meter, 80)[0]
    assert "▶" in lines(meter, 80)[0]
    assert "▶" not in lines(replace(METER, used=199_000), 80)[0]


def test_an_unknown_window_is_a_question_mark_and_no_number() -> None:
    meter = replace(METER, window=None, limit=None, window_source="unknown")
    assert lines(meter, 80)[0] == "ctx ▕██▚▚▓▒▒▒░░░░░                 ╎  ┃? ▏ 61.4k of 160k budget (38%) · window ?"
    assert lines(meter, 40) == ["38% of 160k/? ● 4:12"]
    assert "window ? (under 48k)" in lines(replace(meter, ceiling=48_000), 80)[0]


def test_a_far_larger_window_lies_behind_a_scale_break() -> None:
    meter = replace(METER, window=1_000_000, limit=950_000)
    line = lines(meter, 80)[0]
    assert line == "ctx ▕█▚▚▓▒▒░░░░            ╎  ┃⫽········▏ 61.4k of 160k budget (38%) · window 1M"
    inside = line[line.index("▕") + 1 : line.index("▏")]
    assert inside.index("┃") >= 0.7 * len(inside)


def test_an_empty_context_shows_zero_and_no_fill() -> None:
    meter = replace(METER, used=0, known=0, parts=(), cache=CacheState(), cost=None, next_cost=None)
    assert lines(meter, 80) == [
        "ctx ▕                           ╎  ┃·······▏ 0 of 160k budget (0%) · window 200k",
        "cache ○ cold",
    ]


def test_an_estimate_is_marked() -> None:
    assert "~61.4k of 160k" in lines(replace(METER, exact=False), 80)[0]
    assert lines(replace(METER, exact=False), 40)[0].startswith("~38%")


def test_the_countdown_runs_on_and_ends_cold() -> None:
    assert "● warm 4:02" in lines(METER, 80, age=10.0)[1]
    assert "○ cold" in lines(METER, 80, age=252.0)[1]


def test_a_break_of_the_cache_says_where_and_why() -> None:
    meter = replace(METER, cache=CacheState(3_000, 3_000, 252.0, "pruned at #14", 60_000))
    assert lines(meter, 80)[1].startswith("cache broken at #14: pruned · 3k read (5%)")
    meter = replace(METER, cache=CacheState(3_000, 3_000, 252.0, "model switched", 60_000))
    assert lines(meter, 80)[1].startswith("cache broken: model switched")


def test_a_provider_that_read_less_than_expected_is_told_of() -> None:
    meter = replace(METER, cache=CacheState(61_000, 0, 252.0))
    assert "provider read 0 of 61k expected" in lines(meter, 80)[1]
    small = replace(METER, cache=CacheState(61_000, 60_000, 252.0))
    assert "expected" not in lines(small, 80)[1]


def test_automatic_off_is_said_in_the_workers_words() -> None:
    meter = replace(METER, automatic="automatic off: reserve exceeds budget", cost=None, next_cost=None)
    assert "automatic off: reserve exceeds budget" in lines(meter, 120)[1]


def test_ascii_has_a_glyph_of_its_own_for_each_kind() -> None:
    drawn = lines(METER, 80, ascii=True)
    assert drawn == [
        "ctx [#%%=++----             :  |......] 61.4k of 160k budget (38%) - window 200k",
        "cache * warm 4:12 - 58.1k read (94%) - $0.42 - next turn ~ $0.03",
    ]
    assert all(line.isascii() for line in drawn)


@pytest.mark.parametrize("ascii", [False, True])
@given(
    used=st.integers(-5, 3_000_000),
    budget=st.integers(1, 2_000_000),
    window=st.none() | st.integers(1, 2_200_000),
    width=st.integers(8, 200),
    parts=st.lists(
        st.tuples(st.sampled_from(["system", "summary", "user", "assistant", "tool"]), st.integers(0, 10**6))
    ),
)
def test_no_line_is_ever_wider_than_the_screen(
    ascii: bool, used: int, budget: int, window: int | None, width: int, parts: list[tuple[str, int]]
) -> None:
    limit = None if window is None else window * 95 // 100
    meter = replace(
        METER, used=used, budget=budget, window=window, limit=limit, trigger=budget * 9 // 10, parts=tuple(parts)
    )
    for line in meter_lines(meter, width, ascii=ascii):
        assert cell_len(plain(line)) <= width


@given(used=st.integers(0, 400_000), cells=st.integers(16, 72), window=st.none() | st.integers(160_001, 2_000_000))
def test_the_bar_is_exactly_as_wide_as_asked_and_has_both_marks(used: int, cells: int, window: int | None) -> None:
    text = plain(bar(replace(METER, used=used, window=window), cells, UNICODE))
    assert len(text) == cells
    assert text.count("┃") == 1
    assert text.count("╎") == 1
    assert text.index("╎") < text.index("┃")
