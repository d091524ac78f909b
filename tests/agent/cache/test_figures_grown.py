"""Forecasts and costs that are carried along while a session grows are those of the log read anew."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.forecast import forecast, forecast_next
from agent.ladders import Ladders
from agent.spending import Spending
from compaction.records import AssistantSaid, Compacted, CompactionFailed, Reloaded, Usage
from compaction.view import View, step
from tests.compaction.arbitrary_logs import Session, orderly_sessions
from tests.compaction.build_log import log, ruler, says, user


@settings(max_examples=40, deadline=None)
@given(orderly_sessions, st.randoms(use_true_random=False))
def test_the_meters_figures(session: Session, chance: Random) -> None:
    growing, spending, view = Ladders(ruler()), Spending(), View()
    records = []
    for record in session.records:
        if isinstance(record.body, (AssistantSaid, Compacted, CompactionFailed)):
            record = replace(record, body=replace(record.body, cost=chance.choice([None, 0.1, 0.2, 1.7])))
        records.append(record)
        view = step(view, record)
        if chance.random() < 0.2:
            continue  # several records that are written together are metered once
        now = record.at + 1
        assert forecast_next(records, growing, view, 300, now) == forecast_next(
            records, Ladders(ruler()), view, 300, now
        )
        for reply in [r for r in records if isinstance(r.body, AssistantSaid)][-2:]:
            assert forecast(records, growing, reply, 300) == forecast(records, Ladders(ruler()), reply, 300)
        assert spending.of(records) == Spending().of(records)


def test_the_first_reply_is_counted_from_the_newest_instructions_on_and_for_one_model() -> None:
    usage = Usage(uncached=10)
    bodies = [
        user("go"), says("one", usage=usage), says("two", usage=usage), Reloaded("anew", (), ()),
        says("three", usage=usage), says("other", usage=usage, model="other"), says("four", usage=usage),
    ]  # fmt: skip
    records = log(*bodies)
    replies = [r for r in records if isinstance(r.body, AssistantSaid)]
    kept = Ladders(ruler())
    asked = [*replies, *reversed(replies), *replies]
    first = {r.id: kept.first_reply(records, r).id for r in asked}
    one, two, three, other, four = (r.id for r in replies)
    assert first == {one: one, two: one, three: three, other: other, four: three}
    assert [kept.first_reply(records, r).id for r in asked] == [first[r.id] for r in asked]
