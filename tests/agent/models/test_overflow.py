"""A refusal for length is recognised in every provider's words, with its numbers, and nothing else is taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.overflow import Overflow, recognise
from tests.agent.models.refusals import OTHER, TOO_LARGE, TOO_LONG


def name(case: tuple[Any, ...]) -> str:
    return f"{case[0]}-{json.dumps(case[1])[:60]}"


@pytest.mark.parametrize("case", TOO_LONG, ids=name)
def test_a_refusal_for_length_gives_its_numbers(case: tuple[int | None, Any, int | None, int | None]) -> None:
    status, body, window, asked = case
    assert recognise(status, body) == Overflow(window, asked)


@pytest.mark.parametrize("case", TOO_LARGE, ids=name)
def test_a_refusal_for_bytes_teaches_no_window(case: tuple[int | None, Any]) -> None:
    assert recognise(*case) == Overflow(bytes=True)


@pytest.mark.parametrize("case", OTHER, ids=name)
def test_another_refusal_is_no_overflow(case: tuple[int | None, Any]) -> None:
    assert recognise(*case) is None


@pytest.mark.parametrize("case", TOO_LONG, ids=name)
def test_the_same_words_as_text_say_the_same(case: tuple[int | None, Any, int | None, int | None]) -> None:
    status, body, window, asked = case
    text = body if isinstance(body, str) else json.dumps(body)
    assert recognise(status, None, f"BadRequestError: SomeException - {text}") == Overflow(window, asked)


@pytest.mark.parametrize("status", [401, 402, 403, 408, 429])
@pytest.mark.parametrize("case", TOO_LONG, ids=name)
def test_some_statuses_are_never_an_overflow(status: int, case: tuple[Any, ...]) -> None:
    assert recognise(status, case[1]) is None


TEMPLATES = [
    ("This model's maximum context length is {w} tokens. However, your messages resulted in {a} tokens.", True),
    ("prompt is too long: {a} tokens > {w} maximum", True),
    ("request ({a} tokens) exceeds the available context size ({w} tokens), try increasing it", True),
    ("The input token count ({a}) exceeds the maximum number of tokens allowed ({w}).", True),
    ("prompt token count of {a} exceeds the limit of {w}", True),
    ("Your request exceeded model token limit: {w} (requested: {a})", True),
    ("The input ({a} tokens) is longer than the model's context length ({w} tokens).", True),
    ("max_tokens: {a} > {w}, which is the maximum allowed number of output tokens for this model", False),
    ("Rate limit of {w} input tokens per minute would be exceeded: requested {a}.", False),
]


@pytest.mark.parametrize(("template", "overflow"), TEMPLATES)
@given(window=st.integers(1_000, 4_000_000), more=st.integers(1, 1_000_000), style=st.sampled_from(["d", ",d", "_d"]))
def test_whatever_the_numbers_are_they_are_read_or_not_taken(
    template: str, overflow: bool, window: int, more: int, style: str
) -> None:
    text = template.format(w=format(window, style), a=format(window + more, style))
    expected = Overflow(window, window + more) if overflow else None
    assert recognise(400, {"error": {"message": text}}) == expected


@given(body=st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["error", "message", "code", "x"]), inner),
), text=st.text())  # fmt: skip
def test_no_body_whatever_raises(body: Any, text: str) -> None:
    recognise(400, body, text)


def test_a_long_body_is_read_in_a_moment_because_only_its_beginning_is() -> None:
    body = {"error": {"message": "too long " * 10_000 + "maximum context length is 4096 tokens"}}
    assert recognise(400, body) is None
