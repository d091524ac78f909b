"""From a view to the request that is sent, byte for byte the same every time.

Not a view (that is `compaction.view`) and no provider's dialect (that is `agent.models.spelling`): this is the
chat format that litellm takes, with two private keys, `_thinking` and `_cache`, which the client translates.

Invariants
 1. Pure: the same view gives the same messages and tools; nothing of today's clock, folder or settings is in them.
 2. With no rewrite between, `prefix_bytes` of one request begins with that of the request before.
 3. Cache marks are no part of the prefix.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from compaction.records import ToolCall
from compaction.turns import Seam, alternates, seam_behind, seams
from compaction.view import Item, View


def canonical(value: Any) -> str:
    """JSON in one fixed spelling: insertion order kept, no spaces, text as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def system_text(view: View) -> str:
    """System prompt and instructions as one text."""
    return "\n\n".join(part for part in (view.system, *view.instructions) if part)


def arguments_of(call: ToolCall) -> str:
    """A call's arguments as valid JSON: what the model wrote, or an object that quotes what could not be read."""
    text = call.arguments.strip() or "{}"
    try:
        fine = isinstance(json.loads(text), dict)
    except ValueError:
        fine = False
    return text if fine else canonical({"unreadable": call.arguments})


# What stands where an image would, for a model that takes none.
UNSEEN = "[an image stands here; this model takes none]"


def message_of(item: Item, *, images: bool = True) -> dict[str, Any]:
    """One item as a message. Without `images` a line stands for those it has."""
    if item.images and not images:
        item = replace(item, text=f"{item.text}\n{UNSEEN}", images=())
    if item.role == "tool":
        return {"role": "tool", "tool_call_id": item.call or "", "content": _content(item)}
    if item.role == "assistant":
        # Blank lines before a call are no words: providers refuse a text without any, and the session with it for good.
        message: dict[str, Any] = {"role": "assistant", "content": item.text if item.text.strip() else None}
        if item.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": arguments_of(c)}}
                for c in item.calls
            ]
        if item.thinking is not None:
            message["_thinking"] = item.thinking
        return message
    return {"role": "user", "content": _content(item)}


def _content(item: Item) -> Any:
    """Text, and the images behind it; images alone where no words came with them."""
    if not item.images:
        return item.text
    words = [{"type": "text", "text": item.text}] if item.text.strip() else []
    return [*words, *map(_image, item.images)]


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


# What the assistant says between a result and the user, for endpoints that let nobody else answer a result. True
# whatever the result was, and too short to be taken for an answer worth imitating.
BRIDGE = "Noted."


def messages_of(view: View, *, marks: Collection[int] = (), images: bool = True) -> tuple[Mapping[str, Any], ...]:
    """The messages of a view; where its log says so, user and assistant take turns (`compaction.turns`).

    `marks` are positions in `view.items` where a cache mark goes; -1 marks the system message.
    """
    text = system_text(view)
    messages: list[dict[str, Any]] = [{"role": "system", "content": text}] if text else []
    if messages and -1 in marks:
        messages[0]["_cache"] = True
    met = seams(view.items, 0, alternates(view))
    for position, item in enumerate(view.items):
        message = message_of(item, images=images)
        if position in marks:
            message["_cache"] = True
        _put(messages, message, met[position])
    return tuple(messages)


def with_word(view: View, messages: Sequence[Mapping[str, Any]], text: str) -> tuple[Mapping[str, Any], ...]:
    """The view's messages with one more of the user role behind them."""
    met: Seam = ""
    if view.items and alternates(view):
        met = seam_behind(view.items[-1])
    longer = [dict(message) for message in messages]
    _put(longer, {"role": "user", "content": text}, met)
    return tuple(longer)


def _put(messages: list[dict[str, Any]], message: dict[str, Any], met: Seam) -> None:
    match met:
        case "joined":
            before = messages[-1]
            before["content"] = _joined(before["content"], message["content"])
            if "_cache" in message:
                before["_cache"] = True
        case "bridged":
            messages += [{"role": "assistant", "content": BRIDGE}, message]
        case "":
            messages.append(message)
        case _:
            assert_never(met)


def _joined(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    parts = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in (first, second)]
    return [*parts[0], *parts[1]]


def tools_of(view: View, *, mark: bool = False) -> tuple[Mapping[str, Any], ...]:
    """The tool schemas as frozen at the session's start; `mark` puts a cache mark on the last."""
    tools = [json.loads(text) for text in view.tools]
    if mark and tools:
        tools[-1]["_cache"] = True
    return tuple(tools)


def prefix_bytes(view: View) -> bytes:
    """The canonical [tools, system, messages] without marks and without its closing bracket, UTF-8."""
    whole = canonical([list(tools_of(view)), *messages_of(view)])
    return whole[:-1].encode()
