"""Searching without ripgrep: a script, run as a child so that a pattern that never ends can be ended.

Standard library alone and no import of ours; `agent.tools.search` starts it by its path. Speaks as ripgrep does with
`--null`: `files` prints `path\\0` for each file; `grep` prints `path\\0line:text\\n`, with `-` for context and `--`
between. Ignored files are git's word where there is git and a repository, else the usual folders are skipped. Links are
not followed.

Usage: plain_search.py files|grep, with one JSON object on standard input: root, pattern, glob, context.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cache

# What no repository is needed to know: nobody searches these.
SKIPPED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", "target", "dist", "build"}
SKIPPED |= {".mypy_cache", ".pytest_cache", ".ruff_cache"}

# As ripgrep is told: the rest of a longer line is not shown. Characters.
LONGEST_LINE = 400

# `{a,b}` makes at most so many patterns.
MOST_ALTERNATIVES = 64


def alternatives(pattern: str) -> list[str]:
    """The pattern with its outermost braces written out."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= MOST_ALTERNATIVES:
        here = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", here)
        if found is None:
            done.append(here)
        else:
            waiting += [here[: found.start()] + part + here[found.end() :] for part in found[1].split(",")]
    return done + waiting


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a path (with `/`, relative to the searched folder) matches; a pattern without `/` is for names alone.

    `**` stands for any number of folders, `*`, `?` and `[…]` stay within a name. The time is polynomial whatever is
    asked.
    """
    sets = [tuple(p for p in one.strip("/").split("/") if p not in ("", ".")) for one in alternatives(pattern)]
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")

    def one(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
        @cache
        def fits(p: int, n: int) -> bool:
            if p == len(parts):
                return n == len(names)
            if parts[p] == "**":
                return fits(p + 1, n) or (n < len(names) and fits(p, n + 1))
            return n < len(names) and fnmatchcase(names[n], parts[p]) and fits(p + 1, n + 1)

        return fits(0, 0)

    def matches(path: str) -> bool:
        names = tuple(path.split("/"))
        return any(one(parts, names if anchored else names[-1:]) for parts in sets if parts)

    return matches


def by_parts(path: str) -> list[bytes]:
    """The order of results: folder by folder, names by their bytes; what ripgrep's `--sort path` gives."""
    return [os.fsencode(part) for part in path.split("/")]


def _git_files(root: str) -> list[str] | None:
    git = shutil.which("git")
    if git is None:
        return None
    argv = [git, "-c", "core.fsmonitor=false", "-C", root, "ls-files", "-coz", "--exclude-standard"]
    try:
        # Nor may it be made to fetch what it lacks: that, too, is a program of the repository's choice.
        quiet = {**os.environ, "GIT_ALLOW_PROTOCOL": "none"}
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=False, env=quiet)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name}, key=by_parts)


def _walk(root: str, prefix: str = "") -> Iterator[str]:
    try:
        with os.scandir(os.path.join(root, prefix)) as found:
            entries = sorted(found, key=lambda e: os.fsencode(e.name))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED:
                yield from _walk(root, f"{prefix}{entry.name}/")
        elif entry.is_file(follow_symlinks=False):
            yield prefix + entry.name


def files(root: str) -> Iterator[str]:
    """The regular files below `root` that are not ignored, in stable order, relative to it."""
    listed = _git_files(root)
    if listed is None:
        yield from _walk(root)
        return
    for name in listed:
        path = os.path.join(root, name)
        # Listed are deleted files, links and submodules too.
        if os.path.isfile(path) and not os.path.islink(path):
            yield name


def grep(path: str, shown: str, pattern: re.Pattern[str], context: int, write: Callable[[bytes], object]) -> None:
    """Print the matching lines of one file. A file with a NUL in its beginning is skipped."""
    try:
        with open(path, "rb") as file:
            if b"\0" in file.read(8_000):
                return
            file.seek(0)
            held: list[tuple[int, str]] = []
            last = after = 0
            for number, raw in enumerate(file, 1):
                line = raw.decode("utf-8", "replace").rstrip("\r\n").removeprefix("\ufeff")
                if pattern.search(line):
                    if context and last and number - len(held) > last + 1:
                        write(b"--\n")
                    for before, text in held:
                        write(_row(shown, before, "-", text))
                    write(_row(shown, number, ":", line))
                    held, last, after = [], number, context
                elif after:
                    write(_row(shown, number, "-", line))
                    last, after = number, after - 1
                elif context:
                    held = [*held, (number, line)][-context:]
    except OSError:
        return


def _row(shown: str, number: int, mark: str, text: str) -> bytes:
    if len(text) > LONGEST_LINE:
        text = text[:LONGEST_LINE] + " [... omitted end of long line]"
    return os.fsencode(shown) + f"\0{number}{mark}{text}\n".encode("utf-8", "replace")


def main() -> int:
    """The script. Exit status 0, or 2 with a sentence on standard error for a pattern that cannot be read."""
    asked = json.load(sys.stdin)
    root: str = asked["root"]
    out = sys.stdout.buffer
    if sys.argv[1] == "files":
        for name in files(root):
            out.write(os.fsencode(name) + b"\0")
        return 0
    try:
        pattern = re.compile(asked["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if os.path.isfile(root):
        grep(root, os.path.basename(root), pattern, asked["context"], out.write)
        return 0
    wanted = matcher(asked["glob"]) if asked["glob"] else None
    for name in files(root):
        if wanted is None or wanted(name):
            grep(os.path.join(root, name), name, pattern, asked["context"], out.write)
    return 0


if __name__ == "__main__":
    sys.exit(main())
