"""All that crosses between a front end and the worker: commands in, events out.

Not the log's records (those ride inside `Appended`) and no behaviour.

Contracts
 1. Commands may be put from any thread and never block; the worker takes them in order, one turn at a time.
    `Interrupt`, `Answer` and `Unqueue` overtake: they act at once, whatever runs; so do `Inspect`, `InspectJobs`,
    `StopJob`, `ShowTrust`, `ShowHooks`, `ListTools`, `RestartServer` and a `Prune` that only probes. `Steer`, `Pin`,
    `SetBudget` and `SetTrust` act at the next step's end; `Submit`, `Init`, `Shell`, `Compact`, `Prune`, `Undo`,
    `Rewind`, `Fork`, `SetModel`, `SaveKey`, `SetEffort`, `Reload` wait for the turn.
 2. Events are emitted on the worker's thread, in order. `emit` must hand them over and return; it may not raise.
 3. Only `Appended` is durable: it follows the fsync of its record. Opening a session emits one `Opened`, then
    `Appended` for each record already there (`replay` true), then `Metered`, perhaps a `Proposed`, then `Idle`.
 4. `Streaming` text is replaced by the `Appended(AssistantSaid)` that ends it, or dropped when a `Restreamed` says so.
 5. Every `Busy` is followed by exactly one `Idle` (or `Crashed`).
"""

from __future__ import annotations

from agent.figures import CacheState, FileChange, Meter, Plan, Price, Row, ServerRow, ToolRow
from agent.reasoned import reasoned
from agent.wire_commands import (
    Answer,
    Choice,
    Command,
    Compact,
    Fork,
    Init,
    Inspect,
    InspectJobs,
    Interrupt,
    ListTools,
    Mode,
    Open,
    Pin,
    Prune,
    Quit,
    Reload,
    Rename,
    RestartServer,
    Reviewed,
    Rewind,
    SaveKey,
    SetBudget,
    SetEffort,
    SetMode,
    SetModel,
    SetTrust,
    Shell,
    ShowHooks,
    ShowTrust,
    Steer,
    StopJob,
    Submit,
    Undo,
    Unqueue,
)
from agent.wire_events import (
    Appended,
    Asking,
    Busy,
    Crashed,
    Drafted,
    Event,
    Finished,
    Gated,
    Idle,
    Inspected,
    JobRow,
    Jobs,
    Metered,
    Opened,
    Planned,
    Progress,
    Proposed,
    Queued,
    Restreamed,
    Returned,
    Reviewing,
    RewindOffered,
    Sheet,
    StopReason,
    Streaming,
    Told,
    ToolRunning,
    ToolsListed,
)

__all__ = [
    "Answer", "Appended", "Asking", "Busy", "CacheState", "Choice", "Command", "Compact", "Crashed", "Drafted", "Event",
    "FileChange", "Finished", "Fork", "Gated", "Idle", "Init", "Inspect", "InspectJobs", "Inspected", "Interrupt",
    "JobRow", "Jobs", "ListTools", "Meter", "Metered", "Mode", "Open", "Opened", "Pin", "Plan", "Planned", "Price",
    "Progress", "Proposed", "Prune", "Queued", "Quit", "Reload", "Rename", "RestartServer", "Restreamed", "Returned",
    "Reviewed", "Reviewing", "Rewind", "RewindOffered", "Row", "SaveKey", "ServerRow", "SetBudget", "SetEffort",
    "SetMode", "SetModel", "SetTrust", "Sheet", "Shell", "ShowHooks", "ShowTrust", "Steer", "StopJob", "StopReason",
    "Streaming", "Submit", "Told", "ToolRow", "ToolRunning", "ToolsListed", "Undo", "Unqueue", "reasoned",
]  # fmt: skip
