"""A real task on somebody else's repository: three bugs planted in a released library, mended in all four modes.

What must hold: in each mode exactly the calls run, are asked about and are refused that should, git's diff undoes the
bugs and nothing else (in plan mode there is none), the library's own tests say so, `verify` finds nothing, nothing
outside the folder is touched, and every request continues the one before it. The model is scripted, its tools, its
provider's library and the HTTP between them are real.

The library's source comes through pip, as pip is configured here; where it cannot be had, nothing is measured.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from agent.models.remote import RemoteModel
from agent.wire import Mode
from tests.bench.tables import table
from tests.bench.task_play import SAID, Played, play
from tests.bench.task_script import STEPS, Bug, Repository

# One file of 3,000 lines, MIT, no dependency, 300 tests of its own in some seconds. Exact: the bugs are made for it.
LIBRARY, RELEASE = "tabulate", "0.10.0"

# Seconds for pip to fetch 90 kB and the library's build requirements.
FETCHING = 180

FILE = "tabulate/__init__.py"

REPOSITORY = Repository(
    f"{LIBRARY} {RELEASE}",
    (
        Bug(
            FILE, "a wrong boundary", "return len(string) - pos - 1", "return len(string) - pos",
            r"len\(string\) - pos",
        ),
        Bug(
            FILE, "swapped arguments", "return rowfmt(padded_cells, colwidths, colaligns)",
            "return rowfmt(padded_cells, colaligns, colwidths)", r"rowfmt\(",
        ),
        Bug(
            FILE, "a broken expression", r"[\x40-\x7e]   # final byte", r"[\x40-\x5a]   # final byte", "# final byte",
        ),
    ),
    "python -m pytest -q --tb=no -p no:cacheprovider -p no:asyncio --ignore test/test_cli.py test",
    "_ansi_codes",
)  # fmt: skip


def fetched(root: Path) -> Path | str:
    """The unpacked source, or why there is none."""
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary",
        LIBRARY, "--dest", str(root), f"{LIBRARY}=={RELEASE}",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCHING, check=False)
    except subprocess.TimeoutExpired:
        return f"pip did not fetch it within {FETCHING} seconds"
    archives = list(root.glob("*.tar.gz"))
    if done.returncode or not archives:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return errors[-1] if errors else "pip fetched nothing"
    with tarfile.open(archives[0]) as archive:
        archive.extractall(root, filter="data")
    return root / f"{LIBRARY}-{RELEASE}"


async def all_modes(root: Path, source: Path, outside: Path) -> list[Played]:
    model = RemoteModel(log=root / "host.log")
    model.start()
    played = []
    try:
        for mode in SAID:
            played.append(await play(root / mode, source, REPOSITORY, mode, model, outside, sandbox="auto"))
            print(f"  {mode}: played", file=sys.stderr)
    finally:
        await model.aclose()
    return played


def shown(played: list[Played]) -> None:
    """The tables."""
    modes: list[Mode] = [p.mode for p in played]
    rows = [[step, *(p.fates[n] if n < len(p.fates) else "" for p in played)] for n, step in enumerate(STEPS)]
    note = "ran, failed, denied; once, session, project, refuse: asked, and the answer; then the exit status"
    table(f"Mending {REPOSITORY.name}: what became of each call", ["call", *modes], rows, note)
    looked = {
        "tests before": [p.before for p in played],
        "tests after": [p.after for p in played],
        "lines in the diff": [str(len(p.changed)) for p in played],
        "kept for the project": [", ".join(p.remembered) or "-" for p in played],
        "requests": [str(p.requests) for p in played],
        "tokens from the cache": [f"{p.cached:,}" for p in played],
        "faults": [str(len(p.wrong)) for p in played],
    }  # fmt: skip
    table("What was left", ["", *modes], [[name, *cells] for name, cells in looked.items()])


def main() -> int:
    """Exit status 1 when something is as it must not be."""
    began = time.perf_counter()
    # Temporary folders count as inside in auto mode, so what is outside must be elsewhere.
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir="/var/tmp") as outside:
        source = fetched(Path(name))
        if isinstance(source, str):
            print(f"bench: skipped, since {LIBRARY} {RELEASE} could not be fetched: {source}")
            return 0
        played = asyncio.run(all_modes(Path(name), source, Path(outside)))
    shown(played)
    print(f"  {len(played)} modes in {time.perf_counter() - began:.0f} s")
    for one in played:
        for sentence in one.wrong:
            print(f"bench: {one.mode}: {sentence}", file=sys.stderr)
    return 1 if any(one.wrong for one in played) else 0


if __name__ == "__main__":
    sys.exit(main())
