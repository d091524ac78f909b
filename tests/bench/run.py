"""Runs every `bench_*.py` beside it, each in a process of its own; the figures that README quotes.

make bench [BENCH="latency startup"]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main(wanted: list[str]) -> int:
    """Exit status 0 when all ran."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in wanted if name not in found]
    if unknown:
        print(f"bench: no {', '.join(unknown)}; there are: {', '.join(found)}", file=sys.stderr)
        return 2
    failed = []
    for name in wanted or found:
        if subprocess.run([sys.executable, "-m", f"tests.bench.bench_{name}"], cwd=ROOT, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"bench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
