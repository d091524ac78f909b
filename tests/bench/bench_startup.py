"""Starting: how long until the program answers, in multiples of an empty Python. Option: number of rounds (7)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.tables import middle, ms, table, times
from tests.bench.terminal import PAINTED, ROOT, Terminal, homes, program

IMPORTS = ("tui.cli", "agent.worker", "tui.wiring", "textual.app", "tui.full.running")


def run(command: list[str], environ: dict[str, str], folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environ, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def paint(environ: dict[str, str], folder: Path) -> tuple[float, float]:
    """Seconds to the whole first screen, and to the meter's first numbers."""
    # A server that refuses at once: nothing of another program is in the figure.
    command = [program(), "--model", "openai/stub", "--api-base", "http://127.0.0.1:9/v1", "--window", "100k"]
    terminal = Terminal(command, environ, folder)
    try:
        painted = terminal.until(PAINTED) - terminal.began
        return painted, terminal.until(b"window 100k") - terminal.began
    finally:
        terminal.close()


def main(rounds: int = 7) -> None:
    """All of them in turn, round by round; the middle of each."""
    python = sys.executable
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="ullage-bench-") as name:
        root = Path(name)
        environ = homes(root)
        inside = environ | {"PYTHONPATH": str(ROOT)}
        for _ in range(rounds + 1):  # the first warms the disk and is dropped
            taken.setdefault("python -c pass", []).append(run([python, "-c", "pass"], environ, root))
            taken.setdefault("ullage --version", []).append(run([program(), "--version"], environ, root))
            for module in IMPORTS:
                seconds = run([python, "-c", f"import {module}"], inside, root)
                taken.setdefault(f"import {module}", []).append(seconds)
            painted, metered = paint(environ, root)
            taken.setdefault("ullage: first screen", []).append(painted)
            taken.setdefault("ullage: session open, meter filled", []).append(metered)
    bare = middle(taken["python -c pass"][1:])
    rows = [[what, ms(middle(seconds[1:])), times(middle(seconds[1:]) / bare)] for what, seconds in taken.items()]
    table("Start", ["until", "ms", "/ empty python"], rows, f"middle of {rounds} rounds; files compiled and in memory")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:]))
