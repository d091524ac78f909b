"""Images named by a paste: which files are meant, and their chips.

Not reading them (that is the agent's): a chip stands for a mention of the file, which the agent reads when the message
is sent.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tui import clipboard
from tui.actions import Attach, AttachClipboard
from tui.front import Looks
from tui.plain import one_line

# The files that are sent as pictures, as the agent has them.
PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})

# A text longer than this is no list of dragged files; characters.
LONGEST = 8_000

# A name in a chip, characters.
NAMED = 30


def dragged(text: str, folder: Path) -> tuple[Path, ...]:
    """The image files that a pasted text consists of; none where it holds anything else.

    Terminals paste a dragged file as its path: quoted, with backslashes, as it is, or as a `file://` address.
    """
    line = text.strip()
    if not line or len(line) > LONGEST or "\n" in line.replace("\r\n", "\n").strip("\n"):
        return ()
    try:
        words = shlex.split(line)
    except ValueError:
        return ()
    for names in ([line], words):
        found = [_image(name, folder) for name in names]
        if found and all(found):
            return tuple(path for path in found if path is not None)
    return ()


def _image(name: str, folder: Path) -> Path | None:
    if name.startswith("file://"):
        name = unquote(urlsplit(name).path)
    # Only what is written as a path: a lone word that happens to be a file's name is a word.
    if not name.startswith(("/", "~", "./", "../")):
        return None
    try:
        path = (folder / Path(name).expanduser()).resolve()
        fits = path.suffix.lower() in PICTURES and path.is_file() and '"' not in str(path)
    except (OSError, ValueError, RuntimeError):
        return None
    return path if fits else None


def mention(path: Path) -> str:
    """The words that make the agent attach the file."""
    return f'@"{path}"'


def label(path: Path) -> str:
    """`image name.png 120 KB`."""
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    kilobytes = f"{max(1, round(size / 1_000)):,} KB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
    name = one_line(path.name.replace("[", "(").replace("]", ")"), NAMED)
    return f"image {name} {kilobytes}"


@dataclass(frozen=True, slots=True)
class Attached:
    """What comes of it: (label, mention) of each image, a text to paste instead, and sentences."""

    chips: tuple[tuple[str, str], ...] = ()
    text: str = ""
    troubles: tuple[str, ...] = ()


def attached(log: Looks | None, wish: Attach, model: str) -> Attached:
    """The images of a paste, each looked at; the path of one that cannot be sent stays as text. For a thread."""
    chips, texts, troubles = [], [], []
    for path in wish.paths:
        why = log.image_trouble(path, model) if log is not None else ""
        if why:
            troubles.append(f"{one_line(path.name)} is not attached: {why}")
            texts.append(str(path))
        else:
            chips.append((label(path), mention(path)))
    return Attached(tuple(chips), " ".join(texts), tuple(dict.fromkeys(troubles)))


def from_clipboard(
    log: Looks | None, wish: AttachClipboard, model: str, environ: Mapping[str, str],
    taken: Callable[[Mapping[str, str]], bytes | str] = clipboard.image,
) -> Attached:  # fmt: skip
    """The clipboard's image; else the text to be pasted, or the sentence why there is nothing. For a thread."""
    data = taken(environ)
    if isinstance(data, str) or log is None:
        return Attached(text=wish.otherwise) if wish.otherwise or log is None else Attached(troubles=(str(data),))
    try:
        path = log.keep_image(data)
    except LookupError as error:
        return Attached(troubles=(f"The clipboard's image is not attached: {error.args[0]}",))
    except OSError as error:
        return Attached(troubles=(f"The clipboard's image could not be kept: {error.strerror or error}",))
    return replace(attached(log, Attach((path,)), model), text="")
