"""`@path` in a message: the file's text or picture joins the message, so that the model need not read it first.

Not completion (that is the screen's) and no permission: the user named the file. What cannot be read stays as typed; a
picture that no provider would take is refused, for it would poison every later request of the session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from agent.sanitise import clean, decode
from agent.tools.contract import Refused
from agent.tools.images import data_url

# A path behind an @ at the start of a word; quotes allow spaces.
MENTION = re.compile(r'(?<![\w@.])@(?:"([^"\n]+)"|([^\s"\'`<>|;,()\[\]{}]+))')

# The most of one file that joins a message, characters: about 12k tokens. The model reads on with `read`.
MOST = 50_000

# Names of files that are sent as pictures; what is in them is checked by `images.data_url`.
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})

# The most names of a folder that join, lines.
MOST_NAMES = 200


def mentioned(text: str, folder: Path) -> tuple[tuple[str, Path], ...]:
    """The mentions that name an existing file or folder, each once, in order."""
    found: dict[str, Path] = {}
    for match in MENTION.finditer(text):
        name = (match[1] or match[2]).rstrip(".:!?") if not match[1] else match[1]
        try:
            path = Path(os.path.realpath(folder / os.path.expanduser(name)))
            if name and (path.is_file() or path.is_dir()):
                found.setdefault(name, path)
        except (OSError, ValueError):
            continue
    return tuple(found.items())


def expand(text: str, folder: Path, warn: Callable[[str], None]) -> str:
    """The message with the mentioned files behind it. `warn` gets a sentence for each that could not be read."""
    blocks: list[str] = []
    for name, path in mentioned(text, folder):
        if _leads_out(name, folder):
            warn(f"@{name} is a link out of the folder; name what it leads to")
            continue
        try:
            body = _listing(path) if path.is_dir() else _file(path)
        except OSError as error:
            warn(f"@{name} could not be read: {error.strerror or error}")
            continue
        blocks.append(f'<file path="{name}">\n{body}\n</file>')
    return "\n\n".join((text, *blocks))


def pictures(text: str, folder: Path) -> tuple[str, ...]:
    """The mentioned pictures as data URLs. Raises `Refused` with a sentence for one that cannot be sent."""
    found: list[str] = []
    for name, path in mentioned(text, folder):
        if not is_picture(path) or _leads_out(name, folder):
            continue
        try:
            found.append(data_url(path.read_bytes()))
        except Refused as refused:
            raise Refused(f"@{name} was not sent: {refused}") from refused
        except OSError as error:
            raise Refused(f"@{name} could not be read: {error.strerror or error}") from error
    return tuple(found)


def _leads_out(name: str, folder: Path) -> bool:
    """Whether a name reads like one below the folder and a link takes it elsewhere: it could be anything of the user's.

    A name that says itself where it goes (`/`, `~`, `..`) is what the user meant.
    """
    top, place = os.path.realpath(folder), os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
    real = os.path.realpath(place)
    below = os.path.commonpath((place, os.path.normpath(folder))) == os.path.normpath(folder)
    return below and os.path.commonpath((real, top)) != top


def is_picture(path: Path) -> bool:
    """Whether a file means to be a picture, by its name."""
    return path.suffix.lower() in PICTURES and path.is_file()


def _file(path: Path) -> str:
    if is_picture(path):
        return "[the picture, attached]"
    with path.open("rb") as file:
        # Four bytes are the longest character in UTF-8.
        data = file.read(MOST * 4 + 1)
    if b"\0" in data[:8_000]:
        return f"[a binary file of {path.stat().st_size:,} bytes]"
    text = clean(decode(data))
    if len(text) <= MOST:
        return text
    return f"{text[:MOST]}\n[… the file goes on; read it with read and an offset …]"


def _listing(path: Path) -> str:
    names = sorted(f"{p.name}/" if p.is_dir() else p.name for p in path.iterdir())
    more = f"\n[… {len(names) - MOST_NAMES} more …]" if len(names) > MOST_NAMES else ""
    return "\n".join(clean(n) for n in names[:MOST_NAMES]) + more
