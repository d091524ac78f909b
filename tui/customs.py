"""The user's own commands as both screens know them: listed for completion and help, told from mistakes when typed.

Not the files (the worker reads those again when one is sent). What was read last is kept; `read` reads anew.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tui.actions import Say, Wish
from tui.commands import TABLE, parse
from tui.plain import one_line


class Custom(Protocol):
    """One command: what is used of `agent.reading.CustomCommand`."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def theirs(self) -> bool: ...
    @property
    def hides(self) -> bool: ...


class Reads(Protocol):
    """What is used of `agent.reading.Reading`."""

    def commands(self, taken: Collection[str]) -> tuple[Sequence[Custom], Sequence[str]]: ...


@dataclass(slots=True)
class Customs:
    """`source` is asked on whatever thread `read` is called; None where nothing was wired."""

    source: Reads | None = None
    rows: Sequence[Custom] = ()
    _told: set[str] = field(default_factory=set)

    def read(self) -> list[str]:
        """Reads them anew; the sentences about files that are none, each once."""
        if self.source is None:
            return []
        self.rows, problems = self.source.commands(TABLE)
        fresh = [problem for problem in problems if problem not in self._told]
        self._told.update(fresh)
        return fresh

    def parse(self, text: str) -> Wish:
        """What a line asks for. A name nobody knows is looked for once more: its file may be a moment old."""
        wish = parse(text, [row.name for row in self.rows])
        if isinstance(wish, Say) and wish.unknown:
            self.read()
            wish = parse(text, [row.name for row in self.rows])
        return wish

    def knows(self, text: str) -> bool:
        """Whether a line begins with a command's name."""
        name, *_ = text.split() or [""]
        return name.startswith("/") and (
            name[1:].lower() in TABLE or name[1:].lower() in {row.name for row in self.rows}
        )

    def help(self) -> list[tuple[str, str]]:
        """(what is typed, what it does), for the page of commands."""
        return [(f"/{row.name} {hint(row)}".rstrip(), about(row)) for row in self.rows]


def hint(row: Custom) -> str:
    """Its arguments, as a hint."""
    return one_line(row.arguments, 40)


def about(row: Custom) -> str:
    """Its description, and whose it is."""
    whose = ("the project's, instead of yours" if row.hides else "the project's") if row.theirs else "yours"
    said = one_line(row.description, 100)
    return f"{said} ({whose})" if said else f"({whose})"
