"""The words of a provider's error body: its message and its codes, out of whatever shape it was sent in. Pure.

Only keys that carry explanations are read; a body that echoes the request must not be mistaken for what it says.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# What is said comes first; behind it may follow a web page or the whole request.
MOST_CHARACTERS = 2_000

# A provider's error as JSON text inside a gateway's is 5 deep; a gateway behind a gateway is 9. Beyond is an echo.
MOST_DEPTH = 12

_SAYING = frozenset(
    {"message", "error", "errors", "detail", "details", "msg", "error_message", "error_description", "reason", "raw",
     "metadata", "title", "description", "body", "fault", "response", "innererror", "inner_error", "cause", "error_msg",
     "errormsg", "errormessage", "status_msg", "base_resp", "exception"}
)  # fmt: skip
_CODES = frozenset({"code", "type", "status", "error_code", "__type", "error_type"})
_TAG = re.compile(r"<[^>]*>")
_MARKUP = re.compile(r"<(?:!doctype|html|head|body|title|h1|center)\b", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:(?:litellm\.)?[A-Za-z]+(?:Error|Exception)\s*[:-]\s*)+")


@dataclass(frozen=True, slots=True)
class Words:
    """`messages` in reading order, `codes` in lower case, `numbers` of fields that are whole numbers, by key."""

    messages: tuple[str, ...]
    codes: tuple[str, ...]
    numbers: Mapping[str, int]

    @property
    def text(self) -> str:
        """All messages in one string."""
        return "\n".join(self.messages)


def words_of(body: Any, text: str = "") -> Words:
    """The words of `body`; of `text` when the body says nothing."""
    messages: list[str] = []
    codes: list[str] = []
    numbers: dict[str, int] = {}
    for key, value in _walk(parsed(body), "", 0):
        if isinstance(value, bool):
            continue
        if isinstance(value, int):
            numbers.setdefault(key, value)
        elif key in _CODES:
            codes.append(value.lower())
        elif value.strip():
            messages.append(value[:MOST_CHARACTERS].strip())
    if not messages and text:
        again = parsed(text)
        if not isinstance(again, str):
            inner = words_of(again)
            return Words(inner.messages, (*codes, *inner.codes), {**inner.numbers, **numbers})
        messages.append(_PREFIX.sub("", text[:MOST_CHARACTERS]).strip())
    return Words(tuple(dict.fromkeys(messages)), tuple(dict.fromkeys(codes)), numbers)


def parsed(value: Any) -> Any:
    """The JSON value inside a string, also when it is wrapped in words or in the repr of bytes; else the value."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return value
    literal = re.search(r"\bb'(?:[^'\\]|\\.)*'|\bb\"(?:[^\"\\]|\\.)*\"", value, re.DOTALL)
    if literal:
        try:
            found = ast.literal_eval(literal[0])
        except (ValueError, SyntaxError):
            found = b""
        inner = parsed(found) if found else None
        if isinstance(inner, (dict, list)):
            return inner
    for start in (m.start() for m in re.finditer(r"[{\[]", value[:MOST_CHARACTERS])):
        try:
            found, _ = json.JSONDecoder().raw_decode(value, start)
        except ValueError:
            continue
        if isinstance(found, dict) and any(str(key).lower() in _SAYING for key in found):
            return found
        if isinstance(found, list) and found and isinstance(found[0], dict):
            return found
    return _written(value)


def _written(text: str) -> Any:
    """The mapping that a library wrote into its text as Python does; else the text."""
    start, end = text.find("{'"), text.rfind("}")
    if 0 <= start < end:
        try:
            found = ast.literal_eval(text[start : end + 1])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        if isinstance(found, dict) and any(str(key).lower() in _SAYING for key in found):
            return found
    return text


def is_page(text: str) -> bool:
    """Whether the text is a web page, which is never shown."""
    return bool(_MARKUP.search(text[:MOST_CHARACTERS]))


def page_title(text: str) -> str:
    """What a web page is called, in one short line; may be empty."""
    found = re.search(r"<(title|h1)[^>]*>(.*?)</\1>", text[: 5 * MOST_CHARACTERS], re.IGNORECASE | re.DOTALL)
    return " ".join(_TAG.sub(" ", found[2]).split())[:80] if found else ""


def _walk(value: Any, key: str, depth: int) -> Iterator[tuple[str, str | int]]:
    """(key, string or number) of all that explains."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            known = str(name).lower()
            if known in _SAYING or known in _CODES or isinstance(inner, int):
                yield from _walk(inner, known, depth + 1)
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from _walk(inner, key, depth + 1)
    elif isinstance(value, str):
        inner = parsed(value) if key in _SAYING else value
        if isinstance(inner, str):
            yield key, value
        else:
            yield from _walk(inner, key, depth + 1)
    elif isinstance(value, int):
        yield key, value
