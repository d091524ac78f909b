"""Requests that a provider refuses for their bytes: pictures are few tokens and nearly all of the body."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compaction.bulk import Bulk
from compaction.gates import Compact, Emergency, Place, Proceed, Refuse, Spill, decide
from compaction.records import (
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    Record,
    SettingsChanged,
    Usage,
    UserSaid,
    WindowLearned,
)
from compaction.tokens import calibrated, estimate
from compaction.view import View, step
from tests.compaction.build_log import budget, calls, characters_ruler, log, pruned, returned, says, user

# A small screenshot's data: 120 kB, where a token estimate sees 1,600.
PICTURE = "data:image/png;base64," + "A" * 120_000


# What a refusal led to: the first picture went.
SPILLED = pruned(4, how="spilled", gate=Gate.REACTIVE)


def refusal(**more: object) -> WindowLearned:
    return WindowLearned("scripted", "default", None, None, 20_000, bytes=True, **more)  # type: ignore[arg-type]


def looked(n: int) -> tuple[Body, Body]:
    """A step that looks at one picture."""
    seen = replace(returned(f"c{n}", "[a picture]"), images=(PICTURE,))
    return calls(f"c{n}", arguments=f'{{"path":"s{n}.png"}}'), seen


def bytes_of(view: View) -> int:
    return sum(len(item.text.encode()) + sum(map(len, item.images)) for item in view.items)


def rewritten(view: View, decision: object) -> View:
    assert isinstance(decision, Spill)
    return step(view, Record(view.last + 1, 0.0, Pruned(decision.records, "spilled", decision.gate, 0, 0)))


def test_a_body_refused_for_its_bytes_is_halved_in_bytes_by_one_rewrite() -> None:
    view = View(log(user("look at all"), *(looked(n) for n in range(9)), refusal()))
    decision = decide(view, characters_ruler(), budget(), Place(inside_turn=True))
    after = rewritten(view, decision)
    assert isinstance(decision, Spill) and decision.gate is Gate.REACTIVE
    assert bytes_of(after) < bytes_of(view) // 2
    assert decide(after, characters_ruler(), budget(), Place(inside_turn=True)) == Proceed()
    # The newest picture is what the model is about to look at.
    assert max(decision.records) < view.last - 2


def test_what_was_refused_once_is_kept_from_coming_again_before_the_next_request() -> None:
    view = View(log(user("look at all"), *(looked(n) for n in range(8)), refusal()))
    view = rewritten(view, decide(view, characters_ruler(), budget(), Place(inside_turn=True)))
    gates: list[Gate] = []
    for n in range(8, 30):
        for body in looked(n):
            view = step(view, Record(view.last + 1, 0.0, body))
        decision = decide(view, characters_ruler(), budget(), Place(inside_turn=True))
        if decision != Proceed():
            assert isinstance(decision, Spill)
            gates.append(decision.gate)
            view = rewritten(view, decision)
        assert bytes_of(view) < 7 * 120_000
    assert gates and set(gates) == {Gate.PRE_FLIGHT}


def test_neither_another_models_refusal_nor_one_of_a_summary_bounds_the_bytes() -> None:
    steps = [looked(n) for n in range(9)]
    for other in (replace(refusal(), model="another"), refusal(summary=True)):
        view = View(log(user("look"), *steps[:2], other, SPILLED, *steps[2:]))
        assert decide(view, characters_ruler(), budget(), Place(inside_turn=True)) == Proceed()
    view = View(log(user("look"), *steps[:2], refusal(), SPILLED, *steps[2:]))
    assert isinstance(decide(view, characters_ruler(), budget(), Place(inside_turn=True)), Spill)


def test_a_refusal_that_was_wrong_keeps_no_session_small() -> None:
    steps = [looked(n) for n in range(9)]
    place = Place(inside_turn=True)

    def asked(*since: Body) -> object:
        return decide(
            View(log(user("look"), *steps[:2], refusal(), *since, *steps[2:])), characters_ruler(), budget(), place
        )

    assert asked(says("the same was answered")) == Proceed()
    assert asked(user("and again"), says("a larger one was answered")) == Proceed()
    assert asked(SettingsChanged(budget="100k")) == Proceed()
    others = replace(says("by another"), model="another")
    for since in (says("", stop="aborted"), others, SettingsChanged(effort="low"), user("and again")):
        assert isinstance(asked(since, SPILLED), Spill)
    assert isinstance(asked(SPILLED, says("a smaller one was answered")), Spill)


def test_pictures_in_messages_go_with_their_turns_into_a_summary_that_may_be_any_size_below_the_limit() -> None:
    talk = [(UserSaid(f"look {n}", images=(PICTURE,)), says("seen")) for n in range(8)]
    view = View(log(*talk, UserSaid("and now?"), refusal()))
    decision = decide(view, characters_ruler(), budget(), Place())
    assert isinstance(decision, Compact)
    assert (decision.gate, decision.target) == (Gate.REACTIVE, budget().limit)
    assert sum(len(item.images) for item in decision.cut.tail) <= 3


def test_an_emergency_for_bytes_is_written_down_in_tokens() -> None:
    talk = [(UserSaid(f"look {n}", images=(PICTURE,)), says("seen")) for n in range(8)]
    view = View(log(*talk, UserSaid("and now?"), refusal()))
    ruler = characters_ruler()
    failed = decide(view, ruler, budget(), Place())
    assert isinstance(failed, Compact)
    gave_up = CompactionFailed(Gate.REACTIVE, Outcome.PROVIDER_FAILED, "", 1, False)
    view = step(view, Record(view.last + 1, 0.0, gave_up))
    decision = decide(view, ruler, budget(), Place())
    assert isinstance(decision, Emergency) and isinstance(decision.body, Compacted)
    after = step(view, Record(view.last + 1, 0.0, decision.body))
    assert (decision.body.before, decision.body.after) == (calibrated(view, ruler), calibrated(after, ruler))
    assert bytes_of(after) < bytes_of(view) // 2


def test_a_picture_that_must_stay_is_refused_with_a_sentence_about_bytes_and_none_about_the_window() -> None:
    view = View(log(UserSaid("look", images=(PICTURE,)), refusal()))
    decision = decide(view, characters_ruler(), budget(), Place())
    assert isinstance(decision, Refuse)
    assert decision.outcome is Outcome.REQUEST_TOO_LARGE
    assert "in bytes (about 121 kB)" in decision.text and "window" not in decision.text
    assert decision.size == calibrated(view, characters_ruler())


def test_with_automatic_off_too_many_bytes_are_called_that() -> None:
    view = View(log(user("look at all"), *(looked(n) for n in range(8)), refusal()))
    off = budget(automatic=False)
    decision = decide(view, characters_ruler(), off, Place())
    assert isinstance(decision, Refuse) and decision.outcome is Outcome.REQUEST_TOO_LARGE
    assert "in bytes and automatic rewrites are off" in decision.text and "window" not in decision.text


@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_the_scale_of_a_refusal_is_todays_whatever_was_measured_since(factor: float) -> None:
    ruler = characters_ruler()
    view = View(log(user("look at all"), *(looked(n) for n in range(4)), refusal(), SPILLED, *looked(4)))
    counted = estimate(view, ruler)
    said = says("ok", seen=view.last, usage=Usage(int(counted * factor), 0, 0, 2, 0), estimated=counted)
    view = step(view, Record(view.last + 1, 0.0, said))
    view = step(view, Record(view.last + 1, 0.0, user("go on")))
    decision = decide(view, ruler, budget(), Place())
    assert bytes_of(rewritten(view, decision)) < 4 * 120_000 // 2


def test_texts_weigh_their_utf_8_and_pictures_their_data() -> None:
    bulk = Bulk()
    assert (bulk.text("abcd"), bulk.text("漢字"), bulk.text("\ud800")) == (1, 2, 1)
    plain, seen = (View(log(UserSaid("look", images=i))).items[0] for i in ((), ("x" * 4_000,)))
    assert bulk.item(seen) - bulk.item(plain) == 1_000
