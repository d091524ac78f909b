"""A described failure becomes the right error with a sentence for people: what, whose side, kept, what next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import (
    BadKey,
    BadRequest,
    ContextOverflow,
    CutOff,
    Endpoint,
    ModelError,
    NoCredit,
    Overloaded,
    RateLimited,
    RequestTooLarge,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from agent.models.describe import describe
from agent.models.errors_from import error_from, retry_after

MINE = Endpoint("mine", "openai/x", "http://127.0.0.1:8080/v1", "k")
CLAUDE = Endpoint("claude", "anthropic/claude-sonnet-4-5", None, "k")


def link(kind: str, status: int | None = None, text: str = "", body: Any = None) -> dict[str, Any]:
    return {"class": kind, "status": status, "text": text, "body": body}


def described(*links: dict[str, Any], generated: str = "", **headers: str) -> dict[str, Any]:
    return {"links": list(links), "headers": headers, "generated": generated}


SAID = {"message": "said", "type": "x"}

CASES: list[tuple[str, dict[str, Any], type[ModelError]]] = [
    (
        "a context error of the library without words",
        described(link("ContextWindowExceededError", 400, "too long")),
        ContextOverflow,
    ),
    (
        "one string too long, which the library takes for the window",
        described(
            link("ContextWindowExceededError", 400, "x"),
            link("BadRequestError", 400, "", {"message": "string too long. Expected a string with maximum length 9"}),
        ),
        BadRequest,
    ),
    ("401", described(link("AuthenticationError", 401, "", SAID)), BadKey),
    ("403 by three classes", described(link("BadRequestError", 403, "", SAID)), BadKey),
    ("402", described(link("APIError", 402, "", SAID)), NoCredit),
    ("404", described(link("NotFoundError", 404, "", SAID)), UnknownModel),
    (
        "a model named unknown with 400",
        described(link("BadRequestError", 400, "", {"message": "x is not a valid model ID"})),
        UnknownModel,
    ),
    ("413", described(link("APIError", 413, "", "too large")), RequestTooLarge),
    (
        "a rate limit sent as 413",
        described(link("RateLimitError", 429, "", {"message": "tokens per minute", "code": "rate_limit_exceeded"})),
        RateLimited,
    ),
    (
        "a rate limit sent as 413, whose cause still says 413",
        described(
            link("RateLimitError", 429, "", {"message": "tokens per minute", "code": "rate_limit_exceeded"}),
            link("APIStatusError", 413, "", {"message": "tokens per minute", "code": "rate_limit_exceeded"}),
        ),
        RateLimited,
    ),
    ("422", described(link("BadRequestError", 422, "", SAID)), BadRequest),
    ("429", described(link("RateLimitError", 429, "", SAID)), RateLimited),
    (
        "a spent quota",
        described(link("RateLimitError", 429, "", {"message": "quota", "code": "insufficient_quota"})),
        NoCredit,
    ),
    (
        "credit too low, sent as 400",
        described(link("BadRequestError", 400, "", {"message": "Your credit balance is too low"})),
        NoCredit,
    ),
    ("500 with a body", described(link("InternalServerError", 500, "boom", SAID)), Overloaded),
    (
        "500 of another family without a body",
        described(
            link("InternalServerError", 500, 'x - b\'{"error":{"message":"boom"}}\''),
            link("AnthropicError", 500, "boom"),
        ),
        Overloaded,
    ),
    ("502", described(link("BadGatewayError", 502, "<html>x</html>")), Overloaded),
    ("503", described(link("ServiceUnavailableError", 503, "", SAID)), Overloaded),
    (
        "529 wrapped in 500",
        described(
            link("InternalServerError", 500, ""), link("AnthropicError", 529, '{"error":{"message":"Overloaded"}}')
        ),
        Overloaded,
    ),
    (
        "refused",
        described(
            link("InternalServerError", 500, "Connection error."), link("APIConnectionError"), link("ConnectError")
        ),
        Unreachable,
    ),
    (
        "closed before the headers",
        described(link("InternalServerError", 500, "Connection error."), link("RemoteProtocolError")),
        Unreachable,
    ),
    ("no such host", described(link("InternalServerError", 500, "Connection error."), link("gaierror")), Unreachable),
    (
        "a certificate not accepted",
        described(
            link("InternalServerError", 500, "Connection error."),
            link("ConnectError"),
            link("SSLCertVerificationError"),
        ),
        Unreachable,
    ),
    ("no connection in time", described(link("Timeout", 408, ""), link("ConnectTimeout")), Unreachable),
    (
        "refused, wrapped as if in mid-stream",
        described(link("MidStreamFallbackError", 500, ""), link("APIConnectionError", 500), link("ConnectError")),
        Unreachable,
    ),
    ("silence", described(link("Timeout", 408, "timed out"), link("ReadTimeout")), TimedOut),
    (
        "silence in mid-stream",
        described(link("MidStreamFallbackError", 408, ""), link("Timeout", 408), link("ReadTimeout"), generated="x"),
        TimedOut,
    ),
    (
        "cut in mid-stream",
        described(
            link("MidStreamFallbackError", 503, ""),
            link("APIError", 500, ""),
            link("RemoteProtocolError"),
            generated="x",
        ),
        CutOff,
    ),
    (
        "broken JSON in mid-stream",
        described(
            link("MidStreamFallbackError", 503, ""),
            link("APIError", 500, "Expecting value"),
            link("JSONDecodeError"),
            generated="x",
        ),
        CutOff,
    ),
    (
        "overloaded in mid-stream",
        described(link("MidStreamFallbackError", 500, ""), link("AnthropicError", 500, "Overloaded")),
        Overloaded,
    ),
    (
        "a rate limit at the start, wrapped",
        described(link("MidStreamFallbackError", 429, ""), link("RateLimitError", 429, '{"error":{"message":"slow"}}')),
        RateLimited,
    ),
    (
        "too long, told in mid-stream",
        described(
            link("MidStreamFallbackError", 500, ""),
            link(
                "APIError",
                None,
                "",
                {"message": "Your input exceeds the context window", "code": "context_length_exceeded"},
            ),
        ),
        ContextOverflow,
    ),
    (
        "overloaded in words that the library trips over",
        described(
            link(
                "BadRequestError",
                400,
                "x - KeyError: 'code', Got unexpected response from Y: "
                "{'error': {'message': 'Overloaded', 'type': 'overloaded_error'}}",
            ),
            link("KeyError", None, "'code'"),
            generated="x",
        ),
        Overloaded,
    ),
    (
        "too long in words that the library trips over",
        described(
            link(
                "BadRequestError",
                400,
                "x - KeyError: 'choices', Got unexpected response from Y: "
                "{'detail': 'Your input exceeds the context window'}",
            ),
            link("KeyError", None, "'choices'"),
        ),
        ContextOverflow,
    ),
    (
        "a code that the library takes for a number",
        described(
            link("MidStreamFallbackError", 500, ""),
            link("YException", None, "Message: x, Metadata: {}, User ID: "),
            link("ValueError", None, "invalid literal for int() with base 10: 'context_length_exceeded'"),
        ),
        ContextOverflow,
    ),
    (
        "something that is no chunk of an answer",
        described(
            link("BadRequestError", 400, "x - KeyError: 'choices', Got unexpected response from Y: {'base': 1}"),
            link("KeyError", None, "'choices'"),
        ),
        CutOff,
    ),
    (
        "filtered before its first word, told in the stream",
        described(
            link("MidStreamFallbackError", 500, ""),
            link("APIError", None, "", {"message": "flagged", "code": "content_filter"}),
        ),
        BadRequest,
    ),
    ("nothing known at all", described(), BadRequest),
]


@pytest.mark.parametrize(("what", "description", "kind"), CASES, ids=[case[0] for case in CASES])
def test_each_failure_has_its_kind_and_a_sentence(
    what: str, description: dict[str, Any], kind: type[ModelError]
) -> None:
    error = error_from(description, MINE)
    assert type(error) is kind, what
    assert str(error)[0] in "mThi"
    assert "kept" in str(error) or "nothing had arrived" in str(error)
    assert not any(mark in str(error) for mark in "<>{}")


def test_the_provider_is_quoted_short_and_clean() -> None:
    error = error_from(described(link("BadRequestError", 400, "", {"message": "no\x1b[31m " + "x" * 2_000})), MINE)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 500


def test_bytes_written_as_text_are_read() -> None:
    text = 'litellm.AuthenticationError: AnthropicException - b\'{"error":{"message":"invalid x-api-key"}}\''
    assert "“invalid x-api-key”" in str(error_from(described(link("AuthenticationError", 401, text)), CLAUDE))


def test_a_key_error_names_the_variable_of_the_provider() -> None:
    assert "ANTHROPIC_API_KEY" in str(error_from(described(link("AuthenticationError", 401)), CLAUDE))


def test_an_overflow_carries_its_numbers() -> None:
    body = {"error": {"message": "prompt is too long: 208310 tokens > 200000 maximum"}}
    error = error_from(described(link("BadRequestError", 400, "", body)), CLAUDE)
    assert isinstance(error, ContextOverflow)
    assert (error.window, error.asked) == (200_000, 208_310)
    assert "200,000" in str(error)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_a_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


@given(
    st.lists(st.tuples(st.text(), st.none() | st.integers(0, 700), st.text(), st.text() | st.none()), max_size=4),
    st.dictionaries(st.text(), st.text(), max_size=2),
)
def test_no_description_whatever_fails_to_become_an_error(
    links: list[tuple[str, int | None, str, str | None]], headers: dict[str, str]
) -> None:
    given_links = [link(kind, status, text, body) for kind, status, text, body in links]
    assert isinstance(error_from({"links": given_links, "headers": headers}, MINE), ModelError)


# ── the description itself ──


class Foreign(Exception):
    """As a client library makes them."""

    def __init__(self, text: str, **fields: Any) -> None:
        super().__init__(text)
        for name, value in fields.items():
            setattr(self, name, value)


def test_a_description_follows_the_causes_and_keeps_what_matters() -> None:
    inner = Foreign("refused", status_code=None)
    outer = Foreign("failed", status_code=429, body={"a": 1}, generated_content="half",
                    litellm_response_headers={"llm_provider-retry-after": "7", "set-cookie": "x"})  # fmt: skip
    outer.__cause__ = inner
    inner.__context__ = outer
    assert describe(outer) == {
        "links": [
            {"class": "Foreign", "status": 429, "text": "failed", "body": {"a": 1}},
            {"class": "Foreign", "status": None, "text": "refused", "body": None},
        ],
        "headers": {"retry-after": "7"},
        "generated": "half",
    }


def test_a_description_holds_no_key_and_only_plain_values() -> None:
    error = Foreign("bad key sk-1", body={"echo": ["sk-1", {"x": object()}]})
    found = describe(error, "sk-1")
    assert "sk-1" not in str(found)
    assert isinstance(found["links"][0]["body"], str)
