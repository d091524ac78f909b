"""Keys that the user has saved: in the system keyring, else in a private file of ours.

Not the environment's keys, which come before these (`endpoints`). A key is named by the variable that would hold it.

Invariants
 1. A value is given to an endpoint and to nothing else: no repr, list or sentence here has one.
 2. The file is read only where nobody but its owner may.
 3. The keyring is asked only for what was put there, and not again in a run in which it failed.
 4. Everything but `value` and `where` may block for a bounded time, so it belongs on a thread.
"""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent.keys.child import NoKeyring, Ring, SystemRing
from agent.models.providers import KEY_VARIABLES
from agent.whole_file import locked, write_whole

Where: TypeAlias = Literal["keyring", "file"]

# A file of keys is a few hundred bytes; one beyond this is something else.
MOST_BYTES = 100_000

# A key is one word of printable ASCII; the longest known are some 200 characters.
MOST_CHARACTERS = 4_000


class KeyTrouble(Exception):
    """A key that cannot be saved, read or forgotten; the text is a sentence."""


class Keys:
    """The keys saved under `path`. `trouble` says why some could not be read, or nothing."""

    def __init__(self, path: Path, ring: Ring | None = None) -> None:
        self.path = path
        self._ring: Ring = SystemRing() if ring is None else ring
        self._lock = threading.Lock()
        self._values: dict[str, str] = {}
        self._kept: dict[str, Where] = {}
        self._read_at: tuple[int, int] | None = None
        self._silent = ""
        self.trouble = ""

    def __repr__(self) -> str:
        return f"Keys({str(self.path)!r})"

    def value(self, variable: str) -> str | None:
        """The key that would stand in `variable`, as far as `load` has found it."""
        return self._values.get(variable)

    def where(self, variable: str) -> Where | None:
        """Where it is kept."""
        return self._kept.get(variable)

    def kept(self) -> Sequence[tuple[str, Where]]:
        """What is saved, by name, and where."""
        return sorted(self._kept.items())

    def load(self) -> None:
        """Reads what is saved, where it changed since. Raises nothing; `trouble` says what is missing."""
        with self._lock:
            try:
                rows = self._rows()
            except KeyTrouble as error:
                self._values, self._kept, self._read_at, self.trouble = {}, {}, None, str(error)
                return
            if rows is None:
                return
            self._kept = {name: row["kept"] for name, row in rows.items()}
            self._values = {name: row["key"] for name, row in rows.items() if row["kept"] == "file"}
            self.trouble = self._silent
            ringed = [name for name, where in self._kept.items() if where == "keyring"]
            if ringed and not self._silent:
                try:
                    self._values |= self._ring.get(ringed)
                except NoKeyring as error:
                    self._silent = self.trouble = f"{error}: the keys kept there are missing in this run"

    def save(self, variable: str, key: str) -> Where:
        """Keeps a key, in the keyring where there is one. Raises `KeyTrouble`."""
        if not key or len(key) > MOST_CHARACTERS or not (key.isascii() and key.isprintable()) or " " in key:
            raise KeyTrouble("that is no key: it is empty or holds a space, a line break or a character no key has")
        where: Where = "keyring"
        try:
            self._ring.put(variable, key)
        except NoKeyring:
            where = "file"
        self._change(variable, {"kept": where} if where == "keyring" else {"kept": where, "key": key})
        self._silent = ""
        self.load()
        return where

    def forget(self, variable: str) -> bool:
        """Drops a key wherever it is kept; whether there was one. Raises `KeyTrouble`."""
        self.load()
        where = self._kept.get(variable)
        if where is None:
            if self.trouble and self.trouble != self._silent:
                raise KeyTrouble(self.trouble)
            return False
        if where == "keyring":
            try:
                self._ring.drop(variable)
            except NoKeyring as error:
                raise KeyTrouble(f"{error}; the key is still there") from error
        self._change(variable, None)
        self.load()
        return True

    def _change(self, variable: str, row: Mapping[str, str] | None) -> None:
        try:
            with locked(self.path):
                self._read_at = None
                rows = dict(self._rows() or {})
                rows.pop(variable, None)
                if row is not None:
                    rows[variable] = row
                write_whole(self.path, json.dumps({"keys": rows}, indent=1) + "\n")
                self._read_at = None
        except OSError as error:
            raise KeyTrouble(f"{self.path} cannot be written: {error.strerror or error}") from error

    def _rows(self) -> Mapping[str, Mapping[str, Any]] | None:
        """The file's rows; None where it is as it was read last. Raises `KeyTrouble`."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            self._read_at = None
            return {}
        except OSError as error:
            raise KeyTrouble(f"{self.path} cannot be read: {error.strerror}") from error
        with os.fdopen(file, "rb") as opened:
            status = os.fstat(opened.fileno())
            _check(self.path, status)
            now = (status.st_mtime_ns, status.st_ino)
            if now == self._read_at:
                return None
            content = opened.read(MOST_BYTES + 1)
        try:
            rows = {str(name): _row(row) for name, row in json.loads(content)["keys"].items()}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise KeyTrouble(f"{self.path} is damaged, so no key is read from it; delete it and save them again") \
                from error  # fmt: skip
        self._read_at = now
        return rows


def variable_of(name: str, others: Sequence[str] = ()) -> str:
    """The variable that holds the key of a provider; of `others`, what settings name as one. Raises `KeyTrouble`."""
    if name.lower() in KEY_VARIABLES:
        return KEY_VARIABLES[name.lower()]
    if name in KEY_VARIABLES.values() or name in others:
        return name
    known = ", ".join(KEY_VARIABLES)
    # Without the name: somebody may have written the key itself.
    raise KeyTrouble(f"no provider of that name is known by a key of its own; known are {known}")


def _row(row: Any) -> Mapping[str, Any]:
    kept = row["kept"]
    if kept not in ("keyring", "file") or (kept == "file" and not isinstance(row["key"], str)):
        raise ValueError("no row of keys")
    return {"kept": kept, **({"key": row["key"]} if kept == "file" else {})}


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyTrouble(f"{path} is no ordinary file, so no key is read from it")
    if status.st_uid != os.geteuid():
        raise KeyTrouble(f"{path} belongs to another user, so no key is read from it")
    if status.st_mode & 0o077:
        mode = f"{stat.S_IMODE(status.st_mode):03o}"
        raise KeyTrouble(f"{path} may be read by others (mode {mode}), so no key is read from it: chmod 600 {path}")


__all__ = ["KeyTrouble", "Keys", "Where", "variable_of"]
