"""What a log's requests have cost: added up as the log grows.

Invariants
 1. The sum is that of all records, rewound ones too, in their order: the same as made anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from compaction.records import AssistantSaid, Compacted, CompactionFailed, Record, WindowLearned


class Spending:
    """Reads each record of one growing log once."""

    def __init__(self) -> None:
        self._read = 0
        self._known: list[float] = []

    def of(self, records: Sequence[Record]) -> float | None:
        """Dollars, those rewound since included; None when no request had a price. `records` only ever grow."""
        for place in range(self._read, len(records)):
            body = records[place].body
            if isinstance(body, (AssistantSaid, Compacted, CompactionFailed, WindowLearned)) and body.cost is not None:
                self._known.append(body.cost)
        self._read = len(records)
        return round(sum(self._known), 6) if self._known else None
