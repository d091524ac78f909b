"""Sizes: what is known, what is estimated, and how far a model's own counts are believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction.budget import Policy, Window, budget_for
from compaction.records import Body, Pinned, Pruned, Reloaded, SettingsChanged, Usage, WindowLearned, WindowSource
from compaction.tokens import (
    CALIBRATE_OVER,
    CALL,
    IMAGE,
    MESSAGE,
    Ruler,
    Size,
    calibrated,
    calibration,
    dropped_silently,
    estimate,
    estimate_parts,
    fixed,
    fixed_parts,
    measure,
    scaled,
    tool_parts,
)
from compaction.view import View
from tests.compaction.build_log import (
    calls,
    compacted,
    log,
    pinned,
    pruned,
    returned,
    reverted,
    ruler,
    says,
    started,
    user,
    view_of,
)


def measured(text: str, read: int, estimated: int, seen: int, output: int = 7, **more: object) -> Body:
    return says(text, usage=Usage(uncached=read, output=output), seen=seen, estimated=estimated, **more)  # type: ignore[arg-type]


def test_a_message_costs_its_words_and_its_frame() -> None:
    view = view_of(replace(user("one two three"), images=("data:a", "data:b")), calls("a", text="four"))
    assert ruler().item(view.items[0]) == MESSAGE + 3 + 2 * IMAGE
    assert ruler().item(view.items[1]) == MESSAGE + 1 + CALL + 1 + 1
    thinking = view_of(calls("a", thinking="x y z")).items[0]
    assert ruler().item(thinking) == MESSAGE + 0 + 3 + CALL + 1 + 1


def test_each_text_and_item_is_counted_once() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    one, view = Ruler(count), view_of(user("hello"), says("there"))
    for _ in range(3):
        estimate(view, one)
        estimate(View(view.records), one)
    assert sorted(asked) == ["be brief", "hello", "there"]


def test_the_fixed_part_is_named_piece_by_piece() -> None:
    start = started("a b", ("t1 x", "t2"), instructions=("# Rules\nbe kind", "\nmore"))
    view = view_of(start=start)
    named = fixed_parts(view, ruler())
    assert named == (
        ("system prompt", MESSAGE + 2), ("# Rules", 4), ("instructions 2", 1), ("tool schemas", 2 * CALL + 3)
    )  # fmt: skip
    assert fixed(view, ruler()) == sum(n for _, n in named) == estimate(view, ruler())


def test_the_tools_of_each_server_are_a_part_of_their_own() -> None:
    def schema(name: str) -> str:
        return '{"type":"function","function":{"name":"' + name + '","description":"mcp__no__one"}}'

    tools = tuple(map(schema, ("read", "mcp__b__x", "mcp__a-1__y", "mcp__b___z")))
    view = view_of(user("u"), start=started("s", tools))
    named = (("tool schemas", CALL + 1), ("tools of b", 2 * CALL + 2), ("tools of a-1", CALL + 1))
    assert tool_parts(view, ruler()) == named
    assert fixed_parts(view, ruler())[-3:] == named
    assert estimate_parts(view, ruler())["tools"] == 4 * CALL + 4


def test_the_parts_of_the_meter_sum_to_the_estimate() -> None:
    view = view_of(user("u u"), calls("a"), returned("a", "r r r"), user("v"), compacted(6), start=started("s", ("t",)))
    parts = estimate_parts(view, ruler())
    assert sum(parts.values()) == estimate(view, ruler())
    assert parts["summary"] > 0 and parts["tools"] == CALL + 1 and parts["system"] == MESSAGE + 1


def test_known_is_the_last_request_and_its_answer_and_estimated_all_since() -> None:
    view = view_of(user("hi"), measured("hello", 100, 100, 2), user("one two"))
    assert measure(view, ruler()) == Size(107, MESSAGE + 2)
    assert not measure(view, ruler()).exact
    assert measure(View(view.records[:-1]), ruler()) == Size(107, 0)
    assert measure(View(view.records[:-1]), ruler()).exact
    assert [Size(*s).exact for s in ((0, 0), (1, 0), (1, 1), (9, 0), (9, 1))] == [False, True, False, True, False]


def test_results_of_the_measured_replys_own_calls_are_estimated() -> None:
    said = replace(calls("a"), usage=Usage(uncached=50, output=5), seen=2, estimated=50)
    view = view_of(user("hi"), said, returned("a", "one two three"))
    assert measure(view, ruler()) == Size(55, MESSAGE + 3)
    waiting = View(view.records[:-1])
    assert measure(waiting, ruler()).estimated > 0  # the text that stands for it


@pytest.mark.parametrize(
    "change",
    [pruned(4), compacted(5), reverted(9), Reloaded("new", (), ()), pinned(2)],
    ids=["prune", "compaction", "undo", "reload", "pin"],
)
def test_no_count_outlives_a_rewrite_of_what_it_counted(change: Body) -> None:
    # A second compaction in the log makes a pin before the cut change the view's head.
    before: tuple[Body, ...] = (user("hi"), calls("a"), returned("a", "r r r"), user("more"))
    cut = (compacted(5),) if isinstance(change, Pinned) else ()
    view = view_of(*before, *cut, measured("hello", 100, 100, 6), change, user("on"))
    assert measure(view, ruler()).known == 0


def test_a_pin_in_the_tail_changes_no_byte_unless_it_brings_a_result_back() -> None:
    kept = view_of(user("hi"), measured("hello", 100, 100, 2), pinned(2))
    assert measure(kept, ruler()).known == 107
    back = view_of(user("hi"), calls("a"), returned("a", "r r"), pruned(4), measured("hello", 100, 100, 5), pinned(4))
    assert measure(back, ruler()).known == 0


@pytest.mark.parametrize(
    "said",
    [
        measured("x", 100, 100, 2, model="other"),
        measured("x", 100, 100, 2, stop="aborted"),
        measured("x", 100, 100, 2, stop="failed"),
        measured("x", 0, 100, 2),
        measured("x", 100, 0, 2),
        says("x"),
    ],
)
def test_counts_of_other_models_broken_replies_and_nothing_are_not_believed(said: Body) -> None:
    view = view_of(user("hi"), said)
    assert measure(view, ruler()).known == 0
    assert calibration(view) == 1.0


def test_after_a_switch_of_model_everything_is_an_estimate_and_coming_back_brings_the_count_back() -> None:
    there = (user("hi"), measured("hello", 100, 100, 2), SettingsChanged(model="other"))
    assert measure(view_of(*there), ruler()).known == 0
    assert measure(view_of(*there, SettingsChanged(model="scripted")), ruler()).known == 107


def test_calibration_is_the_ratio_over_the_last_five_replies() -> None:
    old = [measured("x", 900, 300, 1)] * 3
    new = [measured("x", 120, 100, 1)] * CALIBRATE_OVER
    assert calibration(view_of(*old, *new)) == 1.2
    assert calibration(view_of(*old, *new[1:])) == pytest.approx((120 * 4 + 900) / (100 * 4 + 300))


def test_calibration_is_kept_between_a_half_and_two_and_starts_anew_with_other_tools() -> None:
    assert calibration(view_of(measured("x", 900, 100, 1))) == 2.0
    assert calibration(view_of(measured("x", 10, 100, 1))) == 0.5
    assert calibration(view_of(measured("x", 120, 100, 1), Reloaded("s", (), ("t",)))) == 1.0


def test_a_refusal_that_states_its_count_calibrates_and_a_silent_one_or_a_summarys_does_not() -> None:
    refused = WindowLearned("scripted", "default", 100, None, 90, 150, 100)
    assert calibration(view_of(refused)) == 1.5
    for other in (
        replace(refused, silent=True), replace(refused, summary=True), replace(refused, model="other"),
        replace(refused, asked=None), replace(refused, estimated=0),
    ):  # fmt: skip
        assert calibration(view_of(other)) == 1.0
    view = view_of(*[measured("x", 100, 100, 1)] * 4, refused, measured("x", 100, 100, 1), measured("x", 100, 100, 1))
    assert calibration(view) == pytest.approx(550 / 500)


def test_estimates_are_calibrated_before_they_are_compared() -> None:
    view = view_of(user("hi"), measured("hello", 150, 100, 2), user("one two"))
    assert calibrated(view, ruler()) == round(estimate(view, ruler()) * 1.5)
    assert measure(view, ruler()).estimated == round((MESSAGE + 2) * 1.5)


def test_a_server_that_reads_less_than_last_time_dropped_the_beginning() -> None:
    view = view_of(user("hi"), measured("hello", 100, 100, 2), user("more"))
    size = measure(view, ruler())
    assert dropped_silently(view, Usage(uncached=99), size)
    assert not dropped_silently(view, Usage(uncached=100), size)
    assert not dropped_silently(view, Usage(uncached=0), size)
    assert not dropped_silently(view, Usage(uncached=99), Size(0, 10))


def test_a_request_that_has_itself_become_smaller_tells_nothing_of_the_server() -> None:
    view = view_of(user("hi"), measured("hello", 100, 100, 2), user("more"))
    size = measure(view, ruler())
    assert dropped_silently(view, Usage(uncached=99), size, 100)
    assert not dropped_silently(view, Usage(uncached=99), size, 99)


def test_with_thinking_in_the_view_a_fall_of_less_than_a_quarter_is_no_drop() -> None:
    view = view_of(user("hi"), measured("hello", 100, 100, 2, thinking="[1]"), user("more"))
    size = measure(view, ruler())
    assert not dropped_silently(view, Usage(uncached=75), size)
    assert dropped_silently(view, Usage(uncached=74), size)


def test_scaled_parts_sum_to_the_whole_with_the_largest_remainders_first() -> None:
    assert scaled({"a": 1, "b": 1, "c": 1}, 100) == {"a": 34, "b": 33, "c": 33}
    assert scaled({"a": 10, "b": 24, "c": 66}, 10) == {"a": 1, "b": 2, "c": 7}
    assert scaled({"a": 0}, 5) == {"a": 0}


def test_a_log_without_anything_said_has_the_size_of_its_fixed_part() -> None:
    view = View(log())
    assert measure(view, ruler()) == Size(0, fixed(view, ruler()))
    assert budget_for(Window(None, source=WindowSource.UNKNOWN), Policy()).limit is None
    assert Pruned((1,), "pruned", pruned().gate, 0, 0).records == (1,)
