"""Commands of the user's own: Markdown files whose text is sent as a message.

    commands/review.md            /review          in the config folder
    .ullage/commands/db/drop.md   /db:drop         in the project; wins over the user's of the same name

A file may begin with `---`, lines `description: …` and `arguments: …` (a hint), and `---`. In its text `$ARGUMENTS` is
all that was typed behind the name, `$1` to `$9` are its words, quoted as in a shell. Where none of them stands, what
was typed follows the text.

Not the sending (that is `incoming.customs`) and no trust.

Invariants
 1. Whatever lies in the folders, reading ends soon and raises nothing: what cannot be used is named in a sentence.
 2. A project's commands are plain files inside its own folder: a link could fetch any file of the user's.
 3. What is put in for a word is not looked through again.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.places import Places, project
from agent.sanitise import one_line, scrub
from agent.settings.projects import bounded

# A message of this size is a document, not a command; bytes.
MOST_BYTES = 64_000

# More files, or folders deeper than this, are no collection of commands but a tree somebody linked here.
MOST_FILES = 300
DEEPEST = 4

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_TYPED = re.compile(r"\s*/([A-Za-z0-9][\w-]*(?::[A-Za-z0-9][\w-]*)*)(?:\s+|\Z)")
_WANTED = re.compile(r"\$(ARGUMENTS(?![A-Za-z0-9_])|[1-9](?![0-9]))")


class BadWords(ValueError):
    """Arguments that cannot be taken apart; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """One command. `theirs`: it is the project's. `hides`: the user has one of the same name."""

    name: str
    description: str
    arguments: str
    text: str
    path: Path
    content: bytes
    theirs: bool
    hides: bool = False

    @property
    def whose(self) -> str:
        """Where it comes from."""
        return ("the project's, instead of yours" if self.hides else "the project's") if self.theirs else "yours"

    def message(self, typed: str) -> str:
        """The text to be sent for what was typed behind the name. Raises `BadWords`."""
        typed = typed.strip()
        wanted = set(_WANTED.findall(self.text))
        if not wanted:
            return f"{self.text}\n\n{typed}" if typed else self.text
        words: list[str] = []
        if wanted - {"ARGUMENTS"}:
            try:
                words = shlex.split(typed)
            except ValueError as error:
                raise BadWords(f"/{self.name}: a quotation mark in what follows it is not closed") from error

        def put_in(found: re.Match[str]) -> str:
            if found[1] == "ARGUMENTS":
                return typed
            return words[int(found[1]) - 1] if int(found[1]) <= len(words) else ""

        return _WANTED.sub(put_in, self.text)


@dataclass(slots=True)
class Found:
    """The commands by name, and a sentence for each file that is none."""

    commands: dict[str, CustomCommand] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def typed_name(text: str) -> tuple[str, str] | None:
    """The name a message begins with and what follows it; None where it begins with none."""
    found = _TYPED.match(text)
    return None if found is None else (found[1].lower(), text[found.end() :])


def read_commands(places: Places, folder: Path) -> Found:
    """The user's commands and those of the project around `folder`. Reads the disk."""
    found = Found()
    top = project(folder)
    for place, theirs in ((places.config / "commands", False), (top / ".ullage" / "commands", True)):
        inside = os.path.realpath(top)
        if theirs and os.path.isdir(place) and os.path.realpath(place) != os.path.join(inside, ".ullage", "commands"):
            found.problems.append(f"{place} is a link; a project's commands are plain files in its own folder")
            continue
        for path, parts in _files(place, (), theirs, found, set()):
            _take(found, path, parts, theirs)
    return found


def _files(
    folder: Path, above: tuple[str, ...], theirs: bool, found: Found, seen: set[str]
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The Markdown files below a folder, with the parts of their names; sorted."""
    real = os.path.realpath(folder)
    if real in seen or not os.path.isdir(folder):
        return
    seen.add(real)
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)[:MOST_FILES]
    except OSError as error:
        found.problems.append(f"{folder} cannot be read: {error.strerror or error}")
        return
    for name in names:
        path = folder / name
        if theirs and path.is_symlink():
            if name.endswith(".md") or os.path.isdir(path):
                found.problems.append(f"{path} is a link; a project's commands are plain files in its own folder")
        elif name.endswith(".md"):
            yield path, (*above, name.removesuffix(".md"))
        elif len(above) < DEEPEST and os.path.isdir(path):
            yield from _files(path, (*above, name), theirs, found, seen)


def _take(found: Found, path: Path, parts: tuple[str, ...], theirs: bool) -> None:
    name = ":".join(parts).lower()
    before = found.commands.get(name)
    if len(found.commands) >= MOST_FILES:
        if not any("are read" in problem for problem in found.problems):
            found.problems.append(f"only the first {MOST_FILES} commands are read; {path} is not among them")
    elif not all(_PART.fullmatch(part) for part in parts):
        found.problems.append(f"{path}: no command, for its name cannot be typed (letters, digits, - and _)")
    elif before is not None and before.theirs == theirs:
        found.problems.append(f"{path}: /{name} is {before.path} already")
    else:
        made = _read(path, name, theirs)
        if isinstance(made, str):
            found.problems.append(f"{path}: no command, for {made}")
        else:
            found.commands[name] = made if before is None else _hiding(made)


def _hiding(made: CustomCommand) -> CustomCommand:
    return CustomCommand(
        made.name, made.description, made.arguments, made.text, made.path, made.content, made.theirs, True
    )


def _read(path: Path, name: str, theirs: bool) -> CustomCommand | str:
    """The command, or why there is none."""
    try:
        content = bounded(path, MOST_BYTES)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    if content is None:
        return "it is no file that can be read"
    if len(content) > MOST_BYTES:
        return f"it is longer than {MOST_BYTES:,} bytes"
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 at byte {error.start}"
    said, body = _front_matter(scrub(text))
    if not body.strip():
        return "it is empty"
    hint = said.get("arguments", said.get("argument-hint", ""))
    if not hint and _WANTED.search(body):
        hint = "arguments"
    return CustomCommand(name, said.get("description", ""), hint, body.strip("\n"), path, content, theirs)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """What stands between two lines `---` at the beginning, by key, and the rest."""
    found = re.match(r"---[ \t]*\n(.*?\n)?---[ \t]*(?:\n|\Z)", text, re.DOTALL)
    if found is None:
        return {}, text
    said: dict[str, str] = {}
    for line in (found[1] or "").split("\n"):
        key, colon, value = line.partition(":")
        if colon:
            said[key.strip().lower()] = one_line(value.strip().strip("\"'"), 200)
    return said, text[found.end() :]
