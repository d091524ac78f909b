"""The toy model itself, through its own loopback server. Prompts stay below 300 tokens: two cores read 120 a second."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.model import CutOff, Endpoint, HostDied, Part, Reply, Request
from agent.models.embedded import (
    EMBEDDED_NAME,
    Embedded,
    EmbeddedModel,
    embedded_endpoint,
    installed,
    summary_grammar,
)
from agent.models.llama_process import LlamaProcess
from agent.models.weights import weights

pytestmark = pytest.mark.skipif(not installed(), reason="the weights of embedded/smollm2 are not installed")

HEADINGS = ("## Goal", "## Constraints", "## Done", "## Decisions", "## Next")
ROOT = Path(__file__).parents[3]

READ = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Reads a text file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def process(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LlamaProcess]:
    running = LlamaProcess(weights(EMBEDDED_NAME, window=2_048), tmp_path_factory.mktemp("embedded") / "log")
    await running.start()
    yield running
    await running.stop()


def post(process: LlamaProcess, path: str, body: dict[str, Any], key: str | None = None) -> tuple[int, dict[str, Any]]:
    """One request, not streamed: status and JSON."""
    request = urllib.request.Request(
        f"{process.address}{path}",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {process.key if key is None else key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=500) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def chat(process: LlamaProcess, messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    status, reply = post(process, "/chat/completions", {"messages": messages, "max_tokens": 24, **more})
    assert status == 200, reply
    return reply


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_it_answers_and_the_second_request_reads_the_first_from_its_cache(process: LlamaProcess) -> None:
    first = chat(process, [{"role": "system", "content": "You are brief."}, user("Say hello.")])
    assert first["choices"][0]["message"]["content"].strip()
    said = first["choices"][0]["message"]["content"]
    again = chat(
        process,
        [
            {"role": "system", "content": "You are brief."},
            user("Say hello."),
            {"role": "assistant", "content": said},
            user("Now say goodbye."),
        ],
    )
    prompt = first["usage"]["prompt_tokens"]
    assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] >= prompt


def test_tools_are_part_of_the_prompt_and_a_plain_wish_becomes_a_call(process: LlamaProcess) -> None:
    wish = [{"role": "system", "content": "You are a coding agent."}, user("Read README.md")]
    bare, tooled = chat(process, wish, max_tokens=1), chat(process, wish, tools=[READ], max_tokens=60)
    assert tooled["usage"]["prompt_tokens"] > bare["usage"]["prompt_tokens"] + 100
    (call,) = tooled["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "read"
    assert json.loads(call["function"]["arguments"]) == {"path": "README.md"}


def test_calls_and_results_are_written_so_that_what_came_before_keeps_its_place(process: LlamaProcess) -> None:
    def call(id: str, path: str) -> dict[str, Any]:
        return {"id": id, "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": path})}}

    messages: list[dict[str, Any]] = [
        user("Read both."),
        {"role": "assistant", "content": None, "tool_calls": [call("a", "one.txt"), call("b", "two.txt")]},
        {"role": "tool", "tool_call_id": "a", "content": "first text"},
        {"role": "tool", "tool_call_id": "b", "content": "second text"},
    ]
    later = [*messages, {"role": "assistant", "content": "Both are short."}, user("Thanks.")]
    base = str(process.address).removesuffix("/v1")

    def written(messages: list[dict[str, Any]]) -> str:
        request = urllib.request.Request(
            f"{base}/apply-template",
            json.dumps({"messages": messages, "tools": [READ]}).encode(),
            {"Authorization": f"Bearer {process.key}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return str(json.load(response)["prompt"])

    early, whole = written(messages), written(later)
    assert whole.startswith(early.removesuffix("<|im_start|>assistant\n"))
    for piece in ("first text", "second text", '"path": "two.txt"', '"description": "Reads a text file."'):
        assert piece in early


def test_a_prompt_that_is_too_long_is_refused_with_both_numbers(process: LlamaProcess) -> None:
    status, reply = post(process, "/chat/completions", {"messages": [user("word " * 3_000)], "max_tokens": 4})
    assert status == 400
    assert reply["error"]["type"] == "exceed_context_size_error"
    assert reply["error"]["n_ctx"] == 2_048
    assert reply["error"]["n_prompt_tokens"] > 3_000


def test_it_answers_only_to_its_key_and_shows_nobody_its_prompts(process: LlamaProcess) -> None:
    status, _ = post(process, "/chat/completions", {"messages": [user("hi")]}, key="wrong")
    assert status == 401
    base = str(process.address).removesuffix("/v1")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(
            urllib.request.Request(f"{base}/slots", headers={"Authorization": f"Bearer {process.key}"}), timeout=120
        )
    with refused.value:
        assert refused.value.code == 501  # not offered


def test_the_grammar_gives_a_summary_with_the_five_headings_in_order(process: LlamaProcess) -> None:
    text = "User: fix the date bug in ledger.py.\nAgent: I changed parse_date and ran the tests; 12 passed."
    reply = chat(
        process,
        [{"role": "system", "content": "Summarise the work."}, user(text)],
        grammar=summary_grammar(HEADINGS),
        max_tokens=400,
    )
    lines = reply["choices"][0]["message"]["content"].splitlines()
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert [line for line in lines if line.startswith("#")] == list(HEADINGS)
    assert all(line.startswith(("- ", "## ")) for line in lines)


async def test_two_who_ask_at_once_get_one_process_and_a_killed_one_is_started_again(tmp_path: Path) -> None:
    embedded = Embedded(log=tmp_path / "log", window=512)
    one, two = await asyncio.gather(embedded.start(), embedded.start())
    assert one == two
    assert one.model == "openai/smollm2"
    first = embedded.process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert await embedded.process.gone()
    assert (await embedded.start()).api_base != one.api_base
    second = embedded.process.pid
    assert second is not None
    assert second != first
    await embedded.stop()
    assert not alive(second)


async def test_a_process_killed_in_mid_request_is_a_sentence_and_the_next_request_works(tmp_path: Path) -> None:
    class Breaking:
        """Kills the process on the first request, and asks it nothing."""

        def __init__(self) -> None:
            self.asked: list[Endpoint] = []

        async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
            self.asked.append(endpoint)
            if len(self.asked) == 1:
                assert embedded.process.pid is not None
                os.kill(embedded.process.pid, signal.SIGKILL)
                raise CutOff("the stream broke", kept="half a")
            yield Reply("whole", (), None, "done")

        async def aclose(self) -> None:
            pass

    embedded, inner = Embedded(log=tmp_path / "log", window=512), Breaking()
    model = EmbeddedModel(inner, embedded)
    with pytest.raises(HostDied, match="starts it again") as died:
        [part async for part in model.stream(embedded_endpoint(EMBEDDED_NAME), Request(messages=()))]
    assert died.value.kept == "half a"
    parts = [part async for part in model.stream(embedded_endpoint(EMBEDDED_NAME), Request(messages=()))]
    assert parts == [Reply("whole", (), None, "done")]
    assert inner.asked[0].api_base != inner.asked[1].api_base
    await model.aclose()


def alive(pid: int) -> bool:
    """Whether the process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc to see the process")
def test_the_process_is_gone_after_its_parent_was_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
                import asyncio
                from pathlib import Path
                from agent.models.llama_process import LlamaProcess
                from agent.models.weights import EMBEDDED_NAME, weights

                async def main():
                    process = LlamaProcess(weights(EMBEDDED_NAME, window=512), Path({str(tmp_path / "log")!r}))
                    await process.start()
                    print(process.pid, flush=True)
                    await asyncio.sleep(600)

                asyncio.run(main())
            """),
        ],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert parent.stdout is not None
    with parent.stdout:
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.kill()
        parent.wait()
    for _ in range(2_000):  # the kernel needs a moment to take the process down
        if not alive(pid):
            break
        time.sleep(0.05)
    assert not alive(pid)
