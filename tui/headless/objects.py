"""Events, meters, plans and tables as JSON objects, with the names a script may rely on.

Not the writing (that is `headless`) and not the log's lines: how a record becomes an object is handed in.

Invariants
 1. Every event of the worker is either an object here or left out on purpose; a new kind is a type error.
 2. Nothing is computed: the numbers are the worker's.
 3. A name once given keeps its meaning; `events.schema.json` beside this file lists them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeAlias, assert_never

from agent.wire import (
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
    Jobs,
    Meter,
    Metered,
    Opened,
    Permissions,
    Plan,
    Planned,
    Progress,
    Proposed,
    Queued,
    Restreamed,
    Returned,
    Reviewing,
    RewindOffered,
    SettingsShown,
    Sheet,
    Streaming,
    Told,
    ToolRunning,
    ToolsListed,
)
from compaction.records import Record
from compaction.tokens import PARTS

Object: TypeAlias = dict[str, Any]
RecordJson: TypeAlias = Callable[[Record], Mapping[str, Any]]


def text_of(value: Any, *, ascii_only: bool) -> str:
    """One line of JSON. `ascii_only` for terminals and for what is not UTF-8: then nothing in it acts on a terminal."""
    line = json.dumps(value, ensure_ascii=ascii_only, allow_nan=False)
    return line.replace("\x7f", "\\u007f") if ascii_only else line


def event(event: Event, record_json: RecordJson) -> Object | None:
    """The object for one event; None for what only a screen needs."""
    match event:
        case Opened():
            return {
                "event": "opened",
                "session": event.session,
                "path": event.path,
                "folder": event.folder,
                "model": event.model,
                "mode": event.mode,
                "resumed": event.resumed,
                "notices": list(event.notices),
            }
        case Appended(record=record):
            return {"event": "appended", "record": dict(record_json(record))}
        case Metered(meter=numbers):
            return {"event": "metered", **meter(numbers)}
        case Streaming(text=text, kind="text"):
            return {"event": "streaming", "text": text}
        case Restreamed():
            return {"event": "restreamed"}
        case Gated(gate=gate, outcome=outcome, tag=tag, before=before, after=after, text=text):
            sizes = {"before": before, "after": after}
            return {"event": "gate", "gate": gate, "outcome": outcome, "tag": tag, **sizes, "text": text}
        case Asking(tool=tool, title=title, why=why):
            return {"event": "asking", "tool": tool, "title": title, "why": why, "answer": "refuse"}
        case Planned(plan=planned):
            return {"event": "planned", "plan": plan(planned)}
        case Finished():
            return {"event": "finished", "wish": event.wish, **finished(event)}
        case Returned(text=text, why=why, code=code):
            return {"event": "returned", "text": text, "why": why, "code": code}
        case Told(text=text, level=level):
            return {"event": "told", "level": level, "text": text}
        case Idle(session=session, path=path, stop=stop, error=error, code=code):
            ended = {"session": session, "path": path, "stop": stop, "error": error}
            return {"event": "idle", **ended, "code": code}
        case Streaming() | ToolRunning() | Progress() | Queued() | Busy() | Crashed():
            return None
        case (
            Inspected()
            | Sheet()
            | Reviewing()
            | Drafted()
            | Proposed()
            | RewindOffered()
            | Jobs()
            | ToolsListed()
            | SettingsShown()
            | Permissions()
        ):
            return None
        case _:
            assert_never(event)


def meter(meter: Meter) -> Object:
    """The numbers of the meter; `parts` always has every part, so that a script need not ask."""
    return {
        "used": meter.used,
        "known": meter.known,
        "estimated": meter.estimated,
        "exact": meter.exact,
        "budget": meter.budget,
        "budget_rule": meter.budget_rule,
        "trigger": meter.trigger,
        "landing": meter.landing,
        "window": meter.window,
        "window_source": meter.window_source,
        "limit": meter.limit,
        "parts": {**dict.fromkeys(PARTS, 0), **dict(meter.parts)},
        "cache": {
            "predicted": meter.cache.predicted,
            "reported": meter.cache.reported,
            "warm_s": meter.cache.warm_s,
            "break": meter.cache.broken,
        },
        "cost": meter.cost,
        "next_cost": meter.next_cost,
        "automatic": meter.automatic,
        "model": meter.model,
        "ceiling": meter.ceiling,
        "reasoning": meter.reasoning,
    }


def inspected(inspected: Inspected) -> Object:
    """`context --json`."""
    return {
        "meter": meter(inspected.meter),
        "items": [
            {
                "record": row.record,
                "kind": row.kind,
                "title": row.title,
                "tokens": row.tokens,
                "age": row.age,
                "state": row.state,
                "cached": row.cached,
            }
            for row in (*inspected.fixed, *inspected.rows)
        ],
        "largest_fixed": [{"name": name, "tokens": tokens} for name, tokens in inspected.largest_fixed],
    }


def plan(plan: Plan) -> Object:
    """What a rewrite would do."""
    said = plan.price
    price: Object = {"keep": said.keep, "rewrite": said.rewrite, "breakeven_turns": said.breakeven_turns}
    if said.way is not None:
        price["summary"] = {"way": said.way, "flattened": said.flattened, "in_context": said.in_context}
    return {
        "records": list(plan.records),
        "freed": plan.freed,
        "before": plan.before,
        "after": plan.after,
        "breaks_at": plan.breaks_at if plan.breaks_record is None else plan.breaks_record,
        "reread": plan.reread,
        "price": price,
        "first_kept": plan.first_kept,
        "why_nothing": plan.why_nothing or None,
    }


def planned(shown: Plan | None, *, committed: bool = False, tag: str | None = None, error: str | None = None) -> Object:
    """`prune --json` and `compact --preview --json`."""
    return {"plan": None if shown is None else plan(shown), "committed": committed, "tag": tag, "error": error}


def finished(event: Finished) -> Object:
    """How a wish ended: the last line of `compact --json` and `undo --json`."""
    return {
        "committed": event.committed,
        "tag": event.tag,
        "before": event.before,
        "after": event.after,
        "first_kept": event.first_kept,
        "error": None if event.committed else event.text or None,
    }


def plain_object(row: Any) -> dict[str, Any]:
    """A row as a JSON object: its fields by name."""
    if isinstance(row, Mapping):
        return {str(name): _plain(value) for name, value in row.items()}
    if is_dataclass(row):
        return {field.name: _plain(getattr(row, field.name)) for field in fields(row)}
    raise AssertionError(f"{type(row).__name__} is no row")


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping) or (is_dataclass(value) and not isinstance(value, type)):
        return plain_object(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
