"""One settings file: parsed, each value read, unknown keys named with their line and the nearest right key.

Not the layers and not the writing. A file is judged whole before any of it is used.

    SettingsError     a sentence with file, key and reason; exit status 2
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from agent.sanitise import one_line
from agent.settings.hooks import Hook, read_hooks
from agent.settings.keys import BY_NAME, MCP_BY_NAME, MODEL_BY_NAME, PREFIX, Key, Wrong

# How alike a key must be to be suggested (0 to 1): `bugdet` is 0.83 like `budget`, `window` 0.33.
ALIKE = 0.6


class SettingsError(Exception):
    """Settings that cannot be used. The text is a sentence."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What one file says. `values` by dotted name; `models` by glob, then by name; `notices` are sentences.

    `mcp` are MCP servers by name, in the file's order.
    """

    values: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    notices: tuple[str, ...]
    mcp: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hooks: tuple[Hook, ...] = ()


def read_layer(path: Path, content: bytes, project: bool) -> Layer:
    """The file's values. `project`: it is a project's, which may not set everything. Raises `SettingsError`."""
    try:
        text = content.decode("utf-8-sig")
        table = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from None
    reading = _Reading(path, text, project)
    models = table.pop("models", {})
    if not isinstance(models, dict) or not all(isinstance(entry, dict) for entry in models.values()):
        raise SettingsError(f'{path}: models must be tables, one a model: [models."NAME"]')
    try:
        hooks, unknown = read_hooks(table.pop("hooks", []), str(path))
    except Wrong as wrong:
        raise SettingsError(f"{reading.where(('hooks',))}: hooks {wrong}") from None
    reading.notices += [f"{reading.where(('hooks',))}: {phrase}" for phrase in unknown]
    servers = table.pop("mcp", {})
    if not isinstance(servers, dict) or not all(isinstance(entry, dict) for entry in servers.values()):
        raise SettingsError(f"{path}: mcp must be tables, one a server: [mcp.NAME]")
    values = reading.values(table, (), BY_NAME)
    for glob, entry in models.items():
        prices = entry.get("prices")
        if isinstance(prices, dict) and not {"input", "output"} <= prices.keys():
            reading.notices.append(f"{path}: the prices of {_spelled((glob,))} are known only with input and output")
    entries = {glob: reading.values(entry, ("models", glob), MODEL_BY_NAME) for glob, entry in models.items()}
    mcp = {name: reading.values(entry, ("mcp", name), MCP_BY_NAME) for name, entry in servers.items()}
    for name, entry in mcp.items():
        if ("command" in entry) == ("url" in entry):
            said = "either command or url, not both" if "url" in entry else "command (a program) or url (an address)"
            raise SettingsError(f"{reading.where(('mcp', name))}: {_spelled(('mcp', name))} needs {said}")
    return Layer(values, entries, tuple(reading.notices), mcp, hooks)


class _Reading:
    """One file under way; collects its notices."""

    def __init__(self, path: Path, text: str, project: bool) -> None:
        self.path = path
        self.text = text
        self.project = project
        self.notices: list[str] = []

    def values(self, table: Mapping[str, Any], under: tuple[str, ...], known: Mapping[str, Key]) -> dict[str, Any]:
        """The values of a table, by dotted name relative to `under`."""
        found: dict[str, Any] = {}
        for path, value in _leaves(table, (), known):
            name = ".".join(path)
            key = known.get(name)
            where = self.where(under + path)
            if key is None or not key.file:
                self.notices.append(
                    f"{where}: unknown key {_spelled(under + path)}{_nearest(path, value, under, known)}"
                )
            elif self.project and not key.project:
                self.notices.append(
                    f"{where}: {_spelled(under + path)} is not taken from a project's file; set it in your own"
                )
            else:
                try:
                    found[name] = key.kind.read(value)
                except Wrong as wrong:
                    raise SettingsError(f"{where}: {_spelled(under + path)} {wrong}") from None
        return found

    def where(self, path: tuple[str, ...]) -> str:
        """The file, and the line where the path is set."""
        line = line_of(self.text, path)
        return f"{self.path} line {line}" if line else str(self.path)


def _leaves(
    table: Mapping[str, Any], above: tuple[str, ...], known: Mapping[str, Key]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, value in table.items():
        path = (*above, name)
        dotted = ".".join(path)
        parent = any(k.startswith(dotted + ".") for k in known)
        if isinstance(value, dict) and dotted not in known and parent:
            yield from _leaves(value, path, known)
        else:
            yield path, value


def _nearest(path: tuple[str, ...], value: Any, under: tuple[str, ...], known: Mapping[str, Key]) -> str:
    """`; did you mean …?` or nothing. A table is taken for a misspelt table."""
    name, last = ".".join(path), path[-1]
    usable = [k for k in known if known[k].file]
    if isinstance(value, dict) and not under:
        sections = {k.split(".")[0] for k in usable if "." in k} | {"models", "mcp", "hooks"}
        return _suggestion(get_close_matches(path[0], sorted(sections), 1, ALIKE))
    elsewhere = [k for k in usable if k.rsplit(".", 1)[-1] == last]
    lasts = {k.rsplit(".", 1)[-1]: k for k in reversed(usable)}
    close = elsewhere or get_close_matches(name, usable, 1, ALIKE)
    close = close or [lasts[m] for m in get_close_matches(last, list(lasts), 1, ALIKE)]
    return _suggestion([_spelled((*under, *found.split("."))) for found in close])


def nearest_key(path: tuple[str, ...]) -> str:
    """`; did you mean …?` for a key that does not exist, or nothing."""
    return _nearest(path, "", (), BY_NAME)


def nearest_variable(name: str) -> str:
    """`; did you mean …?` for a variable of ours that does not exist, or nothing."""
    variables = {v.removeprefix(PREFIX): v for key in BY_NAME.values() if (v := key.variable)}
    # Without the prefix, which alone would make any two of them alike.
    return _suggestion([variables[m] for m in get_close_matches(name.removeprefix(PREFIX), list(variables), 1, ALIKE)])


def _suggestion(close: list[str]) -> str:
    return f"; did you mean {close[0]}?" if close else ""


def _spelled(path: tuple[str, ...]) -> str:
    """A key as TOML spells it, control characters made visible."""
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else f'"{one_line(part)}"' for part in path)


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line (from 1) that sets the key, as far as a look at the lines can tell."""
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.strip()
        if line.startswith("["):
            section = dotted_parts(line.strip("[]").split("]")[0])
            if section[: len(path)] == path:
                return number
        elif "=" in line and not line.startswith("#"):
            set_here = section + dotted_parts(line.split("=", 1)[0])
            inside = "{" in line and path[-1] in line and set_here == path[: len(set_here)]
            if inside or set_here == path:
                return number
    return None


def dotted_parts(dotted: str) -> tuple[str, ...]:
    """A dotted TOML key taken apart; quoted parts keep their dots."""
    parts: list[str] = []
    rest = dotted.strip()
    while rest:
        quote = rest[0] if rest[0] in "\"'" else ""
        end = rest.find(quote, 1) if quote else rest.find(".")
        if end < 0:
            parts.append(rest.strip(quote + " ") if quote else rest.strip())
            break
        parts.append(rest[1:end] if quote else rest[:end].strip())
        rest = rest[end + 1 :].lstrip(" .") if quote else rest[end + 1 :].lstrip()
    return tuple(parts)
