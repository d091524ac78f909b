"""What the session has cost so far, request by request, told from its records.

Not prices: a record carries its own. Purely additive, so a replay gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compaction.records import AssistantSaid, Compacted, CompactionFailed, Record, Usage
from tui.plain import dollars, tokens

# The newest requests are the ones asked about; the totals count all.
LISTED = 200


@dataclass(slots=True)
class Costs:
    """A tally over records."""

    rows: list[tuple[int, str, Usage, float | None]] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Count what `record` says was used."""
        body = record.body
        match body:
            case AssistantSaid(usage=Usage() as usage, cost=cost):
                self.rows.append((record.id, "answer", usage, cost))
            case Compacted(usage=Usage() as usage, cost=cost):
                self.rows.append((record.id, "summary", usage, cost))
            case CompactionFailed(usage=Usage() as usage):
                self.rows.append((record.id, "failed summary", usage, None))
            case _:
                pass

    def clear(self) -> None:
        """Another session."""
        self.rows.clear()

    def table(self) -> str:
        """One line a request, then the totals."""
        if not self.rows:
            return "No request has been made in this session."
        head = f"{'#':>6}  {'uncached':>9} {'cached':>9} {'written':>9} {'output':>9}  {'price':>8}"
        lines = [head]
        for number, what, usage, cost in self.rows[-LISTED:]:
            lines.append(self._line(f"{number}", usage, cost) + ("" if what == "answer" else f"  {what}"))
        priced = [cost for *_, cost in self.rows if cost is not None]
        total = Usage(
            uncached=sum(usage.uncached for _, _, usage, _ in self.rows),
            cache_read=sum(usage.cache_read for _, _, usage, _ in self.rows),
            cache_write=sum(usage.cache_write for _, _, usage, _ in self.rows),
            output=sum(usage.output for _, _, usage, _ in self.rows),
        )
        lines += ["", self._line("all", total, sum(priced) if priced else None)]
        summaries = [cost or 0.0 for _, what, _, cost in self.rows if what != "answer"]
        if summaries:
            lines.append(f"of it for {len(summaries)} summaries: {dollars(sum(summaries))}")
        return "\n".join(lines)

    @staticmethod
    def _line(name: str, usage: Usage, cost: float | None) -> str:
        counts = (usage.uncached, usage.cache_read, usage.cache_write, usage.output)
        price = dollars(cost) if cost is not None else "?"
        return f"{name:>6}  " + " ".join(f"{tokens(count):>9}" for count in counts) + f"  {price:>8}"
