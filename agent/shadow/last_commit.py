"""What differs from the project's last commit: the answer where nothing was kept of a session's own changes.

Not this session's doing alone, and said so. The project's git is asked and changes nothing; no program that a
repository names for showing differences is run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from agent.figures import FileChange
from agent.shadow.git import GitFailed

# A working tree's differences come in a second; a git that hangs must not hold a page back for ever. Seconds.
PATIENCE = 20.0

_WORDS = (
    "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.noprefix=false",
    "-c", "diff.mnemonicPrefix=false", "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
)  # fmt: skip


def since_last_commit(root: Path, environ: Mapping[str, str]) -> tuple[FileChange, ...]:
    """The changed files that git follows. Raises `GitFailed` with a sentence part."""
    kept = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *_WORDS], capture_output=True, timeout=PATIENCE, check=False,
            stdin=subprocess.DEVNULL, env={**kept, "LC_ALL": "C"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(f"git cannot be asked: {error}") from error
    if done.returncode != 0:
        raise GitFailed("the folder is no git repository with a commit")
    return tuple(_files(done.stdout.decode("utf-8", "replace")))


def _files(text: str) -> list[FileChange]:
    found: list[FileChange] = []
    for part in ("\n" + text).split("\ndiff --git ")[1:]:
        lines = part.split("\n")
        path = lines[0].rpartition(" b/")[2]
        body = next((at for at, line in enumerate(lines) if line.startswith("--- ")), None)
        what = "changed"
        for line in lines[: body or len(lines)]:
            what = "created" if line.startswith("new file") else "removed" if line.startswith("deleted file") else what
        if body is None:
            found.append(FileChange(path, what, None, None, False, "\n".join(lines[1:]).rstrip("\n") + "\n"))
            continue
        shown = lines[body:]
        added = sum(line.startswith("+") for line in shown[2:])
        removed = sum(line.startswith("-") for line in shown[2:])
        found.append(FileChange(path, what, added, removed, False, "\n".join(shown).rstrip("\n") + "\n"))
    return found
