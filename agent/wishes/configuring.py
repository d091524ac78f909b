"""Settings and permissions of an open session: what is in force and where it comes from, and changing it.

Not the table of keys (`agent.settings.keys`) nor the writing of a file (`agent.settings.file`).

Invariants
 1. What is changed is written to the user's own file first, then read back with all layers, then put in force.
 2. What a session cannot follow any more is not changed in it, and the sentence says when it counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agent.hooks.guards import guards
from agent.permissions.rules import Rules, forget, remembered
from agent.sanitise import one_line
from agent.session import Session, rules_file
from agent.settings import Settings, SettingsError
from agent.settings.file import Value, save
from agent.settings.keys import BY_NAME, COMMAND, FLAG, MODEL_BY_NAME, NUMBER, TEXTS, WORDS, Key, Wrong
from agent.settings.text import dotted_parts, nearest_key
from agent.wire import Finished, ForgetRule, Mode, Permissions, RuleRow, SetSetting, SettingRow, SettingsShown
from agent.wishes.trusting import take_in

AT_ONCE, NEXT_SESSION, NEXT_START = "at once", "from the next session on", "from the next start on"

# What an open session does not follow. The rest is read where it is used.
WHEN: Mapping[str, str] = {
    "model": f"{NEXT_SESSION}; /model switches this one",
    "mode": f"{NEXT_SESSION}; /mode switches this one",
    "instructions": NEXT_SESSION,
    "sandbox.use": NEXT_SESSION,
    "sandbox.network": NEXT_SESSION,
    "sandbox.writable": NEXT_SESSION,
    "inline": NEXT_START,
    "notify": NEXT_START,
    "keys": NEXT_START,
}

# What the modes mean, as the permissions page says it.
MODES: Mapping[Mode, str] = {
    "plan": "reads only; nothing is written or run",
    "ask": "asks before it writes or runs anything",
    "edits": "writes here unasked, asks to run",
    "auto": "asks only outside the folder",
}


# ── settings ──


def shown(session: Session) -> SettingsShown:
    """Every key with its value, where that comes from, and when a change of it counts."""
    settings, file = session.kit.settings, str(session.kit.places.settings)
    rows = [
        SettingRow(name, words(value), origin, WHEN.get(name, AT_ONCE), origin == file)
        for name, value, origin in settings.shown()
    ]
    return SettingsShown(tuple(rows), file)


def words(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {one_line(str(held))}" for key, held in value.items()) or "–"
    if isinstance(value, (tuple, list)):
        return ", ".join(one_line(str(held)) for held in value) or "–"
    return f"{value:g}" if isinstance(value, float) else one_line(str(value), 200)


async def change(session: Session, command: SetSetting) -> Finished:
    """Writes one key to the user's file, or removes it, and puts it in force as far as that goes."""
    try:
        path, key = _key(command.key)
        value = None if command.value is None else _value(key, command.value)
        await asyncio.to_thread(save, session.kit.places, path, value)
    except Wrong as wrong:
        return Finished("settings", False, 2, None, f"{one_line(command.key)} {wrong}")
    except SettingsError as error:
        return Finished("settings", False, 2, None, str(error))
    said = "is back at its default" if value is None else f"is {words(value)} in {session.kit.places.settings}"
    name = ".".join(path)
    when = WHEN.get(path[0] if path[0] == "keys" else name, AT_ONCE)
    if session.kit.load is None:
        return Finished("settings", True, 0, None, f"the setting {name} {said}; it counts {NEXT_START}")
    try:
        settings = await asyncio.to_thread(session.kit.load)
    except SettingsError as error:
        return Finished(
            "settings", False, 2, None, f"the setting {name} {said}, but the settings cannot be used: {error}"
        )
    before = session.kit.settings
    await take_in(session, settings)
    if path[0] == "permissions":
        _rules_anew(session, before, settings)
    origin = settings.origin.get(name, "")
    stronger = origin.startswith(("flag ", "variable ")) or (
        value is not None and origin.endswith(".ullage/config.toml")
    )
    return Finished(
        "settings", True, 0, None,
        f"the setting {name} {said}" + (f", but {origin} is stronger" if stronger else f"; it counts {when}"),
    )  # fmt: skip


