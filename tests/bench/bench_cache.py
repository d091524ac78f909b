"""Predicted against reported cached tokens, turn by turn, with the embedded model, whose server says what it reused.

Thirty short turns with a prune before turn 10, a compaction before turn 20 and an undo before turn 25. What must hold:
the prediction is within 5 % of the report except where the server let go of what it had, and every break has a name.
Option: `short`, four turns with the three rewrites between them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from agent import counting, places, settings
from agent.endpoints import Endpoints
from agent.instructions import prompt
from agent.model import Endpoint, Part, Reply, Request
from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.models.remote import RemoteModel
from agent.models.routed import RoutedModel
from agent.models.weights import EMBEDDED_NAME
from agent.opening import Opening
from agent.reading import Reading, RequestRow
from agent.session import Kit
from agent.wire import Command, Compact, Event, Idle, Prune, Quit, Submit, Undo
from agent.worker import Worker
from compaction.cache import UNNAMED
from compaction.records import ToolCall
from compaction.summary import Prompts
from tests.bench.tables import table

WINDOW = 4_096

# Tokens of an answer and of a summary: enough to go on with, few enough for two cores.
ANSWER, SUMMARY = 24, 320

# How far a prediction may be from the report.
CLOSE = 0.05

SETTINGS = """model = "{model}"
mode = "auto"
[context]
automatic = false
[sandbox]
use = "off"
[models."{model}"]
window = {window}
"""


@dataclass(frozen=True)
class Course:
    """What happens when: a wish before a turn, and the turns in which a command is run.

    `summary` stands for what a model of this size may or may not get shorter than its input. `lines` is what a tool
    prints: the model's server reads some 120 tokens a second.
    """

    turns: int
    wishes: Mapping[int, Command]
    tools: frozenset[int]
    summary: str = ""
    answer: int = ANSWER
    lines: int = 70


LONG = Course(30, {10: Prune(every=True, force=True), 20: Compact(), 25: Undo()}, frozenset({3, 5, 7, 14}))
SHORT = Course(
    4, {2: Compact(), 3: Undo(), 4: Prune(every=True, force=True)}, frozenset({1}), "## Goal\n- numbers", 8, 20
)  # fmt: skip


@dataclass
class Brief:
    """The model with short answers, and a call in its mouth where the course wants one."""

    model: RoutedModel
    summary: str = ""
    answer: int = ANSWER
    calls: list[ToolCall] = field(default_factory=list)

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        call = self.calls.pop() if request.tools and self.calls else None
        summary = "" if request.tools else self.summary
        most = 4 if call or summary else self.answer if request.tools else SUMMARY
        async with aclosing(self.model.stream(endpoint, replace(request, max_tokens=most))) as parts:
            async for part in parts:
                if isinstance(part, Reply) and call is not None:
                    part = replace(part, stop="calls", calls=(call,), text="")
                elif isinstance(part, Reply) and summary:
                    part = replace(part, stop="done", calls=(), text=summary)
                elif isinstance(part, Reply) and request.tools:
                    part = replace(part, stop="done", calls=())
                yield part

    async def aclose(self) -> None:
        await self.model.aclose()


class Runner:
    """A worker on this loop, asked for one thing after the other."""

    def __init__(self, kit: Kit, folder: Path) -> None:
        self._idle: asyncio.Queue[Idle] = asyncio.Queue()
        self.worker = Worker(Opening(kit, folder), self._heard, None)
        self.running = asyncio.ensure_future(self.worker.serve())

    def _heard(self, event: Event) -> None:
        if isinstance(event, Idle):
            self._idle.put_nowait(event)

    async def idle(self) -> Idle:
        waiting = asyncio.ensure_future(self._idle.get())
        await asyncio.wait({waiting, self.running}, return_when="FIRST_COMPLETED")
        if not waiting.done():
            self.running.result()
        return waiting.result()

    async def do(self, command: Command) -> Idle:
        self.worker.send(command)
        return await self.idle()

    async def close(self) -> None:
        self.worker.send(Quit())
        await self.running


def kit_under(root: Path) -> tuple[Kit, Brief, Path]:
    """A program with the embedded model that keeps everything under `root`."""
    here, folder = places.under(root / "home"), root / "project"
    folder.mkdir()
    here.config.mkdir(parents=True, exist_ok=True)
    here.settings.write_text(SETTINGS.format(model=EMBEDDED_NAME, window=WINDOW))
    chosen = settings.load(folder, here, {}, {})
    model = Brief(RoutedModel(RemoteModel(log=root / "host.log"), root))
    prompts = Prompts(*(prompt(f"summary_{name}") for name in ("system", "first", "update", "in_context")))
    kit = Kit(
        chosen, here, model, Catalogue(Learned(here.state / "learned.json")), Endpoints(chosen, {}), counting.count,
        prompts, lambda event: None, time.time, {"PATH": os.environ["PATH"]}, False, "bench",
    )  # fmt: skip
    return kit, model, folder


async def played(course: Course, root: Path) -> list[tuple[int, RequestRow]]:
    """(turn, request) for each request answered."""
    kit, model, folder = kit_under(root)
    model.summary, model.answer = course.summary, course.answer
    runner = Runner(kit, folder)
    path = Path((await runner.idle()).path)
    reading = Reading(kit, folder)
    rows: list[tuple[int, RequestRow]] = []
    try:
        for turn in range(1, course.turns + 1):
            if turn in course.wishes:
                await runner.do(course.wishes[turn])
            if turn in course.tools:
                model.calls.append(ToolCall("", "bash", f'{{"command":"seq {turn} {turn + course.lines}"}}'))
            ended = await runner.do(Submit(f"Tell me one more thing about the number {turn}."))
            assert ended.error is None, ended.error
            rows += [(turn, row) for row in reading.timeline(path)[len(rows) :]]
    finally:
        await runner.close()
    return rows


def off(row: RequestRow) -> float:
    """How far the prediction is from the report, as a share of the report."""
    if row.cache_read == row.predicted:
        return 0.0
    return abs(row.predicted - row.cache_read) / max(row.cache_read, 1)


def shown(rows: list[tuple[int, RequestRow]]) -> None:
    """The table."""
    cells = [
        (
            f"{turn}", f"{row.size:,}", f"{row.predicted:,}", f"{row.cache_read:,}", f"{off(row):.1%}",
            row.breaks or "", ", ".join(row.rewrites),
        )
        for turn, row in rows
    ]  # fmt: skip
    head = ("turn", "input", "predicted", "reported", "off", "cause", "rewritten before")
    unnamed = sum(row.breaks == UNNAMED for _, row in rows)
    far = [turn for turn, row in rows[1:] if off(row) > CLOSE]
    table(
        "Cached tokens, predicted and reported by the embedded model's server", head, cells,
        f"unnamed breaks: {unnamed}; further off than 5 %: {', '.join(map(str, far)) or 'none'}",
    )  # fmt: skip


def main(arguments: list[str]) -> None:
    course = SHORT if "short" in arguments else LONG
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as root:
        rows = asyncio.run(played(course, Path(root)))
    shown(rows)
    print(f"  {course.turns} turns in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
