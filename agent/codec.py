"""One record is one line of strict JSON, there and back.

Not a file (that is `agent.session_log`, the only importer) and not a meaning: a line that says something impossible
about the conversation decodes well, and `agent.verify` is who complains.

A line is `{"id":57,"at":1767000000.123,"kind":"tool_returned",…}`: the kind is the body's class name in snake_case, the
fields stand by name, and a field equal to its default is left out. The first line carries `"log":1`, the format.

Invariants
 1. `decode(encode(record), record.id)` is the record, but for lone surrogates, which become U+FFFD.
 2. A line contains no line feed, no NaN and no Infinity, and is valid UTF-8.
 3. Unknown fields are skipped, missing ones take their defaults; anything else unexpected is an `Unreadable`, never an
    exception: a damaged line must not keep the rest of its log from opening.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from compaction.records import Body, Record, Started

# The format of a log. Raised only when an older program would misread a line; a new field or kind does not raise it.
FORMAT = 1

Json: TypeAlias = Any
Reader: TypeAlias = Callable[[Json], Any]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is no record. `line` counts from 1; `why` is a sentence part, fit for the screen."""

    line: int
    why: str


class _Misfit(Exception):
    """A value that its field cannot hold; never leaves this module."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """One field of a class: its name, its default (`MISSING` without one) and what reads it."""

    name: str
    default: object
    read: Reader


def kind_named(body: type) -> str:
    """The name of a body's class in a line: `tool_returned` for `ToolReturned`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", body.__name__).lower()


_BODIES: Mapping[str, type] = {kind_named(body): body for body in get_args(Body)}


def mended(text: str) -> str:
    """The text with paired surrogates joined and lone ones replaced by U+FFFD; the same object when it has none."""
    if text.isascii() or not re.search("[\ud800-\udfff]", text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# ── writing ──


def _plain(value: object) -> Json:
    """A JSON value for a field. Enums are strings already."""
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    return value


def as_json(record: Record) -> dict[str, Json]:
    """The record as the JSON object of its line: what `exec --json` shows."""
    line: dict[str, Json] = {"id": record.id, "at": record.at, "kind": kind_named(type(record.body))}
    if isinstance(record.body, Started):
        line["log"] = FORMAT
    body: type = type(record.body)
    for slot in _slots(body):
        value = getattr(record.body, slot.name)
        if value != slot.default:
            line[slot.name] = _plain(value)
    return line


def encode(record: Record) -> bytes:
    """The line, without its line feed. Raises `ValueError` for a number JSON does not have (NaN, Infinity)."""
    return json.dumps(as_json(record), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


# ── reading ──


def id_of(line: bytes) -> int:
    """The id a line begins with; 0 where there is none. For lines found without counting."""
    found = re.match(rb'\{"id":(\d{1,15}),', line)
    return int(found[1]) if found else 0


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# One for all lines: `json.loads` makes a new one whenever it is given a `parse_constant`.
_JSON = json.JSONDecoder(parse_constant=_no_constant)


def decode(line: bytes, number: int) -> Record | Unreadable:
    """The record at line `number` (from 1), or why there is none."""
    try:
        value = _JSON.decode(line.decode())
    except (ValueError, RecursionError):
        return Unreadable(number, "not a whole line of JSON")
    if not isinstance(value, dict):
        return Unreadable(number, "not a JSON object")
    body = _BODIES.get(value["kind"]) if isinstance(value.get("kind"), str) else None
    if body is None:
        return Unreadable(number, f"a kind of record this version does not know: {str(value.get('kind'))[:40]!r}")
    if body is Started and value.get("log", FORMAT) != FORMAT:
        return Unreadable(number, f"log format {str(value.get('log'))[:40]!r}; this version reads format {FORMAT}")
    if value.get("id") != number:
        return Unreadable(number, f"its id says {str(value.get('id'))[:40]!r}")
    try:
        return Record(number, _float(value.get("at")), cast(Body, _build(body, value)))
    except _Misfit as misfit:
        return Unreadable(number, str(misfit))


def _build(cls: type, value: Mapping[str, Json]) -> object:
    arguments: dict[str, object] = {}
    for slot in _slots(cls):
        if slot.name in value:
            try:
                arguments[slot.name] = slot.read(value[slot.name])
            except _Misfit as misfit:
                raise _Misfit(f"{kind_named(cls)}.{slot.name} is {misfit}") from None
        elif slot.default is MISSING:
            raise _Misfit(f"{kind_named(cls)}.{slot.name} is missing")
    return cls(**arguments)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise _Misfit("not a text")
    return mended(value)


def _int(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Misfit("not a whole number")
    return value


def _float(value: Json) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _Misfit("not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):  # `1e999` is JSON, and Infinity to Python
        raise _Misfit("too large")
    return number


def _bool(value: Json) -> bool:
    if not isinstance(value, bool):
        raise _Misfit("neither true nor false")
    return value


def _one_of(values: tuple[str, ...], made: Callable[[str], object]) -> Reader:
    def read(value: Json) -> object:
        if not isinstance(value, str) or value not in values:
            raise _Misfit(f"none of {', '.join(values)}")
        return made(value)

    return read


def _reader(hint: Any) -> Reader:
    """What reads a value for a field of this type: the types that occur in `compaction.records`, and no others."""
    simple: dict[Any, Reader] = {str: _text, int: _int, float: _float, bool: _bool}
    if hint in simple:
        return simple[hint]
    if get_origin(hint) is Literal:
        return _one_of(get_args(hint), str)
    if get_origin(hint) in (Union, UnionType):
        (some,) = (a for a in get_args(hint) if a is not NoneType)
        read = _reader(some)
        return lambda value: None if value is None else read(value)
    if get_origin(hint) is tuple:
        each = _reader(get_args(hint)[0])
        return lambda value: _each(value, each)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _one_of(tuple(m.value for m in hint), hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: _object(value, hint)
    raise TypeError(f"no reader for a field of type {hint}")


def _each(value: Json, read: Reader) -> tuple[object, ...]:
    if not isinstance(value, list):
        raise _Misfit("not a list")
    return tuple(read(v) for v in value)


def _object(value: Json, cls: type) -> object:
    if not isinstance(value, dict):
        raise _Misfit("not an object")
    return _build(cls, value)


@cache
def _slots(cls: type) -> tuple[_Slot, ...]:
    hints = get_type_hints(cls)
    return tuple(_Slot(f.name, f.default, _reader(hints[f.name])) for f in fields(cls))
