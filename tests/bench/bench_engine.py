"""A simulated day of 2,000 steps at eight windows: what the engine rewrites, frees, asks for and leaves to the cache.

No model, no disk: the gates' decisions are carried out in pure code over a seeded script of a coding session, with the
model switched to 1M, 200k and 8k on the way. What must hold is asserted, and the log goes through the checker of real
sessions. Options: steps (2000), seed (7).
"""

from __future__ import annotations

import sys

from agent.verify import Report
from tests.bench.engine_day import Day, live, verified
from tests.bench.tables import table

WINDOWS = (4_096, 8_192, 32_000, 128_000, 200_000, 272_000, 400_000, 1_000_000)


def row(day: Day, report: Report) -> list[str]:
    counts = [f"{day.rewrites.get(name, 0):,}" for name in ("spilled", "pruned", "compacted", "emergency")]
    ends = [f"{day.freed / 1_000:,.0f}k", f"{day.summaries:,}", f"{day.refused:,}", f"{day.share:.0%}"]
    return [f"{day.window:,}", *counts, *ends, f"{len(report.lines())} lines" if report.lines() else "clean"]


def played(window: int, steps: int, seed: int) -> tuple[Day, Report]:
    day, s = live(window, steps, seed)
    return day, verified(s.log)


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    days = [played(window, steps, seed) for window in WINDOWS]
    names = ("spills", "prunes", "compactions", "emergencies", "freed", "summary calls", "refused", "cached", "verify")
    table(
        f"A simulated day: {steps:,} steps, with switches to 1M, 200k and 8k",
        ("window", *names),
        [row(*day) for day in days],
        "refused: prompts that no rewrite could have made fit; cached: the part of all input that was read before",
    )
    wrong = [f"window {day.window:,}: {line}" for day, report in days for line in (*day.wrong, *report.lines())]
    for line in wrong:
        print(f"  WRONG  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
