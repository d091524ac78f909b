"""A server of the user's own is asked for its window, in every dialect, and never believed beyond its word."""

from __future__ import annotations

from typing import Any

import pytest

from agent.model import Endpoint
from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.models.probe import Probed, is_near, probe, read_answers
from agent.models.stub_server import StubServer
from compaction.budget import Window
from compaction.records import WindowSource

ANSWERS: list[tuple[str, dict[str, Any], Probed]] = [
    (
        "llama.cpp",
        {
            "models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]},
            "props": {"default_generation_settings": {"n_ctx": 8_192}},
        },
        Probed(8_192),
    ),
    (
        "llama.cpp without its page",
        {"models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072, "n_ctx": 8_192}}]}},
        Probed(8_192),
    ),
    ("llama.cpp of old", {"models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131_072}}]}}, Probed(131_072)),
    (
        "vLLM",
        {"models": {"data": [{"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 32_768}]}},
        Probed(32_768),
    ),
    (
        "OpenRouter",
        {
            "models": {
                "data": [
                    {"id": "m", "context_length": 200_000, "top_provider": {"max_completion_tokens": 64_000}},
                    {"id": "n"},
                ]
            }
        },
        Probed(200_000, 64_000),
    ),
    (
        "Groq",
        {"models": {"data": [{"id": "m", "context_window": 131_072, "max_completion_tokens": 32_768}, {"id": "n"}]}},
        Probed(131_072, 32_768),
    ),
    (
        "LM Studio",
        {
            "models": {"data": [{"id": "m"}, {"id": "n"}]},
            "studio": {
                "data": [{"id": "m", "max_context_length": 131_072, "loaded_context_length": 4_096}, {"id": "n"}]
            },
        },
        Probed(4_096),
    ),
    (
        "Ollama, loaded",
        {
            "models": {"data": [{"id": "m"}]},
            "loaded": {"models": [{"name": "m", "context_length": 4_096}]},
            "shown": {"model_info": {"x.context_length": 131_072}},
        },
        Probed(4_096),
    ),
    (
        "Ollama, with a setting",
        {"models": {"data": [{"id": "m"}]}, "shown": {"parameters": "stop x\nnum_ctx   16384\n"}},
        Probed(16_384),
    ),
    (
        "Ollama, neither",
        {"models": {"data": [{"id": "m"}]}, "shown": {"model_info": {"x.context_length": 131_072}}},
        Probed(None),
    ),
    (
        "one model under another name",
        {"models": {"data": [{"id": "/models/m.gguf", "max_model_len": 4_096}]}},
        Probed(4_096),
    ),
    (
        "two models, none of this name",
        {"models": {"data": [{"id": "a", "max_model_len": 1_000}, {"id": "b", "max_model_len": 2_000}]}},
        Probed(None),
    ),
    (
        "a limit of zero",
        {
            "models": {"data": [{"id": "m", "max_model_len": 0, "context_length": 0}]},
            "props": {"default_generation_settings": {"n_ctx": 0}},
        },
        Probed(None),
    ),
    (
        "numbers that are none",
        {"models": {"data": [{"id": "m", "max_model_len": "8k", "context_length": True}]}},
        Probed(None),
    ),
    ("nonsense", {"models": [1], "props": "x", "studio": {"data": 3}, "loaded": None, "shown": []}, Probed(None)),
]


@pytest.mark.parametrize(("server", "pages", "expected"), ANSWERS, ids=[case[0] for case in ANSWERS])
def test_each_server_is_understood(server: str, pages: dict[str, Any], expected: Probed) -> None:
    assert read_answers("m", **pages) == expected, server


async def test_a_running_server_is_asked_and_its_word_becomes_the_window() -> None:
    props = {"default_generation_settings": {"n_ctx": 8_192}}
    async with StubServer(props=props, models={"data": [{"id": "m"}]}) as server:
        endpoint = Endpoint("mine", "openai/m", server.base, "sk-1")
        known = Catalogue(Learned(None))
        await known.probe(endpoint)
        assert known.window(endpoint) == Window(8_192, None, WindowSource.PROBED)
        keys = {request.path: request.headers.get("authorization") for request in server.received}
        assert keys["/v1/models"] == "Bearer sk-1"
        assert set(keys) == {"/v1/models", "/props", "/api/v0/models", "/api/ps", "/api/show"}


async def test_a_provider_at_its_own_address_is_not_asked() -> None:
    assert await probe(Endpoint("gpt", "openai/gpt-5")) == Probed()


async def test_a_server_that_is_not_there_says_nothing() -> None:
    assert await probe(Endpoint("mine", "openai/m", "http://127.0.0.1:9/v1"), 0.5) == Probed()


async def test_a_server_that_says_nothing_useful_leaves_the_window_unknown() -> None:
    async with StubServer() as server:
        assert await probe(Endpoint("mine", "openai/m", server.base)) == Probed()


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://192.168.1.9/v1", True),
        ("http://box.local:1/v1", True),
        ("https://api.example.com/v1", False),
        ("https://8.8.8.8/v1", False),
        ("nonsense", False),
    ],
)
def test_only_near_servers_are_asked_everything(url: str, near: bool) -> None:
    assert is_near(url) is near
