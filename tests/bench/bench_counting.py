"""How fast tokens are counted: the vocabulary against the rule of thumb. Option: number of rounds (5)."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from agent import counting
from tests.bench.tables import middle, ms, table, times

ROOT = Path(__file__).resolve().parents[2]

# Enough to be timed well, characters.
LONG = 400_000


def texts() -> dict[str, str]:
    code = "".join(p.read_text("utf-8") for p in sorted((ROOT / "agent").glob("*.py")))
    prose = (ROOT / "README.md").read_text("utf-8")
    chance = random.Random(1)
    return {
        "Python": code,
        "prose": prose * (LONG // len(prose)),
        "one letter": "a" * LONG,
        "blanks": " " * LONG,
        "digits": "".join(chance.choice("0123456789") for _ in range(LONG)),
    }


def rate(count: Callable[[str], int], text: str, rounds: int) -> float:
    """Seconds for a million characters."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        count(text)
        taken.append(time.perf_counter() - began)
    return middle(taken) / len(text) * 1_000_000


def main(rounds: int = 5) -> None:
    """One table."""
    began = time.perf_counter()
    counting.counter.load()
    loaded = time.perf_counter() - began
    rows = []
    for name, text in texts().items():
        exact, guess = rate(counting.count, text, rounds), rate(counting.rule_of_thumb, text, rounds)
        off = counting.rule_of_thumb(text) / counting.count(text)
        rows.append([name, ms(exact), ms(guess), times(exact / guess), times(off)])
    head = ["a million characters of", f"{counting.counter.name} ms", "rule of thumb ms", "slower", "guess / exact"]
    table("Counting tokens", head, rows, f"reading the vocabulary took {ms(loaded)} ms, once")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
