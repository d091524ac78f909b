"""The prompt's keys by name: what each does, which it has by default, and what `[keys]` in the settings makes of it.

Not the doing (that is `full.prompt` and `inline.keys`). Both screens read this one table, so one `[keys]` is for both;
a name that only one of them has is no mistake in the other.

Invariants
 1. A key means one thing: what the settings give to a name is taken from every other.
 2. What is not usable is a sentence of `mistakes`, and the name keeps its default keys.
 3. Keys are written as people write them, `ctrl+g`, `alt+up`, `?`; inside they have one spelling.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Literal, TypeAlias

Screen: TypeAlias = Literal["full", "inline"]

# What each key means: a name of the table.
Keys: TypeAlias = Mapping[str, str]

# A name this close to a known one is a slip; of 1, as `difflib` counts.
ALIKE = 0.6

# Named keys that terminals send, beside those of a character.
WORDS = frozenset(
    {
        "enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
        "up", "down", "left", "right", *(f"f{number}" for number in range(1, 25)),
    }
)  # fmt: skip

# Other spellings of modifiers and keys; the last four are the same byte on every terminal.
SAME = {
    "control": "ctrl", "option": "alt", "meta": "alt", "esc": "escape", "return": "enter", "del": "delete",
    "pgup": "pageup", "pgdn": "pagedown", "question": "question_mark",
    "ctrl+at": "ctrl+space", "ctrl+m": "enter", "ctrl+i": "tab", "ctrl+left_square_bracket": "escape",
}  # fmt: skip

# Characters whose key has another name than the character.
_NAMES = {
    "solidus": "slash", "reverse_solidus": "backslash", "commercial_at": "at", "hyphen_minus": "minus",
    "plus_sign": "plus", "low_line": "underscore",
}  # fmt: skip
_SIGNS = {sign: unicodedata.name(sign).lower().replace("-", "_").replace(" ", "_") for sign in string.punctuation}
SIGNS: Mapping[str, str] = {_NAMES.get(name, name): sign for sign, name in _SIGNS.items()}
_KEY_OF_SIGN = {sign: name for name, sign in SIGNS.items()}


@dataclass(frozen=True, slots=True)
class Named:
    """One thing that keys do. `inline` is what it means there, where that differs; `shell`: every shell has it so."""

    name: str
    keys: tuple[str, ...]
    means: str
    inline: str = ""
    only: Screen | None = None
    shell: bool = False

    def meaning(self, screen: Screen) -> str:
        """What it does, in words."""
        return self.inline if screen == "inline" and self.inline else self.means


# In the order they are listed. `keys` writes its sign where something is written already.
TABLE = (
    Named("send", ("enter",), "send; while the agent works, queue"),
    Named("newline", ("shift+enter", "ctrl+j", "alt+enter"), "newline (also \\ then the key that sends)"),
    Named("steer", ("ctrl+enter", "ctrl+s"), "steer: join the running turn"),
    Named("older", ("up", "ctrl+p"), "earlier messages; up, from the first line"),
    Named("newer", ("down", "ctrl+n"), "later messages; down, from the last line"),
    Named("complete", ("tab",), "take the marked completion"),
    Named("stop", ("escape",), "stop what runs (closes a list first; keeps the draft); twice: rewind"),
    Named("rewind", (), "go back to an earlier message"),
    Named(
        "break", ("ctrl+c",), "copy the selection, else clear the draft, else stop; twice: quit",
        "clear the draft, else stop; twice: quit",
    ),
    Named("quit", ("ctrl+d",), "quit, when nothing is written"),
    Named("mode", ("shift+tab",), "next mode: plan, ask, edits, auto"),
    Named("unfold", ("ctrl+o",), "unfold all output, or fold it", "print the last folded output whole"),
    Named("search", ("ctrl+r",), "search earlier messages"),
    Named("editor", ("ctrl+g",), "write in $EDITOR"),
    Named("unqueue", ("alt+up",), "take back the last queued message"),
    Named(
        "paste", ("ctrl+v",), "attach the clipboard's image, or paste what was copied here",
        "attach the clipboard's image",
    ),
    Named("suspend", ("ctrl+z",), "to the background; `fg` in the shell comes back"),
    Named("page-up", ("pageup",), "scroll up", only="full"),
    Named("page-down", ("pagedown",), "scroll down", only="full"),
    Named("start", ("ctrl+home",), "to the beginning", only="full"),
    Named("end", ("ctrl+end",), "to the end", only="full"),
    Named("line-start", ("ctrl+a",), "to the line's start", shell=True),
    Named("line-end", ("ctrl+e",), "to the line's end", shell=True),
    Named("delete-to-end", ("ctrl+k",), "delete to the line's end", shell=True),
    Named("delete-to-start", ("ctrl+u",), "delete to the line's start", shell=True),
    Named("delete-word", ("ctrl+w",), "delete the word before", shell=True),
    Named("right", ("ctrl+f",), "one to the right", shell=True),
    Named("left", ("ctrl+b",), "one to the left", shell=True),
    Named("take-back", ("ctrl+underscore",), "take back an edit", shell=True),
    Named("keys", ("question_mark",), "these keys"),
)  # fmt: skip

# Names of keys outside the prompt, which clash with none of these.
ELSEWHERE = ("stop-job",)

NAMES = (*(named.name for named in TABLE), *ELSEWHERE)

# Every key that is anybody's by default: one taken away means nothing then, not what a text field would make of it.
DEFAULTS = frozenset(key for named in TABLE for key in named.keys)


def canonical(written: str) -> str | None:
    """A key in its one spelling, modifiers in the order of the alphabet; None for what is no key."""
    text = written.strip()
    if text.endswith("++") or text == "+":
        text = f"{text[:-1]}plus"
    *held, last = text.split("+")
    last = last if len(last) == 1 else last.lower()
    last = SAME.get(last, _KEY_OF_SIGN.get(last, last))
    modifiers = sorted({SAME.get(one.strip().lower(), one.strip().lower()) for one in held})
    if not set(modifiers) <= {"alt", "ctrl", "shift"} or not _is_key(last):
        return None
    if modifiers and len(last) == 1:
        last = last.lower()
    key = "+".join([*modifiers, last])
    return SAME.get(key, key)


def _is_key(last: str) -> bool:
    return last in WORDS or last in SIGNS or (len(last) == 1 and last.isalnum())


def writes(key: str) -> bool:
    """Whether the key is a character's own."""
    return key == "space" or key in SIGNS or len(key) == 1


