"""What gets installed is what was read: every package pinned with hashes, no addresses, nothing that runs unasked."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, name

LOCKED = sorted((ROOT / "requirements").glob("*.txt"))
SCRIPTS = sorted((ROOT / "requirements").glob("*.sh"))
INSTALLS = [*LOCKED, *SCRIPTS, ROOT / "pyproject.toml", ROOT / "Makefile", ROOT / ".ci" / "run"]

# What Python may run at every start: our own editable install, and the shim that venvs of 3.11 bring with setuptools.
KNOWN_PTH = {"_editable_impl_ullage.pth", "distutils-precedence.pth"}

PINNED = r"^([a-z0-9][a-z0-9.-]*)==([^\s;\\]+)[^\n]*\\\n"
HASHES = r"((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
REQUIREMENT = re.compile(PINNED + HASHES, re.MULTILINE)


def pinned(which: str) -> dict[str, str]:
    """The versions that requirements/`which`.txt pins."""
    return requirements((ROOT / "requirements" / f"{which}.txt").read_text(encoding="utf-8"))


def requirements(text: str) -> dict[str, str]:
    """Name to version of every requirement that is pinned exactly and followed by at least one hash."""
    return {match[1]: match[2] for match in REQUIREMENT.finditer(text)}


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_requirement_is_pinned_and_hashed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    said = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert said
    assert len(requirements(text)) == len(said)


@pytest.mark.parametrize("path", INSTALLS, ids=name)
def test_no_file_that_installs_names_an_address(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"\S*://\S*|(?m:^\S+ @ .*)", text) == []
    assert re.findall(r"(?m)^\s*(?:--(?:extra-)?index-url|--find-links|--trusted-host|-i|-f)\b.*", text) == []


def test_no_lock_format_that_writes_addresses_lies_in_the_tree() -> None:
    formats = ["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml", "package-lock.json", "pip.conf"]
    assert [lock for lock in formats if (ROOT / lock).exists()] == []


def test_the_development_set_holds_the_running_set() -> None:
    assert dict(pinned("run").items() - pinned("dev").items()) == {}


def test_no_malicious_release_of_litellm_is_pinned() -> None:
    assert pinned("run")["litellm"] not in {"1.82.7", "1.82.8"}


def test_nothing_unknown_runs_at_every_start_of_python() -> None:
    folders = {Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("platlib"))}
    found = {path.name for folder in folders for path in folder.glob("*.pth")}
    assert found - KNOWN_PTH == set()


def test_our_own_start_file_only_names_the_project_folder() -> None:
    for path in Path(sysconfig.get_path("purelib")).glob("_editable_impl_ullage.pth"):
        lines = path.read_text(encoding="utf-8").split()
        assert lines
        assert [line for line in lines if not Path(line).is_dir()] == []
