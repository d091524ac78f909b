"""Framing between the two processes, and the parts of the child that need no library."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.models.deltas import CallPiece, TextPiece, ThinkingPiece
from agent.models.host import PIECES_EVERY, Outbox, delta_of, ending_of
from agent.models.pipe import Lines, encode

ANY_TEXT = st.text(alphabet=st.characters(codec=None, categories=None))
MESSAGES = st.lists(st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers() | st.none() | st.lists(ANY_TEXT)))


@given(MESSAGES, st.integers(1, 7))
def test_messages_arrive_whole_however_they_are_cut(messages: list[dict[str, Any]], size: int) -> None:
    data = b"".join(map(encode, messages))
    lines = Lines()
    assert [m for i in range(0, len(data), size) for m in lines.feed(data[i : i + size])] == messages


def test_keys_keep_their_order() -> None:
    assert encode({"b": {"z": 1, "a": 2}, "a": 3}) == b'{"b":{"z":1,"a":2},"a":3}\n'


def test_what_is_no_object_is_skipped() -> None:
    assert Lines().feed(b'hello\n[1]\n\xff\n{"a":1}\n') == [{"a": 1}]


async def test_the_first_piece_goes_at_once_and_the_others_together() -> None:
    sent: list[dict[str, Any]] = []
    outbox = Outbox(sent.append, 7)
    outbox.add([TextPiece("a")])
    assert sent == [{"id": 7, "pieces": [["text", "a"]]}]
    outbox.add([TextPiece("b")])
    outbox.add([ThinkingPiece("c"), CallPiece(0, "read", 1), CallPiece(0, "read", 9), TextPiece("d")])
    outbox.add([TextPiece("e")])
    outbox.flush()
    expected = [["text", "b"], ["thinking", "c"], ["call", 0, "read", 9], ["text", "de"]]
    assert sent[1:] == [{"id": 7, "pieces": expected}]


async def test_a_waiting_piece_goes_by_itself() -> None:
    sent: list[dict[str, Any]] = []
    outbox = Outbox(sent.append, 7)
    outbox.add([TextPiece("a")])
    outbox.add([TextPiece("b")])
    await asyncio.sleep(3 * PIECES_EVERY)
    assert [message["pieces"] for message in sent] == [[["text", "a"]], [["text", "b"]]]


def test_a_delta_gives_plain_values_only() -> None:
    delta = SimpleNamespace(content="a", reasoning_content=None, tool_calls=[{"index": 0}],
                            provider_specific_fields={"ok": [1], "odd": object()})  # fmt: skip
    found = delta_of(delta)
    assert found == {"content": "a", "tool_calls": [{"index": 0}], "provider_specific_fields": {"ok": [1]}}
    json.dumps(found)


def test_an_ending_holds_only_what_a_server_sent() -> None:
    stream = SimpleNamespace(
        received_finish_reason=None,
        chunks=[SimpleNamespace(usage=None), SimpleNamespace()],
        _hidden_params={"additional_headers": {"llm_provider-content-type": "text/html"}},
    )
    assert ending_of(stream) == {"finish": None, "usages": [], "type": "text/html"}
