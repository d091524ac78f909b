"""What a session log is made of: one frozen record a line, in a closed set of kinds.

Not storage (that is `agent.session_log`) and not the conversation the model sees (that is `view`).

Invariants
 1. `Record.id` is the line number in `session.jsonl`, counted from 1.
 2. A body never changes and never leaves; a correction is another record.
 3. `match` over `Body` ends in `assert_never`, so a new kind is a type error wherever it must be learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from compaction.tags import AFTER_CALL, LEGAL_TAGS, Gate, Outcome, tag


class WindowSource(StrEnum):
    """Who said how large the window is, in falling order of trust."""

    LEARNED = "learned"
    USER = "user"
    PROBED = "probed"
    CATALOGUE = "catalogue"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model made. `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The provider's own counts for one request, in tokens, in disjoint buckets.

    `reasoning` is part of no other bucket; it is zero where the provider does not report it apart.
    """

    uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """Everything the provider read: the three input buckets, tokens."""
        return self.uncached + self.cache_read + self.cache_write

    @property
    def context(self) -> int:
        """What the next request starts from: the input read plus the answer sent back with it, tokens."""
        return self.input + self.output


Stop: TypeAlias = Literal["done", "calls", "length", "filtered", "aborted", "failed"]


@dataclass(frozen=True, slots=True)
class Started:
    """The session's first record: all that is frozen for its life.

    Every rule that admits text by size uses `window`, `budget`, `trigger`, `landing` of this record
    (tokens; None where the window is unknown), never today's, so that replay gives the same bytes.
    `tools` are the canonical JSON texts of the schemas, in the order they are sent. `rule` is the budget
    as a flag or variable gave it, for runs that do not repeat it. `effort` is the reasoning effort asked for at first.
    `alternate`: user and assistant take turns in every request (`turns`).
    """

    session: str
    folder: str
    model: str
    endpoint: str
    system: str
    instructions: tuple[str, ...]
    tools: tuple[str, ...]
    window: int | None
    window_source: WindowSource
    budget: int
    trigger: int
    landing: int
    versions: str
    forked_from: str | None = None
    rule: str | None = None
    effort: str | None = None
    alternate: bool = False


