"""What a project's file would do, for the user to read before agreeing to it.

Not the agreement (that is `agent.trust`) and not its taking effect (that is `agent.wishes.trusting`).

Invariants
 1. The text shown hides nothing: what a terminal would obey or leave out is spelled as an escape.
 2. The digest is of the bytes that were read for the text; whoever agrees, agrees to these.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.hooks.words import effect
from agent.mcp.server import server_of
from agent.sanitise import decode, one_line, scrub
from agent.settings.text import Layer, SettingsError, read_layer
from agent.trust import fingerprint

# More than this nobody reads before saying yes, and settings are a page; bytes.
MOST_SHOWN = 64_000

# Characters that show nothing or move others: controls, formats (joiners, bidi, tags), surrogates, private use,
# unassigned, the two separators that break lines, and spaces that are none to a shell.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

# Letters and marks that show nothing, by their numbers: joiners, fillers, vowels without a form, selectors of variants,
# the empty pattern of Braille.
_UNSEEN = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0)
) | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}


@dataclass(frozen=True, slots=True)
class Quoted:
    """A file as it was read: `text` to be shown, `says` what it would do, `problem` why it cannot be agreed to."""

    path: Path
    content: bytes
    text: str
    says: tuple[str, ...] = ()
    problem: str = ""

    @property
    def digest(self) -> str:
        """Of its content."""
        return fingerprint(self.content)


def unhidden(text: str) -> str:
    """`text` with every character that would not be seen spelled as an escape; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(c) if _hidden(c) else c for c in scrub(text))


def _hidden(char: str) -> bool:
    return char not in "\n\t " and (unicodedata.category(char) in _HIDDEN or ord(char) in _UNSEEN)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def bounded(path: Path, most: int = MOST_SHOWN) -> bytes | None:
    """The file's bytes, one more than `most` at the most; None where there is no regular file. Raises `OSError`."""
    if not os.path.isfile(path):
        return None
    with path.open("rb") as file:
        return file.read(most + 1)


def quoted_settings(path: Path) -> Quoted | None:
    """A project's settings file and what it would do; None where there is none. Raises `OSError`."""
    content = bounded(path)
    if content is None:
        return None
    text = unhidden(decode(content).replace("\r\n", "\n"))
    if len(content) > MOST_SHOWN:
        problem = f"it is longer than {MOST_SHOWN:,} bytes, which nobody reads before agreeing to it"
        return Quoted(path, content, text, problem=problem)
    try:
        layer = read_layer(path, content, project=True)
    except SettingsError as error:
        return Quoted(path, content, text, problem=_without(path, str(error)))
    return Quoted(path, content, text, tuple(_says(path, layer)))


def _says(path: Path, layer: Layer) -> Iterator[str]:
    """A sentence for each thing the file would do, what runs commands first; then what is ignored."""
    yield from map(effect, layer.hooks)
    yield from _servers(path, layer)
    for name, value in layer.values.items():
        yield f"sets {name} to {_shown(value)}"
    for glob, said in layer.models.items():
        for name, value in said.items():
            yield f'sets {name} of the model "{one_line(glob)}" to {_shown(value)}'
    for notice in layer.notices:
        yield f"ignored: {_without(path, notice)}"


def _servers(path: Path, layer: Layer) -> Iterator[str]:
    for name, said in layer.mcp.items():
        server = server_of(name, said, path.parent.parent)
        line = " ".join(server.command)
        what = f"runs the command: {unhidden(line)}" if line else f"connects to {unhidden(server.url)}"
        given = f", and is given your {', '.join(server.given)}" if server.given else ""
        off = "" if server.enabled else " (switched off for now)"
        yield f"starts the MCP server {one_line(name)}, which {what}{given}{off}"


def _shown(value: object) -> str:
    listed = list(value) if isinstance(value, tuple) else value
    return one_line(json.dumps(listed, ensure_ascii=False, default=str), 200)


def _without(path: Path, sentence: str) -> str:
    """A sentence without the file it begins with: that is named above."""
    return re.sub(rf"^{re.escape(str(path))}:? ?", "", sentence)
