"""The `[[hooks]]` of a settings file: which command runs at which event. Read and checked here, run by `asking`.

Not the events' meaning (that is `agent.hooks.words`, shown by `/hooks`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, get_args

from agent.permissions.parsed import Opaque, parse
from agent.permissions.rules import BadRule, Rule
from agent.permissions.starting import nested
from agent.settings.keys import SECONDS, Wrong
from agent.tools.contract import Need
from agent.tools.workspace import Workspace

Event: TypeAlias = Literal[
    "before_tool", "after_tool", "prompt", "before_compaction", "after_compaction", "session_start", "turn_end"
]
EVENTS: tuple[Event, ...] = get_args(Event)

# Of these a `match` chooses the calls.
OF_TOOLS: tuple[Event, ...] = ("before_tool", "after_tool")

# A linter or a formatter takes seconds; who waits longer than this for a hook thinks the program hangs. Seconds.
TIMEOUT = 30.0

# Seconds; a summary of a long session by a model on this machine takes minutes.
LONGEST_TIMEOUT = 600.0

KEYS = ("event", "match", "command", "timeout")


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook. `match` is a rule as the permissions spell them, empty for every call; `timeout` in seconds.

    `origin` is the file it stands in.
    """

    event: Event
    command: str
    match: str = ""
    timeout: float = TIMEOUT
    origin: str = ""

    def fits(self, tool: str, need: Need, ws: Workspace) -> bool:
        """Whether it is about this call. Generous: a command that is not understood may be the one."""
        if not self.match:
            return True
        rule = Rule.of(self.match)
        if rule.everything:
            return fnmatchcase(tool, rule.tool)
        if rule.path:
            return rule.is_for(tool) and any(rule.covers(need.kind, tool, path, ws.folder) for path in need.paths)
        if not rule.is_for(tool) or need.kind != "run":
            return False
        commands = parse(need.command)
        if isinstance(commands, Opaque) or rule.is_exactly(tool, need.command):
            return True
        return any(rule.names(tool, c) or rule.mentioned_in(tool, c, nested(c)) for c in commands)


def read_hooks(tables: Any, origin: str) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """The hooks of one file, and a phrase for each key that is not known. Raises `Wrong`."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Wrong("must be tables, one a hook: [[hooks]]")
    unknown = [f"unknown key hooks.{key}{_nearest(key)}" for table in tables for key in table if key not in KEYS]
    return tuple(_hooks(tables, origin)), tuple(unknown)


def _hooks(tables: Sequence[dict[str, Any]], origin: str) -> Iterator[Hook]:
    for number, table in enumerate(tables, 1):
        event, command, match = table.get("event"), table.get("command"), table.get("match", "")
        if event not in EVENTS:
            raise Wrong(f"(number {number}): event must be one of {', '.join(EVENTS)}; it is {event!r}")
        if not isinstance(command, str) or not command.strip() or "\0" in command:
            raise Wrong(f"(number {number}): command must be a command line in quotes; it is {command!r}")
        if not isinstance(match, str):
            raise Wrong(f'(number {number}): match must be a text such as "bash(git push)" or "edit"; it is {match!r}')
        if match and event not in OF_TOOLS:
            raise Wrong(f"(number {number}): match is about calls of tools; {event} has none")
        try:
            Rule.of(match) if match else None
        except BadRule as error:
            raise Wrong(f"(number {number}): match cannot be read: {error}") from None
        try:
            timeout = SECONDS.read(table.get("timeout", TIMEOUT))
        except Wrong as wrong:
            raise Wrong(f"(number {number}): timeout {wrong}") from None
        if not 0 < timeout <= LONGEST_TIMEOUT:
            raise Wrong(f"(number {number}): timeout must be above 0 and at most {LONGEST_TIMEOUT:.0f} seconds")
        yield Hook(event, command, match.strip(), timeout, origin)


def _nearest(key: str) -> str:
    close = get_close_matches(key, KEYS, 1, 0.6)
    return f"; did you mean {close[0]}?" if close else ""
