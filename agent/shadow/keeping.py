"""Keeping what the files were: a snapshot before the first change of a turn, one after its last, and what they say.

Not the giving back (that is `restoring`). With git a snapshot is a tree of the whole project; without it, or where git
fails, and for what the tree leaves out, it is copies of the files that `write` and `edit` are about to change.

Invariants
 1. Nothing is kept for a turn that only reads.
 2. Of two answers about a path the older snapshot's counts, from the moment asked about on.
 3. A trouble here never stops the agent's work; it is said once.

Threads: the methods block and may be called from any thread, one at a time (a lock sees to it).
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from agent.places import project
from agent.shadow.git import LARGEST, Entry, Git, GitFailed, TooSlow, Tree
from agent.shadow.snapshots import Seen, Shelf, Snapshot, joined, look, missing_above, named

NAME = "shadow"


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is not what it was: what it was and is (None: not there), and whether somebody else changed it too.

    `path` is relative to the project.
    """

    path: str
    was: Entry | None
    now: Entry | None
    outside: bool = False


class Keeper:
    """The snapshots of one session, in `folder`; `root` is the project (a real path)."""

    def __init__(
        self, folder: Path, root: Path, environ: Mapping[str, str], *, git: str | None = None,
        outside: Sequence[Path] = (),
    ) -> None:  # fmt: skip
        """`git` is the program, None for none; `outside` are folders that are ours and never looked at."""
        self.root = root
        self.shelf = Shelf(folder)
        self._git = Git(folder / "git", root, environ, git, outside) if git is not None else None
        # Too slow to look at the files once more; what it has kept it still gives.
        self._slow = False
        self._lock = threading.RLock()
        self._turn: Snapshot | None = None
        # What was shown for going back to a record: the files as they were then.
        self.shown: dict[int, Mapping[str, Entry | None]] = {}
        self._said: set[str] = set()
        self._trees: dict[str, Mapping[str, Entry]] = {}

    # ── keeping ──

    @property
    def open(self) -> bool:
        """Whether something was kept since the last `after`."""
        return self._turn is not None

    def before(self, record: int, paths: Sequence[Path] = ()) -> list[str]:
        """Keeps what the files are, ahead of a change; `paths` are the files it is known to touch.

        Once a turn for all files, and again for each of `paths` that is not known yet. Sentences about what could not
        be kept.
        """
        with self._lock:
            said: list[str] = []
            fresh = self._turn is None
            if self._turn is None:
                self._turn = self._taken("before", record, said)
            copies: dict[str, Entry | None] = {}
            rights: dict[str, int] = {}
            missing: list[str] = []
            for path in self._ours(paths):
                if self._known(self._turn, path) is None:
                    self._copy(path, copies, rights, said)
                    missing += missing_above(self.root, path)
            if copies:
                self._turn = joined(self._turn, copies, rights, missing)
            if copies or (fresh and self._turn.tree is not None):
                self._put(self._turn, said)
            return said

    def after(self, record: int) -> list[str]:
        """Keeps what the files are once a turn that changed something has ended; nothing else does anything."""
        with self._lock:
            turn, self._turn = self._turn, None
            said: list[str] = []
            if turn is not None and (turn.tree is not None or turn.copies):
                self._close(record, turn.copies, said)
            return said

    def restored(self, record: int, seen: Mapping[str, Seen | None]) -> None:
        """Keeps what a restoring is about to replace. Raises `OSError`: then nothing may be replaced."""
        with self._lock:
            copies: dict[str, Entry | None] = {}
            rights: dict[str, int] = {}
            missing = tuple(dict.fromkeys(one for path in seen for one in missing_above(self.root, path)))
            for path, found in seen.items():
                copies[path] = None if found is None else found.entry
                if found is not None:
                    self.shelf.keep(found.data)
                    rights[path] = found.rights
            self.shelf.put(Snapshot(self._next(), "restored", record, None, (), copies, rights, missing=missing))

    def settled(self, record: int, paths: Mapping[str, Entry | None]) -> list[str]:
        """Keeps what the files are after a restoring, so that it is not taken for somebody else's change."""
        with self._lock:
            said: list[str] = []
            self._close(record, paths, said)
            return said

    def _close(self, record: int, paths: Mapping[str, Entry | None], said: list[str]) -> None:
        end = self._taken("after", record, said)
        copies: dict[str, Entry | None] = {}
        for path in paths:
            try:
                found = look(self.root / path)
            except OSError:
                continue
            copies[path] = None if found is None else found.entry
        self._put(joined(end, copies, {}), said)

    def _taken(self, moment: str, record: int, said: list[str]) -> Snapshot:
        """A snapshot of all files, or one that says nothing yet where there is no git."""
        made = Snapshot(self._next(), "after" if moment == "after" else "before", record)
        if self._git is None and not self._said:
            self._once("git is not installed: only what write and edit change can be brought back", said)
        if self._git is None or self._slow:
            return made
        try:
            tree = self._git.tree()
            bare = self._git.bare() if moment == "before" else ()
        except (GitFailed, OSError) as error:
            self._slow = isinstance(error, TooSlow)
            self._once(
                f"the files could not be kept ({error}); only what write and edit change can be brought back", said
            )
            return made
        said += self._git.said
        self._git.said.clear()
        known = next((s.rights for s in reversed(self.shelf.all()) if s.tree is not None), {})
        return replace(made, tree=tree.name, left_out=tree.left_out, rights={**known, **tree.rights}, bare=bare)

    def _copy(self, path: str, copies: dict[str, Entry | None], rights: dict[str, int], said: list[str]) -> None:
        try:
            found = look(self.root / path, LARGEST)
            if found is not None:
                self.shelf.keep(found.data)
                rights[path] = found.rights
            copies[path] = None if found is None else found.entry
        except OSError as error:
            said.append(f"no copy of {path} could be kept: {error.strerror or error}")

    def _put(self, snapshot: Snapshot, said: list[str]) -> None:
        try:
            self.shelf.put(snapshot)
        except OSError as error:
            self._once(f"the files could not be kept ({error.strerror or error})", said)

    def _once(self, text: str, said: list[str]) -> None:
        if text not in self._said:
            self._said.add(text)
            said.append(text)

    def _next(self) -> int:
        return self.shelf.last() + 1

    def _ours(self, paths: Sequence[Path]) -> Iterator[str]:
        for path in paths:
            if self.root in path.parents:
                yield path.relative_to(self.root).as_posix()

    # ── what they say ──

    @contextmanager
    def looking(self) -> Iterator[Looking]:
        """Looks at the files as they are now, against all that was kept; changes nothing."""
        with self._lock, tempfile.TemporaryDirectory(prefix="ullage-") as apart:
            now: Mapping[str, Entry] | None = None
            git = replace(self._git, apart=Path(apart), said=[]) if self._git is not None else None
            left_out = Snapshot(0, "after", 0)
            if git is not None and not self._slow:
                try:
                    tree: Tree = git.tree()
                    now = git.entries(tree.name)
                    left_out = replace(left_out, left_out=tree.left_out)
                except (GitFailed, OSError):
                    now = None
            yield Looking(self, self.shelf.all(), now, left_out, git)

    def newest_restored(self) -> Snapshot | None:
        """What the last restoring replaced."""
        return next((s for s in reversed(self.shelf.all()) if s.moment == "restored"), None)

    def entries(self, tree: str) -> Mapping[str, Entry]:
        """A tree's files; kept, since a tree never changes. Raises `GitFailed`: no answer is not "no files"."""
        if tree not in self._trees:
            if self._git is None:
                raise GitFailed("git is not installed")
            if len(self._trees) > 8:
                self._trees.clear()
            self._trees[tree] = self._git.entries(tree)
        return self._trees[tree]

    def _known(self, snapshot: Snapshot, path: str) -> tuple[Entry | None] | None:
        """What a snapshot says of a path: an entry, not there, or nothing (None)."""
        if path in snapshot.copies:
            return (snapshot.copies[path],)
        if snapshot.tree is None:
            return None
        try:
            entries = self.entries(snapshot.tree)
        except GitFailed:
            return None
        if path in entries:
            return (entries[path],)
        return None if snapshot.leaves_out(path) else (None,)

    def known(self, snapshot: Snapshot, path: str) -> tuple[Entry | None] | None:
        """See `_known`."""
        return self._known(snapshot, path)

    def data(self, names: Sequence[str], git: Git | None = None) -> dict[str, bytes]:
        """What entries hold, by their blobs' names; what is lost is left out."""
        found = {name: data for name in names if (data := self.shelf.copy(name)) is not None}
        rest = [name for name in names if name not in found]
        git = git or self._git
        if rest and git is not None:
            with suppress(GitFailed):
                found |= git.blobs(rest)
        return found


