"""Where things are kept: four folders of ours, and the folder that a project is.

Not what is in them; nothing here creates or reads a file of ours.

Invariants
 1. `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_STATE_HOME` and `XDG_CACHE_HOME` decide where they are set.
 2. Every path is absolute.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

# A slug's readable part, characters: two or three folder names, enough to know it by; the digest keeps slugs apart.
SLUG = 40

# Digest characters behind a slug: 32 bits, so that among 1,000 folders a clash is one in some ten thousand.
DIGEST = 8


@dataclass(frozen=True, slots=True)
class Places:
    """The user's folders: `config` for what people write, `data` for sessions, `cache` for what may be lost."""

    config: Path
    data: Path
    state: Path
    cache: Path

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.config / "config.toml"

    @property
    def keys(self) -> Path:
        """Saved keys, or where they are kept."""
        return self.config / "keys.json"

    @property
    def sessions(self) -> Path:
        """The folder of all folders' sessions."""
        return self.data / "sessions"

    @property
    def trash(self) -> Path:
        """Where sessions go that nobody wants to see any more; nothing is ever taken out of it."""
        return self.data / "trash"

    def memory(self, folder: Path) -> Path:
        """What was learned about the project that `folder` is in."""
        return self.data / "memory" / f"{slug(project(folder))}.md"


def here() -> Places:
    """The places of this user on this machine."""
    dirs = PlatformDirs("ullage", appauthor=False)
    found = (dirs.user_config_path, dirs.user_data_path, dirs.user_state_path, dirs.user_cache_path)
    return Places(*(path.absolute() for path in found))


def under(root: Path) -> Places:
    """All four below one folder: for tests and for the tour."""
    return Places(root / "config", root / "data", root / "state", root / "cache")


def project(folder: Path) -> Path:
    """The root of the project that `folder` is in: the nearest folder with a `.git`, else `folder` itself."""
    folder = folder.resolve()
    # `os.path.exists` is False where a folder above may not be looked into; `Path.exists` would raise.
    return next((p for p in (folder, *folder.parents) if os.path.exists(p / ".git")), folder)


def slug(folder: Path) -> str:
    """A file name for a folder: its last names, readable, and a digest of the whole path."""
    path = str(folder.resolve())
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:DIGEST]
    words = re.sub(r"[^A-Za-z0-9._]+", "-", path).strip("-.")[-SLUG:].lstrip("-.")
    return f"{words or 'root'}-{digest}"
