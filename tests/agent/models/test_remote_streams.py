"""The remote model through the real library and child process, against a scripted server on this machine."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import aclosing
from typing import Any

import pytest

from agent.model import (
    CallGrowing,
    Endpoint,
    Reply,
    Request,
    Text,
    Thinking,
)
from compaction.records import ToolCall, Usage
from tests.agent.models.bench import THINK, TOOL, Bench, asking, texts

# The child process is shared, and so is the loop it is attached to.
pytestmark = pytest.mark.asyncio(loop_scope="session")


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


async def test_every_kind_of_message_can_carry_a_mark(shared: Bench) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "e"},
    ]
    for i, kind in enumerate(["system", "user", "assistant", "user", "assistant", "user"]):
        shared.script({"text": "One."})
        marked = [{**m, "_cache": True} if n == i else m for n, m in enumerate(messages)]
        await shared.ask(shared.anthropic, Request(tuple(marked), (TOOL,), 100))
        body = shared.server.asked[0].body
        places = [("system", part) for part in body["system"]]
        places += [(m["role"], part) for m in body["messages"] for part in m["content"]]
        assert [role for role, part in places if "cache_control" in part] == [kind], messages[i]


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
    pid = shared.model.pid
    await received.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(received.left.wait(), 120)
    assert shared.model.pid == pid, "the child had to be killed"
    assert (await shared.reply(endpoint, asking())).text == "Done."
    assert shared.model.pid == pid, "the child had to be killed"


async def test_no_event_is_read_after_the_stream_was_left(shared: Bench) -> None:
    shared.script({"text": "x" * 20_000, "chunk": 1, "pause": 0.002})
    async with aclosing(shared.model.stream(shared.openai, asking())) as parts:
        assert isinstance(await anext(parts), Text)
    received = shared.server.asked[0]
    await asyncio.wait_for(received.left.wait(), 120)
    assert received.sent < 20_000


def _value(text: bytes) -> bytes:
    """The JSON value that `text` begins with, as its bytes."""
    decoded = text.decode()
    skipped = len(decoded) - len(decoded.lstrip())
    _, end = json.JSONDecoder().raw_decode(decoded, skipped)
    return decoded[:end].encode()
