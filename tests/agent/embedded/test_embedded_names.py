"""Names of models we run ourselves, and what happens to a request on its way to one. No model is loaded here."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.model import Endpoint, HostDied, Part, Reply, Request, Text, UnknownModel
from agent.models import gguf
from agent.models.embedded import (
    EMBEDDED_NAME,
    Embedded,
    EmbeddedModel,
    embedded_endpoint,
    fitted,
    is_embedded,
    summary_grammar,
)
from agent.models.llama_process import LlamaProcess
from agent.models.weights import Weights, locate, weights

TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}


class Recording:
    """An inner model that keeps what it was asked, and whether its stream was closed."""

    def __init__(self) -> None:
        self.asked: list[tuple[Endpoint, Request]] = []
        self.closed = 0

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        self.asked.append((endpoint, request))
        try:
            yield Text("hello")
            yield Reply("hello", (), None, "done")
        finally:
            self.closed += 1

    async def aclose(self) -> None:
        pass


def some_weights(tmp_path: Path, window: int = 2_048) -> Weights:
    return Weights(tmp_path / "m.gguf", "m", window, 512, gguf.Metadata("m", "llama", window, True), toy=False)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        (EMBEDDED_NAME, True),
        ("embedded//models/a.gguf", True),
        ("a/b.gguf", True),
        ("A.GGUF", True),
        ("openai/gpt-4o", False),
        ("ollama/smollm2", False),
    ],
)
def test_a_name_says_whether_we_run_the_model(name: str, ours: bool) -> None:
    assert is_embedded(name) is ours


def test_a_file_is_found_under_each_spelling_of_its_path(tmp_path: Path) -> None:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"")
    assert locate(str(file)) == locate(f"embedded/{file}") == file.resolve()


@pytest.mark.parametrize("name", ["embedded/unknown", "/nowhere/at/all.gguf"])
def test_what_cannot_be_found_is_a_sentence(name: str) -> None:
    with pytest.raises(UnknownModel, match=r"There is no .*\."):
        locate(name)


def test_a_file_that_is_no_model_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "notes.gguf"
    file.write_bytes(b"buy milk")
    with pytest.raises(UnknownModel, match="not a GGUF file"):
        weights(str(file))


def test_an_answer_is_bounded_and_a_grammar_beside_tools_is_left_out(tmp_path: Path) -> None:
    model = some_weights(tmp_path)
    assert fitted(Request(messages=()), model).max_tokens == 512
    assert fitted(Request(messages=(), max_tokens=40), model).max_tokens == 40
    assert fitted(Request(messages=(), max_tokens=9_999), model).max_tokens == 512
    assert fitted(Request(messages=(), grammar="g"), model).grammar == "g"
    assert fitted(Request(messages=(), tools=(TOOL,), grammar="g"), model).grammar is None


@pytest.fixture
def embedded(tmp_path: Path) -> Embedded:
    """A model whose file says nothing; it is never started."""
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF" + b"\x03\x00\x00\x00" + b"\x00" * 16)
    return Embedded(str(file), log=tmp_path / "log")


async def test_other_models_are_asked_unchanged_and_nothing_is_started(embedded: Embedded) -> None:
    inner = Recording()
    model = EmbeddedModel(inner, embedded)
    endpoint, request = Endpoint("openai/x", "openai/x", "http://host/v1"), Request(messages=())
    assert [part async for part in model.stream(endpoint, request)][-1] == Reply("hello", (), None, "done")
    assert inner.asked == [(endpoint, request)]
    assert not embedded.process.running
    await model.aclose()


async def test_closing_the_stream_closes_the_inner_one(embedded: Embedded) -> None:
    inner = Recording()
    stream = EmbeddedModel(inner, embedded).stream(Endpoint("openai/x", "openai/x"), Request(messages=()))
    assert await anext(stream) == Text("hello")
    await stream.aclose()  # type: ignore[attr-defined]
    assert inner.closed == 1


def test_at_rest_the_endpoint_leads_nowhere_and_has_one_label(embedded: Embedded) -> None:
    endpoint = embedded_endpoint(embedded.name)
    assert endpoint == Endpoint(embedded.name, "openai/tiny", "http://127.0.0.1:0/v1", "none")
    with socket.socket() as probe, pytest.raises(OSError, match=r"refused|assign"):
        probe.connect(("127.0.0.1", 0))
    assert (embedded.window, embedded.max_output) == (8_192, 1_024)


async def test_a_process_that_ends_at_once_is_a_sentence_that_names_its_log(tmp_path: Path) -> None:
    log = tmp_path / "model.log"
    process = LlamaProcess(some_weights(tmp_path), log, python="/bin/false")
    with pytest.raises(HostDied, match=r"did not start.*status 1.*model\.log"):
        await process.start()
    assert not process.running
    assert log.stat().st_mode & 0o777 == 0o600
    await process.stop()


async def test_a_file_llama_cannot_load_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded model's runtime is not installed")
    (tmp_path / "m.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + b"\x00" * 16)
    process = LlamaProcess(some_weights(tmp_path), tmp_path / "log", python=sys.executable)
    with pytest.raises(HostDied, match=r"could not load m\.gguf"):
        await process.start()
    await process.stop()


def test_the_grammar_names_each_heading_once_in_order_and_bounds_no_line() -> None:
    grammar = summary_grammar(["## Goal", "## Next"])
    assert grammar.splitlines()[0] == r'root ::= "## Goal" "\n" lines "## Next" "\n" lines'
    assert "{" not in grammar
