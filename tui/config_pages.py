"""/settings, /permissions and /theme as rows, for both screens.

Not the lists on a screen (`pickers`, `inline.lists`) and not the settings: rows come from the worker.
"""

from __future__ import annotations

from collections.abc import Collection

from agent.wire import MODE_NAMES, ForgetRule, Permissions, RuleRow, SetMode, SetSetting, SettingRow, SettingsShown
from tui.actions import Say, SetTheme, Wish, WriteDraft
from tui.picks import Other, Pick
from tui.plain import one_line, safe
from tui.themes import AUTO

SETTINGS = "Settings: enter writes a new value, x takes one of yours back"
PERMISSIONS = "Permissions: the mode, then the rules; deny wins over ask, ask over allow, allow over the mode"
THEME = "The theme"

ORIGINS = {"settings": "from the settings", "project": "remembered for this project", "session": "for this session"}


def settings(event: SettingsShown) -> list[Pick]:
    """A row a key; choosing one begins the command that changes it."""
    return [_setting(row) for row in event.rows]


def _setting(row: SettingRow) -> Pick:
    reset: Wish = SetTheme(AUTO) if row.key == "theme" else SetSetting(row.key, None)
    back = (Other("x", "takes it back", reset),) if row.own else ()
    origin = "yours" if row.own else row.origin
    return Pick(
        f"{safe(row.key)} = {one_line(row.value, 60)}", WriteDraft(f"/settings {row.key} "), one_line(origin, 60), back,
        f"A change counts {row.when}.",
    )  # fmt: skip


def permissions(event: Permissions) -> list[Pick]:
    """The modes, the one in force marked, and the rules."""
    rows = [
        Pick(f"mode: {MODE_NAMES[mode]}{' (in force)' if mode == event.mode else ''}", SetMode(mode), means)
        for mode, means in event.modes
    ]
    return rows + [_rule(rule) for rule in event.rules]


def _rule(rule: RuleRow) -> Pick:
    spelled, origin = one_line(rule.rule, 200), ORIGINS[rule.origin]
    forgets = () if rule.origin == "settings" else (Other("x", "asks again", ForgetRule(rule.rule)),)
    if rule.origin == "settings":
        said: Wish = Say(f"{rule.action} {spelled} stands in the settings ({rule.where}): /settings changes it there.")
    else:
        said = Say(f"{rule.action} {spelled} is {origin}; x in the list of /permissions takes it back.")
    return Pick(f"{rule.action} {spelled}", said, origin, forgets, f"It stands in {rule.where}." if rule.where else "")


def themes(known: Collection[str], now: str) -> list[Pick]:
    """A row a theme; the mark begins on the one in force."""
    names = [AUTO, *sorted(name for name in known if name != AUTO)]
    names.sort(key=lambda name: (name != now, not name.startswith("ullage"), name != AUTO))
    return [Pick(name, SetTheme(name), "in force" if name == now else "", name=True) for name in names]
