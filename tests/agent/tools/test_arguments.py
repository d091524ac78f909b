"""From the JSON a model writes to checked arguments, or to a sentence that helps it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import TOOLS, parse

SCHEMAS = {tool.name: tool.schema(False) for tool in TOOLS}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["path", "content", "edits", "old", "new", "command", "timeout", "offset", "record", "pattern"])


@given(st.sampled_from(sorted(SCHEMAS)), st.dictionaries(NAMES, JSON, max_size=4) | JSON)
def test_every_json_gives_arguments_or_a_sentence(name: str, value: object) -> None:
    parsed = parse(json.dumps(value), SCHEMAS[name])
    assert isinstance(parsed, dict) or len(parsed) > 10


@given(st.text(max_size=40), st.sampled_from(sorted(SCHEMAS)))
def test_every_text_gives_arguments_or_a_sentence(text: str, name: str) -> None:
    assert isinstance(parse(text, SCHEMAS[name]), dict | str)


@pytest.mark.parametrize(
    ("name", "text", "args"),
    [
        ("read", '{"path": "a", "offset": "20", "limit": 5.0}', {"path": "a", "offset": 20, "limit": 5}),
        ("read", '{"path": "a", "offset": null}', {"path": "a"}),
        ("read", ' {"path": "a\nb"} ', {"path": "a\nb"}),
        ("read", '{"path": "\\ud800"}', {"path": "\ufffd"}),
        ("edit", '{"path": "a", "old": "b", "new": "c"}', {"path": "a", "edits": [{"old": "b", "new": "c"}]}),
        (
            "edit",
            '{"path": "a", "edits": {"old": "b", "new": "c"}}',
            {"path": "a", "edits": [{"old": "b", "new": "c"}]},
        ),
        (
            "edit",
            '{"path": "a", "edits": "[{\\"old\\": \\"b\\", \\"new\\": \\"c\\", \\"all\\": \\"true\\"}]"}',
            {"path": "a", "edits": [{"old": "b", "new": "c", "all": True}]},
        ),
        ("write", '{"path": "a", "content": "{}"}', {"path": "a", "content": "{}"}),
        ("recall", "", {}),
        ("bash", '{"command": "ls", "timeout": "1_0"}', {"command": "ls", "timeout": 10}),
    ],
)
def test_what_can_mean_only_one_thing_is_repaired(name: str, text: str, args: dict[str, object]) -> None:
    assert parse(text, SCHEMAS[name]) == args


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("read", '{"path": "a"', ["not valid JSON", "path, offset (optional)"]),
        ("read", "[]", ["one JSON object"]),
        ("read", "{}", ["missing argument path"]),
        ("read", '{"path": null}', ["path must be a string, not null"]),
        ("read", '{"path": 5}', ["path must be a string, not a number"]),
        ("read", '{"file_path": "a"}', ["unknown argument file_path, perhaps path", "missing argument path"]),
        ("read", '{"path": "a", "offset": "x"}', ["offset must be an integer, not a string"]),
        ("read", '{"path": "a", "offset": 1.5}', ["offset must be a whole number"]),
        ("read", '{"path": "a", "offset": true}', ["offset must be an integer, not a boolean"]),
        ("read", '{"path": "a", "offset": NaN}', ["offset must be an integer"]),
        ("read", '{"path": "a", "offset": 1e400}', ["offset must be an integer"]),
        ("edit", '{"path": "a", "edits": [{"old": "x"}]}', ["missing argument edits[0].new"]),
        ("edit", '{"path": "a", "edits": ["x"]}', ["edits[0] must be an object, not a string"]),
        ("edit", '{"path": "a", "old": "x"}', ["missing argument edits"]),
        ("bash", '{"cmd": "x", "timeout": []}', ["unknown argument cmd", "timeout must be an integer, not an array"]),
        ("read", "[" * 5_000, ["nested deeper"]),
        ("write", '{"path": "a", "content": {"a": ' + "[" * 300 + "]" * 300 + "}}", ["nested deeper"]),
    ],
)
def test_everything_wrong_is_named(name: str, text: str, words: list[str]) -> None:
    said = parse(text, SCHEMAS[name])
    assert isinstance(said, str)
    assert [w for w in words if w not in said] == []
