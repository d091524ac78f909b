"""What a server's tool is called: `mcp__server__tool`, in the letters and the length that providers accept.

Invariants
 1. A name is a function of the server's and the tool's own names alone, so that it means the same in every session.
 2. At most `LONGEST` characters of A-Z, a-z, 0-9, `_` and `-`.
 3. The server's part holds no `__` and ends in no `_`: where it ends is never in doubt, so two servers never share
    a name. What had to be changed carries a digest of what it was.
"""

from __future__ import annotations

import hashlib
import re

# What every provider in use accepts; characters.
LONGEST = 64

# The server's part: enough to know it by, and it leaves 64 - 5 - 24 - 2 = 33 for the tool's. Characters.
SERVER = 24

# Digest characters: 24 bits keep a hundred mended names apart (a clash is one in 3,000, and is said).
DIGEST = 6

PREFIX = "mcp__"

# How a mended name ends: one that is spelled so from the start could pass for another's.
_MENDED = re.compile(rf"(?:^|-)[0-9a-f]{{{DIGEST}}}$")

_OURS = re.compile(r"mcp__(.+?)__(?=.)")


def server_part(server: str) -> str:
    """The part of a tool's name that stands for a server."""
    return _fitted(server, re.sub("_+", "_", _plain(server)).strip("_"), SERVER)


def tool_name(server: str, tool: str) -> str:
    """What the model calls a server's tool."""
    first = f"{PREFIX}{server_part(server)}__"
    return first + _fitted(tool, _plain(tool), LONGEST - len(first))


def server_of(name: str) -> str | None:
    """The server's part of such a name; None for any other."""
    found = _OURS.match(name)
    return None if found is None else found[1]


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text)


def _fitted(text: str, plain: str, most: int) -> str:
    """`plain`, with a digest of `text` where it is not that text any more, or reads as if it had one."""
    if plain == text and 0 < len(text) <= most and not _MENDED.search(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{plain[: most - DIGEST - 1].rstrip('_-')}-{digest}".lstrip("-")
