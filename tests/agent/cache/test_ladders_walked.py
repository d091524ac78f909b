"""Ladders that are kept and grown are the ones made anew from the log, whatever was written."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings

from agent.forecast import forecast
from agent.ladders import Ladders
from compaction.cache import Ladder, ladder
from compaction.records import AssistantSaid, Record
from compaction.view import View, fold, step
from tests.compaction.arbitrary_logs import Session, orderly_sessions, wild_logs
from tests.compaction.build_log import ruler


def anew(records: tuple[Record, ...], last: int) -> Ladder:
    return ladder(fold(r for r in records if r.id <= last), ruler())


def _answering(record: Record) -> Record:
    """A reply answers the request made just before it."""
    if not isinstance(record.body, AssistantSaid):
        return record
    return replace(record, body=replace(record.body, seen=record.id - 1))


@settings(max_examples=60, deadline=None)
@given(wild_logs)
def test_kept_ladders_are_those_of_the_log(records: tuple[Record, ...]) -> None:
    kept, view = Ladders(ruler()), View()
    records = tuple(_answering(r) for r in records)
    answered = [r for r in records if isinstance(r.body, AssistantSaid)]
    for record in records:
        view = step(view, record)
        assert kept.now(view) == anew(records, record.id)
    for reply in [*answered, *reversed(answered)]:
        assert isinstance(reply.body, AssistantSaid)
        assert kept.sent(records, reply) == anew(records, reply.body.seen)


@settings(max_examples=40, deadline=None)
@given(orderly_sessions)
def test_a_forecast_is_the_same_while_the_log_grows_and_afterwards(session: Session) -> None:
    records = tuple(session.records)
    growing, whole, alone = Ladders(ruler()), Ladders(ruler()), {}
    live = []
    for n, record in enumerate(records, 1):
        if isinstance(record.body, AssistantSaid):
            live.append(forecast(records[:n], growing, record, 300))
            alone[record.id] = forecast(records, Ladders(ruler()), record, 300)
    told = [forecast(records, whole, r, 300) for r in records if isinstance(r.body, AssistantSaid)]
    assert live == told == list(alone.values())
