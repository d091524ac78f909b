"""The inline prompt's keys by name: what each does, what it is, and what the settings make of it.

Not the doing (that is `keys`). Keys are written as for the full screen, `ctrl+o` or `alt+up`, and have the same
names there, so that one `[keys]` is for both.
"""

from __future__ import annotations

from collections.abc import Mapping

from tui.flow import columns

# What stands first, always: these are what a prompt is.
FIXED = (
    ("enter", "send; while the agent works, queue"),
    ("ctrl+j, alt+enter", "newline (also \\ then enter)"),
    ("ctrl+s", "steer: join the running turn"),
)

# Name, keys, meaning; in the order they are listed.
NAMED = (
    ("stop", "escape", "stop what runs (closes a list first; keeps the draft); twice: rewind"),
    ("break", "ctrl+c", "clear the draft, else stop; twice: quit"),
    ("quit", "ctrl+d", "quit, when nothing is written"),
    ("mode", "shift+tab", "next mode: plan, ask, edits, auto"),
    ("unfold", "ctrl+o", "print the last folded output whole"),
    ("search", "ctrl+r", "search earlier messages"),
    ("editor", "ctrl+g", "write in $EDITOR"),
    ("unqueue", "alt+up", "take back the last queued message"),
    ("paste", "ctrl+v", "attach the clipboard's image"),
    ("suspend", "ctrl+z", "to the shell; fg comes back"),
)

AFTER = (
    ("up, down", "earlier messages, from the first and last line"),
    ("tab", "take the marked completion"),
    ("ctrl+a e k u w f b", "as in the shell"),
    ("?", "these keys"),
)

# Wide enough for all of them, cells.
WIDE = 20

_WORDS = {"escape": "escape", "enter": "enter", "tab": "tab", "space": "space", "pageup": "pageup", "up": "up"}
_WORDS |= {"pagedown": "pagedown", "down": "down", "left": "left", "right": "right", "home": "home", "end": "end"}
_WORDS |= {"delete": "delete", "insert": "insert", "backspace": "backspace", "underscore": "_", "slash": "/"}
_WORDS |= {f"f{number}": f"f{number}" for number in range(1, 25)}


def keys_of(name: str, keymap: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The keys of a name, as prompt_toolkit spells them: each a sequence. One that no terminal sends is left out."""
    said = keymap.get(name, "")
    found = [spelled for key in said.split(",") if (spelled := _spelled(key.strip()))]
    if found:
        return found
    default = next(keys for known, keys, _ in NAMED if known == name)
    return [spelled for key in default.split(",") if (spelled := _spelled(key))]


def _spelled(key: str) -> tuple[str, ...]:
    *held, last = key.lower().split("+") if key else [""]
    last = _WORDS.get(last, last if len(last) == 1 else "")
    if not last or not set(held) <= {"ctrl", "shift", "alt"}:
        return ()
    if "shift" in held and len(last) == 1:
        last = last.upper()
        held = [one for one in held if one != "shift"]
    prefix = ("c-" if "ctrl" in held else "") + ("s-" if "shift" in held else "")
    if "ctrl" in held and last in ("escape", "enter", "tab", "space", "backspace"):
        return ("c-@",) if last == "space" else ()
    if prefix == "s-" and last in ("escape", "enter", "space", "backspace"):
        return ()
    return (*(("escape",) if "alt" in held else ()), f"{prefix}{last}")


def listed(keymap: Mapping[str, str], width: int) -> str:
    """All keys, one a line, in `width` cells."""
    named = [(_words(name, keys, keymap), means) for name, keys, means in NAMED]
    return "\n".join(columns([*FIXED, *named, *AFTER], min(WIDE, width // 3), width))


def _words(name: str, keys: str, keymap: Mapping[str, str]) -> str:
    said = keymap.get(name, "")
    shown = said if any(_spelled(key.strip()) for key in said.split(",")) else keys
    return ", ".join(key.strip() for key in shown.split(",")).replace("escape", "esc")
