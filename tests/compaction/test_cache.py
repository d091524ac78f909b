"""The prompt cache: what two requests share, why they stop sharing, where marks go, what it costs."""

from __future__ import annotations

import json

import pytest

from compaction.cache import (
    SYSTEM,
    TOOLS,
    UNNAMED,
    Break,
    Payback,
    Prices,
    breakeven,
    cause,
    effort,
    equal_items,
    equal_segments,
    ladder,
    marks,
    predicted,
    predicted_counted,
    price_of_next,
    request_cost,
    summary_costs,
)
from compaction.records import Body, Record, Reloaded, SettingsChanged, Usage
from compaction.tokens import fixed
from compaction.view import Kind, View, fold
from tests.compaction.build_log import (
    calls,
    compacted,
    log,
    notice,
    pinned,
    pruned,
    returned,
    reverted,
    rewound,
    ruler,
    says,
    started,
    step_of,
    user,
)

TALK: tuple[Body | tuple[Body, ...], ...] = (
    user("one two three"),
    step_of("a", "result of a " * 20),
    step_of("b", "result of b " * 20),
    step_of("c", "result of c " * 20),
)


def between(*then: Body | tuple[Body, ...], first: tuple[Body | tuple[Body, ...], ...] = TALK) -> Break | None:
    """The break between the request after `first` and the one after `then` as well."""
    start = started(tools=('{"name":"read"}',))
    records = log(*first, *then, start=start)
    length = len(log(*first, start=start))
    before, after = fold(records[:length]), fold(records)
    return cause(ladder(before, ruler()), ladder(after, ruler()), records)


def test_a_request_that_only_grows_shares_all_of_the_one_before() -> None:
    records = log(*TALK, says("done"), user("next"))
    before, after = ladder(fold(records[:-2]), ruler()), ladder(fold(records), ruler())
    assert cause(before, after, records) is None
    assert predicted(before, after) == sum(s.tokens for s in before.segments)
    assert equal_items(before, after) == 7


def test_the_segments_tokens_are_those_of_the_whole_view() -> None:
    view = fold(log(*TALK, start=started(tools=("{}",), instructions=("# rules\nbe kind",))))
    rungs = ladder(view, ruler())
    assert sum(s.tokens for s in rungs.segments) == fixed(view, ruler()) + ruler().items(view.items)
    assert [s.label for s in rungs.segments[:4]] == ["tools", "system", "#2 user", "#3 assistant"]


def test_what_only_people_see_is_in_no_hash() -> None:
    # Pinning a result in the tail changes its state, not what is sent.
    assert between(pinned(4)) is None


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ((pruned(6),), Break(4, "pruned at #6")),
        ((pruned(6, 4),), Break(2, "pruned at #4")),
        ((pruned(4), pruned(6)), Break(2, "pruned at #4")),
        ((compacted(7),), Break(1, "compacted")),
        ((compacted(7, primer=1), user("x" * 90)), Break(1, "compacted")),
        ((Reloaded("be kind", (), ('{"name":"read"}',)),), Break(SYSTEM, "reloaded")),
        ((Reloaded("be brief", (), ('{"name":"write"}',)),), Break(TOOLS, "tools changed")),
        ((SettingsChanged(model="other"),), Break(TOOLS, "model switched")),
        ((SettingsChanged(effort="high"),), Break(0, "effort changed")),
        ((rewound(5), user("else")), Break(3, "rewound")),
        ((notice("rules of a folder", "nested"),), None),
        ((pruned(4), reverted(9)), None),
    ],
)
def test_each_break_is_named_by_the_record_that_made_it(
    then: tuple[Body | tuple[Body, ...], ...], expected: Break | None
) -> None:
    assert between(*then) == expected


def test_undo_spill_late_pin_and_a_shortened_primer_are_named() -> None:
    assert between(reverted(9), first=(*TALK, pruned(4))) == Break(2, "undone")
    assert between(reverted(9), first=(*TALK, compacted(7))) == Break(1, "undone")
    assert between(pinned(4), first=(*TALK, pruned(4))) == Break(2, "pinned")
    assert between(pinned(4), first=(*TALK, compacted(7))) == Break(1, "pinned")
    assert between(compacted(9, primer=120), first=(user("x" * 900), *TALK)) == Break(0, "shortened")
    big = (user("go"), step_of("a", "w " * 3_000), says("ok"))
    assert between(pruned(4, how="spilled"), first=big) == Break(2, "shortened at #4")


def test_a_break_that_no_record_explains_is_unnamed() -> None:
    records = log(*TALK)
    other = log(user("one two FOUR"), *TALK[1:])
    assert cause(ladder(fold(records), ruler()), ladder(fold(other), ruler()), records) == Break(0, UNNAMED)
    system = log(*TALK, start=started("be verbose"))
    assert cause(ladder(fold(records), ruler()), ladder(fold(system), ruler()), records) == Break(SYSTEM, UNNAMED)


