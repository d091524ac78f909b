"""A finished stream's description as a `Reply`, or as the error it really was. Pure.

Invariants
 1. A reply with neither text nor calls is an error, unless its provider said it was cut or filtered.
 2. Only a finish reason and a usage that a server sent count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.model import CutOff, EmptyReply, Endpoint, NotAStream, Reply
from agent.models.spelling import thinking_json
from agent.models.usage import read_usages
from compaction.records import Stop, ToolCall

_STOPS: dict[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "refusal": "filtered",
    "safety": "filtered",
}


def reply_from(done: Mapping[str, Any], endpoint: Endpoint) -> Reply:
    """The reply. Raises `EmptyReply`, `NotAStream` or `CutOff`."""
    calls = tuple(ToolCall(id, name, arguments) for id, name, arguments in done["calls"])
    text, finish = done["text"], str(done.get("finish") or "").lower()
    stop = _STOPS.get(finish, "calls" if calls else "done")
    if not text.strip() and not calls and stop not in ("length", "filtered"):
        raise _nothing(done, endpoint)
    if not finish:
        raise CutOff(f"The answer of {endpoint.name} broke off before its end; what had arrived is kept.", kept=text)
    return Reply(text, calls, read_usages(done.get("usages") or ()), stop, thinking_json(done, endpoint))


def _nothing(done: Mapping[str, Any], endpoint: Endpoint) -> NotAStream | EmptyReply:
    kind = str(done.get("type") or "").partition(";")[0].strip().lower()
    where = endpoint.api_base or endpoint.name
    if kind and kind not in ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"):
        what = {"text/html": "a web page", "application/json": "a single JSON document"}.get(kind, kind)
        return NotAStream(
            f"{where} sent {what} where a stream of answers was expected. Check the address: it often has to end in "
            "/v1. The conversation is kept."
        )
    if done.get("thinking"):
        return EmptyReply(
            f"{endpoint.name} ended after thinking, without an answer. The conversation is kept; send it again."
        )
    return EmptyReply(f"{endpoint.name} sent an empty answer. The conversation is kept; send the message again.")
