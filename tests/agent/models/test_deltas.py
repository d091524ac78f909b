"""Pieces of a stream become one reply, however oddly a server cuts and numbers them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.models.deltas import Assembler, CallPiece, Cleaner, TextPiece, ThinkingPiece, clean, whole


def assembled(*deltas: dict[str, Any]) -> dict[str, Any]:
    numbers = itertools.count(1)
    assembler = Assembler(lambda: f"fresh_{next(numbers)}")
    for delta in deltas:
        assembler.take(delta)
    assembler.end()
    return assembler.result()


def call(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: Any = ""
) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}


CALLS: list[tuple[str, list[dict[str, Any]], list[list[str]]]] = [
    (
        "one call in pieces",
        [call(0, "a", "read"), call(0, arguments='{"p'), call(0, arguments='":1}')],
        [["a", "read", '{"p":1}']],
    ),
    (
        "two calls interleaved",
        [call(0, "a", "x"), call(1, "b", "y"), call(0, arguments="1"), call(1, arguments="2")],
        [["a", "x", "1"], ["b", "y", "2"]],
    ),
    ("two calls under one index", [call(0, "a", "x", "1"), call(0, "b", "y", "2")], [["a", "x", "1"], ["b", "y", "2"]]),
    ("name and id repeated with every piece", [call(0, "a", "x", "1"), call(0, "a", "x", "2")], [["a", "x", "12"]]),
    ("an id that changes without a name", [call(0, "a", "x", "1"), call(0, "b", "", "2")], [["a", "x", "12"]]),
    ("no ids", [call(0, None, "x", "1"), call(1, None, "y", "2")], [["fresh_1", "x", "1"], ["fresh_2", "y", "2"]]),
    ("an id that comes late", [call(0, None, "x"), call(0, "a", arguments="1")], [["a", "x", "1"]]),
    (
        "no index",
        [call(None, "a", "x", "1"), call(None, arguments="2"), call(None, "b", "y", "3")],
        [["a", "x", "12"], ["b", "y", "3"]],
    ),
    (
        "no index and no ids",
        [call(None, None, "x", "1"), call(None, None, "y", "2")],
        [["fresh_1", "x", "1"], ["fresh_2", "y", "2"]],
    ),
    ("the same id twice", [call(0, "a", "x", "1"), call(1, "a", "y", "2")], [["a", "x", "1"], ["fresh_1", "y", "2"]]),
    ("arguments as an object", [call(0, "a", "x", {"p": 1})], [["a", "x", '{"p": 1}']]),
    ("no arguments at all", [call(0, "a", "x")], [["a", "x", "{}"]]),
    ("an empty piece alone", [call(0, "", "")], []),
]


@pytest.mark.parametrize(("how", "deltas", "calls"), CALLS, ids=[case[0] for case in CALLS])
def test_calls_are_put_together(how: str, deltas: list[dict[str, Any]], calls: list[list[str]]) -> None:
    assert assembled(*deltas)["calls"] == calls, how


def test_growing_calls_are_told_with_their_size() -> None:
    assembler = Assembler(lambda: "fresh")
    assert assembler.take(call(0, "a", "read")) == [CallPiece(0, "read", 0)]
    assert assembler.take(call(0, arguments="12345")) == [CallPiece(0, "read", 5)]


def test_reasoning_comes_before_text_and_both_are_kept() -> None:
    assembler = Assembler(lambda: "fresh")
    pieces = assembler.take({"content": "four", "reasoning_content": "two and two"})
    assert pieces == [ThinkingPiece("two and two"), TextPiece("four")]
    assert assembler.result() | {"calls": []} == {
        "text": "four", "thinking": "two and two", "calls": [], "blocks": [], "fields": {},
    }  # fmt: skip


def test_content_in_parts_is_text() -> None:
    assert assembled({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})["text"] == "ab"


def block(**fields: Any) -> dict[str, Any]:
    return {"thinking_blocks": [fields]}


def test_signed_blocks_keep_their_order_text_and_signatures() -> None:
    found = assembled(
        block(type="thinking", thinking="fi", signature=None, index=0),
        block(type="thinking", thinking="rst", signature=None, index=0),
        block(type="thinking", thinking="", signature="s1", index=0),
        block(type="redacted_thinking", data="opaque", index=1),
        block(type="thinking", thinking="second", signature=None),
        block(type="thinking", thinking="", signature="s2"),
        block(type="thinking", thinking="third", signature="s3"),
    )
    assert found["blocks"] == [
        {"type": "thinking", "thinking": "first", "signature": "s1"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "second", "signature": "s2"},
        {"type": "thinking", "thinking": "third", "signature": "s3"},
    ]


def test_a_providers_own_fields_gather() -> None:
    found = assembled(
        {"provider_specific_fields": {"thought_signatures": ["a"], "x": 1}},
        {"provider_specific_fields": {"thought_signatures": ["b"], "x": None}},
    )
    assert found["fields"] == {"thought_signatures": ["a", "b"], "x": 1}


@given(st.lists(st.text()))
def test_the_reply_is_what_was_handed_out(pieces: list[str]) -> None:
    assembler = Assembler(lambda: "fresh")
    out = [piece for text in pieces for piece in assembler.take({"content": text})] + assembler.end()
    assert "".join(piece.text for piece in out if isinstance(piece, TextPiece)) == assembler.result()["text"]
    assert assembler.result()["text"] == clean("".join(pieces))


ANY = st.text(alphabet=st.characters(codec=None, categories=None) | st.sampled_from("\ud83d\ude00\x1b\r\n\t\x9b"))


@given(ANY, st.lists(st.integers(0, 40), max_size=5))
@example("a\ud83d\ude00", [2])
@example("\ud83d", [1])
def test_cleaning_in_pieces_is_cleaning_the_whole(text: str, cuts: list[int]) -> None:
    cleaner = Cleaner()
    edges = [0, *sorted(cuts), len(text)]
    done = "".join(cleaner.feed(text[a:b]) for a, b in itertools.pairwise(edges) if a < b) + cleaner.end()
    assert done == clean(text)


@given(ANY)
def test_clean_text_can_be_written_anywhere(text: str) -> None:
    done = clean(text)
    done.encode()
    assert not any((ch < " " and ch not in "\n\t") or "\x7f" <= ch <= "\x9f" for ch in done)
    assert clean(done) == done


def test_halves_of_a_pair_join_and_lone_ones_are_replaced() -> None:
    assert whole("a\ud83d\ude00b\ude00") == "a\U0001f600b\ufffd"
