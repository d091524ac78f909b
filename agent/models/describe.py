"""A foreign exception as a JSON value: what the child process tells its parent about a failure.

Not a judgement: `errors_from` reads the description. Knows no library; it looks at attributes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

# Headers that say when to come back; nothing else of a response is needed.
WANTED_HEADERS = ("retry-after", "retry-after-ms", "content-type")

# An error body longer than this is a web page or an echo of the request; the part that says what happened is in front.
MOST_CHARACTERS = 20_000


def describe(error: BaseException, secret: str = "") -> dict[str, Any]:
    """`links`: the error and what it came from, outermost first; `headers`; `generated`: text that had arrived.

    `secret` is blanked wherever it appears.
    """
    chain = list(_chain(error))
    headers: dict[str, str] = {}
    generated = ""
    for link in chain:
        headers = {**_headers(link), **headers}
        generated = generated or str(getattr(link, "generated_content", "") or "")
    description = {"links": [_link(link) for link in chain], "headers": headers, "generated": generated}
    return _blank(description, secret) if secret else description


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Every exception reachable, each once, nearest first."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        link = waiting.pop(0)
        if id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        for name in ("original_exception", "__cause__", "__context__"):
            inner = getattr(link, name, None)
            if isinstance(inner, BaseException):
                waiting.append(inner)


def _link(error: BaseException) -> dict[str, Any]:
    status = getattr(error, "status_code", None)
    return {
        "class": type(error).__name__,
        "status": int(status) if isinstance(status, (int, str)) and str(status).isdigit() else None,
        "text": str(error)[:MOST_CHARACTERS],
        "body": _plain(getattr(error, "body", None)),
    }


def _plain(body: Any) -> Any:
    try:
        text = json.dumps(body)
    except (TypeError, ValueError):
        return str(body)[:MOST_CHARACTERS]
    return body if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS]


def _headers(error: BaseException) -> dict[str, str]:
    found: dict[str, str] = {}
    response = getattr(error, "response", None)
    for source in (getattr(response, "headers", None), getattr(error, "litellm_response_headers", None)):
        if isinstance(source, Mapping):
            found |= {str(k).lower(): str(v) for k, v in source.items()}
    bare = {name.removeprefix("llm_provider-"): value for name, value in found.items()}
    return {name: bare[name] for name in WANTED_HEADERS if name in bare}


def _blank(value: Any, secret: str) -> Any:
    if isinstance(value, str):
        return value.replace(secret, "…")
    if isinstance(value, dict):
        return {key: _blank(inner, secret) for key, inner in value.items()}
    if isinstance(value, list):
        return [_blank(inner, secret) for inner in value]
    return value
