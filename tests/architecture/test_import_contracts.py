"""Who may import whom: the contracts in pyproject.toml hold, and each of them is seen to fail when it is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.tree import ROOMS, ROOT

# One offence a line: contract, the file that commits it, the statement appended to that file.
OFFENCES = [
    ("rooms", "compaction/budget.py", "import agent.wire"),
    ("rooms", "compaction/budget.py", "import tui.cli"),
    ("rooms", "agent/wire/__init__.py", "import tui.cli"),
    ("pure", "compaction/budget.py", "import os"),
    ("pure", "compaction/records.py", "from time import monotonic"),
    ("pure", "compaction/tokens.py", "import tiktoken"),
    ("screenless", "agent/wire/__init__.py", "import textual"),
    ("screenless", "agent/model.py", "from rich.text import Text"),
    ("screenless", "agent/codec.py", "import prompt_toolkit"),
    ("engine", "compaction/view.py", "import compaction.gates"),
    ("engine", "compaction/records.py", "import compaction.errors"),
    ("engine", "compaction/stray.py", '"""A module that no layer names."""'),
    ("codec", "agent/wire/__init__.py", "import agent.codec"),
    ("codec", "tui/meter.py", "from agent import codec"),
    ("runtimes", "agent/worker.py", "import litellm"),
    ("runtimes", "tui/cli.py", "from litellm import acompletion"),
    ("runtimes", "agent/models/remote.py", "import openai"),
    ("runtimes", "agent/models/embedded.py", "import xllamacpp"),
    ("runtimes", "agent/mcp/servers.py", "import mcp"),
    ("host", "agent/worker.py", "import agent.models.host"),
    ("host", "agent/mcp/servers.py", "import agent.mcp.connection"),
    ("host", "tui/cli.py", "from agent.models import host"),
    ("host", "agent/models/embedded.py", "from agent.models import llama_host"),
    ("host", "agent/counting/child.py", "import agent.counting.host"),
    ("front", "tui/meter.py", "import agent.session_log"),
    ("front", "tui/present.py", "from agent.model import Model"),
    ("drawn", "tui/inline/talk.py", "import tui.full.popup"),
    ("drawn", "tui/meter.py", "from textual.content import Content"),
    ("scrolled", "tui/full/app.py", "import tui.inline.prompt"),
    ("scrolled", "tui/plain.py", "import prompt_toolkit"),
]


def lint(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs import-linter over a tree; its cache is left alone, because copies come and go."""
    program = Path(sys.executable).with_name("lint-imports")
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(
        [str(program), "--no-cache", *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def contracts() -> dict[str, str]:
    """Every contract's name by its id."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return {contract["id"]: contract["name"] for contract in declared}


def test_every_contract_is_kept() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_contract_has_an_offence_to_prove_it() -> None:
    assert {contract for contract, _, _ in OFFENCES} == set(contracts())


@pytest.mark.parametrize(("contract", "file", "statement"), OFFENCES, ids=lambda value: str(value).replace("/", "."))
def test_a_contract_broken_on_purpose_is_caught(contract: str, file: str, statement: str, tmp_path: Path) -> None:
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert file.endswith("stray.py") or (tmp_path / file).exists(), f"{file} has moved: name another file here"
    with (tmp_path / file).open("a", encoding="utf-8") as offender:
        offender.write(f"\n{statement}\n")

    result = lint(tmp_path, "--contract", contract)

    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{contracts()[contract]} BROKEN" in result.stdout
