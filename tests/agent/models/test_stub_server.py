"""The scripted server is an honest provider: it counts, caches, refuses and records, and runs from a file."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.stub_server import Received, Step, StubServer, server_from
from agent.models.stub_tokens import MarkedCache, PrefixCache, common_length, request_text, tokens

BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": True}


async def post(url: str, body: Any, path: str = "/v1/chat/completions") -> tuple[int, str]:
    """Status and body, by hand: no client library is to hide anything."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    data = json.dumps(body).encode()
    writer.write(f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, rest = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), rest.decode()


def usage(answer: str) -> dict[str, Any]:
    """The usage reported in a stream of chat chunks."""
    for line in answer.splitlines():
        if line.startswith("data: {") and '"usage"' in line:
            found: dict[str, Any] = json.loads(line.removeprefix("data: "))["usage"]
            return found
    raise AssertionError("no usage was reported")


async def test_steps_are_used_in_order_and_then_the_default_repeats() -> None:
    async with StubServer([{"text": "one"}, {"text": "two"}], default={"text": "more"}) as server:
        answers = [await post(server.origin, BODY) for _ in range(4)]
    assert [next(w for w in ("one", "two", "more") if w in text) for _, text in answers] == [
        "one",
        "two",
        "more",
        "more",
    ]


async def test_a_step_with_a_condition_answers_whenever_it_holds() -> None:
    steps: list[Step] = [{"text": "first"}, {"when": "conversation", "text": "summary"}]
    async with StubServer(steps) as server:
        summary = {"model": "m", "messages": [{"role": "user", "content": "<conversation>"}]}
        for body, word in ((summary, "summary"), (BODY, "first"), (summary, "summary")):
            assert word in (await post(server.origin, body))[1]


async def test_a_step_may_be_made_from_the_request() -> None:
    def echo(request: Received) -> Step:
        return {"text": request.messages[-1]["content"].upper()}

    async with StubServer([echo]) as server:
        assert "HELLO" in (await post(server.origin, BODY))[1]


async def test_a_request_beyond_the_window_is_refused_with_its_numbers() -> None:
    size = tokens(request_text(BODY["messages"]))  # type: ignore[arg-type]
    async with StubServer(window=size + 10) as server:
        assert (await post(server.origin, {**BODY, "max_tokens": 10}))[0] == 200
        status, text = await post(server.origin, {**BODY, "max_tokens": 11})
    assert status == 400
    assert f"maximum context length is {size + 10} tokens" in text
    assert f"({size} in the messages, 11 in the completion)" in text


@pytest.mark.parametrize("refusal", ["openai", "llama.cpp", "anthropic", "mute"])
async def test_each_wording_of_a_refusal_is_recognised(refusal: str) -> None:
    from agent.models.overflow import recognise

    async with StubServer(window=300, refusal=refusal) as server:
        long = {"model": "m", "messages": [{"role": "user", "content": "x" * 4_000}]}
        status, text = await post(server.origin, long)
    found = recognise(status, text)
    assert found is not None
    assert found.window == (None if refusal == "mute" else 300)


async def test_too_many_bytes_and_too_much_output_are_refused_differently() -> None:
    async with StubServer(max_bytes=1_000, max_output=100) as server:
        assert (await post(server.origin, {**BODY, "x": "y" * 2_000}))[0] == 413
        status, text = await post(server.origin, {**BODY, "max_tokens": 101})
    assert status == 400
    assert "at most 100 completion tokens" in text


async def test_a_server_that_truncates_says_so_by_its_count_alone() -> None:
    async with StubServer(window=300, truncates=True) as server:
        long = {"model": "m", "messages": [{"role": "user", "content": "x" * 4_000}]}
        assert usage((await post(server.origin, long))[1])["prompt_tokens"] == 300


async def test_what_two_requests_have_in_common_is_cached() -> None:
    longer = {**BODY, "messages": [*BODY["messages"], {"role": "user", "content": "and more"}]}  # type: ignore[misc]
    async with StubServer() as server:
        first, second = [usage((await post(server.origin, body))[1]) for body in (BODY, longer)]
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert second["prompt_tokens_details"]["cached_tokens"] == first["prompt_tokens"]


async def test_requests_are_recorded_raw() -> None:
    async with StubServer() as server:
        await post(server.origin, BODY)
        assert server.asked[0].raw == json.dumps(BODY).encode()
        assert server.asked[0].path == "/v1/chat/completions"


async def test_a_client_that_leaves_while_the_answer_is_written_has_left() -> None:
    """The write finds a broken connection, often before the reading side is told."""
    async with StubServer([{"text": "x" * 4_000_000, "chunk": 100_000}]) as server:
        host, _, port = server.origin.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1_024)
        data = json.dumps(BODY).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        received = await server.wait_for(1)
        await received.started.wait()
        # The answer is not read, so the server stands at a write when the connection breaks.
        writer.transport.abort()
        await asyncio.wait_for(received.left.wait(), 60)


async def test_it_runs_from_a_file(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": [{"text": "from a file"}], "window": 500}), encoding="utf-8")
    arguments = ["-m", "agent.models.stub_server", str(script), "--window", "400"]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        origin = line.split()[-1].removesuffix("/v1")
        assert "from a file" in (await post(origin, BODY))[1]
        status, _ = await post(origin, {**BODY, "max_tokens": 450})
        assert status == 400
    finally:
        process.terminate()
        await process.wait()


def test_a_script_may_be_a_list_or_hold_options() -> None:
    assert server_from([{"text": "x"}]).window is None
    assert server_from({"steps": [], "window": 5}).window == 5
    assert server_from({"steps": [], "window": 5}, window=7, port=None).window == 7


# ── counting ──


@given(st.text(alphabet="ab"), st.text(alphabet="ab"))
def test_the_common_length_is_the_longest_common_beginning(one: str, other: str) -> None:
    length = common_length(one, other)
    assert one[:length] == other[:length]
    assert length == min(len(one), len(other)) or one[length] != other[length]


@given(st.lists(st.text(alphabet="abc", max_size=30), max_size=6))
def test_a_prefix_cache_never_reports_more_than_there_is(requests: list[str]) -> None:
    cache = PrefixCache()
    for i, text in enumerate(requests):
        total, cached = cache.measure(text)
        assert 0 <= cached <= total == tokens(text)
        assert cached == total or not text or text not in requests[:i]


def blocks(count: int, *marks: int) -> list[tuple[str, bool]]:
    return [(f"block {i:04}", i in marks) for i in range(count)]


def test_a_marked_cache_reads_what_was_written_and_writes_up_to_its_last_mark() -> None:
    cache = MarkedCache()
    each = tokens("block 0000")
    assert cache.measure(blocks(5)) == (5 * each, 0, 0)
    assert cache.measure(blocks(5, 3)) == (each, 0, 4 * each)
    assert cache.measure(blocks(9, 8)) == (0, 4 * each, 5 * each)
    assert cache.measure(blocks(9, 8)) == (0, 9 * each, 0)


def test_a_marked_cache_looks_back_twenty_blocks_and_no_further() -> None:
    each = tokens("block 0000")
    near, far = MarkedCache(), MarkedCache()
    near.measure(blocks(5, 4))
    assert near.measure(blocks(25, 24))[1] == 5 * each
    far.measure(blocks(5, 4))
    assert far.measure(blocks(26, 25))[1] == 0
