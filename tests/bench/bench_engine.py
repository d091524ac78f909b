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

# Where the day is played once more, with a user who asks for a compaction when told that the automatic ones stopped.
HEEDED = (4_096, 8_192, 200_000)

NAMES = ("spills", "prunes", "compactions", "asked", "stops", "emergencies")
ENDS = ("freed", "summary calls", "refused", "cached", "verify")
NOTE = """stops: compaction stopped because it freed nothing that lasts; emergencies follow until the user acts
  refused: prompts that no rewrite could have made fit; cached: the part of all input that was read before"""


def row(day: Day, report: Report) -> list[str]:
    made = {**day.rewrites, "stops": day.stops}
    counts = [f"{made.get(name, 0):,}" for name in ("spilled", "pruned", "compacted", "asked", "stops", "emergency")]
    ends = [f"{day.freed / 1_000:,.0f}k", f"{day.summaries:,}", f"{day.refused:,}", f"{day.share:.0%}"]
    return [f"{day.window:,}", *counts, *ends, f"{len(report.lines())} lines" if report.lines() else "clean"]


def played(windows: tuple[int, ...], steps: int, seed: int, *, heeds: bool) -> list[tuple[Day, Report]]:
    made = [live(window, steps, seed, heeds=heeds) for window in windows]
    return [(day, verified(s.log)) for day, s in made]


def main() -> int:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    wrong: list[str] = []
    for heeds, windows in ((False, WINDOWS), (True, HEEDED)):
        days = played(windows, steps, seed, heeds=heeds)
        who = "the user compacts when told that it stopped" if heeds else "nobody acts when it stops"
        title = f"A simulated day: {steps:,} steps, with switches to 1M, 200k and 8k; {who}"
        table(title, ("window", *NAMES, *ENDS), [row(*day) for day in days], NOTE if heeds else "")
        wrong += [f"window {day.window:,}: {line}" for day, report in days for line in (*day.wrong, *report.lines())]
    for line in wrong:
        print(f"  WRONG  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
