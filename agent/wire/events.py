"""What the worker tells a front end: the events, each frozen.

Not their order (those contracts stand in `agent.wire`, which is what everybody imports) and no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.wire.commands import Mode
from agent.wire.figures import FileChange, Meter, Plan, Row, ServerRow, ToolRow
from compaction.records import Record

StopReason: TypeAlias = Literal["done", "refused", "interrupted", "failed"]


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
    """A tool runs: `output` is what it printed since the last such event (shown live, never stored).

    One that begins with a carriage return takes the place of the unfinished last line.
    """

    call: str
    name: str
    title: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """One setting: `when` a change counts, and whether the value is the user's `own` file's."""

    key: str
    value: str
    origin: str
    when: str
    own: bool


@dataclass(frozen=True, slots=True)
class SettingsShown:
    """Every setting; `file` is where the user's own are."""

    rows: tuple[SettingRow, ...]
    file: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule of the permissions; `where` names the file that `origin` means."""

    action: str
    rule: str
    origin: Literal["settings", "project", "session"]
    where: str


@dataclass(frozen=True, slots=True)
class Permissions:
    """The mode, what each mode means, and every rule in force."""

    mode: Mode
    modes: tuple[tuple[Mode, str], ...]
    rules: tuple[RuleRow, ...]


@dataclass(frozen=True, slots=True)
class JobRow:
    """A command in the background. `since` in seconds since the epoch; `tail` the end of what it printed, clean."""

    number: int
    command: str
    runs: bool
    standing: str
    since: float
    path: str
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Jobs:
    """The commands in the background: one began or ended, or they were `asked` for (then with their tails)."""

    rows: tuple[JobRow, ...]
    asked: bool = False


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
    """A tool needs the user's yes. `diff` or `command` would happen; `prefix` is what a lasting yes would allow.

    `about` a model: it is overloaded and another would be asked, once for this turn or for the session; a no needs no
    reason, since no model reads it.
    """

    id: int
    call: str
    tool: str
    title: str
    why: str
    command: str = ""
    diff: str = ""
    prefix: str = ""
    about: Literal["tool", "model"] = "tool"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A file of the project is not used until the user agrees to exactly this content; answered by `SetTrust`.

    `text` is all of it with nothing hidden; `says` what it would do, a phrase each. `asked`: the user wants to answer
    now. Nothing waits for the answer. `then` is a message that is sent after a yes, and comes back after a no.
    """

    path: str
    digest: str
    text: str
    says: tuple[str, ...]
    asked: bool = False
    then: str = ""


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
class RewindOffered:
    """Files changed since record `before`, where the user said `said`: what should go back? Answered by `Rewind`.

    `taken_back` are the files that the last giving back replaced, while nothing has changed since.
    """

    before: int
    said: str
    files: tuple[FileChange, ...]
    taken_back: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewing:
    """A summary to accept, edit or drop; answered by `Reviewed`."""

    summary: str
    fact_sheet: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """The view item by item; `largest_fixed` are (name, tokens).

    `fixed` are the rows of what stands before the view in every request; with them all rows sum to the meter.
    """

    meter: Meter
    rows: tuple[Row, ...]
    largest_fixed: tuple[tuple[str, int], ...]
    again: bool = False
    fixed: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolsListed:
    """The session's tools and the MCP servers; `waits` says what of it joins later and at which price."""

    what: Literal["tools", "servers"]
    tools: tuple[ToolRow, ...]
    servers: tuple[ServerRow, ...]
    waits: str = ""


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
class Sheet:
    """A page of text that was asked for."""

    title: str
    text: str


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
    Opened | Appended | Streaming | Restreamed | ToolRunning | Metered | Gated | Asking | Proposed | Progress | Planned
    | Reviewing | RewindOffered | Inspected | Finished | Queued | Returned | Drafted | Told | Busy | Idle | Crashed
    | Jobs | ToolsListed | Sheet | SettingsShown | Permissions
)  # fmt: skip