def test_a_compaction_keeps_only_the_fixed_part_and_the_primer_cached() -> None:
    records = log(*TALK, compacted(7))
    before, after = fold(records[:-1]), fold(records)
    shared = predicted(ladder(before, ruler()), ladder(after, ruler()))
    assert shared == fixed(after, ruler()) + ruler().item(after.items[0])


def test_models_share_nothing() -> None:
    records = log(*TALK, SettingsChanged(model="other"))
    before, after = ladder(fold(records[:-1]), ruler()), ladder(fold(records), ruler())
    assert (equal_segments(before, after), predicted(before, after)) == (0, 0)


def test_a_message_shown_before_the_tail_breaks_no_later_request() -> None:
    first = (user("go"), user("then this"), *TALK[1:], compacted(8))
    assert between(says("ok"), user("and now this"), first=first) is None


def marked(*bodies: Body | tuple[Body, ...], tools: tuple[str, ...] = ("{}",)) -> tuple[int, ...]:
    return marks(fold(log(*bodies, start=started(tools=tools))))


def test_marks_stand_at_tools_system_summary_and_the_last_item() -> None:
    assert marked(user("hi")) == (TOOLS, SYSTEM, 0)
    assert marked(*TALK, compacted(7)) == (TOOLS, SYSTEM, 1, 3)
    assert marked(user("hi"), tools=()) == (SYSTEM, 0)
    assert marks(View()) == ()


def test_after_a_big_batch_a_mark_stands_where_the_request_before_ended() -> None:
    ids = [f"c{n}" for n in range(12)]
    batch = calls(*ids), tuple(returned(i) for i in ids)
    assert marked(user("hi"), *batch) == (TOOLS, SYSTEM, 0, 12 + 1)
    small = calls(*ids[:8]), tuple(returned(i) for i in ids[:8])
    assert marked(user("hi"), *small) == (TOOLS, SYSTEM, 9)


