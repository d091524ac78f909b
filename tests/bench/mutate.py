"""Breaks the engine at random places, one at a time, and counts which breaks no test notices.

Works on a copy of the tree. Options: number of mutants (150), seed (1), file patterns (all of the engine).
A mutant is one comparison turned, one number off by one, one `and` for an `or`, one `not` dropped, or one statement
left out. Each is run against the tests named for its file, which stop at the first failure.
"""

from __future__ import annotations

import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Longer than the slowest of the tests named here takes unbroken: an endless loop is noticed too. Seconds.
PATIENCE = 120

_ENGINE = ("test_gates", "test_thrash", "test_tokens", "test_reported_cases", "test_reported_views", "test_legal_tags")
_OTHERS = {
    "budget": ("test_budget",),
    "cache": ("test_cache",),
    "cut": ("test_cut", "test_rewrites"),
    "emergency": ("test_emergency", "test_gates"),
    "facts": ("test_facts", "test_fidelity"),
    "items": ("test_view",),
    "judge": ("test_judge",),
    "prune": ("test_prune", "test_rewrites"),
    "records": ("test_view", "test_legal_tags"),
    "shorten": ("test_shorten",),
    "summary": ("test_summary",),
    "view": ("test_view",),
}

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def tests_for(path: Path) -> list[str]:
    """The tests that should notice a break in this file."""
    if path.parent.name == "agent":
        return ["tests/agent/test_session_log.py", "tests/agent/test_log_crashes.py"]
    names = _OTHERS.get(path.stem, _ENGINE)
    found = (f"tests/compaction/{name}.py" for name in names)
    return [name for name in found if (ROOT / name).exists()]


def places(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every place a mutant can be made at: index of the node in walking order, and the kind."""
    for index, node in enumerate(ast.walk(tree)):
        match node:
            case ast.Compare(ops=[op]) if type(op) in _TURNED:
                yield index, "compare"
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                yield index, "number"
            case ast.BoolOp():
                yield index, "and-or"
            case ast.UnaryOp(op=ast.Not()):
                yield index, "not"
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
                yield index, "drop"
            case _:
                pass


def mutant(source: str, index: int, kind: str) -> tuple[str, int]:
    """The source with the node changed, and the line it stands at."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[index]
    line = getattr(node, "lineno", 0)
    match node:
        case ast.Compare():
            node.ops[0] = _TURNED[type(node.ops[0])]()
        case ast.Constant():
            node.value = int(str(node.value)) + 1
        case ast.BoolOp():
            node.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
        case ast.UnaryOp():
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.stmt():
            _leave_out(tree, node)
        case _:
            raise AssertionError(node)
    return ast.unparse(ast.fix_missing_locations(tree)), line


def _leave_out(tree: ast.Module, gone: ast.stmt) -> None:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and gone in body:
                body[body.index(gone)] = ast.Pass()


def main() -> int:
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    files = [*ROOT.glob("compaction/*.py"), ROOT / "agent/session_log.py", ROOT / "agent/log_file.py"]
    patterns = sys.argv[3:] or ["*"]
    chosen = [p for p in sorted(files) if any(fnmatch(str(p.relative_to(ROOT)), one) for one in patterns)]
    everywhere = [(p, *place) for p in chosen for place in places(ast.parse(p.read_text()))]
    sample = chance.sample(everywhere, min(many, len(everywhere)))
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        copy.mkdir()
        for name in ("compaction", "agent", "tui", "tests", "pyproject.toml"):
            source = ROOT / name
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / name, ignore=ignored) if source.is_dir() else shutil.copy(source, copy)
        for done, (path, index, kind) in enumerate(sample, 1):
            source_text = path.read_text()
            changed, line = mutant(source_text, index, kind)
            target = copy / path.relative_to(ROOT)
            target.write_text(changed)
            if not noticed(copy, tests_for(path)):
                survivors += 1
                text = source_text.splitlines()[line - 1].strip()
                print(f"survived  {path.relative_to(ROOT)}:{line}  {kind}  {text}", flush=True)
            target.write_text(source_text)
            print(f"{done}/{len(sample)} made, {survivors} survived", file=sys.stderr, flush=True)
    print(f"{len(sample)} mutants, {survivors} survived")
    return 0


def noticed(copy: Path, tests: list[str]) -> bool:
    """Whether the tests fail, or never end."""
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        ran = subprocess.run(command, cwd=copy, env=environ, capture_output=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return True
    return ran.returncode != 0


if __name__ == "__main__":
    raise SystemExit(main())
