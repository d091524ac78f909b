"""What a front end may ask of the worker: the commands, each frozen.

Not their order (those contracts stand in `agent.wire`, which is what everybody imports) and no behaviour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

Choice: TypeAlias = Literal["once", "session", "project", "refuse"]
Mode: TypeAlias = Literal["plan", "ask", "edits", "auto"]

# What a mode is called wherever people read it.
MODE_NAMES: Mapping[Mode, str] = MappingProxyType(
    {"plan": "plan only", "ask": "ask first", "edits": "accept edits", "auto": "auto"}
)


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
    """Compact now, or after what runs and before the messages that wait. `preview` calls no model; `review` shows the
    summary first (`Reviewing`); `up_to` is a record id."""

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
    """Go on from just before record `before`, give the files back what they held then, or both.

    With `ask` the files are looked at first: where some changed since, a `RewindOffered` follows and nothing is done;
    else the conversation goes back. `back` takes back the last giving back of files, whatever `before` is.
    """

    before: int
    what: Literal["ask", "conversation", "files", "both"] = "conversation"
    back: bool = False


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
class SetEffort:
    """How much the model in use is to reason, from the next request on; `default` takes its own choice back.

    Empty only says what is in force.
    """

    level: str = ""


@dataclass(frozen=True, slots=True)
class SaveKey:
    """Keep a provider's key where the system keeps such things, and use it from the next request on."""

    provider: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SetMode:
    """Switch what needs asking."""

    mode: Mode


@dataclass(frozen=True, slots=True)
class ShowTrust:
    """Show the project's file that waits for a yes: a `Proposed`, or a sentence where nothing waits."""


@dataclass(frozen=True, slots=True)
class ShowHooks:
    """Ask for the page of hooks, as a `Sheet`."""


@dataclass(frozen=True, slots=True)
class SetTrust:
    """The user's word on a `Proposed` with this path and digest; `never` is about exactly this content.

    `then` is what the proposal said: after a yes to a command's file it is sent, else it comes back as `Returned`.
    """

    path: str
    digest: str
    choice: Literal["trust", "later", "never"]
    then: str = ""


@dataclass(frozen=True, slots=True)
class Rename:
    """Name the session."""

    name: str


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask for `Inspected`. `again`: only to bring up to date what is shown already."""

    again: bool = False


@dataclass(frozen=True, slots=True)
class ShowSettings:
    """Ask for `SettingsShown`."""


@dataclass(frozen=True, slots=True)
class SetSetting:
    """Write a key to the user's own settings file, as text; None removes it from there."""

    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ShowPermissions:
    """Ask for `Permissions`."""


@dataclass(frozen=True, slots=True)
class ForgetRule:
    """Take back a rule that was allowed for the session or the project."""

    rule: str


@dataclass(frozen=True, slots=True)
class InspectJobs:
    """Ask for `Jobs`, with what they printed last."""


@dataclass(frozen=True, slots=True)
class StopJob:
    """End a command that runs in the background."""

    job: int


@dataclass(frozen=True, slots=True)
class ListTools:
    """Ask for `ToolsListed`: every tool with what it costs, or the MCP servers."""

    what: Literal["tools", "servers"]


@dataclass(frozen=True, slots=True)
class RestartServer:
    """Start an MCP server anew; what it does is told."""

    name: str


@dataclass(frozen=True, slots=True)
class Open:
    """Close this session and open another: a path, or None for a new one."""

    path: str | None = None


@dataclass(frozen=True, slots=True)
class Init:
    """A turn in which the agent studies the repository and writes its AGENTS.md, with the usual questions."""


@dataclass(frozen=True, slots=True)
class Fork:
    """Open a new session with this one's log up to here, or up to before record `before`; this one stays as it is."""

    before: int | None = None


@dataclass(frozen=True, slots=True)
class Quit:
    """End the worker after what is being written."""


# Acts whatever runs, and changes no record; so does a `Prune` that only probes.
AtOnce: TypeAlias = (
    SetMode | Inspect | ShowTrust | ShowHooks | ListTools | RestartServer | ShowSettings | ShowPermissions | ForgetRule
    | InspectJobs | StopJob
)  # fmt: skip

# Carried out between turns, or between steps; ends in one `Finished`.
Wish: TypeAlias = (
    Compact | Prune | Undo | Pin | Rewind | Reload | SetBudget | SetModel | SaveKey | SetEffort | SetTrust | SetSetting
    | Rename
)  # fmt: skip

Command: TypeAlias = (
    Submit | Steer | Unqueue | Shell | Interrupt | Answer | Reviewed | Open | Fork | Init | Quit | AtOnce | Wish
)
