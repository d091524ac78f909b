"""One row of a list to choose from, as both screens show it, and which rows fit what is typed.

Not a list on a screen (`pickers`, `inline.lists`) and not the things: rows and what choosing one wishes for are handed
in by whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tui.actions import Wish
from tui.completion import rank

# Rows shown before anything is typed: more than anybody scrolls through.
SHOWN = 500

# Rows shown for a filter: each key draws them anew, and a filter that leaves more is not finished.
FILTERED = 100

# Of names, which are typed rather than scrolled to, fewer: each row costs every key 0.1 ms.
NAMES = 100


@dataclass(frozen=True, slots=True)
class Other:
    """What else a row may be asked for: Ctrl and `letter` on the full screen, inline the letter before its number.

    `closes`: asking for it leaves the list.
    """

    letter: str
    what: str
    wish: Wish
    closes: bool = True


@dataclass(frozen=True, slots=True)
class Pick:
    """One row.

    `label` and the quiet `remark` are shown and filtered by, `sought` is only filtered by. `foot` is said under the
    list while the row is marked. `preview` gives the text beside it: called on a thread, it raises nothing. A row that
    comes later with the `key` of an earlier one takes its place. A label that is a `name` is alone filtered by, without
    spaces, and its remark stands in a column. `likely` rows come before others that fit alike.
    """

    label: str
    wish: Wish
    remark: str = ""
    others: tuple[Other, ...] = ()
    foot: str = ""
    preview: Callable[[], str] | None = None
    sought: str = ""
    key: str = ""
    name: bool = False
    likely: bool = False


# Looks for words where no row says them (in whole logs, for instance): the keys of the rows that hold them. Called on a
# thread; it raises nothing.
Deep: TypeAlias = Callable[[str], Collection[str]]


def fitting(query: str, picks: Sequence[Pick], deep: Collection[str] = ()) -> list[Pick]:
    """The rows for what is typed, best first; behind them those that only a `deep` look found."""
    names = bool(picks) and picks[0].name
    most = NAMES if names else SHOWN
    if not query:
        return list(picks[:most])
    texts: dict[str, list[Pick]] = {}
    for pick in picks:
        texts.setdefault(pick.label if pick.name else f"{pick.label} {pick.remark} {pick.sought}", []).append(pick)
    likely = {text for text, of in texts.items() if of[0].likely}
    wanted = "".join(query.split()) if names else query
    found = [pick for text in rank(wanted, texts, most if names else FILTERED, likely) for pick in texts[text]]
    known = {id(pick) for pick in found}
    return [*found, *(pick for pick in picks if pick.key in deep and id(pick) not in known)]


def merged(rows: Iterable[Pick], more: Iterable[Pick]) -> list[Pick]:
    """`rows`, then `more`; a row whose key is known stands where the earlier one stood."""
    found: list[Pick] = list(rows)
    where = {pick.key: at for at, pick in enumerate(found) if pick.key}
    for pick in more:
        at = where.get(pick.key) if pick.key else None
        if at is not None:
            found[at] = pick
            continue
        if pick.key:
            where[pick.key] = len(found)
        found.append(pick)
    return found
