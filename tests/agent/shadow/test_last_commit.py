"""What differs from the last commit, of a repository that would like its own programs to be run for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.shadow.git import GitFailed
from agent.shadow.last_commit import since_last_commit

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null"}
NAMES = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, env={**ENVIRON, **NAMES})


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    folder.mkdir()
    git(folder, "init", "-q")
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_no_program_named_in_the_repositorys_own_configuration_runs(tmp_path: Path) -> None:
    """Filters with any name, required or not, in an included file too; monitors; converters and drivers of diff."""
    attributes = "*.txt filter=x=y.clean diff=d\n*.md filter=long\n*.rst filter=inc\n"
    texts = dict.fromkeys(("a.txt", "b.md", "c.rst"), "one\n")
    root = repository(tmp_path / "project", {".gitattributes": attributes, **texts})
    ran = tmp_path / "ran"
    program = f"touch '{ran}'; cat"
    (root / ".git" / "more").write_text(f'[filter "inc"]\n clean = "{program}"\n')
    with (root / ".git" / "config").open("a") as file:
        file.write(
            f'[filter "x=y.clean"]\n clean = "{program}"\n required = true\n'
            f'[filter "long"]\n process = "{program}"\n'
            f'[diff "d"]\n textconv = "{program}"\n command = "{program}"\n'
            f'[diff]\n external = "{program}"\n[core]\n fsmonitor = "{program}"\n[include]\n path = more\n'
        )
    for name in texts:
        (root / name).write_text("two\n")
    found = since_last_commit(root, ENVIRON)
    assert [(change.path, change.added, change.removed) for change in found] == [(name, 1, 1) for name in texts]
    assert not ran.exists()


def test_what_a_repository_lacks_is_not_fetched_by_a_program_it_names(tmp_path: Path) -> None:
    root = repository(tmp_path / "project", {"a.txt": "one\n"})
    ran = tmp_path / "ran"
    for blob in (root / ".git" / "objects").glob("*/*"):
        kind = subprocess.run(
            ["git", "-C", str(root), "cat-file", "-t", f"{blob.parent.name}{blob.name}"],
            capture_output=True, env=ENVIRON, check=True,
        )  # fmt: skip
        if kind.stdout.strip() == b"blob":
            blob.unlink()
    with (root / ".git" / "config").open("a") as file:
        file.write(
            "[core]\n repositoryformatversion = 1\n[extensions]\n partialClone = there\n"
            f'[remote "there"]\n url = {root}\n promisor = true\n uploadpack = "touch \'{ran}\'; false"\n'
        )
    (root / "a.txt").write_text("two\n")
    with pytest.raises(GitFailed):
        since_last_commit(root, ENVIRON)
    assert not ran.exists()
