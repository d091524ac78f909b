"""A seeded day of coding as a script: reads, edits, searches, test runs, huge logs, switches of the model.

The log it leaves can be put through the checker of real sessions.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.codec import encode
from agent.log_file import NAME
from agent.verify import Report, verify
from compaction.attempts import said_stopped
from compaction.emergency import previous_summary
from compaction.gates import Refuse
from compaction.records import AssistantSaid, Compacted, CompactionFailed, Gate, Outcome, Pruned, Record
from compaction.room import last_step, unshrinkable
from compaction.tokens import calibration
from tests.compaction.simulation import Result, Simulation

# A project of sixty files; a few are read again and again, as it is.
_ROOMS = ("api", "store", "web", "jobs", "auth", "mail")
FILES = tuple(f"src/{room}/{name}.py" for room in _ROOMS for name in "abcdefghij")

# The window that each of the three switches goes to, after these shares of the steps.
SWITCHES = ((0.25, 1_000_000), (0.5, 200_000), (0.75, 8_000))

# Two places that rewrote closer together than this had better have been one; steps. On windows below this many tokens
# a step of three parallel reads (about 4,900) can be worth a whole band, or what a prune freed.
APART, SMALL_WINDOW = 3, 64_000

_WORDS = ("value", "return", "self", "index", "request", "if", "not", "for", "result", "=", "None", "error", "await")

_SPOKEN = random.Random(1)
_PROSE = " ".join(f"{_SPOKEN.choice(_WORDS)}{_SPOKEN.randrange(1_000)}" for _ in range(20_000))


@dataclass
class Day:
    """What a day came to. Sizes are tokens."""

    window: int
    steps: int = 0
    rewrites: Counter[str] = field(default_factory=Counter)
    stops: int = 0
    freed: int = 0
    summaries: int = 0
    refused: int = 0
    read: int = 0
    cached: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The part of all input that a provider's cache served."""
        return self.cached / self.read if self.read else 0.0


