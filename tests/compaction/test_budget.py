"""Window and policy to budget: the order of the marks for all of both, and the figures people quote."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compaction.budget import (
    Budget,
    Policy,
    Window,
    answer_room,
    budget_for,
    check_rule,
    chosen,
    least_output,
    parse_size,
    smaller_wish,
)
from compaction.errors import BadBudget
from compaction.records import WindowSource

_SIZES = st.integers(1_024, 4_000_000)
_SHARES = st.floats(0.01, 100, allow_nan=False).map(lambda s: f"{s:.2f}%").filter(lambda s: float(s[:-1]) > 0)
_RULES = st.one_of(
    _SIZES.map(str),
    _SHARES,
    st.tuples(_SIZES, _SHARES).map(lambda t: f"min({t[0]}, {t[1]})"),
)
_WINDOWS = st.builds(
    Window,
    tokens=st.integers(4_096, 2_097_152),
    max_output=st.none() | st.integers(1, 200_000),
    source=st.just(WindowSource.CATALOGUE),
    output_apart=st.booleans(),
)
_RESERVES = st.none() | st.integers(-5, 2_200_000)


@given(window=_WINDOWS, rule=_RULES, reserve=_RESERVES)
@example(window=Window(4_096), rule="0.05%", reserve=None)
@example(window=Window(4_096), rule="100%", reserve=1)
def test_zero_landing_trigger_limit_window_stand_in_this_order(window: Window, rule: str, reserve: int | None) -> None:
    b = budget_for(window, Policy(rule, reserve))
    assert b.limit is not None
    assert window.tokens is not None
    assert b.limit < window.tokens
    assert b.budget <= b.limit
    assert b.automatic == (b.trigger >= 2)
    if b.trigger >= 2:
        assert 0 < b.landing < b.trigger < b.limit < window.tokens


@given(window=_WINDOWS, rule=_RULES)
def test_the_caps_by_the_budget_hold_whatever_the_setting_says(window: Window, rule: str) -> None:
    b = budget_for(window, Policy(rule, keep_recent=10**9, prune_protect=10**9, prune_minimum=10**9))
    assert b.keep_recent <= b.budget // 8
    assert b.prune_protect <= b.budget // 4
    assert b.prune_minimum <= b.budget // 8
    assert b.summary_cap <= min(8_192, b.budget // 8)
    assert b.fact_cap <= min(2_000, b.budget // 16)


def marks(b: Budget) -> tuple[int | None, int, int, int]:
    return b.limit, b.budget, b.trigger, b.landing


def test_the_worked_example_of_a_200k_window() -> None:
    window = Window(200_000, source=WindowSource.CATALOGUE)
    assert marks(budget_for(window, Policy())) == (190_000, 160_000, 143_616, 127_232)
    assert budget_for(window, Policy("100%")).trigger == 173_616


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (1_000, (875, 800, 600, 400)),
        (2_048, (1_792, 1_638, 1_229, 820)),
        (4_096, (3_584, 3_276, 2_457, 1_638)),
        (32_768, (28_672, 26_214, 19_661, 13_108)),
        (1_000_000, (950_000, 200_000, 183_616, 167_232)),
        (2_097_152, (1_992_295, 200_000, 183_616, 167_232)),
    ],
)
def test_other_windows_by_the_same_arithmetic(window: int, expected: tuple[int, int, int, int]) -> None:
    assert marks(budget_for(Window(window), Policy())) == expected


def test_an_unknown_window_has_no_limit_and_takes_the_rules_absolute_part() -> None:
    assert marks(budget_for(Window(None), Policy())) == (None, 200_000, 183_616, 167_232)
    assert budget_for(Window(None), Policy("50k")).budget == 50_000
    assert budget_for(Window(None), Policy("60%")).budget == 200_000


def test_a_refused_size_bounds_an_unknown_window_by_three_quarters() -> None:
    by_ceiling = budget_for(Window(None, ceiling=40_000), Policy())
    assert marks(by_ceiling) == marks(budget_for(Window(30_000), Policy()))
    assert by_ceiling.window.tokens is None


def test_a_refused_size_bounds_a_claimed_window_too_when_it_is_smaller() -> None:
    assert marks(budget_for(Window(100_000, ceiling=8_000), Policy())) == marks(budget_for(Window(6_000), Policy()))
    assert budget_for(Window(100_000, ceiling=900_000), Policy()).limit == 91_808
    assert [Window(100_000, ceiling=c).guessed for c in (8_000, 900_000, None)] == [True, False, False]
    assert Window(None, ceiling=8_000).guessed


def test_a_budget_above_the_window_is_cut_to_the_limit_and_one_below_stays() -> None:
    assert budget_for(Window(32_000), Policy("200k")).budget == budget_for(Window(32_000), Policy("200k")).limit
    assert budget_for(Window(200_000), Policy("100000")).budget == 100_000


def test_a_reserve_above_the_budget_turns_the_automatic_gates_off() -> None:
    b = budget_for(Window(8_192), Policy(reserve=50_000))
    assert b.trigger < 2
    assert not b.automatic
    for trigger in (1, 2):
        assert budget_for(Window(8_192), Policy(reserve=b.budget - trigger)).automatic is (trigger == 2)


def test_where_the_answer_has_room_of_its_own_only_the_error_margin_is_kept() -> None:
    assert budget_for(Window(200_000, output_apart=True), Policy("100%")).limit == 190_000
    assert budget_for(Window(16_000, output_apart=True), Policy("100%")).limit == 15_200


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("160k", 160_000), ("1.5m", 1_500_000), ("160000", 160_000), ("200_000", 200_000), (" 64 K ", 64_000),
     ("1.001k", 1_001)],
)  # fmt: skip
def test_sizes_are_read_as_people_write_them(text: str, tokens: int) -> None:
    assert parse_size(text) == tokens


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "x",
        "0",
        "1023",
        "0%",
        "101%",
        "nan%",
        "inf%",
        "min()",
        "min(160k,)",
        "-5k",
        "160k%",
        "9" * 400,
        "min(1k, 80%)",
    ],
)
def test_a_rule_that_says_nothing_usable_is_refused_with_a_reason(rule: str) -> None:
    with pytest.raises(BadBudget) as caught:
        check_rule(rule)
    assert caught.value.rule == rule


@given(st.text(max_size=30))
def test_no_rule_whatever_fails_in_another_way(rule: str) -> None:
    try:
        check_rule(rule)
    except BadBudget:
        return
    assert chosen(rule, 200_000) >= 1


def test_the_answer_asked_for_leaves_room_for_the_input() -> None:
    # A catalogue that gives input, output and window all as 1,000 (case 5).
    window = Window(1_000, 1_000)
    assert answer_room(window, 600, 0) == 400
    assert answer_room(window, 990, 0) == least_output(1_000) == 125
    # An output cap of 131,072 on a window of 1,000,000 (case 13).
    assert answer_room(Window(1_000_000, 131_072), 10_000, 10_000) == 32_000
    assert answer_room(Window(200_000, 64_000), 180_000, 20_000) == 200_000 - 180_000 - 1_000
    # Once its provider has counted more than was estimated, the margin is a twentieth of the window.
    assert answer_room(Window(200_000, 64_000), 180_000, 20_000, refused=True) == 200_000 - 180_000 - 10_000
    assert answer_room(Window(8_000, 4_000), 4_630, 100, refused=True) == 8_000 - 4_630 - 400
    assert answer_room(Window(8_000, 4_000), 7_900, 100, refused=True) == 1_000
    assert answer_room(Window(200_000), 10_000, 0) is None
    assert answer_room(Window(200_000), 10_000, 0, required=True) == 32_000
    assert answer_room(Window(None, 8_000), 10_000, 0) == 8_000
    assert answer_room(Window(None, 8_000), 10_000, 0, refused=True) == 2_000
    assert answer_room(Window(64_000, 8_000, output_apart=True), 10_000, 0) == 8_000
    assert answer_room(Window(64_000, 8_000, output_apart=True), 10_000, 0, refused=True) == 2_000


def test_a_smaller_answer_is_wished_for_where_only_the_answer_can_have_been_too_large() -> None:
    assert smaller_wish(Window(16_000, 16_000), 1_000) == 16_000 - 1_000 - 800
    assert smaller_wish(Window(16_000, 16_000, ceiling=1_000), 1_000) == 16_000 - 1_000 - 800
    # The longest answer had room, so that the window itself is not as large as was claimed.
    assert smaller_wish(Window(16_000, 4_000), 1_000) == 1_000
    assert smaller_wish(Window(16_000, 4_000), 11_201) == 3_999
    assert smaller_wish(Window(16_000, 16_000), 14_000) is None
    assert smaller_wish(Window(16_000), 1_000) is None
    assert smaller_wish(Window(None, 16_000), 1_000) == 4_000
    assert smaller_wish(Window(16_000, 16_000, output_apart=True), 1_000) == 4_000


@given(window=_WINDOWS, size=st.integers(0, 3_000_000), estimated=st.integers(0, 3_000_000))
def test_an_answer_is_never_asked_for_below_one_or_above_the_models_own_most(
    window: Window, size: int, estimated: int
) -> None:
    room = answer_room(window, size, estimated, required=True)
    assert room is not None
    assert 1 <= room <= min(32_000, window.max_output or 32_000)
