"""The timeline of a session: one row for each answered request, from the log alone.

Not a drawing. Sizes are tokens, costs dollars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from agent.forecast import Forecast, forecast
from agent.session import Session
from compaction.records import AssistantSaid, Compacted, Pruned, Record, Reverted, WindowLearned, tag_of


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request of a session's timeline; sizes in tokens, cost in dollars.

    `breaks` names why its cached prefix ended early; `rewrites` are the tags of what was rewritten before it.
    """

    record: int
    at: float
    model: str
    size: int
    uncached: int
    cache_read: int
    cache_write: int
    output: int
    predicted: int
    cost: float | None
    breaks: str | None
    rewrites: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Requests(Sequence[RequestRow]):
    """The rows; `since` are the tags of what was rewritten after the last of them, for a request yet to come."""

    rows: tuple[RequestRow, ...]
    since: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> RequestRow: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[RequestRow, ...]: ...
    def __getitem__(self, at: int | slice) -> RequestRow | tuple[RequestRow, ...]:
        return self.rows[at]


def request_rows(session: Session) -> Requests:
    """One row for each answered request."""
    rows: list[RequestRow] = []
    rewrites: list[str] = []
    for record in session.log.records:
        body = record.body
        if isinstance(body, (Pruned, Compacted)):
            rewrites.append(tag_of(body))
        elif isinstance(body, Reverted):
            rewrites.append("undone")
        elif isinstance(body, WindowLearned):
            rewrites.append("refused for length")
        elif isinstance(body, AssistantSaid):
            lifetime = session.kit.settings.cache_ttl_for(body.model)
            expected = forecast(session.log.records, session.ladders, record, lifetime)
            rows.append(_row(record, body, expected, tuple(rewrites)))
            rewrites = []
    return Requests(tuple(rows), tuple(rewrites))


def _row(record: Record, body: AssistantSaid, expected: Forecast, rewrites: tuple[str, ...]) -> RequestRow:
    usage = body.usage
    return RequestRow(
        record.id,
        record.at,
        body.model,
        usage.input if usage else body.estimated,
        usage.uncached if usage else body.estimated,
        usage.cache_read if usage else 0,
        usage.cache_write if usage else 0,
        usage.output if usage else 0,
        expected.tokens,
        body.cost,
        expected.why,
        rewrites,
    )
