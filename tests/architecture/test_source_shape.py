"""How the code is laid out: short files that say what they are, two edges that catch everything, declared packages."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest

from tests.architecture.tree import ROOMS, ROOT, imported_roots, name, parsed, sources

# Files near 150 lines read in one sitting; 400 is where splitting by meaning stops being a matter of taste.
LONGEST = 400

# The edges where an unknown failure becomes a message: the worker's thread, and the child process that holds litellm.
MAY_CATCH_EVERYTHING = {"agent/worker.py", "agent/models/host.py"}

# Modules of the standard library that neither do anything nor know what time it is.
PURE = {
    "__future__",
    "bisect",
    "collections",
    "dataclasses",
    "difflib",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "operator",
    "re",
    "string",
    "textwrap",
    "types",
    "typing",
    "unicodedata",
}


def everything_caught(module: ast.Module) -> list[int]:
    """The lines of a module that catch or suppress any failure whatever; tidying up and raising it again is neither."""
    wide = {"Exception", "BaseException"}

    def names(expression: ast.expr | None) -> set[str]:
        if expression is None:
            return wide
        return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}

    lines = []
    for node in ast.walk(module):
        if isinstance(node, ast.ExceptHandler) and names(node.type) & wide and not raised_again(node):
            lines.append(node.lineno)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            lines += [node.lineno for argument in node.args if names(argument) & wide]
    return lines


def raised_again(handler: ast.ExceptHandler) -> bool:
    """Whether the handler ends in a bare `raise` and has no other way out."""
    leaves = (ast.Return, ast.Break, ast.Continue)
    last = handler.body[-1]
    return (
        isinstance(last, ast.Raise)
        and last.exc is None
        and not any(isinstance(node, leaves) for statement in handler.body for node in ast.walk(statement))
    )


def test_no_file_is_longer_than_one_can_read() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST} == {}


def test_every_module_opens_with_a_docstring() -> None:
    assert [name(path) for path in sources() if not ast.get_docstring(parsed(path))] == []


def test_only_the_edges_catch_everything() -> None:
    wide = {name(path): everything_caught(parsed(path)) for path in sources()}
    assert {file: lines for file, lines in wide.items() if lines and file not in MAY_CATCH_EVERYTHING} == {}


def test_an_edge_catches_everything_once() -> None:
    assert [file for file in sorted(MAY_CATCH_EVERYTHING) if len(everything_caught(parsed(ROOT / file))) > 1] == []


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    f()\nexcept:\n    pass",
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (OSError, BaseException) as error:\n    pass",
        "with contextlib.suppress(Exception):\n    f()",
        "def f():\n  try:\n    g()\n  except BaseException:\n    if h():\n      return\n    raise",
    ],
)
def test_a_wide_catch_is_seen_however_it_is_written(code: str) -> None:
    assert everything_caught(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    ["try:\n    f()\nexcept OSError:\n    pass", "try:\n    f()\nexcept BaseException:\n    tidy()\n    raise"],
)
def test_a_narrow_catch_or_one_that_raises_again_is_let_through(code: str) -> None:
    assert everything_caught(ast.parse(code)) == []


def test_the_engine_imports_pure_parts_of_the_standard_library_only() -> None:
    strays = {name(path): set(imported_roots(parsed(path))) - PURE - {"compaction"} for path in sources("compaction")}
    assert {file: found for file, found in strays.items() if found} == {}


def test_imports_that_no_contract_can_read_are_the_known_two() -> None:
    found = {
        f"{name(path)}: {ast.unparse(node)}"
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"import_module", "__import__"}
    }
    assert found <= {
        "agent/counting/__init__.py: importlib.import_module('tiktoken_ext.openai_public')",
        "agent/models/host.py: importlib.import_module('litellm')",
    }


def test_every_package_we_import_is_declared() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["embedded"]
    declared = {normal(re.split(r"[<>=!~\[; ]", requirement)[0]) for requirement in wanted}
    owners = packages_distributions()
    undeclared = {
        f"{name(path)}: {root}"
        for path in sources()
        for root in imported_roots(parsed(path))
        if root not in sys.stdlib_module_names and root not in ROOMS
        if not {normal(owner) for owner in owners.get(root, [root])} & declared
    }
    assert undeclared == set()


def normal(distribution: str) -> str:
    """A distribution's name as the packaging rules compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def test_no_init_file_under_tests_shadows_a_room() -> None:
    assert [name(path) for path in (ROOT / "tests").rglob("__init__.py")] == []
