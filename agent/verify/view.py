"""What a provider would refuse in a view, or what a view lacks of what every view must hold.

Of a view as it stands, whatever the log before it says (that is `agent.verify`).
"""

from __future__ import annotations

from collections.abc import Iterator

from compaction.records import Compacted, ToolReturned
from compaction.shorten import shorten
from compaction.view import NO_RESULT, Item, Kind, View, placeholder, preview


def invalid(view: View) -> Iterator[str]:
    """Each as the rest of a sentence that begins with the view."""
    yield from _unpaired(view)
    yield from _unreplaced(view)
    yield from _lacking(view)


def _unpaired(view: View) -> Iterator[str]:
    items = view.items
    at = 0
    while at < len(items):
        item = items[at]
        at += 1
        if item.role == "tool":
            yield f"has a result without its call (record {item.record})"
        for call in item.calls:
            if at < len(items) and items[at].role == "tool" and items[at].call == call.id:
                at += 1
            else:
                yield f"has a call without its result (record {item.record}, {call.id})"


def _unreplaced(view: View) -> Iterator[str]:
    """What was replaced is shown as its placeholder or preview for good, whatever was rewritten since."""
    for item in view.items if view.replaced else ():
        how = view.replaced.get(item.record)
        body = view.body_of(item.record)
        if how is None or item.role != "tool" or not isinstance(body, ToolReturned):
            continue
        if item.text != (placeholder(item.record, body) if how == "pruned" else preview(item.record, body.text)):
            yield f"shows record {item.record} again, which was {how}"


def _lacking(view: View) -> Iterator[str]:
    items = view.items
    own = {item.record: item.text for item in items if item.kind is Kind.USER}
    primer, newest = view.primer, view.newest_user
    if primer and own.get(primer.record) not in (primer.text, _as_compacted(view, primer)):
        yield "lacks the session's first message" + (", word for word" if primer.record in own else "")
    # A huge first message is shown short after a compaction, and it can be the newest one too.
    if newest and newest != primer and own.get(newest.record) != newest.text:
        yield "lacks the user's newest message, word for word"
    everything = "\n".join(item.text for item in items) if view.pins else ""
    for item in view.conversation:
        if item.record in view.pins and item.text not in everything and item.text != NO_RESULT:
            yield f"lacks the pinned record {item.record}"


def _as_compacted(view: View, primer: Item) -> str:
    """The first message as the compaction in force shows it."""
    body = view.compaction.body if view.compaction else None
    if not isinstance(body, Compacted) or body.primer is None:
        return primer.text
    return shorten(primer.text, body.primer, f'page the whole message with recall {{"record": {primer.record}}}')
