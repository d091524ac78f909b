"""Where the tree is and what is in it, for the tests that read the code instead of running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("compaction", "agent", "tui")
# Python that is data: the tour's little project is read and edited by the agent, never imported.
DATA = ROOT / "agent" / "tour" / "project"


def sources(*rooms: str) -> list[Path]:
    """Every module of the named rooms (all three when none is named), in order."""
    found = (path for room in rooms or ROOMS for path in (ROOT / room).rglob("*.py"))
    return sorted(path for path in found if DATA not in path.parents)


def name(path: Path) -> str:
    """The file as one writes it from the root: `agent/worker.py`."""
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported_roots(module: ast.Module) -> Iterator[str]:
    """The first part of every name that an import statement names, wherever it stands in the module."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]