def prose(chance: random.Random, characters: int) -> str:
    """Text of about this many characters."""
    start = chance.randrange(len(_PROSE))
    return (_PROSE[start:] + _PROSE * (characters // len(_PROSE) + 1))[:characters]


@dataclass
class Project:
    """Files that stay as they are until an edit: what is read twice is the same twice. Counts the edits of each."""

    edits: Counter[str] = field(default_factory=Counter)

    def step(self, chance: random.Random) -> list[Result]:
        """One step's results: mostly one, sometimes a parallel group, seldom a huge log."""
        kind = chance.random()
        if kind < 0.45:
            many = chance.choice((1, 1, 1, 2, 3))
            return [self._read(chance.choice(FILES[:8] if chance.random() < 0.5 else FILES)) for _ in range(many)]
        if kind < 0.65:
            path = chance.choice(FILES)
            self.edits[path] += 1
            arguments = f'{{"path":"{path}","old":"{prose(chance, 200)}","new":"{prose(chance, 240)}"}}'
            return [Result(f"edited {path}", "edit", f"edit {path}", arguments, (path,), True)]
        if kind < 0.85:
            failed = chance.random() < 0.3
            text = prose(chance, chance.randrange(400, 6_000)) + (" FAILED" if failed else " passed")
            return [Result(text, "bash", "bash make test", '{"command":"make test"}', (), False, int(failed), failed)]
        if kind < 0.97:
            return [self._grep(chance.choice(_WORDS))]
        return [Result(prose(chance, 200_000), "bash", "bash cat app.log", '{"command":"cat app.log"}', (), False, 0)]

    def _read(self, path: str) -> Result:
        written = random.Random(f"{path} {self.edits[path]}")
        text = prose(written, written.randrange(400, 6_000))
        return Result(text, "read", f"read {path}", f'{{"path":"{path}"}}', (path,))

    def _grep(self, word: str) -> Result:
        written = random.Random(f"{word} {self.edits.total()}")
        text = prose(written, written.randrange(200, 3_000))
        return Result(text, "grep", f"grep {word}", f'{{"pattern":"{word}"}}')


def turns(chance: random.Random, steps: int) -> Iterator[tuple[str, list[list[Result]]]]:
    """User messages and the steps each takes, until `steps` are used up. The last request of a turn is a step too."""
    project, left = Project(), steps
    while left > 0:
        length = min(left, chance.choice((1, 3, 8, 20, 40)))
        yield prose(chance, chance.randrange(20, 600)), [project.step(chance) for _ in range(length - 1)]
        left -= length


def live(window: int, steps: int, seed: int, *, heeds: bool = False) -> tuple[Day, Simulation]:
    """Plays a day at a window and takes down what happened and what should not have.

    `heeds`: the user who was told that automatic compaction stopped asks for one before the next message.
    """
    chance = random.Random(seed)
    s = Simulation(claimed=window, real=window, system=prose(chance, 2_000), most_sent=2)
    day = Day(window)
    switches = [(int(share * steps), to) for share, to in SWITCHES]
    for text, script in turns(chance, steps):
        if switches and day.steps >= switches[0][0]:
            to = switches.pop(0)[1]
            s.switch(to, to)
        if heeds and said_stopped(s.view):
            s.ask_compact()
        known = len(s.refusals)
        s.turn(text, paged(s, script), prose(chance, chance.randrange(40, 1_200)))
        day.steps += len(script) + 1
        for refusal in s.refusals[known:]:
            _refused(s, refusal, day)
    _sum_up(s, day)
    return day, s


def paged(s: Simulation, script: list[list[Result]]) -> list[list[Result]]:
    """`read` pages within the bounds of arrival instead of being spilled."""
    first = s.view.started.budget if s.view.started else 0
    most = max(400, first // 8 * 4 - 400)
    return [
        [r if r.tool != "read" else Result(r.text[:most], r.tool, r.title, r.arguments, r.paths) for r in step]
        for step in script
    ]


def _refused(s: Simulation, refusal: Refuse, day: Day) -> None:
    """A refusal is right only when no rewrite could have made the request fit."""
    day.refused += 1
    newest = s.view.newest_user
    kept = 0 if newest is None or newest is s.view.primer else s.ruler.item(newest)
    least = unshrinkable(s.view, s.ruler, s.budget) + last_step(s.view, s.ruler)
    least += round((kept + s.ruler.text(previous_summary(s.view)) + 100) * calibration(s.view))
    if s.budget.limit is not None and least < s.budget.limit:
        day.wrong.append(f"step {day.steps}: {refusal.gate} refused though {least:,} of {s.budget.limit:,} would do")


def _sum_up(s: Simulation, day: Day) -> None:
    """Walks the log once more: rewrites, what they freed, and those that came too soon after another."""
    steps, last, gate_of_last = 0, -10, ""
    for record in s.log:
        body = record.body
        if isinstance(body, AssistantSaid) and body.usage is not None:
            steps += 1
            day.read += body.usage.input
            day.cached += body.usage.cache_read
        elif isinstance(body, Compacted) and body.gate is Gate.ASKED:
            day.rewrites["asked"] += 1
            last, gate_of_last = steps, "asked"
        elif isinstance(body, (Pruned, Compacted)):
            name = "emergency" if body.gate is Gate.EMERGENCY else getattr(body, "how", "compacted")
            day.rewrites[name] += 1
            day.freed += body.before - body.after
            if body.after >= body.before:
                day.wrong.append(f"record {record.id}: {body.before:,} became {body.after:,}")
            window = s.windows.get(record.id, day.window)
            if 0 < steps - last < APART and window >= SMALL_WINDOW:
                text = f"record {record.id}: {name} {steps - last} steps after {gate_of_last} at {window:,}"
                day.wrong.append(text)
            last, gate_of_last = steps, name
        elif isinstance(body, CompactionFailed):
            day.stops += body.outcome is Outcome.STOPPED
    day.summaries = s.summary_calls


def verified(log: Sequence[Record]) -> Report:
    """What the checker of real sessions says of a log, written as a session writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(b"".join(encode(record) + b"\n" for record in log))
        return verify(path)


__all__ = ["FILES", "Day", "live", "verified"]
