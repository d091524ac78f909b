"""Public reports about sessions that one odd message spoilt for good: what is logged goes out with every request."""

from __future__ import annotations

import pytest

from agent.model import Endpoint
from agent.models.spelling import message
from agent.request import messages_of
from compaction.records import AssistantSaid, ToolCall, ToolReturned, UserSaid
from compaction.view import fold
from tests.compaction.build_log import log, returned, user

PICTURE = "data:image/png;base64,iVBORw0KGgo="


@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t \n"])
@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-4-5", "moonshot/kimi-k2", "openai/gpt-5"])
def test_no_text_without_a_word_in_it_goes_out_beside_calls_or_images(blank: str, model: str) -> None:
    said = AssistantSaid(blank, (ToolCall("c1", "read", "{}"),), None, "calls", "scripted", 2)
    seen = ToolReturned("c1", "read", "read a.png", blank, images=(PICTURE,))
    view = fold(log(user("go"), said, seen, UserSaid(blank, images=(PICTURE,))))
    sent = [message(m, Endpoint("m", model)) for m in messages_of(view)]
    call, result, asked = sent[-3:]
    assert call["content"] is None
    assert [part["type"] for part in result["content"]] == ["image_url"]
    assert [part["type"] for part in asked["content"]] == ["image_url"]


def test_words_beside_calls_and_images_go_out_as_they_are() -> None:
    said = AssistantSaid("\n\nI look.", (ToolCall("c1", "read", "{}"),), None, "calls", "scripted", 2)
    view = fold(log(user("go"), said, returned("c1", "text"), UserSaid("see", images=(PICTURE,))))
    call, result, asked = messages_of(view)[-3:]
    assert (call["content"], result["content"]) == ("\n\nI look.", "text")
    assert asked["content"][0] == {"type": "text", "text": "see"}
