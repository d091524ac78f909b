"""Which files of other people's projects the user has agreed to, by content.

Not what trusted files may do (that is `agent.settings`), and not what tools may do (`agent.permissions`).

Invariants
 1. Trust is in a file's bytes at its place: one byte changed, or the same bytes elsewhere (reached by a link, too), and
    it must be asked again.
 2. What cannot be read is not trusted.
 3. A no for good is about the bytes too: changed content is asked about anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from agent.places import Places
from agent.whole_file import locked, write_whole

# What stands before the digest of a content the user does not want to be asked about.
_NEVER = "never:"


def fingerprint(content: bytes) -> str:
    """What trust is remembered for: SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


class Trust:
    """The user's agreements, kept in the state folder. Every question reads the file again; it is small."""

    def __init__(self, places: Places) -> None:
        self.path = places.state / "trust.json"

    def holds(self, file: Path, content: bytes) -> bool:
        """Whether the user agreed to `file` with exactly this content."""
        return self._read().get(_name(file)) == fingerprint(content)

    def refused(self, file: Path, content: bytes) -> bool:
        """Whether the user said never to be asked about `file` with exactly this content."""
        return self._read().get(_name(file)) == _NEVER + fingerprint(content)

    def refuse(self, file: Path, content: bytes) -> None:
        """Remembers not to ask about this content. Raises `OSError`."""
        self._change(file, _NEVER + fingerprint(content))

    def grant(self, file: Path, content: bytes) -> None:
        """Remembers that the user agrees. Raises `OSError`."""
        self._change(file, fingerprint(content))

    def withdraw(self, file: Path) -> None:
        """Forgets what was said of a file. Raises `OSError`."""
        self._change(file, None)

    def _change(self, file: Path, digest: str | None) -> None:
        with locked(self.path):
            agreed = self._read()
            agreed.pop(_name(file), None)
            if digest:
                agreed[_name(file)] = digest
            write_whole(self.path, json.dumps(agreed, indent=1, sort_keys=True) + "\n")

    def _read(self) -> dict[str, str]:
        try:
            value = json.loads(self.path.read_bytes())
        except (OSError, ValueError):
            return {}
        return {k: v for k, v in value.items() if isinstance(v, str)} if isinstance(value, dict) else {}


def _name(file: Path) -> str:
    # Where a link in it leads counts for nothing (its project's folder is a real path already): by one, another project
    # could borrow a trusted file, and the commands in that would run over there.
    return os.fsencode(os.path.abspath(file)).decode("utf-8", "backslashreplace")
