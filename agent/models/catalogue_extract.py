"""Makes `catalogue.json` out of the price list that litellm ships: `python -m agent.models.catalogue_extract`.

Run when the library's version moves. It reads the list as a file; the library is not imported.

A row is `name: [window, largest answer, dollars per million tokens: input, output, cached, cache write, bits]`; bits: 1
it reasons, 2 the answer does not come out of the window, 4 it takes images. Left out: what is no chat model, what runs
on the user's own machine (its window is its server's), rows without any number, prices of zero, and rows known to be
wrong.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.models.catalogue import EXTRACT, MILLION, OUTPUT_APART, REASONS, SEES

LIST = "model_prices_and_context_window_backup.json"

MODES = frozenset({"chat", "responses"})

# Served by the user's own machine, with a window that its server chooses.
OWN_SERVERS = frozenset(
    {"ollama", "ollama_chat", "lm_studio", "llamafile", "hosted_vllm", "vllm", "lemonade", "docker_model_runner"}
)

# Rows whose numbers contradict the provider's own pages.
WRONG = frozenset({"gemini/gemini-3-pro-preview", "gemini-3-pro-preview", "vertex_ai/gemini-3-pro-preview"})

# Providers whose stated window is of input alone.
APART = frozenset({"gemini", "vertex_ai-language-models"})
# OpenAI states 400,000 for the whole and 272,000 for input; the list mixes them, and this number tells which it is.
APART_WINDOWS = frozenset({272_000})


def row(name: str, listed: Mapping[str, Any]) -> list[Any] | None:
    """The row for one entry of the list, or None when it is left out."""
    provider = listed.get("litellm_provider")
    if listed.get("mode") not in MODES or provider in OWN_SERVERS or name in WRONG or name == "sample_spec":
        return None
    window, most = _size(listed.get("max_input_tokens")), _size(listed.get("max_output_tokens"))
    if window and most and most > window:
        most = window
    cost, output = _price(listed, "input_cost_per_token"), _price(listed, "output_cost_per_token")
    if not cost and not output:
        cost = output = cached = write = None
    else:
        cached = _price(listed, "cache_read_input_token_cost")
        write = _price(listed, "cache_creation_input_token_cost")
    if window is None and cost is None:
        return None
    apart = provider in APART or (provider in ("openai", "azure") and window in APART_WINDOWS)
    bits = (REASONS if listed.get("supports_reasoning") else 0) | (OUTPUT_APART if apart else 0)
    bits |= SEES if listed.get("supports_vision") else 0
    return [window, most, cost, output, cached, write, bits]


def extract(listed: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """All rows, by name."""
    rows = {name: row(name, entry) for name, entry in listed.items()}
    return {name: found for name, found in sorted(rows.items()) if found is not None}


def price_list() -> Path:
    """The list inside the installed library. Raises `ModuleNotFoundError` without it."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("litellm is not installed")
    return Path(spec.origin).with_name(LIST)


def text() -> str:
    """The whole extract, a row a line so that a new version's changes can be read."""
    rows = extract(json.loads(price_list().read_text(encoding="utf-8")))
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(found, separators=(',', ':'))}" for name, found in rows.items())
    version = importlib.metadata.version("litellm")
    return f'{{"source":"litellm {version}","models":{{\n{lines}\n}}}}\n'


def _size(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) and value > 0 else None


def _price(listed: Mapping[str, Any], name: str) -> float | None:
    """Dollars per million tokens; whole numbers without a fraction, to save bytes."""
    value = listed.get(name)
    if not isinstance(value, (int, float)):
        return None
    price = round(value * MILLION, 6)
    return int(price) if price == int(price) else price


if __name__ == "__main__":
    EXTRACT.write_text(text(), encoding="utf-8")
    print(f"{EXTRACT}: {EXTRACT.stat().st_size:,} bytes", file=sys.stderr)
