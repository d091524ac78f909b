"""What is known of a model: its window and output limit, with who said so, and its prices.

Not a policy (that is `compaction.budget`) and no network (that is `probe`). Reads a compact extract of a public price
list (`catalogue.json`, made by `catalogue_extract`), lazily and without the provider library.

Invariants
 1. Trust falls in this order: learned, user, probed, catalogue; what nobody said is None. Nothing is made up.
 2. Everything is kept per endpoint and model: one name at two addresses is two models.
 3. A learned window never makes a smaller claim of the user larger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agent.model import Endpoint
from agent.models.learned import Learned, Lesson, Stood
from agent.models.probe import Probed, probe
from agent.models.providers import provider_of, sends_effort
from compaction.budget import Window
from compaction.cache import Prices
from compaction.records import WindowSource

EXTRACT = Path(__file__).with_name("catalogue.json")

# Bits of an entry's last number.
REASONS, OUTPUT_APART, SEES = 1, 2, 4

# Providers that serve under their own name what the list knows under another or none.
_LIST_NAMES = {"bedrock": ("bedrock/", "", "bedrock_converse/"), "azure": ("azure/",), "vertex_ai": ("vertex_ai/", "")}

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Claim:
    """What the user's settings say of a model; None is unsaid. Sizes in tokens."""

    window: int | None = None
    max_output: int | None = None
    output_apart: bool | None = None
    prices: Prices | None = None


NO_CLAIM = Claim()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the extract."""

    window: int | None
    max_output: int | None
    prices: Prices | None
    reasons: bool
    output_apart: bool
    sees: bool


def prices_of(input: float | None, output: float | None, cached: float | None = None,
              cache_write: float | None = None) -> Prices | None:  # fmt: skip
    """Prices where at least input and output are known."""
    if input is None or output is None:
        return None
    return Prices(
        float(input), float(output), None if cached is None else float(cached),
        None if cache_write is None else float(cache_write),
    )  # fmt: skip


class Catalogue:
    """Windows and prices of all models, with what was learned and probed in between."""

    def __init__(self, learned: Learned, extract: Path = EXTRACT) -> None:
        self._learned, self._extract = learned, extract
        self._probed: dict[tuple[str, str], Probed] = {}
        self._answers: dict[tuple[str, str], int] = {}

    def window(self, endpoint: Endpoint, claim: Claim = NO_CLAIM) -> Window:
        """The window as best known, with its source."""
        entry, probed = self.entry(endpoint.model), self._probed.get(_key(endpoint), Probed())
        size, source = _first(
            (claim.window, WindowSource.USER), (probed.window, WindowSource.PROBED),
            (entry.window if entry else None, WindowSource.CATALOGUE),
        )  # fmt: skip
        lesson = self._learned.get(endpoint, Stood(claim.window, probed.window))
        if lesson is not None and (size is None or source is not WindowSource.USER or lesson.window < size):
            size, source = lesson.window, WindowSource.LEARNED
        most, _ = _first(
            (claim.max_output, None), (probed.max_output, None), (entry.max_output if entry else None, None)
        )
        if (cap := self._answers.get(_key(endpoint))) is not None:
            most = cap if most is None else min(most, cap)
        apart = claim.output_apart if claim.output_apart is not None else bool(entry and entry.output_apart)
        # A window from elsewhere than the list is the whole of it, unless its owner says otherwise.
        if claim.output_apart is None and source is not WindowSource.CATALOGUE:
            apart = False
        return Window(size, most, source, apart)

    def prices(self, endpoint: Endpoint, claim: Claim = NO_CLAIM) -> Prices | None:
        """Prices as the user states them, else from the list, else None."""
        if claim.prices is not None:
            return claim.prices
        entry = self.entry(endpoint.model)
        return entry.prices if entry else None

    def supports_effort(self, model: str) -> bool:
        """Whether the list says that the model reasons and so takes a reasoning effort."""
        entry = self.entry(model)
        return bool(entry and entry.reasons)

    def sees(self, model: str) -> bool | None:
        """Whether the list says that the model takes images; None where it does not know the model."""
        entry = self.entry(model)
        return entry.sees if entry else None

    def takes_effort(self, model: str) -> bool:
        """Whether an effort asked of `model` is sent at all."""
        return self.supports_effort(model) or sends_effort(model)

    def learn(self, endpoint: Endpoint, window: int, claim: Claim = NO_CLAIM) -> None:
        """Keeps the window (tokens) that a refusal stated. Written to disk at once."""
        probed = self._probed.get(_key(endpoint), Probed())
        self._learned.put(endpoint, Stood(claim.window, probed.window), window)

    def cap_answers(self, endpoint: Endpoint, most: int) -> None:
        """Remembers the longest answer (tokens) that a refusal spoke of, until the program ends."""
        self._answers[_key(endpoint)] = most

    def alternates(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint's model was found to take user and assistant in turns only."""
        return self._learned.alternates(endpoint)

    def learn_turns(self, endpoint: Endpoint) -> None:
        """Keeps that it does. Written to disk at once."""
        self._learned.put_turns(endpoint)

    def lessons(self) -> list[Lesson]:
        """Every window that was learned, at whatever endpoint."""
        return self._learned.all()

    def settle(self, endpoint: Endpoint, claim: Claim = NO_CLAIM) -> None:
        """Drops a lesson whose claims have changed. Written to disk at once."""
        probed = self._probed.get(_key(endpoint), Probed())
        self._learned.settle(endpoint, Stood(claim.window, probed.window))

    def forget(self, name: str) -> int:
        """Drops what was learned of `name`, at every endpoint; how many lessons that were."""
        return self._learned.forget(name)

    async def probe(self, endpoint: Endpoint) -> Probed:
        """Asks the endpoint's own server, where there is one, and remembers the answer. Never raises."""
        answer = await probe(endpoint)
        self.note_probe(endpoint, answer)
        return answer

    def note_probe(self, endpoint: Endpoint, answer: Probed) -> None:
        """Remembers what a server said of itself, however it was asked."""
        self._probed[_key(endpoint)] = answer

    def entry(self, model: str) -> Entry | None:
        """The list's line for litellm's name of a model."""
        provider, _, rest = model.partition("/") if "/" in model else (provider_of(model), "", model)
        names = [model]
        # Bare names in the list belong to the makers themselves; a gateway's `openai/x` is its own namespace.
        if provider in ("anthropic", "openai", "gemini") or provider in _LIST_NAMES:
            names += [prefix + rest for prefix in _LIST_NAMES.get(provider, ("", f"{provider}/"))]
        for name in names:
            if (row := self._rows.get(name)) is not None:
                return _entry(row)
        return None

    def names(self) -> list[str]:
        """All names in the list."""
        return sorted(self._rows)

    @cached_property
    def _rows(self) -> Mapping[str, list[Any]]:
        rows: Mapping[str, list[Any]] = json.loads(self._extract.read_bytes())["models"]
        return rows


def _entry(row: list[Any]) -> Entry:
    window, most, cost, output, cached, write, bits = row
    prices = prices_of(cost, output, cached, write)
    return Entry(window, most, prices, bool(bits & REASONS), bool(bits & OUTPUT_APART), bool(bits & SEES))


def _key(endpoint: Endpoint) -> tuple[str, str]:
    return endpoint.label, endpoint.model


def _first(*said: tuple[int | None, WindowSource | None]) -> tuple[int | None, WindowSource]:
    """The first number above zero, with who said it; a server that reports 0 says nothing."""
    for number, source in said:
        if number:
            return number, source or WindowSource.UNKNOWN
    return None, WindowSource.UNKNOWN
