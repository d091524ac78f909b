"""Earlier sessions as both screens offer them: rows, what one can be asked for, and what is asked before one goes.

Not the reading (`front.Sessions`) and not a list on a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.wire import Open
from tui.actions import DiscardSession, RenameSession, Say
from tui.front import Sessions
from tui.picks import Other, Pick
from tui.plain import one_line

TITLE = "Go on with a session"
NOTHING = "There is no earlier session here."
UNWIRED = "There are no sessions to look into here."


def picks(sessions: Sessions, only: frozenset[str] | None = None) -> Iterator[Pick]:
    """Rows as they are read; with `only` those of these logs. A row may come again, under another name."""
    for row in sessions.rows():
        if only is not None and row.path not in only:
            continue
        others = (
            Other("r", "renames it", RenameSession(row.path, row.title)),
            Other("x", "moves it to the trash", DiscardSession(row.path, row.title)),
        )
        yield Pick(
            one_line(row.title, 100), Open(row.path), row.facts, others, preview=_beside(sessions, row.path),
            sought=row.said, key=row.path,
        )  # fmt: skip


def _beside(sessions: Sessions, path: str) -> Callable[[], str]:
    return lambda: sessions.preview(path)


def once(rows: Iterator[Pick]) -> list[Pick]:
    """The rows before the first that comes again: those are there at once."""
    found: dict[str, Pick] = {}
    for pick in rows:
        if pick.key in found:
            break
        found[pick.key] = pick
    return list(found.values())


def confirm(action: DiscardSession) -> tuple[str, list[Pick]]:
    """What is asked before a session goes to the trash."""
    title = f"Move “{one_line(action.title, 60)}” to the trash? Nothing is deleted; it can be moved back."
    return title, [
        Pick("Keep it", Say("The session stays.")),
        Pick("Move it to the trash", DiscardSession(action.path, action.title, sure=True)),
    ]
