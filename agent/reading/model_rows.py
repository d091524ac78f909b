"""Models to choose from, the likely ones first: what each can take, costs, and whether it could be asked at once.

Not the choosing and no words for a screen. Servers are asked on this machine's own ports only (`at_hand`).

Invariants
 1. A model stands once, in the first group that has it. Inside the catalogue's groups those that are known to code well
    come first, then the order is the alphabet's.
 2. No row that needs no server waits longer than `AT_ONCE` for one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from agent.model import Endpoint, UnknownModel
from agent.models.weights import EMBEDDED_NAME, is_embedded
from agent.places import Places
from agent.reading.at_hand import SENSIBLE
from agent.reading.servers import Served, servers
from agent.session import Kit
from agent.session_log import newest_first
from agent.sessions import newest_logs
from compaction.budget import Window, budget_for
from compaction.cache import Prices
from compaction.records import AssistantSaid

# Where a model comes from, in the order of the list.
Group: TypeAlias = Literal["current", "recent", "settings", "server", "embedded", "key", "known", "other"]

# Logs looked at for what was used lately, and models taken from them: two weeks of work, and a glance.
LOGS = 20
RECENT = 6

# The last answer of a log is near its end; more than this is not read of any, bytes.
TAIL = 4_000_000

# Well-known models of each provider that stand before the alphabet: newest first in the table, and one to compare with.
KNOWN = 2

# Servers answer in milliseconds; a list waits so long for them before it goes on, seconds.
AT_ONCE = 0.3

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Switch:
    """What going on with a model would cost: tokens read again, dollars for them, and whether they fit its limit.

    `dollars` None: no price is known; `limit` None: no window is.
    """

    tokens: int
    dollars: float | None
    limit: int | None

    @property
    def fits(self) -> bool:
        """Whether the next request could go out as it is."""
        return self.limit is None or self.tokens < self.limit


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model. Sizes in tokens, prices in dollars per million tokens; None is unknown.

    `ready`: whether a key or server for it is there, None where that cannot be told; `way` says which, or what is
    missing. `write` is what tokens cost that no cache holds. `api_base` is set for a server that was found.
    """

    name: str
    group: Group
    window: int | None
    source: str
    max_output: int | None
    input: float | None
    output: float | None
    write: float | None
    limit: int | None
    ready: bool | None
    way: str
    api_base: str | None = None

    def switch(self, tokens: int) -> Switch:
        """What it costs to go on with this model when the conversation has so many tokens."""
        return Switch(tokens, None if self.write is None else tokens * self.write / MILLION, self.limit)


def model_rows(
    kit: Kit, current: str, *, embedded: bool, look: Callable[[], Sequence[Served]] = servers
) -> Iterator[ModelRow]:
    """The rows for a session that runs on `current`, in the order of `Group`, made as they are asked for.

    Servers that take longer than `AT_ONCE` come last; one that has a model named before gives its row once more.
    """
    found: list[Served] = []
    asking = threading.Thread(target=lambda: found.extend(look()), daemon=True, name="servers")
    asking.start()
    given: set[str] = set()

    def fresh(group: Group, names: Iterable[str]) -> Iterator[ModelRow]:
        for name in names:
            if name and name not in given and (row := _row(kit, name, group)) is not None:
                given.add(name)
                yield row

    settings, name_of = kit.settings, kit.endpoints.name_of
    named = [settings.model, *(g for g in settings.models if not set("*?[") & set(g)), settings.summariser]
    yield from fresh("current", [current])
    yield from fresh("recent", recent(kit.places))
    yield from fresh("settings", [name_of(name) for name in named if name and name != "same"])
    asking.join(AT_ONCE)
    early = list(found)
    for row in _served(kit, early):
        given.add(row.name)
        yield row
    yield from fresh("embedded", [EMBEDDED_NAME] if embedded else [])
    names = kit.catalogue.names()
    known = [name for of in SENSIBLE.values() for name in [one for one in of if one in names][:KNOWN]]
    ready = {name for name in names if kit.endpoints.way_in(name)[0]}
    yield from fresh("key", [name for name in (*known, *names) if name in ready])
    yield from fresh("known", known)
    yield from fresh("other", names)
    asking.join()
    yield from _served(kit, found[len(early) :])


def recent(places: Places) -> Sequence[str]:
    """Models that answered lately, in any folder, the last first: the newest logs say."""
    found: dict[str, None] = {}
    for log in islice(newest_logs(places), LOGS):
        if (name := _answered(log)) is not None:
            found.setdefault(name)
    return list(found)[:RECENT]


def _answered(log: Path) -> str | None:
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            data = file.read()
    except OSError:
        return None
    bodies = (record.body for record in newest_first(data, AssistantSaid))
    return next((body.model for body in bodies if isinstance(body, AssistantSaid) and body.usage), None)


def _row(kit: Kit, name: str, group: Group) -> ModelRow | None:
    try:
        target = kit.known(name)
    except UnknownModel:
        return None
    ready, way = (True, "on this machine") if is_embedded(name) else kit.endpoints.way_in(name)
    return _made(kit, name, group, target.window, target.prices, ready, way)


def _served(kit: Kit, found: Iterable[Served]) -> Iterator[ModelRow]:
    """A server's models: what it says of itself, and what the settings say of it.

    A model that the settings have at another address is that one: choosing it here would overwrite the address.
    """
    for one in found:
        base = kit.settings.entry_for(one.model).api_base
        if base is not None and base.rstrip("/") != one.api_base:
            continue
        endpoint, claim = Endpoint(one.model, one.model, one.api_base), kit.settings.claim_for(one.model)
        kit.catalogue.note_probe(endpoint, one.probed)
        window = kit.catalogue.window(endpoint, claim)
        row = _made(kit, one.model, "server", window, claim.prices, True, f"a server on port {one.port}")
        yield replace(row, api_base=one.api_base)


def _made(
    kit: Kit, name: str, group: Group, window: Window, prices: Prices | None, ready: bool | None, way: str
) -> ModelRow:
    input, output, write = (None, None, None) if prices is None else (prices.input, prices.output, prices.write)
    limit = budget_for(window, kit.settings.policy_for(name)).limit
    return ModelRow(
        name, group, window.tokens, str(window.source), window.max_output, input, output, write, limit, ready, way
    )


__all__ = ["Group", "ModelRow", "Switch", "model_rows", "recent"]
