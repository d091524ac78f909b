"""Every failure of a provider, through the real library: its kind, its sentence, and whether it is tried again."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from agent.model import (
    BadKey,
    BadRequest,
    ContextOverflow,
    CutOff,
    EmptyReply,
    Endpoint,
    HostDied,
    ModelError,
    NoCredit,
    NotAStream,
    Overloaded,
    RateLimited,
    Reply,
    RequestTooLarge,
    Restarted,
    Retrying,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from agent.models.stub_server import Step
from tests.agent.models.bench import KEY, Bench, asking, texts

# The child process is shared, and so is the loop it is attached to.
pytestmark = pytest.mark.asyncio(loop_scope="session")


def refusal(status: int, message: str, code: str | None = None, **headers: str) -> Step:
    body = {"error": {"message": message, "type": "some_error", "code": code}}
    return {"error": {"status": status, "body": body, "headers": headers}}


FAILURES: list[tuple[Step, type[ModelError], str, int]] = [
    (refusal(401, "Incorrect API key provided", "invalid_api_key"), BadKey, "does not accept the API key", 1),
    (refusal(402, "Insufficient Balance"), NoCredit, "no credit left", 1),
    (refusal(403, "Forbidden country"), BadKey, "refuses access", 1),
    (refusal(404, "The model `x` does not exist", "model_not_found"), UnknownModel, "There is no model", 1),
    (refusal(413, "request too large"), RequestTooLarge, "too many bytes", 1),
    (refusal(422, "unprocessable"), BadRequest, "on our side", 1),
    (refusal(400, "Invalid value for temperature"), BadRequest, "Invalid value for temperature", 1),
    (refusal(400, "prompt is too long: 9000 tokens > 8000 maximum"), ContextOverflow, "8,000 tokens", 1),
    (refusal(429, "You exceeded your current quota", "insufficient_quota"), NoCredit, "no credit left", 1),
    (refusal(429, "Rate limit reached"), RateLimited, "Try again in a moment", 4),
    (refusal(500, "boom"), Overloaded, "trouble of its own (500)", 4),
    (refusal(503, "Loading model"), Overloaded, "Loading model", 4),
    (refusal(529, "Overloaded"), Overloaded, "trouble of its own (529)", 4),
    (
        {"error": {"status": 404, "body": "<html><title>nope</title><script>x</script></html>"}},
        UnknownModel,
        "“nope”",
        1,
    ),
    ({"error": {"status": 502, "body": "<html>bad gateway</html>"}}, Overloaded, "It sent a web page.", 4),
    ({"html": True}, NotAStream, "a web page where a stream", 1),
    ({"json": True, "text": "Hi."}, NotAStream, "a single JSON document", 1),
    ({"empty": True}, EmptyReply, "empty answer", 1),
    ({"empty": "done"}, EmptyReply, "empty answer", 1),
    ({"text": ""}, EmptyReply, "empty answer", 1),
    ({"thinking": "Hm."}, EmptyReply, "without an answer", 1),
    ({"drop": "before"}, Unreachable, "closed before an answer", 2),
]


@pytest.mark.parametrize(("step", "kind", "says", "requests"), FAILURES, ids=lambda v: str(v)[:50])
async def test_a_failure_says_what_it_is_and_is_retried_only_where_that_helps(
    shared: Bench, endpoint: Endpoint, step: Step, kind: type[ModelError], says: str, requests: int
) -> None:
    shared.script(*[step] * 5)
    error = await shared.error(endpoint, asking())
    assert type(error) is kind
    assert says in str(error)
    assert "conversation is kept" in str(error)
    assert "<" not in str(error)
    assert KEY not in str(error)
    assert len(shared.server.asked) == requests
    assert len(shared.waits) == requests - 1


async def test_what_was_asked_and_allowed_is_read_from_the_refusal(shared: Bench) -> None:
    said = (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
        "length of only 4096 tokens, which is not enough."
    )
    shared.script({"error": {"status": 400, "body": {"error": said}}})
    error = await shared.error(shared.openai, asking())
    assert isinstance(error, ContextOverflow)
    assert (error.window, error.asked, error.status) == (4_096, 5_000, 400)


async def test_waits_double_and_honour_what_the_provider_asks(shared: Bench, endpoint: Endpoint) -> None:
    shared.script(refusal(500, "boom"), refusal(429, "slow down", **{"retry-after": "7"}), refusal(500, "boom"))
    parts = await shared.ask(endpoint, asking())
    assert shared.waits == [1.0, 7.0, 4.0]
    assert [part.attempt for part in parts if isinstance(part, Retrying)] == [1, 2, 3]
    assert texts(parts) == "Done."


async def test_a_provider_that_asks_for_minutes_is_not_waited_for(shared: Bench, endpoint: Endpoint) -> None:
    shared.script(*[refusal(429, "slow down", **{"retry-after": "300"})] * 5)
    error = await shared.error(endpoint, asking())
    assert isinstance(error, RateLimited)
    assert (error.retry_after, shared.waits) == (300.0, [])
    assert "5 minutes" in str(error)


@pytest.mark.parametrize(("phase", "requests", "deadline"), [("before", 2, 0.5), ("first", 2, 0.5), ("middle", 1, 3.0)])
async def test_silence_for_the_deadline_ends_the_request(
    shared: Bench, endpoint: Endpoint, phase: str, requests: int, deadline: float
) -> None:
    # In the middle the first words have to be there before the deadline, however busy the machine is.
    shared.script(*[{"hang": phase, "text": "x" * 200}] * 5)
    error = await shared.error(endpoint, asking(deadline=deadline))
    assert type(error) is TimedOut
    assert bool(error.kept) == (phase == "middle")
    assert len(shared.server.asked) == requests
    await asyncio.wait_for(shared.server.asked[-1].left.wait(), 120)


@pytest.mark.parametrize(
    "step",
    [
        {"drop": "middle", "text": "x" * 400},
        {"drop": "reset", "text": "x" * 400},
        {"finish": None, "text": "x" * 400},
    ],
)
async def test_a_broken_stream_keeps_what_came_and_is_not_tried_again(
    shared: Bench, endpoint: Endpoint, step: Step
) -> None:
    shared.script(step)
    error = await shared.error(endpoint, asking())
    assert type(error) is CutOff
    assert error.kept.startswith("xxxx")
    assert len(shared.server.asked) == 1


async def test_a_restartable_request_starts_over_even_after_text(shared: Bench, endpoint: Endpoint) -> None:
    shared.script({"drop": "middle", "text": "x" * 400}, {"text": "Whole."})
    parts = await shared.ask(endpoint, asking(restartable=True))
    after = parts[[type(part) for part in parts].index(Restarted) :]
    assert texts(after) == "Whole."
    last = parts[-1]
    assert isinstance(last, Reply)
    assert last.text == "Whole."


async def test_trouble_reported_inside_the_stream_is_the_providers(shared: Bench) -> None:
    trouble = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    shared.script({"text": "x" * 400, "error_event": trouble})
    error = await shared.error(shared.openai, asking())
    assert isinstance(error, Overloaded)
    assert error.kept.startswith("xxxx")


async def test_an_overflow_inside_the_stream_is_one(shared: Bench) -> None:
    shared.script(
        {"text": "x" * 400, "error_event": {"error": {"message": "prompt is too long: 9000 tokens > 8000 maximum"}}}
    )
    error = await shared.error(shared.openai, asking())
    assert isinstance(error, ContextOverflow)
    assert error.window == 8_000


async def test_a_refused_connection_is_tried_once_more_and_names_the_address(shared: Bench) -> None:
    shared.script()
    nowhere = Endpoint("mine", "openai/x", "http://127.0.0.1:9/v1", KEY)
    error = await shared.error(nowhere, asking())
    assert isinstance(error, Unreachable)
    assert "http://127.0.0.1:9/v1 cannot be reached: nothing answers there" in str(error)
    assert len(shared.waits) == 1


async def test_an_unknown_provider_is_an_unknown_model(shared: Bench) -> None:
    error = await shared.error(Endpoint("nonsense/x", "nonsense/x", None, KEY), asking())
    assert isinstance(error, UnknownModel)
    assert "Names are written provider/model" in str(error)


async def test_a_missing_key_is_known_before_anything_is_sent(shared: Bench) -> None:
    shared.script()
    error = await shared.error(Endpoint("claude", "anthropic/claude-sonnet-4-5", missing_key="MY_KEY"), asking())
    assert isinstance(error, BadKey)
    assert "MY_KEY" in str(error)
    assert shared.server.received == []


@pytest.mark.parametrize("key", ["line\nbreak", "two words", "schlüssel"])
async def test_a_key_that_cannot_be_one_is_refused_at_once(shared: Bench, key: str) -> None:
    shared.script()
    error = await shared.error(Endpoint("mine", "openai/x", shared.server.base, key), asking())
    assert isinstance(error, BadKey)
    assert key not in str(error)
    assert shared.server.received == []


async def test_the_log_holds_no_key(shared: Bench) -> None:
    shared.script(refusal(401, f"Incorrect API key provided: {KEY}"))
    error = await shared.error(shared.openai, asking())
    assert KEY not in str(error)
    assert KEY not in shared.log.read_text(encoding="utf-8")


async def test_a_child_killed_in_mid_stream_is_told_and_the_next_request_works(shared: Bench) -> None:
    shared.script({"hang": "middle", "text": "x" * 400}, {"text": "Back."})
    pid = shared.model.pid
    assert pid is not None
    asked = asyncio.create_task(shared.error(shared.openai, asking()))
    received = await shared.server.wait_for(1)
    await received.started.wait()
    os.kill(pid, signal.SIGKILL)
    assert isinstance(await asked, HostDied)
    assert (await shared.reply(shared.openai, asking())).text == "Back."
    assert shared.model.pid != pid
