"""One record is one line, there and back."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.codec import FORMAT, Unreadable, as_json, decode, encode, id_of, mended
from compaction.records import (
    AssistantSaid,
    Body,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Pinned,
    Record,
    SettingsChanged,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
)
from tests.agent.record_examples import BODIES, FLOATS, KINDS, instances, started


@given(BODIES, st.integers(1, 10**12), FLOATS)
def test_a_record_comes_back_as_it_was(body: Body, number: int, at: float) -> None:
    record = Record(number, at, body)
    assert decode(encode(record), number) == record


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back(kind: type) -> None:
    @given(instances(kind))
    def check(body: Body) -> None:
        assert decode(encode(Record(3, 1.5, body)), 3) == Record(3, 1.5, body)

    check()


@given(BODIES)
def test_a_line_is_one_line_of_strict_json(body: Body) -> None:
    line = encode(Record(7, 0.0, body))
    assert b"\n" not in line
    assert id_of(line) == 7
    json.loads(line.decode("utf-8"), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_a_line_reads_like_the_contract_says() -> None:
    body = ToolReturned("c1", "read", "read a.py", "text", characters=4, paths=("a.py",))
    assert encode(Record(57, 1767000000.123, body)) == (
        b'{"id":57,"at":1767000000.123,"kind":"tool_returned","call":"c1","tool":"read","title":"read a.py",'
        b'"text":"text","characters":4,"paths":["a.py"]}'
    )


def test_nested_values_and_enums_are_plain_json() -> None:
    said = AssistantSaid("", (ToolCall("c", "bash", "{}"),), Usage(1, 2, 3, 4, 5), "calls", "m", 2)
    assert as_json(Record(3, 0.0, said)) == {
        "id": 3,
        "at": 0.0,
        "kind": "assistant_said",
        "text": "",
        "calls": [{"id": "c", "name": "bash", "arguments": "{}"}],
        "usage": {"uncached": 1, "cache_read": 2, "cache_write": 3, "output": 4, "reasoning": 5},
        "stop": "calls",
        "model": "m",
        "seen": 2,
    }
    failed = CompactionFailed(Gate.PRE_FLIGHT, Outcome.NOT_SMALLER, "", 9)
    assert as_json(Record(3, 0.0, failed))["gate"] == "pre-flight"


def test_the_first_line_carries_the_format() -> None:
    assert as_json(Record(1, 0.0, started()))["log"] == FORMAT
    assert "log" not in as_json(Record(2, 0.0, UserSaid("hi")))


def test_fields_at_their_default_are_left_out_and_filled_in() -> None:
    assert as_json(Record(2, 0.0, SettingsChanged(name="x"))) == {
        "id": 2,
        "at": 0.0,
        "kind": "settings_changed",
        "name": "x",
    }
    assert decode(b'{"id":2,"at":0,"kind":"settings_changed"}', 2) == Record(2, 0.0, SettingsChanged())


def test_zero_is_not_the_same_as_nothing() -> None:
    body = ToolReturned("c", "bash", "t", "x", exit_status=0)
    assert decode(encode(Record(2, 0.0, body)), 2) == Record(2, 0.0, body)


def test_fields_of_a_newer_version_are_skipped() -> None:
    line = b'{"id":2,"at":0,"kind":"pinned","target":1,"reason":{"x":[1]}}'
    assert decode(line, 2) == Record(2, 0.0, Pinned(1))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "not a whole line of JSON"),
        (b"\x00\x00\x00", "not a whole line of JSON"),
        (b'{"id":2,"at":0,"kind":"pinned","target":1', "not a whole line of JSON"),
        (b'{"id":2,"at":NaN,"kind":"pinned","target":1}', "not a whole line of JSON"),
        (b'{"id":2,"at":0,"kind":"noted","topic":"x","text":"\xff"}', "not a whole line of JSON"),
        (b"[" * 100_000, "not a whole line of JSON"),
        (b"1" * 10_000, "not a whole line of JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"id":2,"at":0,"kind":"dreamt"}', "a kind of record this version does not know: 'dreamt'"),
        (b'{"id":2,"at":0,"kind":["noted"]}', "a kind of record this version does not know: \"['noted']\""),
        (b'{"id":3,"at":0,"kind":"pinned","target":1}', "its id says '3'"),
        (b'{"at":0,"kind":"pinned","target":1}', "its id says 'None'"),
        (b'{"id":2,"at":0,"kind":"pinned"}', "pinned.target is missing"),
        (b'{"id":2,"at":0,"kind":"pinned","target":"1"}', "pinned.target is not a whole number"),
        (b'{"id":2,"at":0,"kind":"pinned","target":true}', "pinned.target is not a whole number"),
        (b'{"id":2,"at":0,"kind":"pinned","target":1,"on":1}', "pinned.on is neither true nor false"),
        (b'{"id":2,"kind":"pinned","target":1}', "not a number"),
        (b'{"id":2,"at":1e999,"kind":"pinned","target":1}', "too large"),
        (b'{"id":2,"at":0,"kind":"user_said","text":"x","images":"a"}', "user_said.images is not a list"),
        (
            b'{"id":2,"at":0,"kind":"user_said","text":"x","how":"sung"}',
            "user_said.how is none of typed, steered, shell",
        ),
        (b'{"id":1,"at":0,"kind":"started","log":2}', "log format '2'; this version reads format 1"),
    ],
)
def test_a_line_that_is_no_record_says_why(line: bytes, why: str) -> None:
    number = 1 if b"started" in line else 2
    assert decode(line, number) == Unreadable(number, why)


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_raise(line: bytes) -> None:
    assert isinstance(decode(line, 1), (Record, Unreadable))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_no_json_makes_reading_raise(value: object) -> None:
    wrapped = {"id": 1, "at": 0, "kind": "assistant_said", "calls": value, "text": value, "usage": value}
    assert isinstance(decode(json.dumps(wrapped).encode(), 1), Unreadable)


def test_a_number_that_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(Record(2, math.nan, Noted("x", "y")))


@given(st.text(st.characters(), max_size=30))
def test_lone_surrogates_become_replacement_characters(text: str) -> None:
    record = decode(encode(Record(2, 0.0, UserSaid(text))), 2)
    assert isinstance(record, Record)
    assert record.body == UserSaid(mended(text))
    mended(text).encode("utf-8")
    assert mended(mended(text)) == mended(text)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("a\ud800b", "a\ufffdb"),
        ("\udc80", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("ü", "ü"),
    ],
)
def test_a_pair_of_surrogates_is_joined_and_a_lone_one_replaced(text: str, whole: str) -> None:
    assert mended(text) == whole
    assert decode(b'{"id":2,"at":0,"kind":"noted","topic":"t","text":"\\ud800"}', 2) == Record(
        2, 0.0, Noted("\ufffd", "t")
    )
