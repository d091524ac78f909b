"""What files changed as styled lines: a list with counts, then each file's unified diff. Pure; both screens use it.

Not the comparing (the worker's side did that). Every text is safe when it leaves here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent.wire import FileChange
from tui.going_back import file_lines
from tui.plain import one_line, plural, safe

if TYPE_CHECKING:
    from agent.reading import Changed

Kind: TypeAlias = Literal["", "head", "quiet", "added", "removed", "place"]

# A diff longer than this is scrolled past by nobody; `/diff PATH` has all of a file. Lines of one file among several.
MOST = 2_000


def title(changed: Changed) -> str:
    """How many files, and how many lines in all."""
    added = sum(file.added or 0 for file in changed.files)
    removed = sum(file.removed or 0 for file in changed.files)
    return f"{plural(len(changed.files), 'file')}, +{added} -{removed}"


def lines(files: Sequence[FileChange]) -> Iterator[tuple[Kind, str]]:
    """Each line with what it is; `head` begins a file."""
    if len(files) > 1:
        for text in file_lines(files):
            yield "", text
        yield "", ""
    for file in files:
        yield from _file(file, MOST if len(files) > 1 else None)


def _file(file: FileChange, most: int | None) -> Iterator[tuple[Kind, str]]:
    yield "head", file_lines([file])[0].strip()
    body = safe(file.diff).rstrip("\n").split("\n") if file.diff else []
    if len(body) > 1 and body[0].startswith("--- ") and body[1].startswith("+++ "):
        body = body[2:]
    for text in body[:most]:
        yield kind(text), text
    if most is not None and len(body) > most:
        yield "quiet", f"… {len(body) - most:,} more lines: /diff {one_line(file.path)}"
    yield "", ""


def kind(line: str) -> Kind:
    """What a line of a unified diff is."""
    for start, what in (("+", "added"), ("-", "removed"), ("@@", "place"), ("\\", "quiet")):
        if line.startswith(start):
            return what  # type: ignore[return-value]
    return ""
