"""The rung without a model: previous summary, fact sheet, a line saying what was dropped, the tail.

Not a decision (that is `gates`) and no writing: it makes the record that would be written, or says that none helps.

Invariants
 1. No model is asked; the summary is the previous one, word for word.
 2. What is made ends smaller than before and below the size asked for, or is not made at all: a rewrite that does not
    save the turn would only lose what it drops.
"""

from __future__ import annotations

from dataclasses import replace

from compaction.budget import Budget
from compaction.cut import Cut
from compaction.facts import fact_sheet
from compaction.records import Compacted, Gate, Record
from compaction.room import primer_shown
from compaction.tokens import Ruler, calibrated
from compaction.view import View, step

# The fact sheet in full, then a quarter of it, then none: a few dropped messages may be smaller than what is said of
# them. (Shares of the cap, as denominators.)
SHARES = (1, 4)


def previous_summary(view: View) -> str:
    """The summary in force; empty when there is none."""
    body = view.compaction.body if view.compaction else None
    return body.summary if isinstance(body, Compacted) else ""


def emergency(view: View, ruler: Ruler, budget: Budget, cut: Cut, under: int) -> Compacted | None:
    """The compaction without a model that cuts at `cut`; None when it would not end smaller, and below `under`."""
    summary = previous_summary(view)
    count = len(cut.prefix)
    dropped = f"[dropped without a summary: {count:,} message{'s' if count != 1 else ''}; recall finds them]"
    sheets = [fact_sheet(view, cut, summary, ruler, budget.fact_cap // share) for share in SHARES]
    previous = view.compaction.id if view.compaction else None
    before = calibrated(view, ruler)
    for sheet in dict.fromkeys([*sheets, ""]):
        body = Compacted(
            summary, f"{dropped}\n\n{sheet}".strip(), cut.first_kept, cut.prefix_from, previous, "", Gate.EMERGENCY,
            before, 0, "", primer=primer_shown(view, ruler, budget),
        )  # fmt: skip
        after = calibrated(step(view, Record(view.last + 1, 0.0, body)), ruler)
        if after < before and after < under:
            return replace(body, after=after)
    return None
