"""A call's arguments, from the JSON text the model wrote to checked values, or to a sentence it can act on.

Not a JSON Schema validator: only what the seven schemas (and plain MCP ones) use: types, required, enum, arrays,
objects.

Repairs, each of which can mean only one thing: a number or a boolean given as a string, a lone value where an array is
wanted, a JSON text inside a string where an object or array is wanted, the members of a list's only object given beside
the other arguments, null for an optional argument, an empty text for no arguments at all. Nothing else is guessed.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from agent import sanitise

# Deeper nesting than this is no call of ours, and the JSON reader would run out of stack; levels.
DEEPEST = 64


class _Wrong(Exception):
    pass


def parse(arguments_json: str, schema: dict[str, Any]) -> dict[str, Any] | str:
    """The arguments as checked values, or one text that names everything wrong with them.

    `schema` is the whole function schema or its `parameters`. Lone surrogates in strings become U+FFFD.
    """
    parameters = schema.get("function", {}).get("parameters", schema) if "function" in schema else schema
    text = arguments_json.strip() or "{}"
    if text.count("[") + text.count("{") > DEEPEST * 4 and _depth(text) > DEEPEST:
        return f"The arguments are nested deeper than {DEEPEST} levels."
    try:
        value = json.loads(text, strict=False)
    except ValueError as error:
        return f"The arguments are not valid JSON ({error}). Send one JSON object with {_names(parameters)}."
    if not isinstance(value, dict):
        return f"The arguments must be one JSON object with {_names(parameters)}."
    wrong: list[str] = []
    checked = _object(_folded(value, parameters), parameters, "", wrong)
    return checked if not wrong else "Nothing was done: " + "; ".join(wrong) + "."


def _depth(text: str) -> int:
    deepest = depth = 0
    quoted = escaped = False
    for char in text:
        if quoted:
            escaped, quoted = (not escaped and char == "\\"), (escaped or char != '"')
        elif char == '"':
            quoted = True
        elif char in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in "]}":
            depth -= 1
    return deepest


def _names(parameters: dict[str, Any]) -> str:
    known = parameters.get("properties", {})
    needed = parameters.get("required", [])
    return ", ".join(f"{n}" if n in needed else f"{n} (optional)" for n in known) or "no members"


def _folded(value: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """`{path, old, new}` as `{path, edits: [{old, new}]}`, when the list is missing but its members are there."""
    known: dict[str, Any] = parameters.get("properties", {})
    for name in parameters.get("required", []):
        item: dict[str, Any] = known.get(name, {}).get("items", {})
        members = {k: v for k, v in value.items() if k in item.get("properties", {}) and k not in known}
        if members and name not in value and all(n in members for n in item.get("required", [])):
            return {k: v for k, v in value.items() if k not in members} | {name: [members]}
    return value


def _object(value: dict[str, Any], parameters: dict[str, Any], where: str, wrong: list[str]) -> dict[str, Any]:
    known: dict[str, Any] = parameters.get("properties", {})
    required: list[str] = parameters.get("required", [])
    checked: dict[str, Any] = {}
    for name, given in value.items():
        label = where + sanitise.one_line(name, 40)
        if name not in known:
            if parameters.get("additionalProperties", True) and not known:
                checked[name] = given
                continue
            near = difflib.get_close_matches(name, list(known), 1)
            hint = f", perhaps {near[0]}" if near else f"; known are {_names(parameters)}"
            wrong.append(f"unknown argument {label}{hint}")
        elif given is None and name not in required:
            continue
        else:
            try:
                checked[name] = _value(given, known[name], label, wrong)
            except _Wrong as error:
                wrong.append(str(error))
    wrong += [f"missing argument {where}{name}" for name in required if name not in value]
    return checked


def _unwrapped(given: Any, kind: str) -> Any:
    """A JSON text inside a string, where the schema wants what it spells."""
    if isinstance(given, str) and kind in ("array", "object") and given.strip()[:1] in ("[", "{"):
        try:
            return json.loads(given, strict=False)
        except (ValueError, RecursionError):
            return given
    return given


def _value(given: Any, schema: dict[str, Any], label: str, wrong: list[str]) -> Any:
    kind = schema.get("type", "")
    given = _unwrapped(given, kind)
    if kind == "string" and isinstance(given, str):
        text = sanitise.scrub(given)
        if "enum" in schema and text not in schema["enum"]:
            raise _Wrong(f"{label} must be one of {', '.join(schema['enum'])}")
        return text
    if kind in ("integer", "number"):
        return _number(given, kind, label)
    if kind == "boolean":
        if isinstance(given, str) and given.strip().lower() in ("true", "false"):
            return given.strip().lower() == "true"
        if isinstance(given, bool):
            return given
    if kind == "array":
        items = given if isinstance(given, list) else [given]
        return [_value(item, schema.get("items", {}), f"{label}[{i}]", wrong) for i, item in enumerate(items)]
    if kind == "object" and isinstance(given, dict):
        return _object(given, schema, f"{label}.", wrong)
    if not kind:
        return given
    raise _Wrong(f"{label} must be {_a(kind)}, not {_a(_kind_of(given))}")


def _number(given: Any, kind: str, label: str) -> int | float:
    number = given
    if isinstance(given, str):
        try:
            number = float(given.strip().replace("_", ""))
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or number != number or abs(number) > 2**53:
        raise _Wrong(f"{label} must be {_a(kind)}, not {_a(_kind_of(given))}")
    if kind == "number":
        return number
    if number != int(number):
        raise _Wrong(f"{label} must be a whole number")
    return int(number)


def _kind_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _a(kind: str) -> str:
    return kind if kind == "null" else f"{'an' if kind[:1] in 'aio' else 'a'} {kind}"
