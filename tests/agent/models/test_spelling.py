"""A request is spelled for its provider: marks, thinking and odd calls go where they are taken, and nowhere else."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import Endpoint, Request
from agent.models.providers import family_of, key_variable, provider_of, takes_marks
from agent.models.spelling import call_id, message, spell, thinking_json, tool

CLAUDE = Endpoint("claude", "anthropic/claude-sonnet-4-5", None, "k")
BEDROCK = Endpoint("claude", "bedrock/us.anthropic.claude-sonnet-4-5", None, "k")
ROUTER = Endpoint("r", "openrouter/anthropic/claude-sonnet-4.5", None, "k")
OPENAI = Endpoint("gpt", "openai/gpt-5", None, "k")
LOCAL = Endpoint("mine", "openai/qwen", "http://127.0.0.1:8080/v1", None)
GEMINI = Endpoint("g", "gemini/gemini-2.5-flash", None, "k")
MISTRAL = Endpoint("m", "mistral/mistral-large-latest", None, "k")
DEEPSEEK = Endpoint("d", "deepseek/deepseek-chat", None, "k")
ALL = [CLAUDE, BEDROCK, ROUTER, OPENAI, LOCAL, GEMINI, MISTRAL, DEEPSEEK]

HELLO = {"role": "user", "content": "hello", "_cache": True}
MARK = {"type": "ephemeral"}


def called(arguments: Any = "{}", id: str = "call_1", name: str = "read", **more: Any) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]
    return {"role": "assistant", "content": "", "tool_calls": calls, **more}


def test_the_whole_call_for_a_server_of_ones_own() -> None:
    request = Request((HELLO,), ({"type": "function", "function": {"name": "read"}, "_cache": True},), 100,
                      effort="high", grammar="root ::= x", extra={"temperature": 0, "model": "other"})  # fmt: skip
    assert spell(LOCAL, request) == {
        "model": "openai/qwen",
        "messages": [{"role": "user", "content": "hello"}],
        "timeout": 120.0,
        "tools": [{"type": "function", "function": {"name": "read"}}],
        "max_tokens": 100,
        "temperature": 0,
        "extra_body": {"grammar": "root ::= x"},
        "api_base": "http://127.0.0.1:8080/v1",
        "api_key": "none",
    }


def test_what_is_not_asked_for_is_left_out() -> None:
    assert spell(CLAUDE, Request(({"role": "user", "content": "hello"},))) == {
        "model": "anthropic/claude-sonnet-4-5",
        "messages": [{"role": "user", "content": "hello"}],
        "timeout": 120.0,
        "api_key": "k",
    }


def test_effort_goes_only_to_models_that_take_it() -> None:
    request = Request((HELLO,), effort="high")
    assert spell(OPENAI, request, supports_effort=True)["reasoning_effort"] == "high"
    assert "reasoning_effort" not in spell(OPENAI, request)
    assert spell(Endpoint("o", "openai/gpt-oss-20b", "http://127.0.0.1:1/v1"), request)["reasoning_effort"] == "high"


@pytest.mark.parametrize(
    ("model", "value"),
    [
        ("openai/gpt-5", "minimal"),
        ("openai/gpt-5.1", "none"),
        ("gemini/gemini-2.5-flash", "disable"),
        ("anthropic/claude-sonnet-4-5", None),
        ("openai/gpt-4o", None),
        ("openai/o3", None),
    ],
)
def test_thinking_is_switched_off_in_the_models_own_word(model: str, value: str | None) -> None:
    request = Request((HELLO,), effort="high", thinking_off=True)
    assert spell(Endpoint("x", model), request, supports_effort=True).get("reasoning_effort") == value


@pytest.mark.parametrize("endpoint", [CLAUDE, BEDROCK])
def test_marks_stay_on_the_message_for_anthropic(endpoint: Endpoint) -> None:
    assert message(HELLO, endpoint) == {"role": "user", "content": "hello", "cache_control": MARK}
    assert message({**HELLO, "_cache": "1h"}, endpoint)["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert tool({"function": {"name": "x"}, "_cache": True}, endpoint)["cache_control"] == MARK


def test_marks_go_on_the_last_part_through_a_gateway() -> None:
    assert message(HELLO, ROUTER)["content"] == [{"type": "text", "text": "hello", "cache_control": MARK}]
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert message({"role": "user", "content": parts, "_cache": True}, ROUTER)["content"] == [
        parts[0],
        {**parts[1], "cache_control": MARK},
    ]
    assert "cache_control" not in tool({"function": {"name": "x"}, "_cache": True}, ROUTER)


@pytest.mark.parametrize("endpoint", [OPENAI, LOCAL, GEMINI, MISTRAL, DEEPSEEK])
def test_nobody_else_gets_a_mark(endpoint: Endpoint) -> None:
    assert message(HELLO, endpoint) == {"role": "user", "content": "hello"}
    assert tool({"function": {"name": "x"}, "_cache": True}, endpoint) == {"function": {"name": "x"}}


def test_a_mark_on_calls_goes_on_the_last_of_them_and_on_parts_on_the_last_part() -> None:
    marked = message(called(_cache=True), CLAUDE)
    assert marked["tool_calls"][-1]["cache_control"] == MARK
    assert "cache_control" not in marked
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    found = message({"role": "user", "content": parts, "_cache": True}, CLAUDE)
    assert found == {"role": "user", "content": [parts[0], {**parts[1], "cache_control": MARK}]}


def test_an_empty_message_is_not_marked() -> None:
    assert message({"role": "user", "content": "", "_cache": True}, CLAUDE) == {"role": "user", "content": ""}


# ── thinking ──


DONE = {
    "thinking": "hm",
    "blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    "fields": {"thought_signatures": ["t"]},
}


def test_thinking_returns_to_the_model_it_came_from() -> None:
    signed = thinking_json(DONE, CLAUDE)
    assert message(called(_thinking=signed), CLAUDE)["thinking_blocks"] == DONE["blocks"]
    readable = thinking_json({"thinking": "hm"}, LOCAL)
    assert message(called(_thinking=readable), LOCAL)["reasoning_content"] == "hm"
    fields = thinking_json({"fields": DONE["fields"]}, GEMINI)
    assert message(called(_thinking=fields), GEMINI)["provider_specific_fields"] == DONE["fields"]


@pytest.mark.parametrize("source", ALL, ids=lambda e: e.model)
@pytest.mark.parametrize("target", ALL, ids=lambda e: e.model)
def test_no_model_gets_the_thinking_of_another(source: Endpoint, target: Endpoint) -> None:
    kept = thinking_json(DONE, source)
    if source is not target:
        assert message(called(_thinking=kept), target) == message(called(), target)


@pytest.mark.parametrize("damaged", ["", "null", "[]", "{", '{"model": 3}'])
def test_thinking_that_cannot_be_read_is_left_out(damaged: str) -> None:
    assert message(called(_thinking=damaged), CLAUDE) == message(called(), CLAUDE)


def test_readable_thinking_goes_back_with_calls_only_and_not_to_everybody() -> None:
    said = {"role": "assistant", "content": "four", "_thinking": thinking_json({"thinking": "hm"}, DEEPSEEK)}
    assert "reasoning_content" not in message(said, DEEPSEEK)
    kept = thinking_json({"thinking": "hm"}, MISTRAL)
    assert "reasoning_content" not in message(called(_thinking=kept), MISTRAL)


def test_a_reply_without_thinking_keeps_none() -> None:
    assert thinking_json({"thinking": "", "blocks": [], "fields": {}}, CLAUDE) is None
    assert thinking_json({"fields": {"x": 1}}, OPENAI) is None


# ── calls ──


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"a":  1}', '{"a":  1}'),
        ("", "{}"),
        (None, "{}"),
        ('{"a": ', {"not_json": '{"a": '}),
        ("[1]", {"not_json": "[1]"}),
    ],
)
def test_arguments_are_an_object_whatever_the_model_wrote(written: Any, sent: Any) -> None:
    found = message(called(written), OPENAI)["tool_calls"][0]["function"]["arguments"]
    assert found == sent if isinstance(sent, str) else json.loads(found) == sent


@pytest.mark.parametrize(
    ("written", "sent"), [("read", "read"), ("a b.c", "a_b_c"), ("", "unknown"), ("x" * 99, "x" * 64)]
)
def test_a_name_is_one_that_is_taken(written: str, sent: str) -> None:
    assert message(called(name=written), OPENAI)["tool_calls"][0]["function"]["name"] == sent


SIGNED_ID = "call_abc__thought__" + "x" * 200


def test_an_id_is_kept_where_possible_and_else_the_same_every_time() -> None:
    assert call_id("call_1", OPENAI) == "call_1"
    assert call_id(SIGNED_ID, GEMINI) == SIGNED_ID
    assert call_id(SIGNED_ID, CLAUDE) == "call_abc"
    assert call_id("call_1", MISTRAL) == call_id("call_1", MISTRAL) != call_id("call_2", MISTRAL)
    assert len(call_id("call_1", MISTRAL)) == 9
    assert call_id("abcDEF123", MISTRAL) == "abcDEF123"
    assert call_id("functions.read:0", CLAUDE).startswith("call_")


@given(id=st.text(), endpoint=st.sampled_from(ALL))
def test_a_call_and_its_result_are_named_alike(id: str, endpoint: Endpoint) -> None:
    call = message(called(id=id), endpoint)["tool_calls"][0]["id"]
    assert message({"role": "tool", "tool_call_id": id, "content": "x"}, endpoint)["tool_call_id"] == call


VALUES = st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=2)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.sampled_from(ALL))
def test_nothing_private_is_sent_and_nothing_given_is_changed(
    given_message: dict[str, Any], endpoint: Endpoint
) -> None:
    given_message = {k: v for k, v in given_message.items() if k not in ("tool_calls", "content")}
    given_message |= {"content": "x", "_cache": True, "_thinking": "{}"}
    before = copy.deepcopy(given_message)
    assert not [key for key in message(given_message, endpoint) if key.startswith("_")]
    assert given_message == before


# ── providers ──


@pytest.mark.parametrize(
    ("model", "provider", "variable"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic", "ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-5", "anthropic", "ANTHROPIC_API_KEY"),
        ("gpt-5", "openai", "OPENAI_API_KEY"),
        ("o3-mini", "openai", "OPENAI_API_KEY"),
        ("ollama/llama3", "ollama", None),
        ("mystery", "", None),
    ],
)
def test_a_name_tells_its_provider_and_key(model: str, provider: str, variable: str | None) -> None:
    assert (provider_of(model), key_variable(model)) == (provider, variable)


def test_families_are_told_behind_other_clouds() -> None:
    assert [family_of(e.model) for e in (CLAUDE, BEDROCK, GEMINI, OPENAI, DEEPSEEK)] == [
        "anthropic", "anthropic", "gemini", "openai", "other",
    ]  # fmt: skip
    assert [takes_marks(e.model) for e in (CLAUDE, ROUTER, OPENAI)] == ["message", "part", None]
