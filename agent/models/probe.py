"""Asks a server of the user's own how large its window is.

Not for the providers' default addresses, and never a question that costs tokens. What a model was trained for is no
window where the server also says what it runs with; a 0 is no answer; a server that says nothing is no error.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.model import Endpoint

# Seconds for each question; they are asked at the same time, and a session must not wait longer to open.
PATIENCE = 2.0

# A list of models is far below; more is not read.
MOST_BYTES = 8_000_000


@dataclass(frozen=True, slots=True)
class Probed:
    """What a server says of a model, tokens; None is unsaid."""

    window: int | None = None
    max_output: int | None = None


async def probe(endpoint: Endpoint, patience: float = PATIENCE) -> Probed:
    """The server's word on its window. Nothing is asked where `api_base` is the provider's own."""
    if endpoint.api_base is None:
        return Probed()
    base = endpoint.api_base.rstrip("/")
    root = base.removesuffix("/v1")
    name = endpoint.model.partition("/")[2] or endpoint.model
    questions: list[tuple[str, Any]] = [(f"{base}/models", None)]
    if is_near(base):
        questions += [
            (f"{root}/props", None), (f"{root}/api/v0/models", None), (f"{root}/api/ps", None),
            (f"{root}/api/show", {"model": name}),
        ]  # fmt: skip
    answers = await asyncio.gather(
        *(asyncio.to_thread(_ask, url, body, endpoint.key, patience) for url, body in questions)
    )
    return read_answers(name, *answers)


def read_answers(name: str, models: Any, props: Any = None, studio: Any = None, loaded: Any = None,
                 shown: Any = None) -> Probed:  # fmt: skip
    """The window in what the pages answered (JSON values or None), what is really running first."""
    listed = _named(name, models, "data")
    sizes = [
        _at(props, "default_generation_settings", "n_ctx"),
        _at(_named(name, studio, "data"), "loaded_context_length"),
        _at(_named(name, loaded, "models"), "context_length"),
        _at(listed, "max_model_len"),
        _at(listed, "meta", "n_ctx"),
        _at(listed, "context_length"),
        _at(listed, "context_window"),
        _at(listed, "max_context_length"),
        _parameter(shown, "num_ctx"),
        _at(listed, "meta", "n_ctx_train"),
    ]
    outputs = [_at(listed, "top_provider", "max_completion_tokens"), _at(listed, "max_completion_tokens"),
               _at(listed, "max_output_tokens")]  # fmt: skip
    return Probed(next(filter(None, sizes), None), next(filter(None, outputs), None))


def is_near(url: str) -> bool:
    """Whether an address is this machine's or a private network's."""
    host = urllib.parse.urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".local", ".localhost", ".internal")):
        return True
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def _ask(url: str, body: Any, key: str | None, patience: float) -> Any:
    """The JSON value at `url`, or None for whatever else happens there."""
    # Here, because nothing is asked before the screen stands, and these cost a start 60 ms.
    import http.client
    import urllib.request

    data = None if body is None else json.dumps(body).encode()
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"

    class Stays(urllib.request.HTTPRedirectHandler):
        """A redirection would take the key to somebody else."""

        def redirect_request(self, *_: object) -> None:
            return None

    proxies = [urllib.request.ProxyHandler({})] if is_near(url) else []
    try:
        request = urllib.request.Request(url, data, headers)
        with urllib.request.build_opener(*proxies, Stays()).open(request, timeout=patience) as response:
            return json.loads(response.read(MOST_BYTES))
    except (OSError, ValueError, http.client.HTTPException):
        return None


def _named(name: str, page: Any, key: str) -> Any:
    """The model called `name` in a list; the only one of a list of one."""
    rows = list(_rows(page, key))
    for row in rows:
        if name in (row.get("id"), row.get("name"), row.get("model")):
            return row
    return rows[0] if len(rows) == 1 and key == "data" else None


def _rows(page: Any, key: str) -> Iterator[Mapping[str, Any]]:
    found = page.get(key) if isinstance(page, Mapping) else None
    if isinstance(found, list):
        yield from (row for row in found if isinstance(row, Mapping))


def _at(value: Any, *path: str) -> int | None:
    """A number above zero at a path."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _parameter(page: Any, name: str) -> int | None:
    """A number out of a page whose `parameters` are lines of names and values."""
    text = page.get("parameters") if isinstance(page, Mapping) else None
    for line in text.splitlines() if isinstance(text, str) else ():
        words = line.split()
        if len(words) == 2 and words[0] == name and words[1].isdigit():
            return int(words[1]) or None
    return None
