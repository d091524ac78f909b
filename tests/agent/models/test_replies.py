"""A finished stream is a reply, or the error that it really was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.model import CutOff, EmptyReply, Endpoint, ModelError, NotAStream, Reply
from agent.models.replies import reply_from
from compaction.records import ToolCall, Usage

MINE = Endpoint("mine", "openai/x", "http://127.0.0.1:8080/v1")


def done(**more: Any) -> dict[str, Any]:
    return {"text": "four", "calls": [], "thinking": "", "blocks": [], "fields": {}, "finish": "stop",
            "usages": [{"prompt_tokens": 3, "completion_tokens": 1}], "type": "text/event-stream"} | more  # fmt: skip


def test_a_whole_reply() -> None:
    found = reply_from(done(thinking="2+2", calls=[["a", "read", "{}"]], finish="tool_calls"), MINE)
    kept = json.dumps({"provider": "openai", "model": "openai/x", "reasoning": "2+2"})
    assert found == Reply("four", (ToolCall("a", "read", "{}"),), Usage(3, 0, 0, 1), "calls", kept)


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "done"), ("eos", "done"), ("end_turn", "done"), ("something_new", "done"), ("length", "length"),
        ("MAX_TOKENS", "length"), ("max_output_tokens", "length"), ("model_length", "length"),
        ("model_context_window_exceeded", "length"), ("incomplete", "length"), ("content_filter", "filtered"),
        ("SAFETY", "filtered"), ("RECITATION", "filtered"), ("sensitive", "filtered"), ("refusal", "filtered"),
    ],
)  # fmt: skip
def test_the_finish_reason_is_read(finish: str, stop: str) -> None:
    assert reply_from(done(finish=finish), MINE).stop == stop


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_reply_cut_or_filtered_before_its_first_word_is_a_reply(finish: str) -> None:
    assert reply_from(done(text="", finish=finish), MINE).text == ""


@pytest.mark.parametrize(
    ("ending", "kind", "says"),
    [
        ({"text": ""}, EmptyReply, "empty answer"),
        ({"text": " \n"}, EmptyReply, "empty answer"),
        ({"text": "", "finish": None}, EmptyReply, "empty answer"),
        ({"text": "", "thinking": "hm"}, EmptyReply, "after thinking"),
        ({"text": "", "finish": None, "type": "text/html; charset=utf-8"}, NotAStream, "a web page"),
        ({"text": "", "finish": None, "type": "application/json"}, NotAStream, "a single JSON document"),
        ({"text": "", "finish": None, "type": "image/png"}, NotAStream, "image/png"),
        ({"finish": None}, CutOff, "broke off"),
    ],
)
def test_what_is_no_reply_is_an_error(ending: dict[str, Any], kind: type[ModelError], says: str) -> None:
    with pytest.raises(kind) as caught:
        reply_from(done(**ending), MINE)
    assert says in str(caught.value)


@pytest.mark.parametrize("finish", ["error", "network_error", "insufficient_system_resource", "abort", "cancelled"])
def test_an_answer_its_server_broke_off_is_no_whole_answer_and_what_came_is_kept(finish: str) -> None:
    with pytest.raises(CutOff) as caught:
        reply_from(done(finish=finish, calls=[["a", "bash", "{}"]]), MINE)
    assert caught.value.kept == "four"
    assert finish.replace("_", " ") in str(caught.value)


def test_usage_that_was_not_sent_is_none() -> None:
    assert reply_from(done(usages=[]), MINE).usage is None
