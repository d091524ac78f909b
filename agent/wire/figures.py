"""Figures for people and scripts: the meter, the table's rows, a plan and its price. Finished when they are sent.

Not how they come about (that is `metering`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class CacheState:
    """The prompt cache as last seen: tokens predicted and reported for the last request, seconds it stays warm.

    `read_of` is all the input of that request, tokens (0 is unknown): what the share read from cache is taken of.
    `next_cached` is what the next request may read from it, tokens; `broken` names the cause of the newest break.
    """

    predicted: int = 0
    reported: int | None = None
    warm_s: float | None = None
    broken: str | None = None
    read_of: int = 0
    next_cached: int = 0


@dataclass(frozen=True, slots=True)
class Meter:
    """Finished numbers for the screen, tokens. `exact` is true only when all of `used` is the provider's own count.

    `reasoning` is the part of `used` that filled the last request only: nothing of it is sent again, no gate counts it.
    """

    used: int = 0
    known: int = 0
    estimated: int = 0
    exact: bool = False
    budget: int = 0
    budget_rule: str = ""
    trigger: int = 0
    landing: int = 0
    window: int | None = None
    window_source: str = "unknown"
    limit: int | None = None
    parts: tuple[tuple[str, int], ...] = ()
    cache: CacheState = field(default_factory=CacheState)
    cost: float | None = None
    next_cost: float | None = None
    automatic: str = "on"
    model: str = ""
    ceiling: int | None = None
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Price:
    """Money for the next turn, in dollars, and after how many turns a rewrite pays back; None is "no price known".

    Of a compaction, too: what its summary costs `flattened` (a request of its own) and `in_context` (inside the
    conversation; None where another model summarises). `way` is the one it will be asked for in; `rewrite` holds it.
    """

    keep: float | None = None
    rewrite: float | None = None
    breakeven_turns: int | None = None
    flattened: float | None = None
    in_context: float | None = None
    way: Literal["flattened", "in_context"] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a prune or a compaction would do. `rows` are (record, title, tokens) that go.

    `breaks_at` is a position in the view, `breaks_record` the record that stands there. `refused` are (record, why) of
    those asked for that cannot go. `focus` and `up_to` are what was asked of a compaction, to be asked again.
    """

    what: Literal["prune", "compact"]
    records: tuple[int, ...]
    rows: tuple[tuple[int, str, int], ...]
    freed: int
    before: int
    after: int
    breaks_at: int | None
    reread: int
    price: Price
    first_kept: int | None = None
    kept_rows: tuple[tuple[int, str, int], ...] = ()
    why_nothing: str = ""
    breaks_record: int | None = None
    refused: tuple[tuple[int, str], ...] = ()
    focus: str = ""
    up_to: int | None = None


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool of the session and the tokens of its schema; `server` is whose it is, empty for ours."""

    name: str
    tokens: int
    server: str = ""
    reads: bool = False


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One MCP server: its state and why, what it is (a command or an address), what it calls itself, where its log is.

    `offers` are its tools now, `tools` those of them that the session holds, with their schemas' `tokens`. `prompts`
    and `resources` are what is typed for each: `/server:prompt`, `@server:uri`.
    """

    name: str
    state: str
    why: str
    what: str
    said: str
    offers: int | None
    tools: int
    tokens: int
    log: str
    prompts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One item of the view for tables; `tokens` scaled so that all rows, the fixed part's too, sum to the meter."""

    record: int
    kind: str
    title: str
    tokens: int
    age: int
    state: str
    cached: bool


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file: lines added and taken away (None: no text, or too long to compare), and its unified diff.

    `what`: it was changed, created or removed since; `outside`: somebody else changed it too.
    """

    path: str
    what: str
    added: int | None
    removed: int | None
    outside: bool
    diff: str = ""
