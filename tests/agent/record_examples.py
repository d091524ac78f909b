"""Hypothesis strategies for every kind of record, made from the dataclasses themselves, and for whole conversations.

A field of a type that has no strategy here is an error, so a new kind of field cannot go untested.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from compaction.records import AssistantSaid, Body, Noted, Started, ToolCall, ToolReturned, UserSaid, WindowSource

# No surrogates: what they become has a test of its own. Quotes, all alphabets' line ends, NUL, wide characters are in.
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40) | st.sampled_from(
    ['"kind":"noted"', "\n", "\r\n", "\u2028\u2029\x85", "\x00\x1b[31m", "👩‍👩‍👧 🇩🇪", "\\", "NaN"]
)
NUMBERS = st.integers(-(2**63), 2**63)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Anything a field of this type can hold."""
    simple = {str: TEXTS, int: NUMBERS, float: FLOATS, bool: st.booleans()}
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) in (Union, UnionType):
        return st.one_of(*(st.none() if a is NoneType else values(a) for a in get_args(hint)))
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=3).map(tuple)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and is_dataclass(hint):
        return instances(hint)
    raise TypeError(f"no strategy for {hint}")


def instances(cls: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{f.name: values(hints[f.name]) for f in fields(cls)})


KINDS: tuple[type, ...] = get_args(Body)
BODIES: st.SearchStrategy[Body] = st.one_of(*map(instances, KINDS))


def started(**more: Any) -> Started:
    given: dict[str, Any] = {
        "session": "abc12345",
        "folder": "/project",
        "model": "scripted/one",
        "endpoint": "default",
        "system": "be brief",
        "instructions": (),
        "tools": (),
        "window": 200_000,
        "window_source": WindowSource.USER,
        "budget": 160_000,
        "trigger": 143_616,
        "landing": 127_232,
        "versions": "test",
    }
    return Started(**{**given, **more})


def says(text: str = "", *calls: str, seen: int = 1) -> AssistantSaid:
    made = tuple(ToolCall(call, "bash", '{"command":"true"}') for call in calls)
    return AssistantSaid(text, made, None, "calls" if calls else "done", "scripted/one", seen)


def returned(call: str, text: str = "fine") -> ToolReturned:
    return ToolReturned(call, "bash", "bash true", text, characters=len(text))


@st.composite
def turns(draw: st.DrawFn) -> list[Body]:
    """Messages, replies with parallel calls, results in any order, some of them missing."""
    bodies: list[Body] = []
    for turn in range(draw(st.integers(1, 4))):
        bodies.append(UserSaid(draw(TEXTS) or "go"))
        calls = [f"c{turn}.{n}" for n in range(draw(st.integers(0, 3)))]
        bodies.append(says(draw(TEXTS), *calls))
        bodies += [returned(call, draw(TEXTS)) for call in draw(st.permutations(calls)) if draw(st.booleans())]
        if draw(st.booleans()):
            bodies.append(Noted(draw(TEXTS), "steps", to_model=draw(st.booleans())))
    return bodies