@dataclass(frozen=True, slots=True)
class UserSaid:
    """What the user put into the conversation.

    `typed` opens a turn; `steered` joins the running one; `shell` is the output of the user's own `!command`
    (kept for the next request, opens no turn).
    `typed` is what was typed where `text` was made from it (a command of the user's own).
    `images` are data URLs. `text` is whole; `admitted` is None, or how many characters of it views show (head, tail
    and a pointer), decided once when the message came in.
    """

    text: str
    how: Literal["typed", "steered", "shell"] = "typed"
    images: tuple[str, ...] = ()
    admitted: int | None = None
    typed: str | None = None

    @property
    def said(self) -> str:
        """What people remember of it: what was typed, not what was made of it."""
        return self.text if self.typed is None else self.typed


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """One reply.

    `seen` is the id of the last record its request contained. `usage` is None when the provider sent none.
    `thinking` is the provider's opaque JSON, sent back unchanged. An `aborted` or `failed` reply holds what had
    arrived; its calls are dropped before it is logged.
    `estimated` is the uncalibrated estimate of the request as sent, tokens: what calibration divides by.
    """

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage | None
    stop: Stop
    model: str
    seen: int
    thinking: str | None = None
    estimated: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The result of one call, as admitted.

    `title` says in a few words which call it was (`read src/app.py`); placeholders and tables quote it.
    `spilled` is the path of the file that holds the whole text when `text` is only its preview (relative to the
    session's folder). `characters` is the size of the whole text. `exit_status` is a command's. `paths` are the files
    the call touched, for the fact sheet; `changed` says whether it changed them. `took` is how long the call ran, in
    seconds, without the wait for a permission; None where it did not run to its end.
    """

    call: str
    tool: str
    title: str
    text: str
    failed: bool = False
    spilled: str | None = None
    characters: int = 0
    exit_status: int | None = None
    paths: tuple[str, ...] = ()
    changed: bool = False
    images: tuple[str, ...] = ()
    took: float | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """Old results replaced: by a placeholder, or by a preview of a file (`spilled`)."""

    records: tuple[int, ...]
    how: Literal["pruned", "spilled"]
    gate: Gate
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """Everything before `first_kept` is now `summary` and `fact_sheet`.

    `prefix_from` is the first record the summary covers beyond the previous summary; `previous` the compaction it
    stood on. An emergency one (`gate` is EMERGENCY) asked no model: its summary is the previous one, and the next
    compaction starts again from its `prefix_from`. `primer` is None, or how many characters of a huge first message
    the view shows from here on. `before` and `after` are calibrated estimates of both views, tokens.
    """

    summary: str
    fact_sheet: str
    first_kept: int
    prefix_from: int
    previous: int | None
    focus: str
    gate: Gate
    before: int
    after: int
    summariser: str
    usage: Usage | None = None
    learnings: str = ""
    cost: float | None = None
    requests: int = 0
    primer: int | None = None


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """An attempt that changed nothing. `prior` says whether a previous summary stands.

    `size` is the size at the attempt, tokens; back-off measures growth from it. `usage` and `cost` (dollars) are those
    of all its requests.
    """

    gate: Gate
    outcome: Outcome
    detail: str
    size: int
    prior: bool = False
    after_summary_call: bool = False
    usage: Usage | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Reverted:
    """The rewrite with id `target` is taken back. `before` and `after` are sizes, tokens."""

    target: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Rewound:
    """The view goes on from just before record `before`."""

    before: int


@dataclass(frozen=True, slots=True)
class Reloaded:
    """Changed instructions taken in: they replace those of `Started`."""

    system: str
    instructions: tuple[str, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pinned:
    """Record `target` is kept word for word through everything, or no longer (`on` false)."""

    target: int
    on: bool = True


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """What was changed in mid-session, by the user or (`alternate`) at a provider's word; None is unchanged.

    An `effort` of `default` leaves it to the provider.
    """

    model: str | None = None
    endpoint: str | None = None
    budget: str | None = None
    mode: str | None = None
    effort: str | None = None
    name: str | None = None
    alternate: bool | None = None


@dataclass(frozen=True, slots=True)
class WindowLearned:
    """A refusal for length, of which there is exactly one such record.

    `window` is the number the provider stated; without one, `ceiling` is the refused size (tokens), which bounds the
    unknown window. Both are None for a refusal of bytes. `asked` is the input the provider says it counted.
    `estimated` is the uncalibrated estimate of the refused request, tokens: with `asked` it calibrates. The one
    reactive retry of a run is read from these records. `summary`: the refused request was a summary's, not a turn's.
    `bytes`: refused for bytes. `silent`: not refused at all, but the server dropped the beginning without a word; what
    that took is the `usage`, and its `cost` in dollars where prices are known.
    """

    model: str
    endpoint: str
    window: int | None
    ceiling: int | None
    refused: int
    asked: int | None = None
    estimated: int = 0
    detail: str = ""
    summary: bool = False
    bytes: bool = False
    silent: bool = False
    usage: Usage | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Noted:
    """A notice by the program. With `to_model` it joins the view with the user role; else only people see it.

    `topic` names what it is about, for those who read the log: `error`, `steps`, `trust`, `nested`, `shell`, …
    """

    text: str
    topic: str
    to_model: bool = False


Body: TypeAlias = (
    Started
    | UserSaid
    | AssistantSaid
    | ToolReturned
    | Pruned
    | Compacted
    | CompactionFailed
    | Reverted
    | Rewound
    | Reloaded
    | Pinned
    | SettingsChanged
    | WindowLearned
    | Noted
)

Rewrite: TypeAlias = Pruned | Compacted


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the log. `at` is the wall clock when it was written, seconds since the epoch."""

    id: int
    at: float
    body: Body


def tag_of(body: Pruned | Compacted | CompactionFailed) -> str:
    """The tag a record stands for."""
    match body:
        case Pruned(how="spilled"):
            return tag(body.gate, Outcome.SPILLED)
        case Pruned():
            return tag(body.gate, Outcome.PRUNED)
        case Compacted():
            return tag(body.gate, Outcome.COMPACTED)
        case CompactionFailed():
            return tag(body.gate, body.outcome, prior=body.prior if body.outcome in AFTER_CALL else None)


__all__ = [
    "LEGAL_TAGS", "AssistantSaid", "Body", "Compacted", "CompactionFailed", "Gate", "Noted", "Outcome", "Pinned",
    "Pruned", "Record", "Reloaded", "Reverted", "Rewound", "Rewrite", "SettingsChanged", "Started", "Stop", "ToolCall",
    "ToolReturned", "Usage", "UserSaid", "WindowLearned", "WindowSource", "tag", "tag_of",
]  # fmt: skip
