"""What an import drags in: the worker and the command line start light, each measured in a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.architecture.tree import ROOMS, ROOT

LIST_WHAT_IS_NEW = """
import json, sys
before = set(sys.modules)
__import__(sys.argv[1])
print(json.dumps(sorted({name.partition(".")[0] for name in set(sys.modules) - before})))
"""


def brought_in(module: str) -> set[str]:
    """The top-level packages that importing `module` loads into an interpreter that had loaded nothing of ours."""
    result = subprocess.run(
        [sys.executable, "-c", LIST_WHAT_IS_NEW, module],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return set(json.loads(result.stdout))


SCREENS = {"textual", "rich", "prompt_toolkit"}
RUNTIMES = {"litellm", "mcp", "openai", "pydantic", "xllamacpp"}
# What only the first Markdown, a change of settings, the keyring, or a lock and a request of ours need.
LATER = {"filelock", "httpx", "keyring", "markdown_it", "pygments", "tiktoken", "tomlkit"}
# What the standard library takes long to load: `email` comes with `importlib.metadata`.
SLOW = {"email", "http", "multiprocessing", "sqlite3", "xml", "zipfile"}


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("agent.worker", SCREENS | RUNTIMES | LATER | SLOW),
        ("tui.cli", SCREENS | RUNTIMES | LATER | SLOW),
        ("tui.wiring", SCREENS | RUNTIMES | LATER | SLOW),
        ("tui.headless.reading", SCREENS | RUNTIMES | LATER | SLOW),
        ("tui.headless.writing", SCREENS | RUNTIMES | LATER | SLOW),
        ("tui.full.running", {"prompt_toolkit"} | RUNTIMES | LATER | SLOW),
    ],
)
def test_importing_it_loads_none_of_the_packages_it_has_no_use_for(module: str, heavy: set[str]) -> None:
    assert brought_in(module) & heavy == set()


def test_the_command_line_starts_with_the_standard_library_alone() -> None:
    assert brought_in("tui.cli") - set(sys.stdlib_module_names) - set(ROOMS) == set()


def test_the_measure_sees_a_heavy_import() -> None:
    assert "rich" in brought_in("textual.app")
