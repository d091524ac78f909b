"""What changed in files, for people: lines added and taken away, and the unified diff.

Not the choice of files (that is `keeping`).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from agent.shadow.keeping import Change, Looking
from agent.shadow.snapshots import LINK, look
from agent.wire.figures import FileChange

# A diff of files longer than this takes Python seconds; lines of both sides together.
MOST_LINES = 40_000


def differences(looking: Looking, changes: Sequence[Change]) -> tuple[FileChange, ...]:
    """The changes with their lines."""
    names = [change.was.blob for change in changes if change.was is not None]
    held = looking.keeper.data(list(dict.fromkeys(names)), looking.git)
    return tuple(_difference(looking, change, held) for change in changes)


def _difference(looking: Looking, change: Change, held: dict[str, bytes]) -> FileChange:
    before = b"" if change.was is None else held.get(change.was.blob, b"")
    after = b""
    if change.now is not None:
        try:
            found = look(looking.keeper.root / change.path)
            after = b"" if found is None else found.data
        except OSError:
            after = b""
    what = "created" if change.was is None else "removed" if change.now is None else "changed"
    return compared(change.path, what, before, after, outside=change.outside, modes=_modes(change))


def compared(
    path: str, what: str, before: bytes, after: bytes, *, outside: bool = False, modes: str = ""
) -> FileChange:
    """Two texts compared."""
    if b"\0" in before[:8_000] or b"\0" in after[:8_000]:
        return FileChange(path, what, None, None, outside, f"{modes}no text: {len(before):,} to {len(after):,} bytes\n")
    one, other = (data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after))
    if len(one) + len(other) > MOST_LINES:
        return FileChange(path, what, None, None, outside, f"{modes}too long to compare\n")
    old, new = "/dev/null" if what == "created" else f"a/{path}", "/dev/null" if what == "removed" else f"b/{path}"
    lines = list(difflib.unified_diff(one, other, old, new))
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ no newline at the end\n" for line in lines)
    return FileChange(path, what, added, removed, outside, modes + text)


def _modes(change: Change) -> str:
    was, now = change.was, change.now
    if was is None or now is None or was.mode == now.mode:
        return ""
    said = {"100644": "a file", "100755": "a program", LINK: "a link"}
    return f"from {said.get(was.mode, was.mode)} to {said.get(now.mode, now.mode)}\n"
