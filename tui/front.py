"""What both screens share and neither draws: the worker as they use it, what was typed before, and what lists hold.

Not a screen: nothing here imports one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.wire import Appended, Choice, Command, Event, Opened, Submit
from compaction.cache import Prices
from compaction.records import UserSaid
from tui.actions import PickSession, Wish
from tui.customs import Custom, Named

if TYPE_CHECKING:
    from agent.reading import AtHand, Changed, Hit, Memory, ModelRow, Requests, SessionRow, Whole

# Prompts kept for the Up key and Ctrl+R, over all sessions: a few months of work.
REMEMBERED = 2_000

# Ending the model's process and giving the lock back takes well under a second; seconds.
LONGEST_END = 5.0

# A key already on its way when a question appears must not answer it: people react to what they see in 200 ms at best.
SETTLE = 0.3

# Two presses count as one wish within this time: slower is two thoughts, faster than 0.2 s is a bouncing key; seconds.
TWICE = 1.5

# The answers to a tool that asks, by letter.
KEYS: dict[str, Choice] = {"y": "once", "s": "session", "p": "project", "n": "refuse"}


@dataclass(slots=True)
class GoingOn:
    """The session that the last line of a run names: the one last open in which something was said."""

    session: str = ""
    _open: str = ""

    def take(self, event: Event) -> None:
        """Hears every event; from any thread, one at a time."""
        if isinstance(event, Opened):
            self._open = event.session
        elif isinstance(event, Appended) and isinstance(event.record.body, UserSaid):
            self.session = self._open

    def line(self) -> str | None:
        """How to go on; None where there is nothing to go on with."""
        return f"go on with: ullage --resume {self.session}" if self.session else None


class Works(Protocol):
    """What is used of `agent.worker.Worker`."""

    def start(self) -> None: ...

    def send(self, command: Command) -> None: ...

    def join(self, timeout: float | None = None) -> bool: ...


class Looks(Protocol):
    """What is used of `agent.reading.Reading`: questions that change nothing, asked on a thread. A session is named by
    its log's path. All may raise `LookupError` or one of `troubles`, with a sentence.
    """

    @property
    def troubles(self) -> tuple[type[Exception], ...]: ...

    def whole(self, path: Path, record: int) -> Whole: ...

    def hits(self, path: Path, query: str) -> Sequence[Hit]: ...

    def changed_files(self, path: Path, only: str = "") -> Changed: ...

    def memory(self) -> Memory: ...

    def keep_memory(self, before: str, after: str) -> str: ...

    def timeline(self, path: Path) -> Requests: ...

    def exported(self, path: Path, format: str) -> str: ...

    def doctor(self, model: str = "") -> Sequence[Mapping[str, Any]]: ...

    @property
    def chosen(self) -> bool: ...

    def at_hand(self) -> Sequence[AtHand]: ...

    def prices(self, model: str) -> Prices | None: ...

    def image_trouble(self, path: Path, model: str) -> str: ...

    def keep_image(self, data: bytes) -> Path: ...

    def commands(self, taken: Collection[str]) -> tuple[Sequence[Custom], Sequence[str]]: ...

    def serves(self, command: str) -> bool: ...

    def resources(self) -> Sequence[Named]: ...


class Sessions(Protocol):
    """What is used of `agent.session_rows.SessionRows`, on a thread; only `rows` raises, `OSError`."""

    def rows(self) -> Iterable[SessionRow]: ...

    def preview(self, path: str) -> str: ...

    def holding(self, words: str) -> Collection[str]: ...

    def rename(self, path: str, name: str) -> str: ...

    def discard(self, path: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Choices:
    """What lists are made from, read on a thread when one opens: earlier sessions (None: nowhere), models as rows.

    `models` gets the model in use; a row may come again, to take the place of the earlier one of its name.
    `log` answers questions about the session's log; None where nothing was wired. `keys` gives other keys to bindings
    by their ids, `theme` is a name, `notify` whether the terminal is asked to call: all three from the settings.
    """

    sessions: Sessions | None = None
    models: Callable[[str], Iterable[ModelRow]] = lambda current: ()
    log: Looks | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    theme: str = "auto"
    notify: bool = True


def first_wish(prompt: str, resume: str | None) -> Wish | None:
    """What is done once the screen stands: the first message, or the list of sessions for an empty `--resume`."""
    if prompt:
        return Submit(prompt)
    return PickSession() if resume == "" else None


class History:
    """Prompts typed in any session, newest last; written on a thread of their own so that no key waits for the disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="history")

    def prompts(self) -> list[str]:
        """What was typed before; a line that cannot be read is passed over."""
        try:
            lines = self._path.read_text("utf-8", "replace").split("\n")[-REMEMBERED:]
        except OSError:
            return []
        found: list[str] = []
        for line in lines:
            with contextlib.suppress(ValueError):
                text = json.loads(line) if line.strip() else None
                if isinstance(text, str):
                    found.append(text)
        return found

    def remember(self, prompt: str) -> None:
        """Adds one; losing it is no fault worth a word."""
        self._writing.submit(self._write, prompt)

    def _write(self, prompt: str) -> None:
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(
                os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8"
            ) as file:
                file.write(json.dumps(prompt) + "\n")

    def close(self) -> None:
        """Waits for what is being written."""
        self._writing.shutdown()
