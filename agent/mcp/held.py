"""One MCP server of a program with what is known of it, and how it is said that it cannot be asked.

Not the starting and asking (that is `servers`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent.mcp.offered import Offered
from agent.mcp.prompts import Prompt, Resource
from agent.mcp.server import Server
from agent.sanitise import clean, one_line

# A server that ended may be tried again at once the first time, then after 4, 8, 16 … seconds, a minute at most.
LONGEST_WAIT = 60.0

State: TypeAlias = Literal["off", "not started", "starting", "running", "ended", "failed"]

# The longest line about a call's progress: more does not fit on a card; characters.
MOST_PROGRESS = 120


class Down(Exception):
    """A server cannot be asked now; with a sentence."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a question. `images` are (kind, base64)."""

    texts: tuple[str, ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of a prompt."""

    role: str
    texts: tuple[str, ...] = ()
    images: tuple[tuple[str, str], ...] = ()


@dataclass
class Held:
    """One server and what is known of it. `tools` None: never listed. `deaths` in a row, since the last good call.

    `prompts` and `resources` are None until it has run.
    """

    server: Server
    log: Path
    tools: tuple[Offered, ...] | None = None
    prompts: tuple[Prompt, ...] | None = None
    resources: tuple[Resource, ...] | None = None
    state: State = "not started"
    why: str = ""
    said: str = ""
    deaths: int = 0
    not_before: float = 0.0
    left_out: tuple[str, ...] = ()
    starting: asyncio.Task[None] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its name, safe to show."""
        return one_line(self.server.name, 40)

    def died(self, why: str, state: State, now: float) -> None:
        """It ended or could not be started, at `now` (seconds of the servers' clock)."""
        if self.state in ("running", "starting"):
            self.deaths += 1
            self.not_before = now + wait(self.deaths)
        self.state, self.why = state, why

    @property
    def where_logged(self) -> str:
        """Where its log is, for the end of a sentence; empty where there is none."""
        return f" (its log: {self.log})" if self.log.exists() else ""

    @property
    def again(self) -> str:
        """When it is tried again, for the end of a sentence."""
        if self.deaths < 2:
            return "; the next call starts it anew"
        return f"; that was {self.deaths} times in a row, so it is left alone for {wait(self.deaths):.0f} s"


def wait(deaths: int) -> float:
    """How long a server that ended so often is left alone, seconds."""
    return 0.0 if deaths < 2 else min(LONGEST_WAIT, 2.0**deaths)


def progress_line(said: Mapping[str, Any]) -> str:
    """What a server tells of a call's progress, as one line: how far it is, and in what."""
    done, total = said.get("done"), said.get("total")
    words = one_line(" ".join(clean(str(said.get("said") or "")).split()), MOST_PROGRESS)
    far = ""
    if isinstance(done, (int, float)) and isinstance(total, (int, float)) and total > 0:
        far = f"{min(max(done / total, 0.0), 1.0):.0%}"
    elif isinstance(done, (int, float)) and not words:
        far = f"{done:g}"
    return " ".join(filter(None, [far, words]))


__all__ = ["Down", "Held", "Reply", "Spoken", "State", "progress_line", "wait"]
