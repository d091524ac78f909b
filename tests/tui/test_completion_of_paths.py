"""The paths offered behind an `@`: listed by git, which runs nothing that the repository names."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tui.completion import files


def test_listing_paths_runs_no_program_of_the_repositorys_configuration(tmp_path: Path) -> None:
    root, ran = tmp_path / "project", tmp_path / "ran"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "a.txt").write_text("one\n")
    subprocess.run(["git", "-C", str(root), "add", "."], check=True)
    with (root / ".git" / "config").open("a") as file:
        file.write(f"[core]\n fsmonitor = \"touch '{ran}'; false\"\n")
    assert files(str(root)) == ("a.txt",)
    assert not ran.exists()
