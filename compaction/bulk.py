"""How much of a request's body things take: what counts when a provider refuses one for its bytes.

Not a size (that is `tokens`: gates, meter and JSON read tokens). A picture is the reason: it is a thousand tokens or
two, and a megabyte on the wire.

Invariant
 1. Only compared with itself: nothing measured here is logged, or shown as tokens.
"""

from __future__ import annotations

from compaction.records import (
    AssistantSaid,
    Compacted,
    Pruned,
    Record,
    Rewound,
    SettingsChanged,
    WindowLearned,
)
from compaction.tokens import IMAGE, Ruler, calibration, estimate
from compaction.view import Item, View

# Bytes of English text and code for a token: the unit here, so that shares of a budget keep their meaning for text.
BYTES_A_TOKEN = 4

# A body that was refused has to become half: the limit is not known, and a turn's one retry must last to its end.
SHED_SHARE = 2


class Bulk(Ruler):
    """A ruler of bytes, in units of four: texts by their UTF-8, pictures by their data."""

    def __init__(self) -> None:
        super().__init__(_quarters)

    def item(self, item: Item) -> int:
        """Units of one item as a message."""
        return super().item(item) + sum(_quarters(url) - IMAGE for url in item.images)


def _quarters(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN)


def refused_for_bytes(view: View) -> Record | None:
    """The newest refusal of a body of this model's for its bytes that nothing contradicts.

    What contradicts it: the same body, or a larger one, answered since; and the user's own choice of model or budget,
    so that a wrong refusal cannot keep a session small.
    """
    found: Record | None = None
    same = False
    for record in view.records:
        match record.body:
            case WindowLearned(bytes=True, summary=False, model=model) if model == view.model:
                found, same = record, True
            case Pruned() | Compacted() | Rewound():
                same = False
            case AssistantSaid(model=view.model, stop=stop) if same and stop not in ("aborted", "failed"):
                found = None
            case SettingsChanged(model=chosen, budget=budget) if chosen is not None or budget is not None:
                found = None
            case _:
                pass
    return found


def refused_bulk(view: View, refused: Record, bulk: Bulk) -> int:
    """How bulky the request was that record `refused` speaks of, on today's scale: one calibration for both."""
    then = View(tuple(r for r in view.records if r.id <= refused.id))
    return round(estimate(then, bulk) * calibration(view))
