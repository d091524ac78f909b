"""Short functions that make logs for tests: `log(user("hi"), says("hello"))`.

Each function gives a body; `log` numbers them from 1 behind a `Started`.
"""

from __future__ import annotations

from collections.abc import Iterable

from compaction.budget import Budget, Policy, Window, budget_for
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    Gate,
    Noted,
    Pinned,
    Pruned,
    Record,
    Reverted,
    Rewound,
    Started,
    Stop,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowSource,
)
from compaction.tokens import Ruler
from compaction.view import View, fold


def words(text: str) -> int:
    """A counter that is easy to reason about: one token a word."""
    return len(text.split())


def ruler() -> Ruler:
    return Ruler(words)


def characters_ruler() -> Ruler:
    """One token for four characters, for texts without spaces."""
    return Ruler(lambda text: (len(text) + 3) // 4)


def budget(tokens: int | None = 200_000, rule: str = "min(200k, 80%)", **policy: int | bool | None) -> Budget:
    return budget_for(Window(tokens, source=WindowSource.USER), Policy(rule=rule, **policy))  # type: ignore[arg-type]


def started(system: str = "be brief", tools: tuple[str, ...] = (), **more: object) -> Started:
    given: dict[str, object] = {
        "session": "s1",
        "folder": "/p",
        "model": "scripted",
        "endpoint": "default",
        "system": system,
        "instructions": (),
        "tools": tools,
        "window": 200_000,
        "window_source": WindowSource.USER,
        "budget": 160_000,
        "trigger": 143_616,
        "landing": 127_232,
        "versions": "test",
    }
    return Started(**{**given, **more})  # type: ignore[arg-type]


def user(text: str, **more: object) -> UserSaid:
    return UserSaid(text, **more)  # type: ignore[arg-type]


def says(
    text: str,
    *,
    seen: int = 0,
    usage: Usage | None = None,
    stop: Stop = "done",
    thinking: str | None = None,
    model: str = "scripted",
    estimated: int = 0,
) -> AssistantSaid:
    return AssistantSaid(text, (), usage, stop, model, seen, thinking, estimated)


def calls(
    *ids: str,
    text: str = "",
    tool: str = "read",
    arguments: str = "{}",
    thinking: str | None = None,
    seen: int = 0,
    usage: Usage | None = None,
    estimated: int = 0,
) -> AssistantSaid:
    """A reply that calls one tool, once for each id."""
    made = tuple(ToolCall(i, tool, arguments) for i in ids)
    return AssistantSaid(text, made, usage, "calls", "scripted", seen, thinking, estimated)


def returned(
    call: str,
    text: str = "done",
    *,
    tool: str = "read",
    title: str | None = None,
    failed: bool = False,
    spilled: str | None = None,
    exit_status: int | None = None,
    paths: tuple[str, ...] = (),
    changed: bool = False,
) -> ToolReturned:
    named = title if title is not None else f"{tool} {' '.join(paths) or call}"
    return ToolReturned(call, tool, named, text, failed, spilled, len(text), exit_status, paths, changed)


def step_of(call: str, text: str = "done", **more: object) -> tuple[Body, Body]:
    """One step: a call and its result."""
    return calls(call), returned(call, text, **more)  # type: ignore[arg-type]


def pruned(*records: int, how: str = "pruned", gate: Gate = Gate.ASKED) -> Pruned:
    return Pruned(records, how, gate, 0, 0)  # type: ignore[arg-type]


def compacted(first_kept: int, summary: str = "## Goal\nwork", **more: object) -> Compacted:
    given: dict[str, object] = {
        "fact_sheet": "",
        "prefix_from": 0,
        "previous": None,
        "focus": "",
        "gate": Gate.ASKED,
        "before": 0,
        "after": 0,
        "summariser": "scripted",
    }
    return Compacted(summary=summary, first_kept=first_kept, **{**given, **more})  # type: ignore[arg-type]


def reverted(target: int) -> Reverted:
    return Reverted(target, 0, 0)


def rewound(before: int) -> Rewound:
    return Rewound(before)


def pinned(target: int, on: bool = True) -> Pinned:
    return Pinned(target, on)


def notice(text: str, topic: str = "error", *, to_model: bool = True) -> Noted:
    return Noted(text, topic, to_model)


def log(*bodies: Body | Iterable[Body], start: Started | None = None) -> tuple[Record, ...]:
    """Records numbered from 1; the first is a `Started`. Tuples of bodies (from `step_of`) are laid flat."""
    flat: list[Body] = [start or started()]
    for body in bodies:
        if isinstance(body, tuple):
            flat.extend(body)
        else:
            flat.append(body)  # type: ignore[arg-type]
    return tuple(Record(n, 1_000.0 + n, body) for n, body in enumerate(flat, 1))


def view_of(*bodies: Body | Iterable[Body], start: Started | None = None) -> View:
    return fold(log(*bodies, start=start))
