"""What a server offers: its tools as it described them, made fit to be sent, and its last known list on disk.

Not the asking (that is `servers`) and not the running (that is `tool`). All of it is foreign: cleaned, sorted, bounded.

Invariants
 1. The same list gives the same bytes, whatever order the server spelled it in.
 2. A schema is sent whole or not at all; what is left out is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from agent.mcp.names import tool_name
from agent.sanitise import clean, one_line, scrub
from agent.whole_file import write_whole

# A description and schema larger than this is no tool but a manual, read again with every request; characters. The
# largest of widely used servers have some 8,000, which is 2,000 tokens.
LARGEST = 32_000

# More tools than this are refused by some providers together with ours (they take 128); the first by name are taken.
MOST = 100


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool. `name` is what the model calls it, `tool` what the server does; `reads`: it says that it only reads.

    `parameters` is its schema as canonical JSON.
    """

    server: str
    tool: str
    name: str
    description: str
    parameters: str
    reads: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The function schema as it is sent."""
        function = {"name": self.name, "description": self.description, "parameters": json.loads(self.parameters)}
        return {"type": "function", "function": function}


def offered(server: str, listed: Iterable[Mapping[str, Any]]) -> tuple[tuple[Offered, ...], tuple[str, ...]]:
    """The tools of a server's own list, sorted by name, and a sentence for each that is left out."""
    found: dict[str, Offered] = {}
    left: list[str] = []
    for entry in sorted(listed, key=lambda entry: str(entry.get("name"))):
        try:
            one = _one(server, entry)
        except ValueError:
            # Sent, it would have every request of the session refused.
            left.append(f"{one_line(str(entry.get('name')), 60)}: its schema is no JSON Schema")
            continue
        if len(one.parameters) + len(one.description) > LARGEST:
            size = len(one.parameters) + len(one.description)
            left.append(f"{one_line(one.tool)}: its schema has {size:,} characters, more than {LARGEST:,}")
        elif one.name in found:
            left.append(f"{one_line(one.tool)}: another of its tools has the same name")
        else:
            found[one.name] = one
    tools = sorted(found.values(), key=lambda one: one.tool)
    if len(tools) > MOST:
        left.append(f"{len(tools) - MOST} more: a server may bring {MOST} tools")
    return tuple(tools[:MOST]), tuple(left)


def _one(server: str, entry: Mapping[str, Any]) -> Offered:
    """A tool as it may be sent. Raises `ValueError` for a schema that is none."""
    tool = scrub(str(entry.get("name") or ""))
    schema = entry.get("schema")
    schema = dict(schema) if isinstance(schema, dict) else {}
    # Providers want an object with properties; a tool without arguments often has neither.
    properties = schema.get("properties") or {}
    if not isinstance(properties, dict) or not all(isinstance(one, (dict, bool)) for one in properties.values()):
        raise ValueError("no schema")
    schema |= {"type": "object", "properties": properties}
    schema.pop("$schema", None)
    # No NaN and no Infinity, which `1e999` becomes: those are JSON to Python only.
    parameters = scrub(json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False))
    description = clean(str(entry.get("description") or entry.get("title") or "")).strip()
    return Offered(server, tool, tool_name(server, tool), description, parameters, entry.get("reads") is True)


class Damaged(Exception):
    """A kept list that is none; with what is wrong with it."""


class Lists:
    """The last known lists, one file a configuration, in the cache folder: losing one costs a wait."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, server: str, digest: str) -> tuple[Offered, ...] | None:
        """The list kept for a configuration of `server`; None where there is none. Raises `Damaged`."""
        path = self._folder / f"{digest}.json"
        try:
            held = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror or error}") from error
        except (ValueError, RecursionError):
            raise Damaged(f"{path} is no JSON") from None
        if not isinstance(held, list) or not all(_is_kept(entry, server) for entry in held):
            raise Damaged(f"{path} holds something else than a list of its tools")
        return tuple(Offered(**entry) for entry in held)

    def keep(self, digest: str, tools: Iterable[Offered]) -> None:
        """Keeps a list. Raises `OSError`."""
        write_whole(self._folder / f"{digest}.json", json.dumps([asdict(tool) for tool in tools]))


def _is_kept(entry: Any, server: str) -> bool:
    """Whether this is what `keep` writes of a tool of this server: what is sent to a provider is made from it."""
    if not isinstance(entry, dict) or entry.keys() != {field.name for field in fields(Offered)}:
        return False
    reads, texts = entry["reads"], [value for name, value in entry.items() if name != "reads"]
    if not isinstance(reads, bool) or not all(isinstance(value, str) for value in texts):
        return False
    if entry["server"] != server or entry["name"] != tool_name(server, entry["tool"]):
        return False
    try:
        parameters = json.loads(entry["parameters"])
    except (ValueError, RecursionError):
        return False
    return isinstance(parameters, dict) and parameters.get("type") == "object"
