"""What may follow at the cursor: slash commands, file paths after `@`, earlier messages; found fuzzily.

Not the popup (that is `popup`): the token at the cursor, the candidates and their order are worked out here, purely,
but for `files`, which reads a folder and belongs on a thread.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui.commands import ELSEWHERE, TABLE, SlashCommand
from tui.customs import Custom, Named, about, hint
from tui.plain import one_line, safe

# More than fits on any screen helps nobody choose.
SHOWN = 50

# Resources of servers that are named before anything is typed: files are mentioned far more often.
FEW = 10

# What being likely is worth beside how well a candidate fits: less than fitting in one piece, which is worth 40.
LIKELY = 25

# A folder outside git is walked no further than this many files: a home directory must not hang the thread.
WALKED = 20_000

# Folders that hold what people did not write.
SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build"})

# `git ls-files` on a huge tree over a slow disk; without an answer by then the walk takes over, seconds.
GIT_PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class Token:
    """What is being completed: the text from `start` up to the cursor, without its sign."""

    kind: Literal["slash", "path", "history"]
    query: str
    start: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing to complete to. `insert` replaces the token; `run` means that Enter may send it at once."""

    insert: str
    label: str
    hint: str = ""
    run: bool = False


def token_at(text: str, cursor: int) -> Token | None:
    """The token that ends at `cursor`, if one that can be completed does."""
    before = text[:cursor]
    if found := re.fullmatch(r"/([\w:-]*)", before):
        return Token("slash", found[1], 0)
    if found := re.search(r"(?:^|\s)@([^\s@]*)$", before):
        return Token("path", found[1], found.start(1) - 1)
    return None


def slashes(query: str, custom: Sequence[Custom] = ()) -> list[Candidate]:
    """Slash commands for `query`, best first; all of them, the user's own behind the table, for nothing."""
    rows = {row.name: _slash(row) for row in TABLE.values()}
    rows |= {row.name: _custom(row) for row in custom}
    names = rank(query, rows) if query else list(rows)
    if len(query) > 1:
        # Behind what is called so: what people know by that name from elsewhere.
        known = (here for name, here in ELSEWHERE.items() if name.startswith(query.casefold()))
        names = list(dict.fromkeys([*names, *known]))
    return [rows[name] for name in names]


def _custom(row: Custom) -> Candidate:
    words = hint(row)
    insert = f"/{row.name} " if words else f"/{row.name}"
    optional = not words or words.startswith("[")
    return Candidate(insert, f"/{row.name} {words}".rstrip(), about(row), run=optional)


def _slash(row: SlashCommand) -> Candidate:
    optional = not row.arguments or row.arguments.startswith("[")
    insert = f"/{row.name} " if row.arguments else f"/{row.name}"
    return Candidate(insert, f"/{row.name} {row.arguments}".rstrip(), row.help, run=optional)


def paths(query: str, files: Sequence[str], resources: Sequence[Named] = ()) -> list[Candidate]:
    """Files and servers' resources for `query`, best first."""
    said = {resource.name: one_line(resource.description, 100) for resource in resources}
    few = min(len(said), FEW)
    found = rank(query, [*files, *said]) if query else [*files[: SHOWN - few], *list(said)[:few]]
    return [Candidate(_mention(name) if name in said else f"@{name} ", name, said.get(name, "")) for name in found]


def _mention(name: str) -> str:
    """How a resource is written in a message: in quotation marks where its name would end too early."""
    plain = re.fullmatch(r"""[^\s"'`<>|;,()\[\]{}]+""", name) and not name.endswith((".", ":", "!", "?"))
    return f"@{name} " if plain or '"' in name else f'@"{name}" '


def earlier(query: str, messages: Sequence[str]) -> list[Candidate]:
    """Earlier messages that contain `query`, newest first."""
    wanted = query.casefold()
    seen: dict[str, None] = {}
    for message in reversed(messages):
        if wanted in message.casefold():
            seen.setdefault(message)
        if len(seen) >= SHOWN:
            break
    return [Candidate(message, one_line(message, 100)) for message in seen]


def rank(query: str, candidates: Iterable[str], most: int = SHOWN, likely: Container[str] = ()) -> list[str]:
    """The candidates that hold the query's letters in order, best first, at most `most`.

    Among those that fit alike the `likely` ones come first.
    """
    if not query:
        return [candidate for candidate, _ in zip(candidates, range(most), strict=False)]
    wanted = query.casefold()
    pattern = re.compile(".*?".join(map(re.escape, wanted)), re.DOTALL)
    scored: list[tuple[int, int, str]] = []
    for candidate in candidates:
        folded = candidate.casefold()
        if found := pattern.search(folded):
            more = LIKELY if candidate in likely else 0
            scored.append((-_score(wanted, folded, found) - more, len(candidate), candidate))
    scored.sort()
    return [candidate for _, _, candidate in scored[:most]]


def _score(wanted: str, folded: str, found: re.Match[str]) -> int:
    """Higher is better: the whole in one piece, in the file's own name, at the start of a word, close together."""
    name = folded.rsplit("/", 1)[-1]
    score = 0
    if wanted in folded:
        score += 40
    if wanted in name:
        score += 30
    if name.startswith(wanted) or folded.startswith(wanted):
        score += 30
    if folded == wanted:
        score += 50
    if f"/{wanted}" in f"/{folded}":
        score += 20
    if "." not in wanted and (folded.startswith(".") or "/." in folded):
        # What a dot hides is seldom meant; whoever means it types the dot.
        score -= 40
    start = found.start()
    if start == 0 or not folded[start - 1].isalnum():
        score += 10
    return score - min(30, found.end() - start - len(wanted))


def files(folder: str) -> tuple[str, ...]:
    """The files under `folder` that git does not ignore, relative; without git, those a walk finds. Reads the disk."""
    try:
        done = subprocess.run(
            # A repository's own configuration may name programs, to watch for changes or to fetch what it lacks: none.
            ["git", "-c", "core.fsmonitor=false", "-C", folder, "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True, timeout=GIT_PATIENCE, check=True, stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_ALLOW_PROTOCOL": "none"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return tuple(_walk(folder))
    return tuple(path for raw in done.stdout.split(b"\0") if (path := safe(os.fsdecode(raw)).replace("\n", " ")))


def _walk(folder: str) -> list[str]:
    found: list[str] = []
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        below = Path(top).relative_to(folder)
        found += [safe((below / name).as_posix()) for name in sorted(names) if not name.startswith(".")]
        if len(found) >= WALKED:
            break
    return found[:WALKED]
