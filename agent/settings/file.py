"""Changing one value in the user's own `config.toml`, everything else left as the user wrote it.

Not reading (that is `agent.settings`). Never a project's file: that belongs to its repository.

Invariants
 1. Comments, order and spacing of what is not changed stay.
 2. What is written reads back as valid settings, or nothing is written.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, cast

from agent.places import Places
from agent.settings.text import SettingsError, read_layer
from agent.whole_file import locked, write_whole

Value = str | int | float | bool | Sequence[str]


def save(places: Places, path: Sequence[str], value: Value | None) -> None:
    """Sets the key at `path` (`("context", "budget")`), or removes it with None. Raises `SettingsError`."""
    # Here, because few sessions ever change their settings, and this costs a start 14 ms.
    from tomlkit.exceptions import TOMLKitError

    file = places.settings
    try:
        with locked(file):
            content = file.read_bytes() if file.exists() else b""
            read_layer(file, content, project=False)
            text = _changed(content.decode("utf-8-sig"), path, value)
            read_layer(file, text.encode(), project=False)
            write_whole(file, text)
    except OSError as error:
        raise SettingsError(f"{file}: cannot be changed: {error.strerror or error}") from error
    except TOMLKitError as error:
        raise SettingsError(f"{file}: cannot be changed without losing something in it: {error}") from error


def save_budget(places: Places, model: str, rule: str) -> None:
    """Keeps a budget rule for a model; `default` forgets it. Raises `SettingsError`."""
    save(places, ("models", model, "budget"), None if rule.strip() == "default" else rule.strip())


def _changed(text: str, path: Sequence[str], value: Value | None) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    table = cast("MutableMapping[str, Any]", document)
    for depth, part in enumerate(path[:-1]):
        if part not in table:
            if value is None:
                return text
            # The tables above the last one get no header of their own: `[models."x"]` says it all.
            table[part] = tomlkit.table(is_super_table=depth < len(path) - 2)
        table = table[part]
    if value is None:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return tomlkit.dumps(document)
