"""Puts one reply together from the pieces a stream sends.

Not a reader of any provider's bytes: it takes chunks in the OpenAI chat spelling, as plain values.

Invariants
 1. The text of the result is the concatenation of all text pieces handed out; the same for reasoning.
 2. No call is lost: one without an id gets a fresh one, one without an index joins or follows the last.
 3. Text leaves here without control characters (newline and tab stay) and without lone surrogates; a surrogate pair
    split over two pieces is one character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

# C0 without tab and newline, DEL and C1: what a terminal would obey. `\r` goes too, so CRLF becomes a newline.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates as U+FFFD."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean(text: str) -> str:
    """`whole(text)` without control characters but newline and tab."""
    return _CONTROL.sub("", whole(text))


class Cleaner:
    """`clean` for text that comes in pieces: holds back a first half of a surrogate pair."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be shown now."""
        text = self._held + text
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return clean(text)

    def end(self) -> str:
        """What was held back."""
        held, self._held = self._held, ""
        return clean(held)


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """Readable reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A call has grown: `characters` of arguments so far."""

    index: int
    name: str
    characters: int


Piece: TypeAlias = TextPiece | ThinkingPiece | CallPiece


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list)
    characters: int = 0


class Assembler:
    """Takes chunks in order; `result()` is the reply so far as a JSON value.

    A chunk is a mapping with the keys `content`, `reasoning_content`, `tool_calls`, `thinking_blocks`,
    `provider_specific_fields`, all optional. `fresh_id` makes an id for a call that came without one; it must be
    unique in the whole conversation.
    """

    def __init__(self, fresh_id: Callable[[], str]) -> None:
        self._fresh_id = fresh_id
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._text_cleaner = Cleaner()
        self._thinking_cleaner = Cleaner()
        self._calls: list[_Call] = []
        self._slots: dict[int, _Call] = {}
        self._blocks: list[dict[str, Any]] = []
        self._fields: dict[str, Any] = {}

    def take(self, delta: Mapping[str, Any]) -> list[Piece]:
        """What `delta` adds, in reading order: reasoning, text, calls."""
        pieces: list[Piece] = []
        reasoning = _text_of(delta.get("reasoning_content"))
        if shown := self._thinking_cleaner.feed(reasoning):
            self._thinking.append(shown)
            pieces.append(ThinkingPiece(shown))
        if shown := self._text_cleaner.feed(_text_of(delta.get("content"))):
            self._text.append(shown)
            pieces.append(TextPiece(shown))
        for call in delta.get("tool_calls") or ():
            pieces.append(self._grow(call))
        for block in delta.get("thinking_blocks") or ():
            self._add_block(block)
        _merge(self._fields, delta.get("provider_specific_fields") or {})
        return pieces

    def end(self) -> list[Piece]:
        """Whatever was held back; call once, when the stream is over."""
        pieces: list[Piece] = []
        if rest := self._thinking_cleaner.end():
            self._thinking.append(rest)
            pieces.append(ThinkingPiece(rest))
        if rest := self._text_cleaner.end():
            self._text.append(rest)
            pieces.append(TextPiece(rest))
        return pieces

    def result(self) -> dict[str, Any]:
        """`text`, `thinking` (readable), `calls` as [id, name, arguments], `blocks` (signed thinking), `fields`."""
        taken: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.name and not call.characters:
                continue
            name = call.id if call.id and call.id not in taken else self._fresh_id()
            taken.add(name)
            calls.append([name, call.name, whole("".join(call.arguments)) or "{}"])
        return {
            "text": "".join(self._text),
            "thinking": "".join(self._thinking),
            "calls": calls,
            "blocks": [_whole_block(block) for block in self._blocks],
            "fields": self._fields,
        }

    def _grow(self, delta: Mapping[str, Any]) -> CallPiece:
        function = delta.get("function") or {}
        name, arguments = function.get("name") or "", function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments)
        call = self._slot(delta.get("index"), delta.get("id") or "", name)
        # A name arrives whole; servers that repeat it with every piece must not double it.
        call.name = call.name or clean(name)
        call.arguments.append(arguments)
        call.characters += len(arguments)
        return CallPiece(self._calls.index(call), call.name, call.characters)

    def _slot(self, index: int | None, id: str, name: str) -> _Call:
        """The call a piece belongs to. Another id together with a name opens a call even under a used index."""
        if index is None:
            last = self._calls[-1] if self._calls else None
            known = next((c for c in self._calls if id and c.id == id), None)
            call = known or (last if last is not None and not id and not (name and last.name) else None)
        else:
            call = self._slots.get(index)
        if call is not None and not (id and name and call.name and call.id and id != call.id):
            call.id = call.id or id
            return call
        call = _Call(id, "")
        self._calls.append(call)
        if index is not None:
            self._slots[index] = call
        return call

    def _add_block(self, block: Mapping[str, Any]) -> None:
        """Joins the pieces of one thinking block: same index, or no index and no finished signature before it."""
        kind, index = block.get("type") or "thinking", block.get("index")
        last = self._blocks[-1] if self._blocks else None
        joins = (
            last is not None
            and kind == "thinking"
            and last["type"] == "thinking"
            and (last.get("index") == index if index is not None else not last.get("signature"))
        )
        if last is None or not joins:
            last = {"type": kind, "index": index}
            if kind == "thinking":
                last |= {"thinking": "", "signature": ""}
            self._blocks.append(last)
        for key in ("thinking", "signature", "data"):
            if block.get(key):
                last[key] = last.get(key, "") + block[key]


def _whole_block(block: Mapping[str, Any]) -> dict[str, Any]:
    return {key: whole(value) for key, value in block.items() if key != "index" and isinstance(value, str)}


def _text_of(content: Any) -> str:
    """Text from a string or from a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return ""


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Lists grow, the rest is replaced by the newer value."""
    for key, value in more.items():
        if value is None:
            continue
        if isinstance(value, list) and isinstance(into.get(key), list):
            into[key] = [*into[key], *value]
        else:
            into[key] = value
