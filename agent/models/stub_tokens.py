"""How the scripted providers count tokens and pretend to cache them. Pure, and simple enough to do in one's head.

Not a tokenizer. A token is four characters of canonical JSON, rounded up per request.

Invariants
 1. The same request always counts the same.
 2. Cached tokens are never more than the request has, and only ever count what an earlier request really began with.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The usual rule of thumb for English; exact agreement with any model is not the point.
CHARACTERS_A_TOKEN = 4

# Requests whose beginnings are remembered; a real cache forgets by time, a test by count.
REMEMBERED = 64

# How far before a mark an Anthropic-style cache looks for an earlier mark, in blocks.
LOOK_BACK = 20


def tokens(text: str) -> int:
    """Tokens of `text`: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


def canonical(value: Any) -> str:
    """JSON without spaces, keys in the order given, cache marks left out."""
    return json.dumps(_unmarked(value), separators=(",", ":"), ensure_ascii=False)


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _unmarked(v) for k, v in value.items() if k not in ("cache_control", "_cache")}
    if isinstance(value, (list, tuple)):
        return [_unmarked(v) for v in value]
    return value


def request_text(messages: Iterable[Any], tools: Iterable[Any] = ()) -> str:
    """A request as one text: tools first, then messages, one a line."""
    return "\n".join([*map(canonical, tools), *map(canonical, messages)])


def common_length(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class PrefixCache:
    """Caches by common beginning, as OpenAI-style providers do."""

    count: Callable[[str], int] = tokens
    _seen: deque[str] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def measure(self, text: str) -> tuple[int, int]:
        """(tokens, of which cached); the request is remembered."""
        total = self.count(text)
        common = max((common_length(text, old) for old in self._seen), default=0)
        self._seen.append(text)
        return total, min(total, self.count(text[:common])) if common else 0


@dataclass(slots=True)
class MarkedCache:
    """Caches up to marks, as Anthropic does: what was written at a mark can be read up to 20 blocks further on."""

    count: Callable[[str], int] = tokens
    _written: set[str] = field(default_factory=set)

    def measure(self, blocks: list[tuple[str, bool]]) -> tuple[int, int, int]:
        """(uncached, read, written) tokens of a request given as (text, marked) blocks in order."""
        sizes = [self.count(text) for text, _ in blocks]
        marks = [i for i, (_, marked) in enumerate(blocks) if marked]
        if not marks:
            return sum(sizes), 0, 0
        beginnings = ["\n".join(text for text, _ in blocks[: i + 1]) for i in range(len(blocks))]
        near = {i for mark in marks for i in range(max(0, mark - LOOK_BACK), mark + 1)}
        found = max((i for i in near if beginnings[i] in self._written), default=-1)
        self._written.update(beginnings[i] for i in marks)
        read, last = sum(sizes[: found + 1]), marks[-1]
        return sum(sizes[last + 1 :]), read, sum(sizes[found + 1 : last + 1])


def anthropic_blocks(body: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """A request to an Anthropic-style API as (text, marked) blocks: tools, system, then each content block."""
    blocks = [(canonical(tool), "cache_control" in tool) for tool in body.get("tools") or ()]
    groups: list[tuple[str, Any]] = [("system", body.get("system") or [])]
    groups += [(str(message.get("role")), message.get("content")) for message in body.get("messages") or ()]
    for role, content in groups:
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
        blocks += [(role + canonical(part), "cache_control" in part) for part in parts]
    return blocks
