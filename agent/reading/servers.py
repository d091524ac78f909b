"""Servers on this machine that speak OpenAI's protocol: which models they have, and what windows they run with.

Not a client. Nothing but loopback is ever asked, no key is sent, and no answer may send the question elsewhere.

Invariants
 1. `servers` returns within `LONGEST`, whatever holds a port; whoever answers later is not heard.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.models.probe import Probed, read_answers

# Where servers of one's own listen unless told otherwise: Ollama, LM Studio, llama.cpp, vLLM.
PORTS: Mapping[int, str] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}

# A server on this machine answers its list of models in milliseconds; whatever else holds the port may not. Seconds.
PATIENCE = 0.7

# Two rounds of questions, the list and then the windows, and a moment for a busy machine; seconds.
LONGEST = 1.8

# A list of models is far below; more is not read, bytes. And of its models this many: an Ollama of a collector.
MOST = 1_000_000
MOST_MODELS = 50

# Pages beside the list of models that say what a server runs with: llama.cpp's, LM Studio's, Ollama's.
PAGES = ("/props", "/api/v0/models", "/api/ps")

Fetch = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class Served:
    """A model that a server on this machine has; `found` says where, in words."""

    model: str
    port: int
    api_base: str
    found: str
    probed: Probed


def servers(fetch: Fetch | None = None) -> Sequence[Served]:
    """The models of all servers found, in the order of `PORTS`. Never raises."""
    found: dict[int, Sequence[Served]] = {}

    def ask(port: int) -> None:
        found[port] = _served(port, fetch or fetched)

    # Daemons, since one that hangs must hold up neither this answer nor the program's end.
    asking = [threading.Thread(target=ask, args=(port,), daemon=True, name=f"port-{port}") for port in PORTS]
    for thread in asking:
        thread.start()
    until = time.monotonic() + LONGEST
    for thread in asking:
        thread.join(max(0.0, until - time.monotonic()))
    return [one for port in PORTS for one in found.get(port, ())]


def _served(port: int, fetch: Fetch) -> Sequence[Served]:
    root = f"http://127.0.0.1:{port}"
    models = _page(f"{root}/v1/models", fetch)
    listed = models.get("data") if isinstance(models, Mapping) else None
    names = [one["id"] for one in listed if isinstance(one, Mapping) and isinstance(one.get("id"), str)] \
        if isinstance(listed, list) else []  # fmt: skip
    names = [name for name in names if name and "embed" not in name.lower()][:MOST_MODELS]
    if not names:
        return ()
    others = [_page(f"{root}{page}", fetch) for page in PAGES]
    where = f"a server on port {port}, where {PORTS[port]} listens"
    return [Served(f"openai/{name}", port, f"{root}/v1", where, read_answers(name, models, *others)) for name in names]


def _page(url: str, fetch: Fetch) -> Any:
    """The JSON value at `url`, or None for whatever else happens there."""
    # Here, because it costs a start 40 ms.
    import http.client

    try:
        return json.loads(fetch(url))
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None


def fetched(url: str) -> bytes:
    """The page at a loopback `url`; raises `OSError` and what `http.client` raises."""
    import urllib.request

    class Stays(urllib.request.HTTPRedirectHandler):
        """A redirection would lead off this machine."""

        def redirect_request(self, *_: object) -> None:
            return None

    # Without the environment's proxies: this is about this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stays())
    with opener.open(url, timeout=PATIENCE) as answer:
        content: bytes = answer.read(MOST)
    return content