def written(key: str) -> str:
    """The key as people know it."""
    *held, last = key.split("+")
    return "+".join([*held, {"escape": "esc"}.get(last, SIGNS.get(last, last))])


def bound(said: Mapping[str, str], screen: Screen, usable: Callable[[str], bool] = lambda key: True) -> dict[str, str]:
    """What each key means at the prompt of `screen`: a name of the table. `usable`: whether it can be told apart there.

    Keys that the settings give come first, in the table's order; then the defaults that are left.
    """
    found: dict[str, str] = {}
    here = [named for named in TABLE if named.only in (None, screen)]
    given = {named.name: [key for key in _read(named.name, said.get(named.name, "")) if usable(key)] for named in here}
    for named in here:
        for key in given[named.name]:
            found.setdefault(key, named.name)
    kept = set(found.values())
    for named in here:
        if named.name not in kept:
            for key in named.keys:
                if usable(key):
                    found.setdefault(key, named.name)
    return found


def _read(name: str, said: str) -> list[str]:
    """The keys of a setting that can be used."""
    keys = [canonical(one) for one in said.split(",")]
    return [key for key in keys if key is not None and (not writes(key) or name == "keys")]


def keys_of(name: str, keys: Mapping[str, str]) -> list[str]:
    """The keys that mean `name`, those of the default first and in its order."""
    return [key for key, meant in keys.items() if meant == name]


def hint(name: str, keys: Keys, does: str = "") -> tuple[str, ...]:
    """The first key of a name and what it does; nothing for a name without a key."""
    return tuple(f"{written(key)}{does}" for key in keys_of(name, keys)[:1])


def mistakes(said: Mapping[str, str]) -> list[str]:
    """What `[keys]` says that cannot be so, a sentence part each."""
    found: list[str] = []
    for name, text in said.items():
        if name not in NAMES:
            near = get_close_matches(name, NAMES, 1, ALIKE)
            found.append(
                f"[keys] names nothing called {name!r}; "
                + (f"did you mean {near[0]}?" if near else "`?` in an empty prompt lists the names")
            )
            continue
        for one in text.split(",") if text.strip() else ():
            key = canonical(one)
            if key is None:
                found.append(
                    f"[keys] {name} = {text!r}: {one.strip()!r} is no key; keys are written like ctrl+x, alt+up or f2"
                )
            elif writes(key) and name not in ("keys", *ELSEWHERE):
                found.append(f"[keys] {name} = {text!r}: {written(key)} is there to be written; add ctrl or alt to it")
    return [*found, *_clashes(said)]


def _clashes(said: Mapping[str, str]) -> list[str]:
    """Keys given twice, and names that are left without any."""
    found: list[str] = []
    takers: dict[str, str] = {}
    for named in TABLE:
        for key in dict.fromkeys(_read(named.name, said.get(named.name, ""))):
            if key in takers:
                first = takers[key]
                found.append(f"[keys] gives {written(key)} to both {first} and {named.name}; {first} has it")
            takers.setdefault(key, named.name)
    left = set(bound(said, "full").values())
    for named in TABLE:
        if named.keys and named.name not in left:
            who = {takers[key]: None for key in named.keys if key in takers}
            lost = " and ".join(written(key) for key in named.keys)
            found.append(
                f"[keys] gives {lost} to {' and '.join(who)}, so {named.name} has no key left; give it another"
            )
    return found


def listed(keys: Mapping[str, str], screen: Screen) -> list[tuple[str, str]]:
    """The keys in force with their meaning, as people read them; what every shell has is one row while it is so."""
    rows: list[tuple[str, str]] = []
    shell: list[str] = []
    for named in TABLE:
        if named.only not in (None, screen):
            continue
        have = keys_of(named.name, keys)
        if named.shell and tuple(have) == named.keys:
            shell += [written(key).removeprefix("ctrl+") for key in have]
            continue
        if named.name == "keys" and shell:
            rows.append((f"ctrl+{' '.join(shell)}", "as in the shell"))
        if have:
            rows.append((", ".join(map(written, have)), named.meaning(screen)))
    return rows


def naming(screen: Screen) -> str:
    """How to give other keys."""
    names = [named.name for named in TABLE if named.only in (None, screen)]
    names += ELSEWHERE if screen == "full" else ()
    return f'In config.toml, [keys] gives others, as in: editor = "ctrl+x, f4". The names: {", ".join(names)}.'


# What the keys mean unless the settings say otherwise.
USUAL: Keys = MappingProxyType(bound({}, "full"))

__all__ = [
    "DEFAULTS", "NAMES", "SIGNS", "TABLE", "USUAL", "Keys", "Named", "Screen", "bound", "canonical", "hint", "keys_of",
    "listed", "mistakes", "naming", "writes", "written",
]  # fmt: skip
