"""Commands that are not the program's own, as both screens know them: files of the user's or the project's, and prompts
of MCP servers. Listed for completion and help, told from mistakes when typed.

Not the files (the worker reads those again when one is sent). What was read last is kept; `read` reads anew.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.wire import Submit
from tui.actions import Say, Wish
from tui.commands import TABLE, parse
from tui.plain import one_line


class Custom(Protocol):
    """One command: what is used of `agent.custom_files.CustomCommand` and `agent.mcp.prompts.Prompt`."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def whose(self) -> str: ...


class Named(Protocol):
    """Something that can be mentioned with an @: what is used of `agent.mcp.prompts.Resource`."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


class Reads(Protocol):
    """What is used of `agent.reading.Reading`."""

    def commands(self, taken: Collection[str]) -> tuple[Sequence[Custom], Sequence[str]]: ...
    def serves(self, command: str) -> bool: ...
    def resources(self) -> Sequence[Named]: ...


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

    def resources(self) -> Sequence[Named]:
        """What servers offer to be mentioned, at this moment."""
        return () if self.source is None else self.source.resources()

    def parse(self, text: str) -> Wish:
        """What a line asks for. A name nobody knows is looked for once more: its file may be a moment old."""
        wish = parse(text, [row.name for row in self.rows])
        if isinstance(wish, Say) and wish.unknown:
            self.read()
            wish = parse(text, [row.name for row in self.rows])
        if isinstance(wish, Say) and wish.unknown and self.source is not None and self.source.serves(_named(text)):
            # Its server may still be starting: the worker waits for it, and says what it has.
            wish = Submit(text)
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


def _named(text: str) -> str:
    """The name of the command that a line begins with."""
    return text.split()[0].removeprefix("/").lower() if text.split() else ""


def hint(row: Custom) -> str:
    """Its arguments, as a hint."""
    return one_line(row.arguments, 40)


def about(row: Custom) -> str:
    """Its description, and whose it is."""
    said = one_line(row.description, 100)
    return f"{said} ({row.whose})" if said else f"({row.whose})"
