"""What providers said of a model when they refused a request: its window, or that roles have to take turns.

Kept between sessions in one small JSON file.

Not a cache of anything else. Two processes may write at once: each reads the file again first, and the last one wins;
a lost lesson is learned again.

Invariants
 1. The file is replaced whole, never half written; a damaged one counts as empty.
 2. A lesson is dropped when the user's claim, or what the server says of itself, is another than when it was learned.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from agent.model import Endpoint

# What a lesson is kept for: an endpoint's label and a model's name there.
Key: TypeAlias = tuple[str, str]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stood:
    """What was claimed by the user and what the server said of itself when a lesson was learned, tokens."""

    claim: int | None = None
    probed: int | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """`window`: as the provider stated it, tokens."""

    name: str
    model: str
    endpoint: str
    window: int
    stood: Stood


@dataclass(frozen=True, slots=True)
class Turns:
    """A model that takes user and assistant in turns only."""

    name: str
    model: str
    endpoint: str


class Learned:
    """The file at `path`; None keeps lessons in memory only. `trouble` says why the last write failed, if it did."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lessons, self._turns = self._read()
        self.trouble: str | None = None

    def get(self, endpoint: Endpoint, stands: Stood) -> Lesson | None:
        """The lesson for an endpoint's model, unless it rests on claims that have changed. Writes nothing."""
        lesson = self._lessons.get((endpoint.label, endpoint.model))
        if lesson is None:
            return None
        # A server that did not answer this time has not changed its word.
        changed = stands.probed is not None and stands.probed != lesson.stood.probed
        return None if stands.claim != lesson.stood.claim or changed else lesson

    def settle(self, endpoint: Endpoint, stands: Stood) -> None:
        """Drops a lesson that rests on claims that have changed: for those who are about to work with the model."""
        key = (endpoint.label, endpoint.model)
        if key in self._lessons and self.get(endpoint, stands) is None:
            self._change({key: None})

    def put(self, endpoint: Endpoint, stands: Stood, window: int) -> None:
        """Keeps a lesson; it replaces an earlier one."""
        lesson = Lesson(endpoint.name, endpoint.model, endpoint.label, window, stands)
        self._change({(endpoint.label, endpoint.model): lesson})

    def alternates(self, endpoint: Endpoint) -> bool:
        """Whether the endpoint's model was found to take user and assistant in turns only."""
        return (endpoint.label, endpoint.model) in self._turns

    def put_turns(self, endpoint: Endpoint) -> None:
        """Keeps that it does."""
        key = (endpoint.label, endpoint.model)
        self._change({}, {key: Turns(endpoint.name, endpoint.model, endpoint.label)})

    def forget(self, name: str) -> int:
        """Drops the lessons of a model by either of its names; how many."""
        gone = [key for key, lesson in self._lessons.items() if name in (lesson.name, lesson.model)]
        turns = [key for key, found in self._turns.items() if name in (found.name, found.model)]
        self._change(dict.fromkeys(gone), dict.fromkeys(turns))
        return len(gone) + len(turns)

    def all(self) -> list[Lesson]:
        """Every lesson, for `ullage models`."""
        return [self._lessons[key] for key in sorted(self._lessons)]

    def _change(
        self, changes: Mapping[Key, Lesson | None], turns: Mapping[Key, Turns | None] = MappingProxyType({})
    ) -> None:
        lessons, found = self._read()
        self._lessons = _changed(lessons | self._lessons, changes)
        self._turns = _changed(found | self._turns, turns)
        if self._path is not None and (changes or turns):
            self._write(self._path)

    def _write(self, path: Path) -> None:
        kept = {
            "lessons": [asdict(self._lessons[key]) for key in sorted(self._lessons)],
            "turns": [asdict(self._turns[key]) for key in sorted(self._turns)],
        }
        text = json.dumps(kept, indent=1) + "\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            os.replace(new.name, path)
            self.trouble = None
        except OSError as error:
            # The lesson holds for this session all the same.
            self.trouble = f"{path} could not be written: {error.strerror}"

    def _read(self) -> tuple[dict[Key, Lesson], dict[Key, Turns]]:
        if self._path is None:
            return {}, {}
        try:
            whole = json.loads(self._path.read_text(encoding="utf-8"))
            lessons = [_lesson(row) for row in whole["lessons"]]
            turns = [Turns(str(r["name"]), str(r["model"]), str(r["endpoint"])) for r in whole.get("turns", ())]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}, {}
        return {(at.endpoint, at.model): at for at in lessons}, {(at.endpoint, at.model): at for at in turns}


def _changed(rows: dict[Key, T], changes: Mapping[Key, T | None]) -> dict[Key, T]:
    return {key: row for key, row in {**rows, **changes}.items() if row is not None}


def _lesson(row: Mapping[str, Any]) -> Lesson:
    stood = Stood(_size(row["stood"]["claim"]), _size(row["stood"]["probed"]))
    window = _size(row["window"])
    if window is None:
        raise ValueError("a lesson without a window")
    return Lesson(str(row["name"]), str(row["model"]), str(row["endpoint"]), window, stood)


def _size(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
