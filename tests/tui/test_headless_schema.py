"""The schema beside the code says what is emitted: every field of every event, and nothing that is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from agent import wire
from agent.session_log import as_json
from agent.wire import Asking, Event, Finished, Gated, Inspected, Planned, Restreamed, Returned, Row, Streaming, Told
from compaction.records import LEGAL_TAGS, Body, Gate, Outcome, WindowSource
from compaction.view import Kind, State
from tests.tui.headless_play import DONE, OPENED, appended
from tests.tui.headless_samples import METER, PLAN, STARTED
from tui.headless import objects

SCHEMA = json.loads((Path(objects.__file__).parents[1] / "events.schema.json").read_text(encoding="utf-8"))
DEFS = SCHEMA["$defs"]

SHOWN: tuple[Event, ...] = (
    OPENED, appended(1, STARTED), wire.Metered(METER), wire.Metered(wire.Meter()), Streaming("a"), Restreamed(),
    Gated("proactive", "compacted", "proactive.compacted", 151_200, 42_100),
    Asking(1, "c", "bash", "rm", "why"), Planned(PLAN), Finished("prune", True, 0, "asked.pruned", "done", 9, 8),
    Returned("text", "too long"), Told("a sentence"), DONE,
)  # fmt: skip
UNSHOWN = {
    "Busy", "Crashed", "Drafted", "Inspected", "Jobs", "Permissions", "Progress", "Proposed", "Queued", "Reviewing",
    "RewindOffered", "SettingsShown", "Sheet", "ToolRunning", "ToolsListed",
}  # fmt: skip


def strict(schema: Any) -> Any:
    """The schema without room for more: what is emitted today must all be named."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(value) for name, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "at" not in schema["properties"]:
        closed["unevaluatedProperties"] = False
    return closed


@cache
def validator(definition: str | None = None) -> Draft202012Validator:
    # A closed meter could not be part of a closed `metered`; there, the event itself is closed.
    closed = {"$defs": {**strict(DEFS), "meter": DEFS["meter"] | {"properties": strict(DEFS["meter"]["properties"])}}}
    Draft202012Validator.check_schema(SCHEMA)
    return Draft202012Validator(
        closed | ({"$ref": f"#/$defs/{definition}"} if definition else {"oneOf": SCHEMA["oneOf"]})
    )


def test_every_event_that_is_shown_fits_the_schema_and_all_its_fields_are_named() -> None:
    for event in SHOWN:
        shown = objects.event(event, as_json)
        assert shown is not None
        assert [error.message for error in validator().iter_errors(shown)] == []


def test_every_kind_of_event_is_either_shown_or_left_out_on_purpose() -> None:
    assert {type(event).__name__ for event in SHOWN} | UNSHOWN == {kind.__name__ for kind in get_args(Event)}


def test_every_event_of_the_schema_is_emitted() -> None:
    emitted = {objects.event(event, as_json)["event"] for event in SHOWN}  # type: ignore[index]
    assert {DEFS[ref["$ref"].rsplit("/", 1)[-1]]["properties"]["event"]["const"] for ref in SCHEMA["oneOf"]} == emitted


def fields(definition: str) -> Iterator[tuple[str, str]]:
    for name in DEFS[definition]["required"]:
        yield definition, name


@pytest.mark.parametrize(("definition", "name"), [*fields("idle"), *fields("gate"), *fields("meter"), *fields("cache")])
def test_a_missing_field_is_seen(definition: str, name: str) -> None:
    values = {
        "idle": objects.event(DONE, as_json),
        "gate": objects.event(SHOWN[6], as_json),
        "meter": objects.meter(METER),
        "cache": objects.meter(METER)["cache"],
    }
    value = dict(values[definition] or {})
    assert validator(definition).is_valid(value)
    del value[name]
    assert not validator(definition).is_valid(value)


@pytest.mark.parametrize("event", SHOWN, ids=lambda event: type(event).__name__)
def test_a_field_that_is_not_named_is_seen(event: Event) -> None:
    shown = objects.event(event, as_json)
    assert not validator().is_valid({**(shown or {}), "surprise": 1})


def test_the_answers_of_other_commands_fit_too() -> None:
    rows = (Row(57, "tool", "read src/app.py", 3_412, 4, "live", True),)
    fixed = (Row(1, "tools", "tool schemas", 1_300, 0, "live", True),)
    shown = objects.inspected(Inspected(METER, rows, (("tool schemas", 1_300),), fixed=fixed))
    assert validator("context").is_valid(shown)
    assert [item["kind"] for item in shown["items"]] == ["tools", "tool"]
    assert validator("planned").is_valid(objects.planned(PLAN))
    assert validator("finished").is_valid(objects.finished(Finished("undo", False, 3, None, "no room")))


def test_the_names_are_the_engines() -> None:
    gate = DEFS["gate"]["properties"]
    assert (gate["gate"]["enum"], gate["outcome"]["enum"]) == ([str(g) for g in Gate], [str(o) for o in Outcome])
    names = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower() for kind in get_args(Body)]
    assert DEFS["record"]["properties"]["kind"]["enum"] == names
    assert DEFS["meter"]["properties"]["window_source"]["enum"] == [str(s) for s in WindowSource]
    item = DEFS["item"]["properties"]
    kinds = ["tools", "system", *(str(k) for k in Kind)]
    assert (item["kind"]["enum"], item["state"]["enum"]) == (kinds, list(get_args(State)))
    assert all(Draft202012Validator(gate["tag"]).is_valid(tag) for tag in LEGAL_TAGS)
