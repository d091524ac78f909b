"""The remote model through the real library and the real child process, against a scripted server on this machine.

One child serves the whole module: its start takes seconds.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.model import (
    BadKey,
    BadRequest,
    CallGrowing,
    ContextOverflow,
    CutOff,
    EmptyReply,
    Endpoint,
    ModelError,
    NoCredit,
    NotAStream,
    Overloaded,
    Part,
    RateLimited,
    Reply,
    Request,
    RequestTooLarge,
    Restarted,
    Retrying,
    Text,
    Thinking,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from agent.models.remote import RemoteModel
from agent.models.stub_server import Step, StubServer
from compaction.records import ToolCall, Usage

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY = "sk-never-to-be-seen"


class Bench:
    """The model with its waits written down instead of waited, and a server to script."""

    def __init__(self, model: RemoteModel, server: StubServer, log: Path, waits: list[float]) -> None:
        self.model, self.server, self.log, self.waits = model, server, log, waits

    @property
    def openai(self) -> Endpoint:
        return Endpoint("mine", "openai/scripted", self.server.base, KEY)

    @property
    def anthropic(self) -> Endpoint:
        return Endpoint("claude", "anthropic/claude-sonnet-4-5", self.server.origin, KEY)

    def script(self, *steps: Step) -> None:
        self.server.steps[:] = steps
        self.server.received.clear()
        self.waits.clear()

    async def ask(self, endpoint: Endpoint, request: Request) -> list[Part]:
        parts: list[Part] = []
        async with aclosing(self.model.stream(endpoint, request)) as stream:
            async for part in stream:
                parts.append(part)
        return parts

    async def reply(self, endpoint: Endpoint, request: Request) -> Reply:
        last = (await self.ask(endpoint, request))[-1]
        assert isinstance(last, Reply)
        return last

    async def error(self, endpoint: Endpoint, request: Request) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await self.ask(endpoint, request)
        return caught.value


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    log = tmp_path_factory.mktemp("remote") / "host.log"
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = RemoteModel(log=log, sleep=sleep, chance=lambda: 0.5)
    model.start()
    async with StubServer() as server:
        yield Bench(model, server, log, waits)
    await model.aclose()


@pytest.fixture(params=["openai", "anthropic"])
def endpoint(request: pytest.FixtureRequest, shared: Bench) -> Endpoint:
    found: Endpoint = getattr(shared, request.param)
    return found


def asking(text: str = "hello", **more: Any) -> Request:
    given = {"max_tokens": 100, "deadline": 20.0} | more
    return Request(({"role": "user", "content": text},), **given)


def texts(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))


async def test_text_streams_and_ends_in_one_reply(shared: Bench, endpoint: Endpoint) -> None:
    shared.script({"text": "One two three.", "chunk": 3, "usage": None})
    parts = await shared.ask(endpoint, asking())
    assert texts(parts) == "One two three."
    last = parts[-1]
    assert isinstance(last, Reply)
    assert (last.text, last.calls, last.stop, last.thinking) == ("One two three.", (), "done", None)
    assert all(isinstance(part, Text) for part in parts[:-1])


async def test_a_long_answer_is_handed_on_in_far_fewer_pieces_than_it_came(shared: Bench) -> None:
    shared.script({"text": "word " * 2_000, "chunk": 5})
    parts = await shared.ask(shared.openai, asking())
    assert texts(parts) == "word " * 2_000
    assert len(parts) < 500


async def test_parallel_calls_keep_their_ids_and_arguments(shared: Bench, endpoint: Endpoint) -> None:
    calls = [{"name": "read", "arguments": {"path": f"src/{n}.py"}, "id": f"call_{n}"} for n in range(8)]
    shared.script({"text": "Reading.", "calls": calls})
    parts = await shared.ask(endpoint, asking(tools=(TOOL,)))
    last = parts[-1]
    assert isinstance(last, Reply)
    assert last.stop == "calls"
    assert last.calls == tuple(ToolCall(c["id"], "read", json.dumps(c["arguments"])) for c in calls)
    assert {part.index for part in parts if isinstance(part, CallGrowing)} == set(range(8))


async def test_a_call_without_an_id_gets_one_of_its_own(shared: Bench) -> None:
    calls = [{"name": "read", "arguments": {"path": "a"}, "id": None}] * 2
    shared.script({"calls": calls})
    reply = await shared.reply(shared.openai, asking(tools=(TOOL,)))
    assert [call.arguments for call in reply.calls] == ['{"path": "a"}'] * 2
    assert len({call.id for call in reply.calls}) == 2


async def test_readable_reasoning_streams_and_is_kept_for_its_model(shared: Bench) -> None:
    shared.script({"thinking": "Let me see.", "text": "Four."})
    parts = await shared.ask(shared.openai, asking())
    assert "".join(part.text for part in parts if isinstance(part, Thinking)) == "Let me see."
    last = parts[-1]
    assert isinstance(last, Reply)
    assert last.thinking is not None
    assert json.loads(last.thinking)["reasoning"] == "Let me see."


async def test_signed_thinking_goes_back_unchanged_before_its_call(shared: Bench) -> None:
    shared.script({"thinking": "First, read it.", "signature": "c2lnbmVk", "redacted": "c2VjcmV0",
                   "calls": [{"name": "read", "arguments": {"path": "a"}, "id": "call_a"}]})  # fmt: skip
    reply = await shared.reply(shared.anthropic, asking(tools=(TOOL,), extra=THINK))
    shared.script({"text": "Read."})
    said = {"role": "assistant", "content": None, "_thinking": reply.thinking, "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "read", "arguments": reply.calls[0].arguments}}
    ]}  # fmt: skip
    result = {"role": "tool", "tool_call_id": "call_a", "content": "text of a"}
    await shared.reply(
        shared.anthropic,
        Request(({"role": "user", "content": "hello"}, said, result), (TOOL,), 3_000, extra=THINK),
    )
    sent = shared.server.asked[0].messages[1]["content"]
    assert sent[:2] == [
        {"type": "thinking", "thinking": "First, read it.", "signature": "c2lnbmVk"},
        {"type": "redacted_thinking", "data": "c2VjcmV0"},
    ]
    assert sent[2]["type"] == "tool_use"


async def test_usage_comes_in_disjoint_buckets(shared: Bench) -> None:
    stated = {
        "input_tokens": 10,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 3_000,
        "output_tokens": 40,
    }
    shared.script({"text": "Hi.", "usage": stated})
    assert (await shared.reply(shared.anthropic, asking())).usage == Usage(10, 200, 3_000, 40)
    openai = {
        "prompt_tokens": 1_000,
        "completion_tokens": 50,
        "total_tokens": 1_050,
        "prompt_tokens_details": {"cached_tokens": 900},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }
    shared.script({"text": "Hi.", "usage": openai})
    assert (await shared.reply(shared.openai, asking())).usage == Usage(100, 900, 0, 30, 20)


async def test_usage_that_no_server_sent_is_none(shared: Bench) -> None:
    shared.script({"text": "Hi.", "usage": None})
    assert (await shared.reply(shared.openai, asking())).usage is None


async def test_an_answer_cut_at_its_own_limit_is_no_error(shared: Bench) -> None:
    shared.script({"text": "Half an ans", "finish": "length"})
    assert (await shared.reply(shared.openai, asking())).stop == "length"
    shared.script({"text": "Half an ans", "finish": "max_tokens"})
    assert (await shared.reply(shared.anthropic, asking())).stop == "length"


async def test_a_filtered_answer_says_so_even_when_empty(shared: Bench) -> None:
    shared.script({"finish": "content_filter"})
    assert (await shared.reply(shared.openai, asking())).stop == "filtered"
    shared.script({"finish": "refusal"})
    assert (await shared.reply(shared.anthropic, asking())).stop == "filtered"


async def test_control_characters_and_split_surrogates_leave_clean(shared: Bench) -> None:
    shared.script({"text": "a\x1b[31mb\x07\r\nc \ud83d\ude00 \udc00.", "chunk": 1})
    parts = await shared.ask(shared.openai, asking())
    assert texts(parts) == "a[31mb\nc \U0001f600 \ufffd."


async def test_earlier_messages_are_sent_as_the_same_bytes_again(shared: Bench, endpoint: Endpoint) -> None:
    shared.script({"text": "One."}, {"text": "Two."})
    said = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"z": 1, "a":  2}'}}
    ]}  # fmt: skip
    first = ({"role": "system", "content": "You are ünïcode."}, {"role": "user", "content": "hello"})
    later = (
        *first,
        said,
        {"role": "tool", "tool_call_id": "call_1", "content": "x"},
        {"role": "user", "content": "go on"},
    )
    await shared.ask(endpoint, Request(first, (TOOL,), 100))
    await shared.ask(endpoint, Request(later, (TOOL,), 100))
    before, after = (sent.raw for sent in shared.server.asked)
    start = before.index(b'"messages":')
    end = start + len(b'"messages":') + len(_value(before[start + len(b'"messages":') :])) - 1
    assert after[start:end] == before[start:end]
    tools = before.index(b'"tools":')
    assert _value(after[after.index(b'"tools":') + 8 :]) == _value(before[tools + 8 :])


async def test_marks_reach_anthropic_and_nobody_else(shared: Bench) -> None:
    messages = (
        {"role": "system", "content": "S", "_cache": True},
        {"role": "user", "content": "hello", "_cache": True},
    )
    request = Request(messages, ({**TOOL, "_cache": True},), 100)
    shared.script({"text": "One."}, {"text": "Two."})
    await shared.ask(shared.anthropic, request)
    await shared.ask(shared.openai, request)
    marked, plain = shared.server.asked
    mark = {"type": "ephemeral"}
    assert marked.body["tools"][0]["cache_control"] == mark
    assert marked.body["system"][0]["cache_control"] == mark
    assert marked.body["messages"][0]["content"][0]["cache_control"] == mark
    assert b"cache" not in plain.raw


async def test_reads_of_each_request_are_reads_and_writes_of_the_one_before(shared: Bench) -> None:
    usages = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "begin " * 50}]
    for turn in range(4):
        shared.server.steps[:] = [{"text": f"turn {turn}", "calls": [
            {"name": "read", "arguments": {"path": f"{turn}-{n}"}, "id": f"call_{turn}_{n}"} for n in range(8)
        ]}]  # fmt: skip
        marked = [*messages[:-1], {**messages[-1], "_cache": True}]
        reply = await shared.reply(shared.anthropic, Request(tuple(marked), (TOOL,), 100))
        assert reply.usage is not None
        usages.append(reply.usage)
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
        messages.append({"role": "assistant", "content": reply.text, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": c.id, "content": "x" * 100} for c in reply.calls]
    assert usages[0].cache_write > 0
    for before, after in itertools.pairwise(usages):
        assert after.cache_read == before.cache_read + before.cache_write


async def test_a_grammar_goes_to_the_server_as_it_is(shared: Bench) -> None:
    shared.script({"text": "ok"})
    await shared.ask(shared.openai, asking(grammar='root ::= "ok"'))
    assert shared.server.asked[0].body["grammar"] == 'root ::= "ok"'


async def test_two_streams_at_once_do_not_mix(shared: Bench) -> None:
    shared.script(
        {"when": "first", "text": "a" * 400, "pause": 0.001}, {"when": "second", "text": "b" * 400, "pause": 0.001}
    )
    one, two = await asyncio.gather(
        shared.ask(shared.openai, asking("first")), shared.ask(shared.openai, asking("second"))
    )
    assert (texts(one), texts(two)) == ("a" * 400, "b" * 400)


# ── cancelling ──


@pytest.mark.parametrize("phase", ["before", "first", "middle"])
async def test_closing_the_stream_closes_the_connection(shared: Bench, endpoint: Endpoint, phase: str) -> None:
    shared.script({"hang": phase, "text": "x" * 200})
    task = asyncio.create_task(shared.ask(endpoint, asking()))
    received = await shared.server.wait_for(1)
    await received.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(received.left.wait(), 5)


async def test_no_event_is_read_after_the_stream_was_left(shared: Bench) -> None:
    shared.script({"text": "x" * 20_000, "chunk": 1, "pause": 0.002})
    async with aclosing(shared.model.stream(shared.openai, asking())) as parts:
        assert isinstance(await anext(parts), Text)
    received = shared.server.asked[0]
    await asyncio.wait_for(received.left.wait(), 5)
    assert received.sent < 20_000


# ── failures ──


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


@pytest.mark.parametrize(("phase", "requests"), [("before", 2), ("first", 2), ("middle", 1)])
async def test_silence_for_the_deadline_ends_the_request(
    shared: Bench, endpoint: Endpoint, phase: str, requests: int
) -> None:
    shared.script(*[{"hang": phase, "text": "x" * 200}] * 5)
    error = await shared.error(endpoint, asking(deadline=0.3))
    assert type(error) is TimedOut
    assert bool(error.kept) == (phase == "middle")
    assert len(shared.server.asked) == requests
    await asyncio.wait_for(shared.server.asked[-1].left.wait(), 5)


@pytest.mark.parametrize("step", [
    {"drop": "middle", "text": "x" * 400}, {"drop": "reset", "text": "x" * 400}, {"finish": None, "text": "x" * 400},
])  # fmt: skip
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


TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
THINK = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


def _value(text: bytes) -> bytes:
    """The JSON value that `text` begins with, as its bytes."""
    decoded = text.decode()
    skipped = len(decoded) - len(decoded.lstrip())
    _, end = json.JSONDecoder().raw_decode(decoded, skipped)
    return decoded[:end].encode()
