"""The view: the fold of a log, and what every view holds whatever the log."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.cache import UNNAMED, cause, ladder
from compaction.records import Body, Compacted, Gate, Record, Reloaded, ToolReturned, UserSaid
from compaction.view import NO_RESULT, TITLE, Kind, View, fold, placeholder, step
from tests.compaction.arbitrary_logs import Session, check_valid, orderly_sessions, wild_logs
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
    view_of,
)


def texts(view: View) -> list[str]:
    return [item.text for item in view.items]


# Wild logs are slow to draw, and the checks look at each prefix of them.
FEW = settings(max_examples=80, deadline=None)


@FEW
@given(wild_logs)
def test_every_view_of_any_log_is_valid_for_every_provider(records: tuple[Record, ...]) -> None:
    for end in range(len(records) + 1):
        check_valid(fold(records[:end]))


@FEW
@given(wild_logs, st.integers(0, 40))
def test_folding_can_stop_and_go_on_anywhere(records: tuple[Record, ...], stop: int) -> None:
    whole = fold(records)
    assert fold(records[stop:], fold(records[:stop])) == whole
    assert reduce(step, records, View()) == whole
    assert fold(records[stop:], fold(records[:stop])).items == whole.items


@settings(max_examples=300, deadline=None)
@given(wild_logs)
def test_a_view_that_grows_record_by_record_is_the_view_made_anew(records: tuple[Record, ...]) -> None:
    growing = View()
    for n, record in enumerate(records, 1):
        # Looked at after each record: what was worked out before is what the next step grows from.
        growing = step(growing, record)
        anew = fold(records[:n])
        assert growing.conversation == anew.conversation
        assert growing.items == anew.items


@FEW
@given(wild_logs)
def test_primer_pins_and_newest_message_are_in_every_view_as_admitted(records: tuple[Record, ...]) -> None:
    view = fold(records)
    together = "\n".join(texts(view))
    # A first message that is the newest too follows the first one's rule, below.
    newest = view.newest_user if view.newest_user is not view.primer else None
    for item in view.conversation:
        kept = item.record in view.pins or (newest is not None and item.record == newest.record)
        if kept and item.text != NO_RESULT:
            assert item.text in together
    body = view.compaction.body if view.compaction else None
    if view.primer is not None and (not isinstance(body, Compacted) or body.primer is None):
        assert view.primer.text in together
    assert view.primer is None or view.primer.record in {i.record for i in view.items}


@FEW
@given(wild_logs)
def test_what_a_prune_replaced_is_in_no_view(records: tuple[Record, ...]) -> None:
    view = fold(records)
    bodies = {r.id: r.body for r in view.records}
    for item in view.items:
        body = bodies.get(item.record)
        if item.role != "tool" or not isinstance(body, ToolReturned) or item.text == NO_RESULT:
            continue
        match view.replaced.get(item.record):
            case "pruned":
                assert item.text == placeholder(item.record, body)
            case "spilled":
                assert len(item.text) <= 2_000
            case _:
                assert item.text == body.text


@FEW
@given(wild_logs)
def test_no_result_is_in_a_view_twice(records: tuple[Record, ...]) -> None:
    view = fold(records)
    shown = [i.record for i in view.items if i.role == "tool" and i.text != NO_RESULT]
    assert len(shown) == len(set(shown))


@settings(max_examples=80, deadline=None)
@given(orderly_sessions)
def test_every_request_continues_the_one_before_or_a_record_says_why_not(session: Session) -> None:
    views = [fold(session.records[:n]) for n in session.requests]
    for (start, before), (end, after) in zip(
        zip(session.requests, views, strict=True), list(zip(session.requests, views, strict=True))[1:], strict=False
    ):
        check_valid(after)
        between = session.records[start:end]
        found = cause(ladder(before, ruler()), ladder(after, ruler()), session.records[:end])
        grown = all(isinstance(r.body, (UserSaid, ToolReturned)) or not _rewrites(r.body) for r in between)
        if grown:
            assert found is None, found
            assert after.items[: len(before.items)] == before.items
        assert found is None or found.why != UNNAMED, (found, [type(r.body).__name__ for r in between])


def _rewrites(body: Body) -> bool:
    return type(body).__name__ in (
        "Pruned",
        "Compacted",
        "Reverted",
        "Rewound",
        "Reloaded",
        "Pinned",
        "SettingsChanged",
    )


def test_results_stand_beside_their_calls_in_the_calls_order() -> None:
    view = view_of(user("go"), calls("x", "y"), returned("y", "second"), returned("x", "first"), says("ok"))
    assert texts(view) == ["go", "", "first", "second", "ok"]


def test_calls_without_results_are_answered_and_results_without_calls_dropped() -> None:
    view = view_of(user("go"), returned("z", "nobody asked"), calls("x"), user("now what"))
    assert texts(view) == ["go", "", NO_RESULT, "now what"]
    assert view.items[2].failed


def test_a_call_id_used_again_takes_the_newest_calls_result() -> None:
    view = view_of(calls("x"), returned("x", "one"), calls("x"), returned("x", "two"), returned("x", "three"))
    assert texts(view) == ["", "one", "", "two"]
    killed = view_of(calls("x"), user("again"), calls("x"), returned("x", "two"))
    assert texts(killed) == ["", NO_RESULT, "again", "", "two"]


def test_after_a_compaction_the_view_is_primer_pins_summary_newest_message_tail() -> None:
    view = view_of(
        user("primer"),
        step_of("a", "pinned result"),
        notice("rules below", "nested"),
        notice("an error"),
        user("newest"),
        step_of("b", "old"),
        pinned(4),
        step_of("c", "kept"),
        compacted(11, "## Goal\nshort", fact_sheet="[facts]"),
    )
    assert [i.kind for i in view.items] == [
        Kind.USER, Kind.NOTICE, Kind.NOTICE, Kind.SUMMARY, Kind.USER, Kind.ASSISTANT, Kind.TOOL,
    ]  # fmt: skip
    shown = texts(view)
    assert shown[:2] == ["primer", "rules below"]
    assert '<pinned record="4" title="read a">\npinned result\n</pinned>' in shown[2]
    assert shown[3] == "[earlier conversation, summarised]\n\n## Goal\nshort\n\n[facts]"
    assert shown[4:] == ["newest", "", "kept"]


def test_the_newest_message_stays_where_a_compaction_put_it_when_another_comes() -> None:
    first = user("primer"), says("ok"), user("second"), step_of("a"), step_of("b"), compacted(7)
    assert texts(view_of(*first))[2] == "second"
    assert texts(view_of(*first, says("done"), user("third")))[2] == "second"


def test_a_primer_too_long_is_shown_short_from_the_compaction_on() -> None:
    long = "p" * 5_000
    view = view_of(user(long), says("a"), says("b"), compacted(4, primer=500))
    assert len(view.items[0].text) <= 500
    assert 'recall {"record": 2}' in view.items[0].text
    kept = view_of(user(long), says("a"), says("b"), pinned(2), compacted(4, primer=500))
    assert kept.items[0].text == long


def test_pinned_images_come_along() -> None:
    view = view_of(
        user("a"), user("look", images=("data:x",)), says("b"), user("c"), says("d"), pinned(3), compacted(6)
    )
    assert view.items[1].images == ("data:x",)


def test_a_pin_set_after_the_prune_restores_the_result_for_good() -> None:
    view = view_of(user("go"), step_of("a", "precious"), pruned(4), pinned(4), pinned(4, on=False))
    assert texts(view)[2] == "precious"
    assert view.pins == ()


def test_an_undo_takes_back_exactly_its_target() -> None:
    steps = step_of("a", "one"), step_of("b", "two"), step_of("c", "three")
    view = view_of(user("go"), *steps, pruned(4), pruned(6), reverted(10))
    assert [i.state for i in view.items if i.role == "tool"] == ["pruned", "live", "live"]
    view = view_of(user("go"), *steps, compacted(5), compacted(7), reverted(10))
    assert view.compaction is not None
    assert view.compaction.id == 9
    assert view.prefix_from == 5


def test_a_rewind_goes_on_from_just_before_its_record() -> None:
    view = view_of(user("go"), says("a"), user("wrong"), says("b"), compacted(5), rewound(4), user("right"))
    assert texts(view) == ["go", "a", "right"]
    assert view.compaction is None


def test_the_next_prefix_starts_where_the_last_tail_or_the_emergencys_prefix_did() -> None:
    steps = step_of("a"), step_of("b"), step_of("c")
    assert view_of(user("go"), *steps).prefix_from == 0
    assert view_of(user("go"), *steps, compacted(5)).prefix_from == 5
    assert view_of(user("go"), *steps, compacted(7, gate=Gate.EMERGENCY, prefix_from=2)).prefix_from == 2


def test_reloaded_instructions_replace_those_of_the_start() -> None:
    view = view_of(user("go"), Reloaded("new", ("rules",), ("{}",)), start=started("old"))
    assert (view.system, view.instructions, view.tools) == ("new", ("rules",), ("{}",))


def test_a_message_admitted_short_is_the_same_in_every_view() -> None:
    long = "m" * 9_000
    bodies = user(long, admitted=1_000), says("a"), user("next"), says("b")
    before, after = view_of(*bodies), view_of(*bodies, compacted(5))
    assert len(before.items[0].text) <= 1_000
    assert before.items[0].text == after.items[0].text


def test_a_placeholder_says_what_it_was_how_large_and_how_to_get_it_back() -> None:
    body = returned("x", "z" * 1_234, title="read src/app.py")
    text = placeholder(7, body)
    assert "read src/app.py" in text
    assert "1,234 characters" in text
    assert 'recall {"record": 7}' in text


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_reply_is_no_message(text: str) -> None:
    assert texts(view_of(user("go"), says(text))) == ["go"]


def test_a_title_is_cut_between_characters() -> None:
    item = view_of(user("x" * (TITLE - 2) + "e\u0301\u0323" + "y" * 9)).items[0]
    assert item.title == "x" * (TITLE - 2) + "…"


def test_the_empty_log_has_a_view() -> None:
    assert (View().items, View().last, View().started, View().model) == ((), 0, None, "")
    assert fold(log()).items == ()
