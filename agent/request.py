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
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from compaction.records import ToolCall
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
        content: Any = item.text
        if item.images:
            content = [{"type": "text", "text": item.text}, *map(_image, item.images)]
        return {"role": "tool", "tool_call_id": item.call or "", "content": content}
    if item.role == "assistant":
        message: dict[str, Any] = {"role": "assistant", "content": item.text or None}
        if item.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": arguments_of(c)}}
                for c in item.calls
            ]
        if item.thinking is not None:
            message["_thinking"] = item.thinking
        return message
    if item.images:
        return {"role": "user", "content": [{"type": "text", "text": item.text}, *map(_image, item.images)]}
    return {"role": "user", "content": item.text}


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def messages_of(
    view: View, *, alternate: bool = False, marks: Collection[int] = (), images: bool = True
) -> tuple[Mapping[str, Any], ...]:
    """The messages of a view. `alternate` joins neighbours of the user role, for endpoints that insist on turns.

    `marks` are positions in `view.items` where a cache mark goes; -1 marks the system message.
    """
    text = system_text(view)
    messages: list[dict[str, Any]] = [{"role": "system", "content": text}] if text else []
    if messages and -1 in marks:
        messages[0]["_cache"] = True
    for position, item in enumerate(view.items):
        message = message_of(item, images=images)
        if position in marks:
            message["_cache"] = True
        before = messages[-1] if messages else None
        if alternate and before and message["role"] == before["role"] == "user":
            before["content"] = _joined(before["content"], message["content"])
            if "_cache" in message:
                before["_cache"] = True
            continue
        messages.append(message)
    return tuple(messages)


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
