"""A git repository of our own over somebody else's files: makes a tree of them, and reads one back.

Not a snapshot (that is `snapshots`) and no judgement. The project's own repository is neither read nor written: its
`.git` is passed over as git passes over any, and no configuration but ours is in force, so no hook, filter, signature,
line-ending conversion or file system monitor of the user's or the project's runs.

Invariants
 1. What is stored is what is on the disk, byte for byte, whatever `.gitattributes` says.
 2. `.gitignore` is respected. What is left out for any reason is named with the tree, so that nobody takes a file that
    was never looked at for one that was not there.
 3. Files above `LARGEST`, folders with more than `MOST_BESIDE` files, and what is beyond `MOST_FILES` are left out.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# A source file is smaller by two orders; what is larger is data or a build's output. Bytes.
LARGEST = 4 * 1024 * 1024

# No folder of source code holds so many files side by side; caches and data sets do.
MOST_BESIDE = 3_000

# Git stores a thousand small files in 0.3 to 0.8 seconds the first time, and looks through them in 0.1 s after that: a
# project that ignores what it builds has fewer, one that does not would hold its first change up for half a minute.
MOST_FILES = 10_000

# The same time again for their bytes: 64 MiB are compressed and written in about three seconds.
MOST_BYTES = 64 * 1024 * 1024

# What a file costs beside its bytes, as so many bytes: which of two folders is the larger to keep.
EACH = 8 * 1024

# Twice a first snapshot of the largest project that is not cut, on a busy machine. Seconds.
PATIENCE = 20.0

# Permission bits that say no more than git keeps: whether a file can be run.
USUAL = frozenset({0o644, 0o664, 0o755, 0o775})

# Names of blobs asked for at once: what comes back is held in memory, at most this times `LARGEST`.
AT_ONCE = 50

_QUIET = {
    "core.hooksPath": os.devnull,
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.excludesFile": os.devnull,
    "core.attributesFile": os.devnull,
    "core.bigFileThreshold": "512m",
    "core.looseCompression": "1",
    "core.fsync": "none",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
}

# No conversion of any kind, over whatever the project's own attributes say; `!` because `-` is an error there.
_ATTRIBUTES = "* -text -eol -ident -filter !working-tree-encoding\n"


# More folders without a file are not listed: then every folder counts as one that was there.
MOST_BARE = 5_000


class GitFailed(Exception):
    """Git is missing, failed or took too long; the text is a sentence part."""


class TooSlow(GitFailed):
    """It took too long, and would again."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree: git's mode (`100644`, `100755`, `120000` for a link) and the name of its blob."""

    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree that was made: its name, and the paths it says nothing about; one that ends in `/` is a whole folder.

    `rights` are the permission bits of files that changed since the tree before, where git would not keep them.
    """

    name: str
    left_out: tuple[str, ...]
    rights: Mapping[str, int]


@dataclass
class Git:
    """The repository in `folder` over the files under `root`. Everything here blocks: call it on a thread.

    `apart`: the index and new objects go to that folder instead, so that looking changes nothing that a writer uses.
    `outside` are folders below `root` that are never looked at (where we ourselves keep things).
    """

    folder: Path
    root: Path
    environ: Mapping[str, str]
    program: str = "git"
    outside: Sequence[Path] = ()
    apart: Path | None = None
    patience: float = PATIENCE
    said: list[str] = field(default_factory=list)

    # ── making a tree ──

    def tree(self) -> Tree:
        """What the files are now. Adds to `said` a sentence for what is left out from now on. Raises `GitFailed`."""
        self._begin()
        listed = self._names("ls-files", "-z", "-t", "-o", "-m", "-d", "--exclude-standard")
        gone = {line[2:] for line in listed if line.startswith("R ")}
        fresh = [path for path in dict.fromkeys(line[2:] for line in listed) if path not in gone]
        self._leave_out_folders(fresh)
        rights: dict[str, int] = {}
        wanted, dropped, large = self._sorted_out(fresh, rights)
        self._say_once(large, "too large to keep a copy of: {}; a rewind cannot bring that back")
        inner = [path for path in dropped if path.endswith("/")]
        self._say_once(inner, "a repository inside this one is not kept: {}; a rewind cannot bring back what is in it")
        # First what is gone: a file may have taken the place of a folder, or a link.
        if gone or dropped:
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=_joined([*sorted(gone), *dropped]))
        if wanted:
            self._run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=_joined(wanted))
        name = self._run("write-tree").decode("ascii").strip()
        ignored = self._names("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
        return Tree(name, tuple(sorted({*ignored, *dropped})), rights)

    def _begin(self) -> None:
        if self.apart is not None:
            if not (self.folder / "objects").is_dir():
                raise GitFailed("nothing was kept yet")
            self.apart.mkdir(parents=True, exist_ok=True)
            # With its time: git tells a file changed within the same instant from the index's own age.
            if (self.folder / "index").exists() and not (self.apart / "index").exists():
                shutil.copy2(self.folder / "index", self.apart / "index")
            return
        if (self.folder / "info" / "attributes").exists():
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._run("init", "-q", "--template=")
        info = self.folder / "info"
        info.mkdir(exist_ok=True)
        shut = [
            _pattern(p.relative_to(self.root).as_posix(), folder=True) for p in self.outside if _below(p, self.root)
        ]
        (info / "exclude").write_text("".join(f"{line}\n" for line in shut), encoding="utf-8", errors="surrogateescape")
        # Last: it says that the rest is there.
        (info / "attributes").write_text(_ATTRIBUTES, encoding="ascii")

    def _leave_out_folders(self, fresh: list[str]) -> None:
        """Takes whole folders with too many files out of `fresh`, and out of every later tree."""
        beside = Counter(os.path.dirname(path) for path in fresh)
        shut = [folder for folder, count in beside.items() if folder and count > MOST_BESIDE]
        left = {path: self._size(path) for path in fresh if not _within(path, shut)}
        while len(left) > MOST_FILES or sum(left.values()) > MOST_BYTES:
            tops: Counter[str] = Counter()
            for path, size in left.items():
                if "/" in path:
                    tops[path.split("/", 1)[0]] += size + EACH
            if not tops:
                raise GitFailed("there are too many files in the project's own folder")
            largest = tops.most_common(1)[0][0]
            shut.append(largest)
            left = {path: size for path, size in left.items() if not path.startswith(f"{largest}/")}
        if not shut:
            return
        fresh[:] = list(left)
        with (self.folder / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(f"{_pattern(folder, folder=True)}\n" for folder in shut)
        gone = [path for path in self._names("ls-files", "-z") if _within(path, shut)]
        if gone:
            self._run("update-index", "-z", "--force-remove", "--stdin", stdin=_joined(gone))
        named = ", ".join(f"{folder}/" for folder in shut[:3]) + (", …" if len(shut) > 3 else "")
        self.said.append(f"too many files to keep copies of in {named}: a rewind cannot bring those back")

    def _size(self, path: str) -> int:
        """Bytes that a copy would take; none for what is left out by itself."""
        try:
            size = os.lstat(f"{self.root}/{path}").st_size
        except OSError:
            return 0
        return 0 if size > LARGEST else size

    def _sorted_out(self, fresh: Iterable[str], rights: dict[str, int]) -> tuple[list[str], list[str], list[str]]:
        """What goes into the tree, what must not (any more), and which of that for its size."""
        wanted: list[str] = []
        dropped: list[str] = []
        large: list[str] = []
        for path in fresh:
            try:
                status = os.lstat(f"{self.root}/{path}")
            except OSError:
                wanted.append(path)  # gone: it goes out of the index
                continue
            if stat.S_ISLNK(status.st_mode):
                wanted.append(path)
            elif not stat.S_ISREG(status.st_mode) or not os.access(self.root / path, os.R_OK):
                dropped.append(path)
            elif status.st_size > LARGEST:
                dropped.append(path)
                large.append(path)
            else:
                wanted.append(path)
                if stat.S_IMODE(status.st_mode) not in USUAL:
                    rights[path] = stat.S_IMODE(status.st_mode)
        return wanted, dropped, large

    def _say_once(self, left: Sequence[str], text: str) -> None:
        """Says which paths are left out, each once in a session."""
        if not left:
            return
        known = self.folder / "told"
        before = set(known.read_text("utf-8", "surrogateescape").split("\0")) if known.exists() else set()
        new = [path for path in left if path not in before]
        if not new:
            return
        if self.apart is None:
            known.write_text("\0".join({*before, *new}), encoding="utf-8", errors="surrogateescape")
        named = ", ".join(new[:3]) + (", …" if len(new) > 3 else "")
        self.said.append(text.format(named))

    def bare(self) -> tuple[str, ...]:
        """Folders, each with a `/`, that are there and hold nothing of the tree just made. Raises `GitFailed`."""
        found = self._names("ls-files", "-z", "-o", "--directory", "--exclude-standard")
        folders = tuple(path for path in found if path.endswith("/"))
        return folders if len(folders) <= MOST_BARE else ("",)

    # ── reading one ──

    def entries(self, tree: str) -> dict[str, Entry]:
        """All files of a tree, by path. Raises `GitFailed`."""
        found: dict[str, Entry] = {}
        for line in self._run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0"):
            if line:
                facts, _, path = line.partition(b"\t")
                mode, _, blob = facts.decode("ascii").split(" ")
                found[os.fsdecode(path)] = Entry(mode, blob)
        return found

    def blobs(self, names: Sequence[str]) -> dict[str, bytes]:
        """What blobs hold, by name; one that is not here is left out. Raises `GitFailed`."""
        found: dict[str, bytes] = {}
        for at in range(0, len(names), AT_ONCE):
            found |= self._batch(names[at : at + AT_ONCE])
        return found

    def _batch(self, names: Sequence[str]) -> dict[str, bytes]:
        data = self._run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode("ascii"))
        found: dict[str, bytes] = {}
        at = 0
        for name in names:
            end = data.index(b"\n", at)
            head = data[at:end].split(b" ")
            at = end + 1
            if len(head) == 3 and head[1] == b"blob":
                size = int(head[2])
                found[name] = data[at : at + size]
                at += size + 1
        return found

    # ── running git ──

    def _names(self, *words: str) -> list[str]:
        return [os.fsdecode(raw) for raw in self._run(*words).split(b"\0") if raw]

    def _run(self, *words: str, stdin: bytes = b"") -> bytes:
        settings = [part for key, value in _QUIET.items() for part in ("-c", f"{key}={value}")]
        try:
            done = subprocess.run(
                [self.program, *settings, *words], input=stdin, capture_output=True, timeout=self.patience, check=False,
                cwd=self.root, env=self._environment(),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            # Whoever calls is alone with this folder, and the process that held the lock was killed.
            (self.apart or self.folder).joinpath("index.lock").unlink(missing_ok=True)
            raise TooSlow(f"git {words[0]} took more than {self.patience:.0f} seconds") from None
        except OSError as error:
            raise GitFailed(f"git cannot be run: {error.strerror or error}") from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(f"git {words[0]} failed: {said[-1] if said else done.returncode}")
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """Nothing of the user's git gets through, whatever their environment says."""
        kept = {key: value for key, value in self.environ.items() if not key.startswith("GIT_")}
        kept |= {
            "GIT_DIR": str(self.folder), "GIT_WORK_TREE": str(self.root), "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0", "GIT_LITERAL_PATHSPECS": "1", "LC_ALL": "C",
        }  # fmt: skip
        if self.apart is not None:
            kept |= {
                "GIT_INDEX_FILE": str(self.apart / "index"),
                "GIT_OBJECT_DIRECTORY": str(self.apart / "objects"),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.folder / "objects"),
            }
            (self.apart / "objects").mkdir(parents=True, exist_ok=True)
        return kept


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _within(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _below(path: Path, root: Path) -> bool:
    return root in path.parents


def _pattern(path: str, *, folder: bool) -> str:
    """A line of an exclude file that means exactly this path."""
    escaped = "".join(f"\\{c}" if c in "\\*?[]!# " else c for c in path)
    return f"/{escaped}{'/' if folder else ''}"