def _key(name: str) -> tuple[tuple[str, ...], Key]:
    """Where a key stands in the file. Raises `Wrong`."""
    parts = dotted_parts(name)
    found = BY_NAME.get(".".join(parts))
    if found is not None:
        if not found.file:
            raise Wrong("is not for a file: it is a fact about one model; write models.NAME." + found.name)
        if found.kind is WORDS:
            raise Wrong(f"is a table; write {name}.ID, as in keys.unfold")
        return tuple(name.split(".")), found
    if len(parts) == 2 and parts[0] == "keys":
        return parts, Key("keys", TEXT_OF_A_TABLE)
    if parts[0] == "models":
        for end in range(len(parts) - 1, 1, -1):
            entry = MODEL_BY_NAME.get(".".join(parts[end:]))
            if entry is not None:
                return ("models", ".".join(parts[1:end]), *parts[end:]), entry
    raise Wrong(f"is no setting{nearest_key(parts)}; /settings lists them")


TEXT_OF_A_TABLE = BY_NAME["theme"].kind


def _value(key: Key, text: str) -> Value:
    """What is written for a text, checked. Raises `Wrong`."""
    text = text.strip()
    if key.kind is NUMBER:
        try:
            return float(key.kind.read(float(text)))
        except ValueError as error:
            raise error if isinstance(error, Wrong) else Wrong(f"must be a number, 0 or more; it is {text!r}") from None
    parsed = key.kind.parse(text)
    if key.kind is FLAG:
        return bool(parsed)
    if key.kind in (TEXTS, COMMAND):
        return list(parsed)
    bare = text.replace(",", "").replace("_", "")
    value: Value = int(bare) if bare.isdigit() else text
    key.kind.read(value)
    return value


# ── permissions ──


def permissions(session: Session) -> Permissions:
    """The mode and every rule in force, with where it comes from."""
    settings = session.kit.settings
    rows = [
        RuleRow(action, text, "settings", settings.origin[f"permissions.{action}"])
        for action in ("allow", "ask", "deny")
        for text in getattr(settings, action)
    ]
    file = rules_file(session.kit.places, session.workspace.folder)
    kept, _ = remembered(file)
    rows += [RuleRow("allow", str(rule), "project", str(file)) for rule in kept.allow]
    chosen, _ = Rules.of(settings.allow)
    known = {*chosen.allow, *kept.allow}
    rows += [RuleRow("allow", str(rule), "session", "") for rule in session.rules.allow if rule not in known]
    return Permissions(session.mode, tuple(MODES.items()), tuple(rows))


def forgotten(session: Session, command: ForgetRule) -> None:
    """Takes a remembered rule back, in the session and in the project's file."""
    chosen, _ = Rules.of(session.kit.settings.allow)
    if any(str(rule) == command.rule for rule in chosen.allow):
        session.warn(f"{command.rule} stands in the settings; /settings permissions.allow changes it")
        return
    file = rules_file(session.kit.places, session.workspace.folder)
    try:
        forget(file, session.workspace.folder, command.rule)
    except OSError as error:
        session.warn(f"{command.rule} is not taken back: {error.strerror or error}")
        return
    session.rules = session.rules.without(command.rule)
    session.tell(f"{command.rule} is asked about again")
    session.emit(permissions(session))


def _rules_anew(session: Session, before: Settings, now: Settings) -> None:
    """The settings' rules as they are now, with what was remembered and granted meanwhile."""
    old, _ = Rules.of(before.allow)
    granted = [rule for rule in session.rules.allow if rule not in old.allow]
    fresh, wrong = Rules.of(now.allow, now.ask, now.deny)
    folder = session.workspace.folder
    session.rules = fresh.with_session(*granted).joined(guards(now, folder))
    session.workspace.hidden = session.rules.hides(folder)
    for text in wrong:
        session.warn(text)