@dataclass(frozen=True)
class Looking:
    """The files as they are, and all snapshots of a session."""

    keeper: Keeper
    snapshots: Sequence[Snapshot]
    now: Mapping[str, Entry] | None
    ends: Snapshot
    git: Git | None

    def changes(self, since: int = 0) -> tuple[Change, ...]:
        """What the session changed in files from record `since` on, as against now, by path.

        What only somebody else changed is not among it; what they changed too is marked.
        """
        kept = [s for s in self.snapshots if s.moment != "restored"]
        begun = next((at for at, s in enumerate(kept) if s.record >= since and s.moment == "before"), None)
        if begun is None:
            return ()
        kept = kept[begun:]
        mine: set[str] = set()
        theirs: set[str] = set()
        for one, other in pairwise(kept):
            found = self._between(one, other)
            if one.moment == "before":
                mine |= found
            else:
                # Between two ends a restoring of ours may lie: what it replaced, nobody else changed.
                theirs |= found - self._restored(one.number, other.number)
        (mine if kept[-1].moment == "before" else theirs).update(self._until_now(kept[-1]))
        for snapshot in kept:
            if snapshot.moment == "before":
                mine.update(snapshot.copies)
        changes: list[Change] = []
        for path in sorted(mine):
            was = self.at(path, since)
            now = self.current(path)
            if was is not None and now is not None and was[0] != now[0]:
                changes.append(Change(path, was[0], now[0], path in theirs))
        return tuple(changes)

    def _restored(self, after: int, before: int) -> set[str]:
        """Paths that restorings between two snapshots replaced."""
        return {
            path for snapshot in self.snapshots if snapshot.moment == "restored" and after < snapshot.number < before
            for path in snapshot.copies
        }  # fmt: skip

    def at(self, path: str, since: int) -> tuple[Entry | None] | None:
        """What was at a path when record `since` was written; None where nobody knows."""
        for snapshot in self.snapshots:
            if snapshot.record >= since and snapshot.moment == "before":
                known = self.keeper.known(snapshot, path)
                if known is not None:
                    return known
        return None

    def current(self, path: str) -> tuple[Entry | None] | None:
        """What is at a path now; None where it cannot be looked at."""
        if self.now is not None and path in self.now:
            return (self.now[path],)
        try:
            found = look(self.keeper.root / path, LARGEST)
        except OSError:
            return None
        return (None if found is None else found.entry,)

    def was_folder(self, folder: str, since: int) -> bool:
        """Whether a folder was there when record `since` was written; so it counts where nobody knows."""
        for snapshot in self.snapshots:
            if snapshot.record < since or snapshot.moment != "before":
                continue
            if folder in snapshot.missing:
                return False
            if snapshot.tree is None:
                continue
            try:
                entries = self.keeper.entries(snapshot.tree)
            except GitFailed:
                return True
            return snapshot.may_hold(folder) or any(path.startswith(f"{folder}/") for path in entries)
        return True

    def rights(self, path: str, since: int) -> int | None:
        """The permission bits a path had, where they were not the usual ones."""
        for snapshot in self.snapshots:
            if snapshot.record >= since and snapshot.moment == "before" and path in snapshot.rights:
                return snapshot.rights[path]
        return None

    def _between(self, one: Snapshot, other: Snapshot) -> set[str]:
        """Paths that both snapshots know and say different things of."""
        paths = set(one.copies) | set(other.copies)
        if one.tree is not None and other.tree is not None:
            try:
                before, after = self.keeper.entries(one.tree), self.keeper.entries(other.tree)
            except GitFailed:
                before, after = {}, {}
            if one.tree != other.tree:
                paths |= {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        return {p for p in paths if self._differs(self.keeper.known(one, p), self.keeper.known(other, p))}

    def _until_now(self, last: Snapshot) -> set[str]:
        paths = set(last.copies)
        if last.tree is not None and self.now is not None:
            try:
                before = self.keeper.entries(last.tree)
                paths |= {p for p in before.keys() | self.now.keys() if before.get(p) != self.now.get(p)}
            except GitFailed:
                pass
        return {
            p for p in paths
            if not self.ends.leaves_out(p) or p in last.copies
            if self._differs(self.keeper.known(last, p), self.current(p))
        }  # fmt: skip

    @staticmethod
    def _differs(one: tuple[Entry | None] | None, other: tuple[Entry | None] | None) -> bool:
        return one is not None and other is not None and one != other


def keeper_for(log_folder: Path, folder: Path, environ: Mapping[str, str], data: Path) -> Keeper:
    """The keeper of a session in `folder` whose log is in `log_folder`; `data` is where all sessions are.

    What is kept is the project, but not all of somebody's home because it is a repository.
    """
    home = Path.home()
    above = project(folder)
    root = Path(os.path.realpath(folder if above in (home, *home.parents) else above))
    return Keeper(
        log_folder / NAME, root, environ, git=shutil.which("git", path=environ.get("PATH")),
        outside=(Path(os.path.realpath(data)),),
    )  # fmt: skip


__all__ = ["NAME", "Change", "Keeper", "Looking", "keeper_for", "named"]