def test_each_block_of_thinking_counts_for_how_far_the_provider_looks_back() -> None:
    ids = [f"c{n}" for n in range(5)]
    thinking = json.dumps({"blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}] * 10})
    batch = calls(*ids, thinking=thinking), tuple(returned(i) for i in ids)
    assert marked(user("hi"), *batch) == (TOOLS, SYSTEM, 0, 6)
    assert marked(user("hi"), calls(*ids, thinking="{}"), batch[1]) == (TOOLS, SYSTEM, 6)


def test_there_are_never_more_than_four_marks_and_the_tools_go_first() -> None:
    ids = [f"c{n}" for n in range(12)]
    batch = calls(*ids), tuple(returned(i) for i in ids)
    found = marked(*TALK, compacted(7), *batch)
    assert found == (SYSTEM, 1, 3, 3 + 13)


def test_after_a_rewrite_a_mark_stands_where_it_left_off() -> None:
    view = fold(log(*TALK, start=started(tools=("{}",))))
    assert marks(view, 3) == (TOOLS, SYSTEM, 2, len(view.items) - 1)
    assert marks(view, len(view.items)) == marks(view)
    ids = [f"c{n}" for n in range(12)]
    batch = calls(*ids), tuple(returned(i) for i in ids)
    view = fold(log(*TALK, *batch, start=started(tools=("{}",))))
    assert marks(view, 3) == (TOOLS, SYSTEM, 2, len(view.items) - 1)


PRICES = Prices(input=3.0, output=15.0, cached=0.3, cache_write=3.75)


def test_a_requests_cost_counts_each_bucket_once() -> None:
    usage = Usage(uncached=1_000_000, cache_read=1_000_000, cache_write=1_000_000, output=900_000, reasoning=100_000)
    assert request_cost(usage, PRICES) == pytest.approx(3.0 + 0.3 + 3.75 + 15.0)
    assert request_cost(usage, Prices(3.0, 15.0)) == pytest.approx(9.0 + 15.0)


def test_the_next_request_reads_what_is_cached_and_writes_the_rest() -> None:
    assert price_of_next(100_000, 90_000, 1_000, PRICES) == pytest.approx(0.027 + 0.0375 + 0.015)
    assert price_of_next(100, 900, 0, PRICES) == pytest.approx(0.00003)


def test_a_warm_cache_makes_a_rewrite_pay_only_after_some_turns() -> None:
    found = breakeven(size=100_000, after=20_000, cached_now=100_000, cached_after=5_000, prices=PRICES, once=0.05)
    # Now: 100k read = 0.03. After: 5k read + 15k written + 0.05 = 0.10775. Each later turn saves 80k read = 0.024.
    assert found.keep == pytest.approx(0.03)
    assert found.rewrite == pytest.approx(0.0015 + 0.05625 + 0.05)
    assert found.turns == 1 + 4


def test_the_turn_named_is_the_first_at_which_the_bills_have_crossed() -> None:
    args = {"size": 90_000, "after": 30_000, "cached_now": 90_000, "cached_after": 10_000}
    found = breakeven(**args, prices=PRICES, once=0.03, output=500, requests=3)
    assert found.turns is not None

    def bills(turns: int) -> tuple[float, float]:
        each = 500 * 15.0 * 3
        keep = found.keep + (turns - 1) * (90_000 * 0.3 * 3 + each) / 1e6
        rewrite = found.rewrite + (turns - 1) * (30_000 * 0.3 * 3 + each) / 1e6
        return keep, rewrite

    keep, rewrite = bills(found.turns)
    assert rewrite <= keep
    keep, rewrite = bills(found.turns - 1)
    assert rewrite > keep


def test_a_cold_cache_makes_a_prune_pay_at_once() -> None:
    found = breakeven(size=100_000, after=60_000, cached_now=0, cached_after=0, prices=PRICES)
    assert found == Payback(pytest.approx(0.375), pytest.approx(0.225), 1)


def test_what_saves_nothing_never_pays() -> None:
    same = breakeven(size=50_000, after=50_000, cached_now=50_000, cached_after=0, prices=PRICES)
    assert same.turns is None
    free = breakeven(
        size=100_000, after=20_000, cached_now=100_000, cached_after=0, prices=Prices(3.0, 15.0, 0.0, 3.75)
    )
    assert free.turns is None


def test_a_summary_in_context_is_cheaper_while_warm_and_dearer_when_cold() -> None:
    warm = summary_costs(size=150_000, cached=149_000, flattened=60_000, output=1_000, prices=PRICES)
    cold = summary_costs(size=150_000, cached=0, flattened=60_000, output=1_000, prices=PRICES)
    assert warm[0] < warm[1]
    assert cold[0] > cold[1]


def test_records_given_from_the_whole_log_are_told_apart_by_the_ladders_own() -> None:
    records: tuple[Record, ...] = log(*TALK, pruned(4), says("ok"), user("next"))
    before, after = fold(records[:-1]), fold(records)
    assert cause(ladder(before, ruler()), ladder(after, ruler()), records) is None


def test_between_two_counts_the_estimates_say_how_far() -> None:
    records = log(*TALK, pruned(6))
    before, after = ladder(fold(records[:-1]), ruler()), ladder(fold(records), ruler())
    same = equal_segments(before, after)
    sizes = [s.tokens for s in before.segments]
    assert 3 < same < len(sizes)
    exact = [(len(sizes), 2 * sum(sizes)), (same, 777), (3, 300)]
    assert predicted_counted(before, after, exact) == 777
    low, high = sum(sizes[:3]), sum(sizes)
    told = predicted_counted(before, after, [(3, 300), (len(sizes), 900)])
    assert told == pytest.approx(300 + 600 * (sum(sizes[:same]) - low) / (high - low))
    assert predicted_counted(before, after, [(3, 300)]) is None
    assert predicted_counted(before, after, [(len(sizes), 2 * sum(sizes))]) == pytest.approx(
        2 * predicted(before, after)
    )


def test_a_provider_with_marks_is_expected_to_have_only_what_ended_at_one() -> None:
    records = log(*TALK, pruned(6))
    before, after = ladder(fold(records[:-1]), ruler()), ladder(fold(records), ruler())
    # The prune stands at a result: what lies before its call was a request's end, its call was not.
    shared = equal_segments(before, after)
    assert before.segments[shared - 1].kind is Kind.ASSISTANT
    assert predicted(before, after, marked=True) == sum(s.tokens for s in after.segments[: shared - 1])
    grown = ladder(fold(log(*TALK, says("ok"), user("next"))), ruler())
    assert predicted(before, grown, marked=True) == predicted(before, grown)
    compact = ladder(fold(log(*TALK, compacted(7))), ruler())
    assert predicted(before, compact, marked=True) == sum(s.tokens for s in before.segments[:3])


def test_the_effort_of_the_start_holds_until_another_is_chosen() -> None:
    start = started(effort="low")
    assert effort(fold(log(*TALK, start=start))) == "low"
    assert effort(fold(log(*TALK, SettingsChanged(effort="high"), start=start))) == "high"
    assert effort(fold(log(*TALK, SettingsChanged(effort="high"), SettingsChanged(effort="default")))) is None
    records = log(*TALK, SettingsChanged(effort="low"), start=start)
    assert cause(ladder(fold(records[:-1]), ruler()), ladder(fold(records), ruler()), records) is None
