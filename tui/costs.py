"""What the session has cost so far, request by request, and what its rewrites cost and saved; told from its records.

Not prices: a record carries its own, and what a rewrite saved is reckoned in tokens first. Purely additive, so a replay
gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compaction.cache import Prices
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Pruned,
    Record,
    Reverted,
    SettingsChanged,
    Started,
    Usage,
    WindowLearned,
)
from tui.plain import dollars, plural, tokens

# The newest requests are the ones asked about; the totals count all.
LISTED = 200

_MILLION = 1_000_000


@dataclass(slots=True)
class Costs:
    """A tally over records.

    `freed` are the tokens each rewrite in force took out, by its record; `spared` sums them over the requests since;
    `reread` is what the requests right after a rewrite found in no cache.
    """

    rows: list[tuple[int, str, Usage, float | None]] = field(default_factory=list)
    model: str = ""
    freed: dict[int, int] = field(default_factory=dict)
    rewrites: int = 0
    spared: int = 0
    reread: int = 0
    _fresh: bool = False

    def add(self, record: Record) -> None:
        """Count what `record` says was used."""
        body = record.body
        match body:
            case Started(model=model):
                self.model = model
            case SettingsChanged(model=str(model)):
                self.model = model
            case AssistantSaid(usage=usage, cost=cost):
                self.spared += sum(self.freed.values())
                if usage is not None:
                    self.rows.append((record.id, "answer", usage, cost))
                    self.reread += usage.uncached + usage.cache_write if self._fresh else 0
                self._fresh = False
            case Pruned(before=before, after=after):
                self._rewritten(record.id, before - after)
            case Compacted(before=before, after=after, usage=usage, cost=cost):
                self._rewritten(record.id, before - after)
                if usage is not None:
                    self.rows.append((record.id, "summary", usage, cost))
            case Reverted(target=target):
                self.freed.pop(target, None)
                self._fresh = True
            case WindowLearned(usage=Usage() as usage, cost=cost):
                self.rows.append((record.id, "dropped unread", usage, cost))
            case CompactionFailed(usage=Usage() as usage, cost=cost):
                self.rows.append((record.id, "failed summary", usage, cost))
            case _:
                pass

    def _rewritten(self, id: int, freed: int) -> None:
        self.freed[id], self._fresh = freed, True
        self.rewrites += 1

    def clear(self) -> None:
        """Another session."""
        self.rows.clear()
        self.freed.clear()
        self.rewrites = self.spared = self.reread = 0
        self._fresh = False

    def table(self, prices: Prices | None = None) -> str:
        """One line a request, the totals, and what rewrites cost and saved; in money too where `prices` are known."""
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
        if len(priced) < len(self.rows):
            unknown = plural(len(self.rows) - len(priced), "request")
            lines.append(f"No price is known for {unknown}; the tokens are counted all the same.")
        return "\n".join([*lines, *self._rewrites(prices)])

    def _rewrites(self, prices: Prices | None) -> list[str]:
        """What the rewrites cost (summaries, and what had to be read again) and what later requests did not carry."""
        if not self.rewrites:
            return []
        summaries = [(usage, cost) for _, what, usage, cost in self.rows if what.endswith("summary")]
        paid = sum(cost or 0.0 for _, cost in summaries)
        spent = sum(usage.uncached + usage.cache_read + usage.cache_write + usage.output for usage, _ in summaries)
        said = [f"{plural(self.rewrites, 'rewrite')}"]
        if summaries:
            known = f", {dollars(paid)}" if any(cost is not None for _, cost in summaries) else ""
            said.append(f"{'summary' if len(summaries) == 1 else f'{len(summaries)} summaries'} {tokens(spent)}{known}")
        again = f"read again after them {tokens(self.reread)}"
        spared = f"not sent since {tokens(self.spared)}"
        if prices is None:
            return ["", " · ".join([*said, again, spared])]
        # Had nothing been rewritten, both would have been read from the cache.
        extra = self.reread * max(0.0, prices.write - prices.read) / _MILLION
        saved = self.spared * prices.read / _MILLION
        said += [f"{again} (about {dollars(extra)} more)", f"{spared} (about {dollars(saved)})"]
        return ["", " · ".join(said), f"in all they {_verdict(saved - extra - paid)} so far"]

    @staticmethod
    def _line(name: str, usage: Usage, cost: float | None) -> str:
        counts = (usage.uncached, usage.cache_read, usage.cache_write, usage.output)
        price = dollars(cost) if cost is not None else "?"
        return f"{name:>6}  " + " ".join(f"{tokens(count):>9}" for count in counts) + f"  {price:>8}"


def _verdict(gain: float) -> str:
    return (
        f"have saved about {dollars(gain)}" if gain >= 0 else f"have cost about {dollars(-gain)} more than they saved"
    )
