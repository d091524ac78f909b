"""Long sessions: opening one with many compactions, and what one more record costs in a short and in a long one.

Must hold: a log with 48 compactions opens within twice the time of an equally long and large one without. Option:
number of rounds (5).
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from agent import places, settings
from agent.metering import meter
from agent.opening import assemble
from agent.session import Session
from agent.session_log import SessionLog
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    Gate,
    Started,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowSource,
)
from tests.bench.tables import middle, ms, table, times
from tui.kit import make_kit

MODEL = "openai/bench"
LENGTHS = (100, 2_000, 10_000)
COMPACTIONS = 48
SUMMARY = "## Goal\n- go on\n## Constraints\n- none\n## Done\n" + "- one thing after another\n" * 150


def started() -> Started:
    return Started("bench", "/", MODEL, MODEL, "Be brief.", (), (), 1_000_000, WindowSource.USER, 800_000, 700_000,
                   600_000, "bench")  # fmt: skip


def bodies(count: int, compactions: int = 0) -> Iterator[Body]:
    """`count` records: steps of a call, its result and an answer, a question now and then; evenly spread rewrites.

    Without compactions a note of the same size stands in the place of each, so that the files are equally large.
    """
    every = count // (compactions or COMPACTIONS) if count >= COMPACTIONS * 4 else 0
    previous: int | None = None
    size = 2_000
    for n in range(2, count + 1):
        if every and n % every == every - 1:
            kept = n - 1 - (n - 1 - 2) % 4  # the nearest question before
            if compactions:
                yield Compacted(
                    SUMMARY, "files: a.py", kept, 2, previous, "", Gate.ASKED, 90_000, 20_000, MODEL, primer=None
                )
                previous = n
            else:
                yield UserSaid(SUMMARY + "files: a.py", how="shell")
            continue
        size += 90
        match (n - 2) % 4:
            case 0:
                yield UserSaid(f"Question {n}: what does part {n % 17} do, and who uses it?")
            case 1:
                usage = Usage(uncached=300, cache_read=size, output=40)
                call = ToolCall(f"c{n}", "read", f'{{"path": "src/part{n % 17}.py"}}')
                yield AssistantSaid("I'll look.", (call,), usage, "calls", MODEL, n - 1, None, size)
            case 2:
                text = f"{n}: def part(value):\n    return value + {n}\n" * 12
                yield ToolReturned(f"c{n - 1}", "read", f"read src/part{n % 17}.py", text, characters=len(text))
            case _:
                usage = Usage(uncached=300, cache_read=size, output=60)
                yield AssistantSaid(f"It adds {n}. " * 6, (), usage, "done", MODEL, n - 1, None, size)


async def write(folder: Path, count: int, compactions: int = 0) -> Path:
    log = SessionLog.create(folder, started())
    await log.append(*bodies(count, compactions))
    await log.aclose()
    return log.path


def open_at(root: Path, path: Path) -> Session:
    here = places.under(root / "home")
    chosen = settings.load(root, here, {}, {"model": MODEL, "window": "1m"})
    log = SessionLog.open(path, True)
    session = assemble(make_kit(chosen, here, interactive=False), log, root)
    session.refresh()
    return session


def seconds(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


async def opening(root: Path, rounds: int) -> None:
    plain = await write(root / "plain", LENGTHS[-1])
    rewritten = await write(root / "rewritten", LENGTHS[-1], COMPACTIONS)
    taken: dict[Path, list[float]] = {plain: [], rewritten: []}
    for _ in range(rounds):
        for path in (plain, rewritten):
            taken[path].append(seconds(partial(SessionLog.open, path, False)))
    base = middle(taken[plain])
    names = {plain: "without compactions", rewritten: f"with {COMPACTIONS} compactions"}
    rows = [
        [names[p], f"{p.stat().st_size / 1e6:.1f}", ms(middle(t)), times(middle(t) / base)] for p, t in taken.items()
    ]
    head = [f"{LENGTHS[-1]:,} records", "MB", "open ms", "/ without"]
    table("Opening a long session", head, rows, f"middle of {rounds} rounds; to hold: within 2x")


async def growing(root: Path, rounds: int) -> None:
    rows = []
    base: list[float] = []
    for length in LENGTHS:
        path = await write(root / f"log{length}", length)
        session = open_at(root, path)
        meter(session)  # counts every item once; from here on only what is new
        shown, written, whole = [], [], []
        for n in range(rounds * 4):
            shown.append(seconds(partial(meter, session)))
            began = time.perf_counter()
            await session.log.append(UserSaid(f"another {n}"))
            written.append(time.perf_counter() - began)
            began = time.perf_counter()
            await session.append(UserSaid(f"and another {n}"))
            whole.append(time.perf_counter() - began)
        figures = [middle(written), middle(shown), middle(whole)]
        base = base or figures
        rows.append(
            [f"{length:,}", *(cell for f, b in zip(figures, base, strict=True) for cell in (ms(f), times(f / b)))]
        )
        await session.aclose()
    head = ["records", "append ms", "", "meter ms", "", "both ms", ""]
    table("One more record", head, rows, "append: on the disk and in the view; meter: the numbers of the screen")


async def all_of_it(rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="ullage-bench-") as name:
        await opening(Path(name), rounds)
        await growing(Path(name), rounds)


def main(rounds: int = 5) -> None:
    """Both tables."""
    asyncio.run(all_of_it(rounds))


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
