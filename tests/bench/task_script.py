"""A repository with three planted bugs, and a scripted model that finds and mends them by what its tools tell it.

Not the playing of it (that is `task_play`). The model knows what to look for, never where: line numbers come from what
`grep` answered, the text it replaces from what `read` showed, so that a tool whose answer is of no use fails the play.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.models.stub_server import Received, Step

# Lines the model reads around what it found, before and behind.
AROUND = 8


class NotThere(Exception):
    """A repository does not hold the text that a bug is planted in, or not in one place."""


@dataclass(frozen=True)
class Bug:
    """`right` becomes `wrong`, within one line; `look` is the expression the model greps for."""

    file: str
    kind: str
    right: str
    wrong: str
    look: str


@dataclass(frozen=True)
class Repository:
    """A folder's contents to work on. `test` runs its tests; `vague` stands in the last bug's file more than once."""

    name: str
    bugs: tuple[Bug, Bug, Bug]
    test: str
    vague: str


def plant(folder: Path, bugs: Sequence[Bug]) -> None:
    """Puts the bugs in. Raises `NotThere`."""
    for bug in bugs:
        path = folder / bug.file
        text = path.read_text("utf-8")
        found = text.count(bug.right)
        if found != 1 or bug.wrong in text.replace(bug.right, ""):
            raise NotThere(f"{bug.file} holds {bug.right!r} {found} times, or {bug.wrong!r} already: another release?")
        path.write_text(text.replace(bug.right, bug.wrong), "utf-8")


# The steps of the play, in order: what the tables name and what the expectations are about.
STEPS = (
    "glob", "grep 1", "grep 2", "grep 3", "read 1", "read 2", "read 3", "test, broken", "edit 1", "edit 2",
    "test, one left", "edit 3, vague", "edit 3", "test, mended", "git diff", "write outside", "git commit",
)  # fmt: skip

COMMIT = "git commit -q -am 'Mend three bugs'"


@dataclass
class Mind:
    """The scripted model of one play: one method a reply, each fed with the results of the calls before."""

    repository: Repository
    outside: Path
    lost: list[str] = field(default_factory=list)
    _pages: list[str] = field(default_factory=list)

    def steps(self) -> list[Callable[[Received], Step]]:
        """What the scripted server is given."""
        test, last = self.repository.test, self.repository.bugs[-1]
        replies: list[Callable[[list[str]], list[Mapping[str, Any]]]] = [
            lambda seen: self._search(),
            self._read,
            self._remember,
            lambda seen: [self._edit(0), self._edit(1)],
            lambda seen: [_call("bash", command=test)],
            lambda seen: [_call("edit", path=last.file, old=self.repository.vague, new="")],
            lambda seen: [self._edit(2)],
            lambda seen: [_call("bash", command=test)],
            lambda seen: [_call("bash", command="git diff")],
            lambda seen: [_call("write", path=str(self.outside), content="Three bugs are mended.\n")],
            lambda seen: [_call("bash", command=COMMIT)],
        ]
        return [self._step(reply) for reply in replies] + [lambda received: {"text": "That is all I could do."}]

    def _step(self, reply: Callable[[list[str]], list[Mapping[str, Any]]]) -> Callable[[Received], Step]:
        def step(received: Received) -> Step:
            try:
                return {"text": "Next.", "calls": reply(_results(received.messages))}
            except LookupError as error:
                # Raised here it would be lost in the server's task, and the program would ask again and again.
                self.lost.append(str(error))
                return {"text": "I am lost."}

        return step

    def _search(self) -> list[Mapping[str, Any]]:
        return [
            _call("glob", pattern="**/*.py"),
            *(_call("grep", pattern=bug.look, path=bug.file) for bug in self.repository.bugs),
        ]

    def _read(self, seen: list[str]) -> list[Mapping[str, Any]]:
        names, *found = seen
        calls = []
        for bug, text in zip(self.repository.bugs, found, strict=True):
            if bug.file not in names.splitlines():
                raise LookupError(f"{bug.file} is not among the files that glob names: {names[:300]}")
            row = re.search(r"^(\d+):", text, re.MULTILINE)
            if row is None:
                raise LookupError(f"grep answered with no line for {bug.look}: {text[:300]}")
            first = max(1, int(row[1]) - AROUND)
            calls.append(_call("read", path=bug.file, offset=first, limit=2 * AROUND + 1))
        return calls

    def _remember(self, seen: list[str]) -> list[Mapping[str, Any]]:
        self._pages = seen
        return [_call("bash", command=self.repository.test)]

    def _edit(self, number: int) -> Mapping[str, Any]:
        bug = self.repository.bugs[number]
        lines = [line for line in self._pages[number].splitlines() if bug.wrong in line]
        if len(lines) != 1:
            raise LookupError(f"{bug.wrong!r} was not read: {self._pages[number][:600]}")
        old = lines[0].partition("\t")[2]
        return _call("edit", path=bug.file, old=old, new=old.replace(bug.wrong, bug.right))


def _call(name: str, **arguments: Any) -> Mapping[str, Any]:
    return {"name": name, "arguments": arguments}


def _results(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tool results at the end of a request."""
    found: list[str] = []
    for message in reversed(messages):
        if message["role"] != "tool":
            break
        found.insert(0, str(message["content"]))
    return found
