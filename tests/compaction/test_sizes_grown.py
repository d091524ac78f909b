"""Sizes that are carried along as a session grows are those of the same log looked at for the first time."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings

from compaction.attempts import is_reset, said_stopped
from compaction.records import AssistantSaid, CompactionFailed, Outcome, Record, Usage
from compaction.tokens import Ruler, Size, calibration, estimate, estimate_parts, measure
from compaction.view import View, fold, step
from tests.compaction.arbitrary_logs import Session, orderly_sessions, wild_logs
from tests.compaction.build_log import calls, returned, ruler, says, step_of, user, view_of


def measured_plainly(view: View) -> Size:
    """What `measure` says, with every item looked at."""
    size, sizes = measure(view, ruler()), ruler()
    if not size.known:
        return Size(0, round(estimate(view, sizes) * calibration(view)))
    found = next(
        r for r in reversed(view.records)
        if isinstance(r.body, AssistantSaid) and r.body.usage is not None and r.body.usage.context == size.known
    )  # fmt: skip
    assert isinstance(found.body, AssistantSaid)
    seen = found.body.seen
    fresh = [i for i in view.items if i.record > seen and (i.record != found.id or i.role == "tool")]
    return Size(size.known, round(sizes.items(fresh) * calibration(view)))


def grown(records: Sequence[Record]) -> None:
    sizes, view = ruler(), View()
    for n, record in enumerate(records, 1):
        view = step(view, record)
        anew = fold(records[:n])
        assert (view.ids, view.deeds) == (anew.ids, anew.deeds)
        assert (view.model, view.pins, view.replaced) == (anew.model, anew.pins, anew.replaced)
        assert measure(view, sizes) == measure(anew, ruler()) == measured_plainly(anew)
        parts = estimate_parts(view, sizes)
        assert parts == estimate_parts(anew, ruler())
        assert sum(parts.values()) == estimate(view, sizes)
        since: list[Record] = []
        for r in view.records:
            since = [] if is_reset(r) else [*since, r]
        stopped = [r for r in since if isinstance(r.body, CompactionFailed) and r.body.outcome is Outcome.STOPPED]
        assert said_stopped(view) == bool(stopped)


@settings(max_examples=60, deadline=None)
@given(wild_logs)
def test_whatever_is_written(records: tuple[Record, ...]) -> None:
    grown(records)


@settings(max_examples=20, deadline=None)
@given(orderly_sessions)
def test_whatever_a_session_does(session: Session) -> None:
    grown(session.records)


def test_a_counting_function_that_is_far_away_is_asked_once_for_a_long_view() -> None:
    asked: list[int] = []

    class Far:
        def __call__(self, text: str) -> int:
            asked.append(1)
            return len(text)

        def many(self, texts: Sequence[str]) -> list[int]:
            asked.append(len(texts))
            return [len(text) for text in texts]

    view = view_of(*(body for n in range(20) for body in (user(f"question {n}"), *step_of(f"c{n}", f"{n} " * n))))
    far = Ruler(Far())
    assert estimate_parts(view, far) == estimate_parts(view, Ruler(len))
    assert len([n for n in asked if n > 1]) == 1
    assert sum(asked) <= len({t for i in view.items for t in (i.text, *(c.arguments for c in i.calls))}) + 2
    before = len(asked)
    estimate_parts(step(view, Record(view.last + 1, 0.0, user("one more"))), far)
    assert asked[before:] == [1]


def test_a_result_that_came_after_the_reply_it_stands_before_is_measured() -> None:
    usage = Usage(uncached=100)
    view = view_of(
        user("go"),
        calls("c1"),
        says("and"),
        says("on", usage=usage, seen=4, estimated=100),
        returned("c1", "late " * 80),
    )
    assert measure(view, ruler()) == measured_plainly(view)
    assert measure(view, ruler()).estimated > 50
