"""One message of a view, and the texts this program puts in place of what it leaves out.

Not the order of messages (that is `view`). Every text here is a function of one record alone, so that a replay writes
the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from compaction.records import AssistantSaid, Compacted, Record, ToolCall, ToolReturned, UserSaid
from compaction.shorten import head_end, shorten

# What stands for a result that never came (killed, interrupted). A fixed text: a replay must write the same bytes.
NO_RESULT = "[no result: the call was interrupted before it finished]"

# The preview of a spilled result, characters: enough for the first and the last screenful of a log.
PREVIEW = 2_000

# A title longer than a screen line tells no more; characters.
TITLE = 80


# The topic of a notice that carries a nested instructions file.
NESTED = "nested"


class Kind(StrEnum):
    """Whose words an item holds; the colours of the meter."""

    SUMMARY = "summary"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    NOTICE = "notice"


State: TypeAlias = Literal["live", "pruned", "spilled", "pinned"]
Role: TypeAlias = Literal["user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Item:
    """One message of the view. `record` is where it came from; `turn` and `step` count from 1 through the session.

    A synthesised result (`NO_RESULT`) carries its call's record. `title` is its first line, cut to `TITLE` characters.
    """

    record: int
    kind: Kind
    role: Role
    text: str
    title: str
    turn: int
    step: int
    state: State = "live"
    calls: tuple[ToolCall, ...] = ()
    call: str | None = None
    failed: bool = False
    thinking: str | None = None
    images: tuple[str, ...] = ()


def first_line(text: str) -> str:
    """The first line with words in it, cut to `TITLE` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE else line[: head_end(line, TITLE - 1)] + "…"


def placeholder(record: int, body: ToolReturned) -> str:
    """What stands for a pruned result: a function of its record alone."""
    size = max(body.characters, len(body.text))
    return (
        f"[output removed to save context: {body.title}, {size:,} characters. "
        f'Get it back with recall {{"record": {record}}} or run the call again.]'
    )


def preview(record: int, text: str) -> str:
    """Head, tail and a pointer for a result too large to keep in the conversation."""
    return shorten(text, PREVIEW, f'the whole output is kept; page it with recall {{"record": {record}}}')


def admitted(record: int, body: UserSaid) -> str:
    """A user message as the views show it."""
    if body.admitted is None:
        return body.text
    return shorten(body.text, body.admitted, f'page the whole message with recall {{"record": {record}}}')


def pins_notice(pinned: Iterable[Item]) -> str:
    """One notice quoting pins from before the cut; a pinned result without its call would be an orphan."""
    quoted = "\n\n".join(f'<pinned record="{i.record}" title="{i.title}">\n{i.text}\n</pinned>' for i in pinned)
    return f"[kept word for word at the user's wish]\n\n{quoted}"


def summary_text(body: Compacted) -> str:
    """The summary and its fact sheet as one user-role text."""
    parts = [p for p in (body.summary.strip(), body.fact_sheet.strip()) if p]
    return "[earlier conversation, summarised]\n\n" + "\n\n".join(parts)


def results_by_call(records: Iterable[Record]) -> dict[tuple[int, int], Record]:
    """For (record of the reply, index of the call): the record of its first result."""
    waiting: dict[str, list[tuple[int, int]]] = {}
    found: dict[tuple[int, int], Record] = {}
    for record in records:
        match record.body:
            case AssistantSaid(calls=calls):
                for index, call in enumerate(calls):
                    waiting.setdefault(call.id, []).append((record.id, index))
            case ToolReturned(call=call_id) if waiting.get(call_id):
                found[waiting[call_id].pop()] = record
            case _:
                pass
    return found


def tail_of(conversation: tuple[Item, ...], first_kept: int) -> tuple[Item, ...]:
    """Items from `first_kept` on; a result goes where its call goes."""
    kept: list[Item] = []
    keeping = False
    for item in conversation:
        if item.role != "tool":
            keeping = item.record >= first_kept
        if keeping:
            kept.append(item)
    return tuple(kept)
