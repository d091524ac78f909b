"""What gets shipped: the wheel holds every file of the three rooms, data included, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.architecture.tree import ROOMS, ROOT

IGNORED = shutil.ignore_patterns("__pycache__", "*.pyc")


def test_the_wheel_holds_every_file_of_the_rooms_and_nothing_else(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    for room in ROOMS:
        shutil.copytree(ROOT / room, tree / room, ignore=IGNORED)
    for file in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, tree)
    built = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(built, cwd=tree, capture_output=True, text=True, timeout=120, check=True)

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if not name.startswith("ullage-")}
    wanted = {
        path.relative_to(tree).as_posix() for room in ROOMS for path in (tree / room).rglob("*") if path.is_file()
    }
    assert shipped == wanted
    assert {"agent/prompts/system.md", "tui/full/app.tcss", "agent/models/catalogue.json"} <= shipped
