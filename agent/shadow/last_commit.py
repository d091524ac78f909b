"""What differs from the project's last commit: the answer where nothing was kept of a session's own changes.

Not this session's doing alone, and said so. The project's git is asked and changes nothing; no program that the
repository's own configuration names is run (monitors, filters, converters), and nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.shadow.git import GitFailed
from agent.wire.figures import FileChange

# A working tree's differences come in a second; a git that hangs must not hold a page back for ever. Seconds.
PATIENCE = 20.0

_WORDS = (
    "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.noprefix=false",
    "-c", "diff.mnemonicPrefix=false", "diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames",
    "--ignore-submodules=dirty",
)  # fmt: skip

# What a filter is switched off by: an empty program is none, and none is then required.
_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


def since_last_commit(root: Path, environ: Mapping[str, str]) -> tuple[FileChange, ...]:
    """The changed files that git follows. Raises `GitFailed` with a sentence part."""
    kept = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    # A repository may say that what it lacks is to be fetched, by a program of its choice: no protocol is allowed.
    kept |= {"LC_ALL": "C", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
    done = _asked(root, _WORDS, kept | _without(_filters(root, kept)))
    if done.returncode != 0:
        raise GitFailed("the folder is no git repository with a commit")
    return tuple(_files(done.stdout.decode("utf-8", "replace")))


def _asked(root: Path, words: Sequence[str], environ: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, timeout=PATIENCE, check=False,
            stdin=subprocess.DEVNULL, env=environ,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFailed(f"git cannot be asked: {error}") from error


def _filters(root: Path, environ: Mapping[str, str]) -> list[bytes]:
    """The filters that the repository's own configuration names; the user's are theirs. Runs none."""
    done = _asked(root, ("config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\."), environ)
    parts = done.stdout.split(b"\0")
    keys = [key for scope, key in zip(parts[::2], parts[1::2], strict=False) if scope in (b"local", b"worktree")]
    return sorted({key.rpartition(b".")[0] for key in keys})


def _without(filters: Sequence[bytes]) -> dict[str, str]:
    """The variables that switch filters off: unlike `-c`, they take any name."""
    pairs = [(f"{os.fsdecode(name)}.{key}", value) for name in filters for key, value in _OFF.items()]
    said = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(pairs)}
    said |= {f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(pairs)}
    return {**said, "GIT_CONFIG_COUNT": str(len(pairs))}


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
