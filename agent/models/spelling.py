"""One request as the keyword arguments of the library's call: marks, thinking and odd calls spelled per provider.

Not the building of the conversation (`agent.request` does that) and no sending. Pure.

Invariants
 1. A message's spelling depends on that message and the endpoint alone, so earlier messages keep their bytes.
 2. No key beginning with `_` leaves here, and no provider gets another provider's thinking.
 3. Every call sent has a name, an id and arguments that providers accept, whatever a model once wrote.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from agent.model import Endpoint, Request
from agent.models.providers import echoes_reasoning, family_of, provider_of, sends_effort, takes_marks, thinking_off

# Sent where a server of the user's own asks for no key; the client library insists on one.
NO_KEY = "none"

# Names that every provider's own pattern allows.
_BAD_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64

# Thought signatures that the library hides in a call's id; meant for the provider they came from.
_SIGNATURE = "__thought__"
# The longest id one large provider takes.
_LONGEST_ID = 40
# One provider takes ids of exactly nine letters and digits.
_NINE = re.compile(r"[a-zA-Z0-9]{9}")

# What a request's `extra` must not replace.
_RESERVED = frozenset({"model", "messages", "tools", "api_base", "api_key", "stream", "stream_options", "timeout"})


def spell(endpoint: Endpoint, request: Request, *, supports_effort: bool = False) -> dict[str, Any]:
    """The keyword arguments, JSON values only. `supports_effort`: the model is known to take a reasoning effort."""
    call: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [message(m, endpoint) for m in request.messages],
        "timeout": request.deadline,
    }
    if request.tools:
        call["tools"] = [tool(t, endpoint) for t in request.tools]
    if request.max_tokens is not None:
        call["max_tokens"] = request.max_tokens
    if request.thinking_off:
        if (effort := thinking_off(endpoint.model)) is not None and supports_effort:
            call["reasoning_effort"] = effort
    elif request.effort is not None and (supports_effort or sends_effort(endpoint.model)):
        call["reasoning_effort"] = request.effort
    call |= {name: value for name, value in request.extra.items() if name not in _RESERVED}
    if request.grammar is not None:
        call["extra_body"] = {**call.get("extra_body", {}), "grammar": request.grammar}
    if endpoint.api_base is not None:
        call["api_base"] = endpoint.api_base
    if endpoint.key is not None:
        call["api_key"] = endpoint.key
    elif endpoint.api_base is not None:
        call["api_key"] = NO_KEY
    return call


def message(given: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """One message for this endpoint."""
    spelt = {key: value for key, value in given.items() if not key.startswith("_")}
    if spelt.get("tool_calls"):
        spelt["tool_calls"] = [_call(c, endpoint) for c in spelt["tool_calls"]]
    if "tool_call_id" in spelt:
        spelt["tool_call_id"] = call_id(str(spelt["tool_call_id"]), endpoint)
    if given.get("_thinking"):
        spelt |= thinking_keys(str(given["_thinking"]), endpoint, calls=bool(spelt.get("tool_calls")))
    if given.get("_cache"):
        _mark(spelt, given["_cache"], endpoint)
    return spelt


def tool(given: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    """One tool's declaration for this endpoint."""
    spelt = {key: value for key, value in given.items() if not key.startswith("_")}
    if given.get("_cache") and takes_marks(endpoint.model) == "message":
        spelt["cache_control"] = _control(given["_cache"])
    return spelt


def thinking_json(done: Mapping[str, Any], endpoint: Endpoint) -> str | None:
    """What to keep of a finished reply's reasoning so that it can be sent back: JSON text, or None."""
    kept: dict[str, Any] = {}
    if done.get("blocks"):
        kept["blocks"] = done["blocks"]
    elif done.get("thinking"):
        kept["reasoning"] = done["thinking"]
    if family_of(endpoint.model) == "gemini" and done.get("fields"):
        kept["fields"] = done["fields"]
    if not kept:
        return None
    return json.dumps({"provider": provider_of(endpoint.model), "model": endpoint.model, **kept}, ensure_ascii=False)


def thinking_keys(thinking: str, endpoint: Endpoint, *, calls: bool) -> dict[str, Any]:
    """The keys that give an earlier reply's reasoning back; none for another model than the one it came from.

    Readable reasoning goes back only with calls: models need it inside a step, and pay for it elsewhere.
    """
    try:
        kept = json.loads(thinking)
    except ValueError:
        return {}
    if not isinstance(kept, dict) or kept.get("model") != endpoint.model:
        return {}
    family = family_of(endpoint.model)
    if family == "anthropic" and kept.get("blocks"):
        return {"thinking_blocks": kept["blocks"]}
    if family == "gemini" and kept.get("fields"):
        return {"provider_specific_fields": kept["fields"]}
    if calls and kept.get("reasoning") and echoes_reasoning(endpoint.model, endpoint.api_base is not None):
        return {"reasoning_content": kept["reasoning"]}
    return {}


def call_id(id: str, endpoint: Endpoint) -> str:
    """An id this provider takes: the same one where possible, else one made from it."""
    if family_of(endpoint.model) == "gemini":
        return id
    plain = id.partition(_SIGNATURE)[0]
    if provider_of(endpoint.model) == "mistral":
        return plain if _NINE.fullmatch(plain) else hashlib.sha256(plain.encode()).hexdigest()[:9]
    if plain and len(plain) <= _LONGEST_ID and not _BAD_NAME.search(plain):
        return plain
    return "call_" + hashlib.sha256(id.encode("utf-8", "replace")).hexdigest()[:20]


def _call(given: Mapping[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    function = dict(given.get("function") or {})
    function["name"] = _BAD_NAME.sub("_", str(function.get("name") or ""))[:_LONGEST_NAME] or "unknown"
    function["arguments"] = _arguments(function.get("arguments"))
    return {**given, "id": call_id(str(given.get("id") or ""), endpoint), "function": function}


def _arguments(text: Any) -> str:
    """The arguments as the model wrote them when they are a JSON object; else an object that holds what it wrote."""
    if isinstance(text, str):
        try:
            if isinstance(json.loads(text), dict):
                return text
        except ValueError:
            pass
    return "{}" if text in ("", None) else json.dumps({"not_json": text})


def _control(wish: Any) -> dict[str, str]:
    """`_cache` is true, or how long to keep (`5m`, `1h`)."""
    return {"type": "ephemeral", "ttl": wish} if isinstance(wish, str) else {"type": "ephemeral"}


def _mark(spelt: dict[str, Any], wish: Any, endpoint: Endpoint) -> None:
    """Puts a cache mark on a message, where the endpoint takes one and there is something to put it on."""
    where, content = takes_marks(endpoint.model), spelt.get("content")
    if where is None:
        return
    if where == "message" and spelt.get("tool_calls"):
        # The library reads a mark on a call, and none on a message that is calls alone.
        spelt["tool_calls"][-1]["cache_control"] = _control(wish)
    elif where == "message" and isinstance(content, str) and content:
        spelt["cache_control"] = _control(wish)
    elif content:
        parts: list[dict[str, Any]]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else [dict(p) for p in content]
        parts[-1]["cache_control"] = _control(wish)
        spelt["content"] = parts
