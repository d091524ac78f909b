"""/jobs on paper: numbered rows, and short words that show a job's output or stop it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from agent.wire import JobRow, Jobs, StopJob
from tui.inline.print import Row, prose, row
from tui.inline.questions import WAITS, Reply
from tui.plain import one_line, safe

# Of a job's output, lines: more scrolls the list away.
TAIL = 20

_WORD = re.compile(r"(s\s*|stop\s+)?#?([0-9]{1,6})")


@dataclass(slots=True)
class JobList:
    """The commands in the background."""

    event: Jobs
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True
    hint: ClassVar[str] = "a number shows what it printed · s 1 stops it · enter leaves"

    def rows(self, width: int) -> list[Row]:
        """One paragraph each."""
        out: list[Row] = [(), row("Commands in the background", "class:strong")]
        for job in self.event.rows:
            style = "" if job.runs else "class:quiet"
            out += prose(f"{one_line(job.command, 100)} · {safe(job.standing)}", width, style, f"{job.number:>3}  ")
        return out

    def key(self, key: str) -> Reply:
        """Esc leaves."""
        return Reply() if key == "escape" else WAITS

    def line(self, text: str) -> Reply:
        """A number, or `s` and a number."""
        said = text.strip().lower()
        if not said or said in ("q", "quit"):
            return Reply()
        found = _WORD.fullmatch(said)
        job = next((job for job in self.event.rows if found and job.number == int(found[2])), None)
        if found is None or job is None:
            return Reply(rows=(row("Write a number from the list, or s and a number.", "class:warning"),), over=False)
        if found[1]:
            return Reply((StopJob(job.number),))
        return Reply(rows=tuple(_printed(job)), over=False)


def _printed(job: JobRow) -> list[Row]:
    lines = (safe(job.tail).rstrip("\n") or "(no output yet)").split("\n")[-TAIL:]
    return [(), row(f"{job.number}  {one_line(job.command)}", "class:strong"), *(row(f"  {line}") for line in lines)]
