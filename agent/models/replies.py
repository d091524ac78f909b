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

# Why an answer ended, by the words providers use for it; small letters. Whatever is not here, the model was done.
_LENGTH = (
    "length", "max_tokens", "max_output_tokens", "max_length", "model_length", "token_limit", "context_length",
    "model_context_window_exceeded", "context_window_exceeded", "continuation", "incomplete",
)  # fmt: skip
_FILTERED = (
    "content_filter", "content_filtered", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii",
    "sensitive", "guardrail_intervened", "error_toxic", "image_safety", "language",
)  # fmt: skip
_STOPS: dict[str, Stop] = {**dict.fromkeys(_LENGTH, "length"), **dict.fromkeys(_FILTERED, "filtered")}
# The server broke the answer off; it says so in the place of a reason.
_BROKEN = frozenset(
    {"error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled", "canceled", "timeout"}
)


def reply_from(done: Mapping[str, Any], endpoint: Endpoint) -> Reply:
    """The reply. Raises `EmptyReply`, `NotAStream` or `CutOff`."""
    calls = tuple(ToolCall(id, name, arguments) for id, name, arguments in done["calls"])
    text, finish = done["text"], str(done.get("finish") or "").lower()
    stop = _STOPS.get(finish, "calls" if calls else "done")
    if finish in _BROKEN:
        what = f"The server of {endpoint.name} broke the answer off ({finish.replace('_', ' ')})"
        raise CutOff(f"{what}; what had arrived is kept. Send a message to go on.", kept=text)
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
