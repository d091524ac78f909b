"""What some sixty providers and servers answer when they refuse (`server_refusals.json`): its kind and its numbers.

Here by the words alone, since that is cheap; a part of it goes through the real library in `test_provider_answers`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agent.model
from agent.model import AnswerTooLong, ContextOverflow, Endpoint, ModelError
from agent.models.errors_from import error_from
from agent.models.overflow import Overflow, recognise
from agent.models.plain_words import plain
from agent.models.refusal_words import wait_in

REFUSALS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("server_refusals.json").read_text("utf-8"))
MINE = Endpoint("mine", "openai/x", "http://127.0.0.1:8080/v1", "k")


def name(refusal: dict[str, Any]) -> str:
    return str(refusal["name"])


def refused(status: int | None, body: Any, **headers: str) -> ModelError:
    """The error for a body as the library describes it: the parsed body, and a text that repeats it."""
    parsed = None if isinstance(body, str) else body
    link = {"class": "APIStatusError", "status": status, "text": f"Error code: {status} - {body!r}", "body": parsed}
    return error_from({"links": [link], "headers": headers, "generated": ""}, MINE)


@pytest.mark.parametrize("refusal", REFUSALS, ids=name)
def test_each_refusal_is_of_its_kind_and_states_its_numbers(refusal: dict[str, Any]) -> None:
    error = refused(refusal["status"], refusal["body"])
    assert type(error) is getattr(agent.model, refusal["kind"]), str(error)
    numbers = (error.window, error.asked) if isinstance(error, ContextOverflow) else (None, None)
    assert numbers == (refusal.get("window"), refusal.get("asked"))
    assert (error.most if isinstance(error, AnswerTooLong) else None) == refusal.get("most")


@pytest.mark.parametrize("refusal", REFUSALS, ids=name)
def test_the_same_refusal_inside_a_gateways_own_is_read_the_same(refusal: dict[str, Any]) -> None:
    inner = refusal["body"] if isinstance(refusal["body"], str) else json.dumps(refusal["body"])
    body = {"error": {"message": "Provider returned error", "metadata": {"raw": inner, "provider_name": "x"}}}
    assert recognise(refusal["status"], body) == recognise(refusal["status"], refusal["body"])


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("输入长度超过模型最大上下文长度 3.2万", "input length exceeds model maximum context length 32000"),
        ("El límite de tokens por minuto", "el token limit per minute"),
        ("La fenêtre de contexte est  dépassée", "la context length est exceeds"),
        ("max_seq_len = 4096, prompt_tokens=9", "maximum context length = 4096, prompt tokens=9"),
        ("`max_tokens` is too large: 9", "`max_tokens` is too large: 9"),
        ("Nothing foreign here.", "nothing foreign here."),
    ],
)
def test_words_are_brought_into_one_spelling_and_numbers_stay(said: str, read: str) -> None:
    assert plain(said) == read


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Please try again in 31m3.6s.", 1_863.6),
        ("Please retry in 26.4s.", 26.4),
        ("try again in 250ms", 0.25),
        ("Please retry after 26 seconds.", 26.0),
        ("Expected available in 3 seconds.", 3.0),
        ("Resets in 2 hours 5 minutes", 7_500.0),
        ("try again later", None),
        ("waited for 3 tokens", None),
    ],
)
def test_a_wait_is_read_from_the_words(said: str, seconds: float | None) -> None:
    assert wait_in(plain(said), {}) == pytest.approx(seconds)


def test_a_wait_asked_for_in_words_is_waited_and_one_in_a_header_counts_more() -> None:
    body = {"error": {"message": "Rate limit reached. Please try again in 12s."}}
    assert refused(429, body).retry_after == 12.0
    assert refused(429, body, **{"retry-after": "5"}).retry_after == 5.0
    assert refused(429, {"error": {"type": "usage_limit_reached", "resets_in_seconds": 9_000}}).retry_after == 9_000.0


DIGITS = st.text(st.sampled_from("0123456789.,k万 '"), min_size=1, max_size=400)
FRAMES = (
    "maximum context length is {} tokens, got {}", "try again in {}s {}", "最大 {}万 输入 {}", "max_tokens: {} > {}",
    "prompt is too long: {} > {}", "limit ({}) reached, resets in {} hours", "{} + {} > 5",
)  # fmt: skip


@given(st.sampled_from(FRAMES), DIGITS, DIGITS, st.sampled_from([400, 413, 429, 500]), st.integers())
def test_no_number_however_long_raises(frame: str, one: str, other: str, status: int, field: int) -> None:
    body = {"error": {"message": frame.format(one, other), "resets_in_seconds": field, "n_ctx": field}}
    assert str(refused(status, body))


@pytest.mark.parametrize("digits", ["9" * 400, "1" + ",000" * 200])
def test_a_number_of_hundreds_of_digits_is_read_or_left_alone(digits: str) -> None:
    for frame in FRAMES:
        body = {"error": {"message": frame.format(digits, digits), "retry_after": int("9" * 400)}}
        assert str(refused(429, body)) and refused(429, body).retry_after is None
        found = recognise(400, body)
        assert found is None or (found.window, found.asked) == (None, None)


def test_a_number_that_is_called_nothing_is_no_window() -> None:
    body = {"error": {"message": "The prompt is too long. Job 700123 took 9000 tokens."}}
    assert recognise(400, body) == Overflow(None, None)
