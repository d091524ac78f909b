"""Token counts in any spelling become the same disjoint buckets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.models.usage import read_usage, read_usages
from compaction.records import Usage

SPELLINGS: list[tuple[str, dict[str, Any], Usage]] = [
    (
        "OpenAI",
        {
            "prompt_tokens": 1_000,
            "completion_tokens": 50,
            "total_tokens": 1_050,
            "prompt_tokens_details": {"cached_tokens": 900},
            "completion_tokens_details": {"reasoning_tokens": 20},
        },
        Usage(100, 900, 0, 30, 20),
    ),
    (
        "OpenAI responses",
        {
            "input_tokens": 1_000,
            "input_tokens_details": {"cached_tokens": 900},
            "output_tokens": 50,
            "output_tokens_details": {"reasoning_tokens": 20},
            "total_tokens": 1_050,
        },
        Usage(100, 900, 0, 30, 20),
    ),
    (
        "Anthropic",
        {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 3_000, "output_tokens": 40},
        Usage(10, 200, 3_000, 40),
    ),
    (
        "Anthropic as litellm sums it",
        {
            "prompt_tokens": 3_210,
            "completion_tokens": 40,
            "total_tokens": 3_250,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 3_000,
            "prompt_tokens_details": {
                "cached_tokens": 200,
                "cache_creation_tokens": 3_000,
                "cache_write_tokens": 3_000,
                "text_tokens": 10,
            },
        },
        Usage(10, 200, 3_000, 40),
    ),
    (
        "Anthropic through a gateway that leaves the cache out",
        {
            "prompt_tokens": 10,
            "completion_tokens": 40,
            "cache_read_input_tokens": 200,
            "cache_creation_input_tokens": 3_000,
        },
        Usage(10, 200, 3_000, 40),
    ),
    (
        "llama.cpp",
        {
            "prompt_tokens": 903,
            "completion_tokens": 5,
            "total_tokens": 908,
            "prompt_tokens_details": {"cached_tokens": 902},
        },
        Usage(1, 902, 0, 5),
    ),
    (
        "DeepSeek",
        {
            "prompt_tokens": 300,
            "completion_tokens": 7,
            "total_tokens": 307,
            "prompt_cache_hit_tokens": 256,
            "prompt_cache_miss_tokens": 44,
        },
        Usage(44, 256, 0, 7),
    ),
    (
        "Gemini",
        {
            "promptTokenCount": 500,
            "cachedContentTokenCount": 400,
            "candidatesTokenCount": 20,
            "thoughtsTokenCount": 80,
            "totalTokenCount": 600,
        },
        Usage(100, 400, 0, 20, 80),
    ),
    (
        "Bedrock",
        {
            "inputTokens": 12,
            "outputTokens": 3,
            "cacheReadInputTokens": 100,
            "cacheWriteInputTokens": 50,
            "totalTokens": 165,
        },
        Usage(12, 100, 50, 3),
    ),
    (
        "Kimi",
        {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cached_tokens": 64},
        Usage(36, 64, 0, 5),
    ),
    (
        "reasoning beside the output",
        {
            "prompt_tokens": 100,
            "completion_tokens": 50,
            "total_tokens": 180,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(100, 0, 0, 50, 30),
    ),
    (
        "more reasoning than output beside it",
        {
            "prompt_tokens": 100,
            "completion_tokens": 5,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 30},
        },
        Usage(100, 0, 0, 5, 30),
    ),
    (
        "the cache beside the input, as the total tells",
        {
            "prompt_tokens": 5_000,
            "completion_tokens": 40,
            "total_tokens": 6_040,
            "prompt_tokens_details": {"cached_tokens": 1_000},
        },
        Usage(5_000, 1_000, 0, 40),
    ),
    (
        "an answer's names inside a chat's, which the library fills with zeros",
        {
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "total_tokens": 0,
            "input_tokens": 12,
            "output_tokens": 3,
            "cache_read_input_tokens": 100,
        },
        Usage(12, 100, 0, 3),
    ),
    (
        "a client's own names",
        {"inputTokens": 100, "outputTokens": 10, "totalTokens": 110, "cachedInputTokens": 60, "reasoningTokens": 4},
        Usage(40, 60, 0, 6, 4),
    ),
    (
        "names with underscores where others have none",
        {
            "prompt_token_count": 500,
            "cached_content_token_count": 400,
            "candidates_token_count": 20,
            "thoughts_token_count": 80,
            "total_token_count": 600,
        },
        Usage(100, 400, 0, 20, 80),
    ),
    (
        "input of tools beside the prompt",
        {"promptTokenCount": 500, "toolUsePromptTokenCount": 30, "candidatesTokenCount": 20, "totalTokenCount": 550},
        Usage(530, 0, 0, 20),
    ),
    (
        "what was billed and what was read",
        {
            "billed_units": {"input_tokens": 90, "output_tokens": 9},
            "tokens": {"input_tokens": 100, "output_tokens": 10},
        },
        Usage(100, 0, 0, 10),
    ),
    ("Ollama's own", {"prompt_eval_count": 100, "eval_count": 10}, Usage(100, 0, 0, 10)),
    ("TGI's own", {"input_token_count": 100, "generated_token_count": 10}, Usage(100, 0, 0, 10)),
    (
        "a cache written for two lengths of time",
        {
            "input_tokens": 10,
            "output_tokens": 4,
            "cache_creation_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 300, "ephemeral_1h_input_tokens": 20},
        },
        Usage(10, 0, 320, 4),
    ),
    (
        "a cache written, named in the details",
        {
            "prompt_tokens": 3_000,
            "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1_000, "cache_creation_input_tokens": 500},
        },
        Usage(1_500, 1_000, 500, 5),
    ),
    ("numbers written as text", {"prompt_tokens": "1000", "completion_tokens": "50"}, Usage(1_000, 0, 0, 50)),
    ("what is no count is unsaid", {"prompt_tokens": 10**18, "completion_tokens": 5}, Usage(0, 0, 0, 5)),
    ("nor is what is no number", {"prompt_tokens": float("nan"), "completion_tokens": 5}, Usage(0, 0, 0, 5)),
    ("nor what is below nothing", {"prompt_tokens": 9, "completion_tokens": 5, "cached_tokens": -1}, Usage(9, 0, 0, 5)),
    (
        "details that are null",
        {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None, "completion_tokens_details": None},
        Usage(9, 0, 0, 2),
    ),
]


@pytest.mark.parametrize(("who", "report", "usage"), SPELLINGS, ids=[case[0] for case in SPELLINGS])
def test_each_spelling_is_read(who: str, report: dict[str, Any], usage: Usage) -> None:
    assert read_usage(report) == usage, who


@pytest.mark.parametrize(
    "report",
    [
        None, {}, {"total_tokens": 5}, {"prompt_tokens": None}, {"prompt_tokens": "many"}, {"prompt_tokens": -1},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {"prompt_tokens": float("inf")},
    ],
)  # fmt: skip
def test_a_report_without_counts_is_none(report: dict[str, Any] | None) -> None:
    assert read_usage(report) is None


def test_the_last_of_growing_reports_wins_and_nothing_is_added() -> None:
    reports = [{"prompt_tokens": 100, "completion_tokens": n, "total_tokens": 100 + n} for n in (1, 2, 3)]
    assert read_usages(reports) == Usage(100, 0, 0, 3)


def test_a_closing_report_of_output_alone_keeps_the_opening_ones_input() -> None:
    opening = {"prompt_tokens": 110, "completion_tokens": 1, "cache_read_input_tokens": 100}
    assert read_usages([opening, {"prompt_tokens": 0, "completion_tokens": 7}]) == Usage(10, 100, 0, 7)


def test_a_closing_report_with_empty_details_keeps_what_was_cached() -> None:
    opening = {"prompt_tokens": 110, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 100}}
    closing = {"prompt_tokens": 110, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 0}}
    assert read_usages([opening, closing]) == Usage(10, 100, 0, 7)


def test_no_report_is_none() -> None:
    assert read_usages([]) is None


COUNT = st.none() | st.integers(-10, 10**7)
DETAILS = st.none() | st.dictionaries(
    st.sampled_from(["cached_tokens", "reasoning_tokens", "cache_creation_tokens"]), COUNT, max_size=3
)
REPORT = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": COUNT,
        "input_tokens": COUNT,
        "completion_tokens": COUNT,
        "output_tokens": COUNT,
        "total_tokens": COUNT,
        "cache_read_input_tokens": COUNT,
        "cache_creation_input_tokens": COUNT,
        "prompt_cache_hit_tokens": COUNT,
        "prompt_cache_miss_tokens": COUNT,
        "prompt_tokens_details": DETAILS,
        "completion_tokens_details": DETAILS,
        "input_tokens_details": DETAILS,
    },
)


@given(REPORT)
def test_no_bucket_is_ever_negative(report: dict[str, Any]) -> None:
    usage = read_usage(report)
    if usage is not None:
        assert min(usage.uncached, usage.cache_read, usage.cache_write, usage.output, usage.reasoning) >= 0


@given(
    total=st.integers(0, 10**6), read=st.integers(0, 10**6), write=st.integers(0, 10**6), output=st.integers(1, 10**6)
)
def test_an_inclusive_total_is_split_without_loss(total: int, read: int, write: int, output: int) -> None:
    total += read + write
    usage = read_usage({"prompt_tokens": total, "completion_tokens": output, "cache_read_input_tokens": read,
                        "cache_creation_input_tokens": write})  # fmt: skip
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.cache_write, usage.output) == (total, read, write, output)
