"""A provider's token counts, in any spelling, as disjoint buckets. Pure.

Not an estimate: what was not sent is None.

Invariants
 1. No bucket is negative, and no token is in two buckets.
 2. Of several reports in one stream the last that states a number wins; they are never added (proxies repeat a growing
    total with every chunk).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from compaction.records import Usage

# A bucket's names, the more specific first; a dot leads into a nested object. Case and underscores do not count.
_INCLUSIVE = ("prompt_tokens", "prompt_token_count", "prompt_eval_count", "input_token_count")
_BARE = ("input_tokens", "tokens.input_tokens")
_TOOL_INPUT = ("tool_use_prompt_token_count",)
_READ = (
    "cache_read_input_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens", "cached_content_token_count", "cached_input_tokens", "cached_tokens",
    "input_token_details.cache_read",
)  # fmt: skip
_WRITE = (
    "cache_creation_input_tokens", "prompt_tokens_details.cache_creation_tokens",
    "prompt_tokens_details.cache_write_tokens", "prompt_tokens_details.cache_creation_input_tokens",
    "cache_write_input_tokens", "input_token_details.cache_creation",
)  # fmt: skip
# Written for five minutes and for an hour, where the sum is not stated.
_WRITE_PARTS = ("cache_creation.ephemeral_5m_input_tokens", "cache_creation.ephemeral_1h_input_tokens")
_MISS = ("prompt_cache_miss_tokens",)
_OUTPUT = ("completion_tokens", "output_tokens", "tokens.output_tokens", "eval_count", "generated_token_count")
_OUTPUT_APART = ("candidates_token_count",)
_REASONING = (
    "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens",
    "thoughts_token_count", "reasoning_output_tokens", "output_token_details.reasoning",
)  # fmt: skip
_TOTAL = ("total_tokens", "total_token_count")
# Where these are, `input_tokens` is all of the input; elsewhere it is what no cache held.
_OF_ALL = ("inputtokensdetails", "cachedinputtokens", "inputtokendetails")

# Fifty times the largest window there is: beyond it a number is no count of tokens.
MOST = 100_000_000


def read_usages(reports: Iterable[Mapping[str, Any]]) -> Usage | None:
    """One reply's usage from all reports of its stream, in order: later numbers replace earlier ones."""
    merged: dict[str, Any] = {}
    for report in reports:
        _merge(merged, report)
    return read_usage(merged) if merged else None


def read_usage(report: Mapping[str, Any] | None) -> Usage | None:
    """One report; None when it states neither input nor output."""
    found = _plain(report or {})
    inclusive, bare = _find(found, _INCLUSIVE), _find(found, _BARE)
    output, apart = _find(found, _OUTPUT), _find(found, _OUTPUT_APART)
    if not (inclusive or bare or output or apart):
        return None
    read = _find(found, _READ) or 0
    write = _find(found, _WRITE) or sum(_find(found, (part,)) or 0 for part in _WRITE_PARTS)
    reasoning, total = _find(found, _REASONING) or 0, _find(found, _TOTAL)
    whole = (inclusive or bare or 0) + (_find(found, _TOOL_INPUT) or 0)
    # Cached tokens beyond the whole can only have been left out of it.
    beside = read + write > whole or not (inclusive or any(name in found for name in _OF_ALL))
    if read + write and total:
        outputs = (output or apart or 0, (output or apart or 0) + reasoning)
        if any(total == whole + read + write + said for said in outputs):
            beside = True
        elif any(total == whole + said for said in outputs):
            beside = read + write > whole
    uncached = whole if beside else whole - read - write
    if (miss := _find(found, _MISS)) is not None and read + miss == whole:
        uncached = miss
    if output:
        output = _without(output, reasoning, uncached + read + write, total)
    return Usage(uncached, read, write, output or apart or 0, reasoning)


def _without(output: int, reasoning: int, read: int, total: int | None) -> int:
    """The output without reasoning: most providers include it, and the total tells which do not."""
    if total is not None and reasoning and total == read + output + reasoning:
        return output
    return output - reasoning if reasoning <= output else output


def _merge(into: dict[str, Any], more: Mapping[str, Any]) -> None:
    """A closing report that knows only the output says zero input; the opening one knew."""
    for key, value in more.items():
        if isinstance(value, Mapping):
            inner = into.get(key)
            into[key] = dict(inner) if isinstance(inner, Mapping) else {}
            _merge(into[key], value)
        elif value is not None and not (value == 0 and into.get(key)):
            into[key] = value


def _plain(report: Mapping[str, Any]) -> dict[str, Any]:
    """The report with names as `_find` looks for them."""
    return {_name(key): _plain(value) if isinstance(value, Mapping) else value for key, value in report.items()}


def _name(key: str) -> str:
    return key.replace("_", "").lower()


def _find(report: Mapping[str, Any], names: Iterable[str]) -> int | None:
    """The first of `names` with a count. A zero gives way to a later name that knows more; less is no count."""
    best: int | None = None
    for name in names:
        value: Any = report
        for step in name.split("."):
            value = value.get(_name(step)) if isinstance(value, Mapping) else None
        best = best or _count(value, best)
    return best


def _count(value: Any, otherwise: int | None) -> int | None:
    """A number from 0 to `MOST`, also when it is written as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MOST:
        return int(value)
    return otherwise
