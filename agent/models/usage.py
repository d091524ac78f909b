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

# A bucket's names, the more specific first; a dot leads into a nested object.
_INCLUSIVE = ("prompt_tokens", "promptTokenCount")
_BARE = ("input_tokens", "inputTokens")
_READ = (
    "cache_read_input_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details.cached_tokens",
    "input_tokens_details.cached_tokens", "cachedContentTokenCount", "cacheReadInputTokens", "cached_tokens",
)  # fmt: skip
_WRITE = (
    "cache_creation_input_tokens", "prompt_tokens_details.cache_creation_tokens",
    "prompt_tokens_details.cache_write_tokens", "cacheWriteInputTokens",
)  # fmt: skip
_MISS = ("prompt_cache_miss_tokens",)
_OUTPUT = ("completion_tokens", "output_tokens", "outputTokens")
_OUTPUT_APART = ("candidatesTokenCount",)
_REASONING = (
    "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens",
    "thoughtsTokenCount",
)  # fmt: skip
_TOTAL = ("total_tokens", "totalTokenCount", "totalTokens")


def read_usages(reports: Iterable[Mapping[str, Any]]) -> Usage | None:
    """One reply's usage from all reports of its stream, in order: later numbers replace earlier ones."""
    merged: dict[str, Any] = {}
    for report in reports:
        for key, value in report.items():
            # A closing report that knows only the output says zero input; the opening one knew.
            if value is not None and not (value == 0 and merged.get(key)):
                merged[key] = value
    return read_usage(merged) if merged else None


def read_usage(report: Mapping[str, Any] | None) -> Usage | None:
    """One report; None when it states neither input nor output."""
    if not report:
        return None
    inclusive, bare = _find(report, _INCLUSIVE), _find(report, _BARE)
    read, write = _find(report, _READ) or 0, _find(report, _WRITE) or 0
    output, apart = _find(report, _OUTPUT), _find(report, _OUTPUT_APART)
    if inclusive is None and bare is None and output is None and apart is None:
        return None
    if inclusive is not None:
        # Cached tokens beyond the total can only have been left out of it.
        uncached = inclusive - read - write if read + write <= inclusive else inclusive
        if (miss := _find(report, _MISS)) is not None and read + miss == inclusive:
            uncached = miss
    elif "input_tokens_details" in report:
        uncached = max(0, (bare or 0) - read - write)
    else:
        uncached = bare or 0
    reasoning = _find(report, _REASONING) or 0
    if output is not None:
        output = _without(output, reasoning, uncached + read + write, _find(report, _TOTAL))
    return Usage(uncached, read, write, apart or 0 if output is None else output, reasoning)


def _without(output: int, reasoning: int, read: int, total: int | None) -> int:
    """The output without reasoning: most providers include it, and the total tells which do not."""
    if total is not None and reasoning and total == read + output + reasoning:
        return output
    return output - reasoning if reasoning <= output else output


def _find(report: Mapping[str, Any], names: Iterable[str]) -> int | None:
    """The first of `names` with a number, at least 0. A zero gives way to a later name that knows more."""
    best: int | None = None
    for name in names:
        value: Any = report
        for step in name.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            best = best or max(0, int(value))
    return best
