"""All that crosses between a front end and the worker: commands in, events out.

Not the log's records (those ride inside `Appended`) and no behaviour.

Contracts
 1. Commands may be put from any thread and never block; the worker takes them in order, one turn at a time.
    `Interrupt`, `Answer` and `Unqueue` overtake: they act at once, whatever runs; so do `Inspect` and a `Prune` that
    only probes. `Steer`, `Pin` and `SetBudget` act at the next step's end; `Submit`, `Shell`, `Compact`, `Prune`,
    `Undo`, `Rewind`, `SetModel`, `Reload` wait for the turn.
 2. Events are emitted on the worker's thread, in order. `emit` must hand them over and return; it may not raise.
 3. Only `Appended` is durable: it follows the fsync of its record. Opening a session emits one `Opened`, then
    `Appended` for each record already there (`replay` true), then `Metered`, then `Idle`.
 4. `Streaming` text is replaced by the `Appended(AssistantSaid)` that ends it, or dropped when a `Restreamed` says so.
 5. Every `Busy` is followed by exactly one `Idle` (or `Crashed`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.figures import CacheState, Meter, Plan, Price, Row
from compaction.records import Record

Choice: TypeAlias = Literal["once", "session", "project", "refuse"]
Mode: TypeAlias = Literal["plan", "ask", "edits", "auto"]
StopReason: TypeAlias = Literal["done", "refused", "interrupted", "failed"]


# ── commands ──


@dataclass(frozen=True, slots=True)
class Submit:
    """A message that opens a turn. Queued while one runs; `images` are data URLs."""

    text: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Steer:
    """A message that joins the running turn after its current step; opens a turn when none runs."""

    text: str


@dataclass(frozen=True, slots=True)
class Unqueue:
    """Take back the newest waiting message: a new `Queued`, then the text as `Returned` with no `why` and code 0."""


@dataclass(frozen=True, slots=True)
class Shell:
    """`!command`: run in the user's name, without asking. With `join` its output waits in the context."""

    command: str
    join: bool = True


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Stop what runs: stream, tool, compaction. The queue stays."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The user's word on `Asking(id)`. `reason` is read by the model on refusal."""

    id: int
    choice: Choice
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Compact:
    """Compact now. `preview` calls no model; `review` shows the summary first (`Reviewing`); `up_to` is a record id."""

    focus: str = ""
    preview: bool = False
    review: bool = False
    up_to: int | None = None


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The answer to `Reviewing`: the text to commit, or None to drop it."""

    summary: str | None


@dataclass(frozen=True, slots=True)
class Prune:
    """Prune `records`, or what the plan says. With `dry_run` only `Planned` follows.

    A `probe` asks what pruning `records` would come to, whatever runs: at once one `Planned` that is not offered, with
    those that can go and why the others cannot; nothing else is said and nothing waits for it.
    """

    records: tuple[int, ...] = ()
    every: bool = False
    force: bool = False
    dry_run: bool = False
    probe: bool = False


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back the newest rewrite."""


@dataclass(frozen=True, slots=True)
class Pin:
    """Pin record `id`, or unpin it."""

    id: int
    on: bool = True


@dataclass(frozen=True, slots=True)
class Rewind:
    """Go on from just before record `before`."""

    before: int


@dataclass(frozen=True, slots=True)
class Reload:
    """Take changed instructions in."""


@dataclass(frozen=True, slots=True)
class SetBudget:
    """A budget rule, or `default`."""

    rule: str


@dataclass(frozen=True, slots=True)
class SetModel:
    """Switch to `name`, from the next request on.

    `api_base` is the address of a server of one's own, kept in the settings for that name; `remember` makes the model
    the one that new sessions start with.
    """

    name: str
    api_base: str | None = None
    remember: bool = False


@dataclass(frozen=True, slots=True)
class SetMode:
    """Switch what needs asking."""

    mode: Mode


@dataclass(frozen=True, slots=True)
class Rename:
    """Name the session."""

    name: str


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask for `Inspected`. `again`: only to bring up to date what is shown already."""

    again: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """Close this session and open another: a path, or None for a new one."""

    path: str | None = None


@dataclass(frozen=True, slots=True)
class Quit:
    """End the worker after what is being written."""


Command: TypeAlias = (
    Submit | Steer | Unqueue | Shell | Interrupt | Answer | Compact | Reviewed | Prune | Undo | Pin | Rewind | Reload
    | SetBudget | SetModel | SetMode | Rename | Inspect | Open | Quit
)  # fmt: skip


# ── events ──


@dataclass(frozen=True, slots=True)
class Opened:
    """A session is open. `notices` are sentences to show once (unknown settings, learned windows, …)."""

    session: str
    path: str
    folder: str
    model: str
    mode: Mode
    resumed: bool
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Appended:
    """A record is on disk. `replay`: it was there before this process opened the session."""

    record: Record
    replay: bool = False


@dataclass(frozen=True, slots=True)
class Streaming:
    """Text arriving now; never stored. `kind` tells answer from reasoning; `call` is a call's name being written."""

    text: str
    kind: Literal["text", "thinking", "call"] = "text"


