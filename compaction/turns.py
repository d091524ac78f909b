"""Where user and assistant have to take turns: whether they do in a session, and where two messages meet that may not.

Not a request (its messages are `agent.request`'s): this says which places change, for its bytes and for the cache's
ladder alike.

Invariants
 1. Whether turns are taken is read from the log, so a replay gives the same bytes.
 2. What happens at an item depends on it and the one before alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

from compaction.items import Item
from compaction.records import SettingsChanged
from compaction.view import View

# What is done where two items meet: nothing, one message made of two of the user's, or a word of the assistant's put
# between a result and the user (templates that skip calls and results in the count want one there).
Seam: TypeAlias = Literal["", "joined", "bridged"]


def alternates(view: View) -> bool:
    """Whether the session's requests keep user and assistant in turns."""
    for record in reversed(view.deeds):
        if isinstance(record.body, SettingsChanged) and record.body.alternate is not None:
            return record.body.alternate
    return view.started.alternate if view.started else False


def seam_behind(item: Item) -> Seam:
    """What turns ask for between an item and words of the user's that follow it."""
    match item.role:
        case "user":
            return "joined"
        case "tool":
            return "bridged"
        case "assistant":
            return ""
        case _:
            assert_never(item.role)


def seams(items: Sequence[Item], first: int, on: bool) -> tuple[Seam, ...]:
    """The seams of the items from position `first` on; none of them anything unless `on`."""
    return tuple(
        seam_behind(items[n - 1]) if on and n and items[n].role == "user" else "" for n in range(first, len(items))
    )


__all__ = ["Seam", "alternates", "seam_behind", "seams"]
