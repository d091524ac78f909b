"""The view: what the model sees, as a fold of the log.

Not a request (that is `agent.request`, which spells a view for a provider) and not sized (that is `tokens`).

Invariants
 1. `fold(log)` equals stepping through it record by record, from any stopping point.
 2. Every call is followed by exactly one result, in the calls' order; results without a call are dropped.
 3. Primer, pins and the newest user message are in every view, word for word as admitted.
 4. Rewrites apply in the order written; what a prune replaced never comes back in a retained tail.
 5. The same records give the same items, byte for byte, on every machine and at every time.

How: the view keeps the records that are in force (a rewind drops the later ones) and derives everything else from
them, so there is no second state that could disagree with the log.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from compaction.items import (
    NESTED,
    NO_RESULT,
    PREVIEW,
    TITLE,
    Item,
    Kind,
    Role,
    State,
    admitted,
    first_line,
    pins_notice,
    placeholder,
    preview,
    results_by_call,
    summary_text,
    tail_of,
)
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    Gate,
    Noted,
    Pinned,
    Pruned,
    Record,
    Reloaded,
    Reverted,
    Rewound,
    SettingsChanged,
    Started,
    ToolCall,
    ToolReturned,
    UserSaid,
)
from compaction.shorten import shorten


@dataclass(frozen=True)
class View:
    """The records in force, and all that follows from them. Compare with `==`; build with `fold` and `step`."""

    records: tuple[Record, ...] = ()

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The ids of the records, ascending."""
        return tuple(r.id for r in self.records)

    @cached_property
    def deeds(self) -> tuple[Record, ...]:
        """The records that say nothing: rewrites and their failures, choices, refusals. Few where records are many."""
        return tuple(r for r in self.records if type(r.body) not in _SAYING)

    @cached_property
    def started(self) -> Started | None:
        """The session's first record; None only for an empty log."""
        return next((r.body for r in self.deeds if isinstance(r.body, Started)), None)

    @cached_property
    def _instructed(self) -> Started | Reloaded | None:
        return next((r.body for r in reversed(self.deeds) if isinstance(r.body, (Started, Reloaded))), None)

    @property
    def system(self) -> str:
        """The system prompt in force."""
        return self._instructed.system if self._instructed else ""

    @property
    def instructions(self) -> tuple[str, ...]:
        """AGENTS.md, memory and the like, as frozen at the start or reloaded."""
        return self._instructed.instructions if self._instructed else ()

    @property
    def tools(self) -> tuple[str, ...]:
        """Canonical JSON texts of the tool schemas, in the order sent."""
        return self._instructed.tools if self._instructed else ()

    @cached_property
    def model(self) -> str:
        """The model in force: the last one chosen, else the one the session started with."""
        for record in reversed(self.deeds):
            if isinstance(record.body, SettingsChanged) and record.body.model is not None:
                return record.body.model
        return self.started.model if self.started else ""

    @cached_property
    def rewrites(self) -> tuple[Record, ...]:
        """Prunes and compactions not taken back, in the order written."""
        taken = {r.body.target for r in self.deeds if isinstance(r.body, Reverted)}
        return tuple(r for r in self.deeds if isinstance(r.body, (Pruned, Compacted)) and r.id not in taken)

    @cached_property
    def compaction(self) -> Record | None:
        """The record of the compaction in force."""
        return next((r for r in reversed(self.rewrites) if isinstance(r.body, Compacted)), None)

    @cached_property
    def pins(self) -> tuple[int, ...]:
        """Ids of the pinned records, ascending."""
        pinned: set[int] = set()
        for record in self.deeds:
            match record.body:
                case Pinned(target, True):
                    pinned.add(target)
                case Pinned(target, False):
                    pinned.discard(target)
                case _:
                    pass
        return tuple(sorted(pinned))

    @cached_property
    def replaced(self) -> dict[int, State]:
        """Pruned and spilled record ids. A pin set after the prune restores its record for good."""
        force = {r.id for r in self.rewrites}
        states: dict[int, State] = {}
        for record in self.deeds:
            match record.body:
                case Pruned(records=ids, how=how) if record.id in force:
                    states.update(dict.fromkeys(ids, how))
                case Pinned(target, True):
                    states.pop(target, None)
                case _:
                    pass
        return states

    @cached_property
    def conversation(self) -> tuple[Item, ...]:
        """All that was said, with prunes applied and no compaction: what summaries are made from."""
        return tuple(_converse(self))

    @cached_property
    def prefix_from(self) -> int:
        """The first record the next prefix covers: where the last tail began, or an emergency's own prefix."""
        body = self.compaction.body if self.compaction else None
        if not isinstance(body, Compacted):
            return 0
        return body.prefix_from if body.gate is Gate.EMERGENCY else body.first_kept

    @cached_property
    def primer(self) -> Item | None:
        """The session's first user message, as views without a compaction show it."""
        return next((i for i in self.conversation if i.kind is Kind.USER and i.record in self._typed), None)

    @cached_property
    def _typed(self) -> frozenset[int]:
        return frozenset(r.id for r in self.records if isinstance(r.body, UserSaid) and r.body.how == "typed")

    @cached_property
    def newest_user(self) -> Item | None:
        """The newest message in the user's own words."""
        return self.newest_user_before(self.last + 1)

    def newest_user_before(self, record: int) -> Item | None:
        """The newest message in the user's own words that was logged before `record`."""
        own = {r.id for r in self.records if isinstance(r.body, UserSaid) and r.body.how != "shell" and r.id < record}
        return next((i for i in reversed(self.conversation) if i.record in own), None)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The view, in the order sent: primer, nested instructions, pins, summary, newest user message, tail."""
        return tuple(_lay_out(self)) if self.compaction else self.conversation

    @cached_property
    def tail(self) -> tuple[Item, ...]:
        """What is kept word for word after the compaction in force; everything when there is none."""
        body = self.compaction.body if self.compaction else None
        return tail_of(self.conversation, body.first_kept) if isinstance(body, Compacted) else self.items

    @property
    def last(self) -> int:
        """Id of the newest record in force; 0 for an empty log."""
        return self.records[-1].id if self.records else 0

    def body_of(self, id: int) -> Body | None:
        """What record `id` says; None when it is not in force."""
        at = bisect_left(self.records, id, key=lambda record: record.id)
        return self.records[at].body if at < len(self.records) and self.records[at].id == id else None


# What these records say changes nothing of what the others said.
_SAYING = frozenset({UserSaid, AssistantSaid, ToolReturned, Noted})

# What a view that took in one of them has in common with the view before.
_STEADY = ("started", "_instructed", "model", "rewrites", "compaction", "pins", "replaced", "deeds")


def _converse(view: View) -> Iterable[Item]:
    """Items in conversation order, each result beside its call."""
    results = results_by_call(view.records)
    turn = step = place = 0
    calls: tuple[ToolCall, ...] = ()
    for record in view.records:
        for item in _said(view, record, turn, step):
            turn, step = item.turn, item.step
            if item.role == "tool":
                yield _result(view, record.id, calls[place], results.get((record.id, place)), turn, step)
                place += 1
            else:
                yield item
                calls, place = item.calls, 0


def _said(view: View, record: Record, turn: int, step: int) -> Iterable[Item]:
    """What one record puts into the conversation, its calls unanswered; `turn` and `step` are those before it."""
    state: State = "pinned" if record.id in view.pins else "live"
    match record.body:
        case UserSaid() as said:
            turn += said.how == "typed"
            text = admitted(record.id, said)
            yield Item(record.id, Kind.USER, "user", text, first_line(text), turn, step, state, images=said.images)
        case Noted(text=text, to_model=True):
            yield Item(record.id, Kind.NOTICE, "user", text, first_line(text), turn, step)
        case AssistantSaid() as said if said.text.strip() or said.calls:
            step += 1
            title = first_line(said.text) or ", ".join(c.name for c in said.calls)
            yield Item(
                record.id, Kind.ASSISTANT, "assistant", said.text, title, turn, step, state, said.calls,
                thinking=said.thinking,
            )  # fmt: skip
            for call in said.calls:
                yield _result(view, record.id, call, None, turn, step)
        case _:
            pass


def _grown(after: View, conversation: tuple[Item, ...], record: Record) -> tuple[Item, ...] | None:
    """The conversation with one more record, from the one before it; None when it must be made anew.

    A session of thousands of records takes one more at every step: making it all anew each time would be felt.
    """
    match record.body:
        case UserSaid() | AssistantSaid() | Noted():
            last = conversation[-1] if conversation else None
            more = _said(after, record, last.turn if last else 0, last.step if last else 0)
            return (*conversation, *more)
        case ToolReturned(call=call_id):
            for at in range(len(conversation) - 1, -1, -1):
                item = conversation[at]
                if (
                    item.role == "tool"
                    and item.call == call_id
                    and item.text == NO_RESULT
                    and isinstance(after.body_of(item.record), AssistantSaid)
                ):
                    call = ToolCall(call_id, item.title, "")
                    answered = _result(after, item.record, call, record, item.turn, item.step)
                    return (*conversation[:at], answered, *conversation[at + 1 :])
            return conversation
        case Pruned() | Pinned() | Reverted() | Rewound():
            return None
        case _:
            return conversation


def _result(view: View, asked_by: int, call: ToolCall, record: Record | None, turn: int, step: int) -> Item:
    body = record.body if record else None
    if record is None or not isinstance(body, ToolReturned):
        return Item(asked_by, Kind.TOOL, "tool", NO_RESULT, call.name, turn, step, call=call.id, failed=True)
    state: State = view.replaced.get(record.id, "live")
    match state:
        case "pruned":
            text = placeholder(record.id, body)
        case "spilled":
            text = preview(record.id, body.text)
        case _:
            text = body.text
            state = "pinned" if record.id in view.pins else "spilled" if body.spilled else "live"
    images = body.images if state in ("live", "pinned") else ()
    return Item(
        record.id,
        Kind.TOOL,
        "tool",
        text,
        body.title,
        turn,
        step,
        state,
        call=call.id,
        failed=body.failed,
        images=images,
    )


def _lay_out(view: View) -> Iterable[Item]:
    record = view.compaction
    assert record is not None
    assert isinstance(record.body, Compacted)
    tail = tail_of(view.conversation, record.body.first_kept)
    kept = {i.record for i in tail}
    head: list[Item] = []
    # The newest message as of the compaction: a later one stands in the tail, and taking this one out again then would
    # change bytes already sent.
    primer, newest = view.primer, view.newest_user_before(record.id)
    if primer and primer.record not in kept:
        if record.body.primer is not None and primer.state != "pinned":
            note = f'page the whole message with recall {{"record": {primer.record}}}'
            primer = replace(primer, text=shorten(primer.text, record.body.primer, note))
        head.append(primer)
    # Instructions found below the folder are the project's rules like those at its top: sent as such, never summarised.
    nested = {r.id for r in view.records if isinstance(r.body, Noted) and r.body.topic == NESTED}
    head += [i for i in view.conversation if i.record in nested and i.record not in kept]
    shown = kept | {i.record for i in head} | ({newest.record} if newest else set())
    pinned = [i for i in view.conversation if i.record in view.pins and i.record not in shown and i.text != NO_RESULT]
    if pinned:
        text = pins_notice(pinned)
        images = tuple(image for i in pinned for image in i.images)
        notice = Item(pinned[0].record, Kind.NOTICE, "user", text, "pinned records", 0, 0, "pinned", images=images)
        head.append(notice)
    text = summary_text(record.body)
    title = first_line(record.body.summary) or "summary"
    head.append(Item(record.id, Kind.SUMMARY, "user", text, title, 0, 0))
    if newest and newest.record not in kept and newest.record not in {i.record for i in head}:
        head.append(newest)
    yield from head
    yield from tail


def step(view: View, record: Record) -> View:
    """The view after one more record."""
    if isinstance(record.body, Rewound):
        return View(tuple(r for r in view.records if r.id < record.body.before))
    after = View((*view.records, record))
    known, kept = view.__dict__, after.__dict__
    if "ids" in known:
        kept["ids"] = (*view.ids, record.id)
    if type(record.body) in _SAYING:
        kept.update({name: known[name] for name in _STEADY if name in known})
    elif "deeds" in known:
        kept["deeds"] = (*view.deeds, record)
    grown = _grown(after, view.conversation, record) if "conversation" in known else None
    if grown is not None:
        kept["conversation"] = grown
        if "items" in known and (items := _items_grown(view, grown, record)) is not None:
            kept["items"] = items
    return after


def _items_grown(view: View, grown: tuple[Item, ...], record: Record) -> tuple[Item, ...] | None:
    """The items below a compaction with one more record said, from those before it; None when all is laid out anew.

    What is said after a compaction is in its tail, and changes nothing of what stands before the tail.
    """
    body = view.compaction.body if view.compaction else None
    if not isinstance(body, Compacted) or type(record.body) not in _SAYING or record.id < body.first_kept:
        return None
    items, before = view.items, view.conversation
    if len(grown) > len(before):
        return (*items, *grown[len(before) :])
    if grown is before or grown == before:
        return items
    at = next(n for n in range(len(grown) - 1, -1, -1) if grown[n] is not before[n])
    for place in range(len(items) - 1, -1, -1):
        if items[place] is before[at]:
            return (*items[:place], grown[at], *items[place + 1 :])
    return None


def fold(records: Iterable[Record], view: View | None = None) -> View:
    """The view after all `records`, from `view` on (an empty one by default)."""
    force = list(view.records) if view else []
    for record in records:
        if isinstance(record.body, Rewound):
            before = record.body.before
            force = [r for r in force if r.id < before]
        else:
            force.append(record)
    return View(tuple(force))


__all__ = [
    "NESTED", "NO_RESULT", "PREVIEW", "TITLE", "Item", "Kind", "Role", "State", "View", "admitted", "first_line",
    "fold", "pins_notice", "placeholder", "preview", "step", "summary_text",
]  # fmt: skip
