"""How the scripted server speaks: one reply as the events of an OpenAI-style or Anthropic-style stream. Pure.

A reply is the mapping that `stub_server` documents; here only `text`, `calls`, `thinking`, `signature`, `redacted`,
`finish` and `chunk` matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

# Characters of text in one event when the script does not say.
CHUNK = 16

# The created field of every event: a fixed clock keeps recordings equal.
CREATED = 1_700_000_000


def pieces(text: str, size: int) -> list[str]:
    """`text` in pieces of at most `size` characters."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def calls_of(step: Mapping[str, Any], number: int) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of a step's calls. An id not given is made from the request's number; null is none."""
    calls = []
    for i, call in enumerate(step.get("calls") or ()):
        arguments = call.get("arguments", {})
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        id = call.get("id", f"call_{number}_{i}")
        calls.append(("" if id is None else id, call["name"], text))
    return calls


def openai_events(step: Mapping[str, Any], number: int, model: str, usage: Mapping[str, Any] | None) -> Iterator[str]:
    """Server-sent events of a chat completion, `[DONE]` included."""
    size = step.get("chunk", CHUNK)

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _openai_event({"choices": [choice]}, number, model)

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(step.get("thinking") or "", size):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(step.get("text") or "", size):
        yield chunk({"content": piece})
    calls = calls_of(step, number)
    for i, (id, name, arguments) in enumerate(calls):
        head: dict[str, Any] = {"index": i, "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [{**head, "id": id} if id else head]})
        for piece in pieces(arguments, size):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    finish = step.get("finish", "tool_calls" if calls else "stop")
    if finish is not None:
        yield chunk({}, finish)
    if usage is not None:
        yield _openai_event({"choices": [], "usage": usage}, number, model)
    if finish is not None:
        yield "data: [DONE]\n\n"


def _openai_event(body: Mapping[str, Any], number: int, model: str) -> str:
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": CREATED, "model": model}
    return f"data: {json.dumps({**head, **body})}\n\n"


def anthropic_events(
    step: Mapping[str, Any], number: int, model: str, usage: Mapping[str, Any] | None
) -> Iterator[str]:
    """Server-sent events of a message: input and cache counts come at the start, `output_tokens` at the end."""
    size = step.get("chunk", CHUNK)
    usage = usage or {"input_tokens": 0, "output_tokens": 0}
    opening = {**{k: v for k, v in usage.items() if k != "output_tokens"}, "output_tokens": 1}
    yield _event(
        "message_start",
        message={"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
                 "stop_reason": None, "stop_sequence": None, "usage": opening},
    )  # fmt: skip
    for index, (block, deltas) in enumerate(_anthropic_blocks(step, number, size)):
        yield _event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    finish = step.get("finish", "tool_use" if step.get("calls") else "end_turn")
    if finish is None:
        return
    closing = {"output_tokens": usage.get("output_tokens", 0)}
    yield _event("message_delta", delta={"stop_reason": finish, "stop_sequence": None}, usage=closing)
    yield _event("message_stop")


def _anthropic_blocks(
    step: Mapping[str, Any], number: int, size: int
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if thinking := step.get("thinking"):
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(thinking, size)]
        deltas.append({"type": "signature_delta", "signature": step.get("signature", f"signature-{number}")})
        yield {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if redacted := step.get("redacted"):
        yield {"type": "redacted_thinking", "data": redacted}, []
    if text := step.get("text"):
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(text, size)]
    for id, name, arguments in calls_of(step, number):
        grown = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(arguments, size)]
        yield {"type": "tool_use", "id": id, "name": name, "input": {}}, grown


def _event(kind: str, **body: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **body})}\n\n"