@dataclass(frozen=True, slots=True)
class Restreamed:
    """Forget the streamed text: the request starts over."""


@dataclass(frozen=True, slots=True)
class ToolRunning:
    """A tool runs: `output` is what it printed since the last such event (shown live, never stored)."""

    call: str
    name: str
    title: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class Metered:
    """The size, the budget or the window changed."""

    meter: Meter


@dataclass(frozen=True, slots=True)
class Gated:
    """A gate rewrote, failed or refused. `text` is the sentence for people."""

    gate: str
    outcome: str
    tag: str
    before: int
    after: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Asking:
    """A tool needs the user's yes. `diff` or `command` would happen; `prefix` is what a lasting yes would allow."""

    id: int
    call: str
    tool: str
    title: str
    why: str
    command: str = ""
    diff: str = ""
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """Something long goes on: `what` in a few words, tokens streamed so far, seconds since it began."""

    what: str
    tokens: int = 0
    elapsed: float = 0.0


@dataclass(frozen=True, slots=True)
class Planned:
    """What a prune or compaction would do, or is about to: `offered` asks for the user's yes to exactly this plan."""

    plan: Plan
    offered: bool = True


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A summary to accept, edit or drop; answered by `Reviewed`."""

    summary: str
    fact_sheet: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """The view item by item; `largest_fixed` are (name, tokens)."""

    meter: Meter
    rows: tuple[Row, ...]
    largest_fixed: tuple[tuple[str, int], ...]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """How a wish (`compact`, `prune`, `undo`, `pin`, `budget`, `model`, `reload`, …) ended.

    `code` is the exit status headless would give: 0 done, 1 failed, 3 would not fit, 4 nothing to do, 130 interrupted.
    """

    wish: str
    committed: bool
    code: int
    tag: str | None
    text: str
    before: int = 0
    after: int = 0
    first_kept: int | None = None


@dataclass(frozen=True, slots=True)
class Queued:
    """The messages waiting, oldest first."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Returned:
    """A prompt that could not be taken comes back as a draft; `why` is the sentence, `code` the exit status."""

    text: str
    why: str
    code: int = 3


@dataclass(frozen=True, slots=True)
class Drafted:
    """A text the program puts into the prompt line, to be sent or changed (the tour does)."""

    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence for people that is not worth a record."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class Busy:
    """Work began: `turn`, `shell`, `compact`, `prune`, `opening`."""

    what: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Work ended; the next command is taken. `error` is the sentence for `failed` and `refused`.

    `code` is the exit status headless gives: 0 done, 1 failed, 2 usage or settings, 3 would not fit, 130 interrupted.
    """

    session: str
    path: str
    stop: StopReason = "done"
    error: str | None = None
    code: int = 0


@dataclass(frozen=True, slots=True)
class Crashed:
    """A fault of ours; the worker is gone, the log is whole. `where` is a traceback for the log file."""

    error: str
    where: str


Event: TypeAlias = (
    Opened | Appended | Streaming | Restreamed | ToolRunning | Metered | Gated | Asking | Progress | Planned | Reviewing
    | Inspected | Finished | Queued | Returned | Drafted | Told | Busy | Idle | Crashed
)  # fmt: skip


__all__ = [
    "Answer", "Appended", "Asking", "Busy", "CacheState", "Choice", "Command", "Compact", "Crashed", "Drafted", "Event",
    "Finished", "Gated", "Idle", "Inspect", "Inspected", "Interrupt", "Meter", "Metered", "Mode", "Open", "Opened",
    "Pin", "Plan", "Planned", "Price", "Progress", "Prune", "Queued", "Quit", "Reload", "Rename", "Restreamed",
    "Returned", "Reviewed", "Reviewing", "Rewind", "Row", "SetBudget", "SetMode", "SetModel", "Shell", "Steer",
    "StopReason", "Streaming", "Submit", "Told", "ToolRunning", "Undo", "Unqueue",
]  # fmt: skip
