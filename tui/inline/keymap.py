"""Keys as prompt_toolkit spells them, of those named in `keytable`.

Not the table and not the doing (that is `keys`). A key that no terminal sends this way is left out, and with it what
the settings say of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui import keytable
from tui.flow import columns, wrap

# Wide enough for all of them, cells.
WIDE = 20

_SPACE = ("c-@",)


def meanings(keymap: Mapping[str, str]) -> dict[str, str]:
    """What each key that can be told apart here means, by the names of the table."""
    return keytable.bound(keymap, "inline", lambda key: bool(spelled(key)))


def spelled(key: str) -> tuple[str, ...]:
    """A key in its one spelling as a sequence of prompt_toolkit's; empty for one that no terminal sends."""
    *held, last = key.split("+")
    sign = keytable.SIGNS.get(last, last)
    if "ctrl" in held and last in ("escape", "enter", "tab", "space", "backspace"):
        return _SPACE if last == "space" else ()
    if "ctrl" in held and sign != last and sign not in r"\]^_@":
        return ()
    if "shift" in held and len(sign) == 1:
        if "ctrl" in held or not sign.isalpha():
            return ()
        sign, held = sign.upper(), [one for one in held if one != "shift"]
    prefix = ("c-" if "ctrl" in held else "") + ("s-" if "shift" in held else "")
    if prefix == "s-" and last in ("escape", "enter", "space", "backspace"):
        return ()
    return (*(("escape",) if "alt" in held else ()), f"{prefix}{' ' if last == 'space' else sign}")


def listed(keymap: Mapping[str, str], width: int) -> str:
    """All keys, one a line, in `width` cells."""
    rows = columns(keytable.listed(meanings(keymap), "inline"), min(WIDE, width // 3), width)
    return "\n".join([*rows, "", *wrap(keytable.naming("inline"), width)])
