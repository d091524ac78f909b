"""What the screen itself can be asked to do: the wishes that need no worker, and the messages that carry either kind.

Not commands to the worker (those are `agent.wire`) and no behaviour: `desk` carries actions out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from agent.wire import Command


@dataclass(frozen=True, slots=True)
class Say:
    """Show a sentence in the transcript. `unknown`: it is about a command that is not there."""

    text: str
    level: Literal["notice", "warning", "error"] = "notice"
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class ShowSheet:
    """Show a page of text over the screen: `help`, `keys` or `cost`."""

    what: Literal["help", "keys", "cost"]


@dataclass(frozen=True, slots=True)
class ViewWhole:
    """Show all the text of one record."""

    record: int


@dataclass(frozen=True, slots=True)
class ShowText:
    """Show a text over the screen. `load` is called on a thread and raises nothing."""

    title: str
    load: Callable[[], str]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class SearchLog:
    """Look for words in the whole session log."""

    query: str = ""


@dataclass(frozen=True, slots=True)
class ShowTimeline:
    """The plot of all requests."""


@dataclass(frozen=True, slots=True)
class Export:
    """Write the session to a file: Markdown, HTML or JSON; in the folder, named after the session, unless named."""

    format: Literal["md", "html", "json"]
    file: str = ""


@dataclass(frozen=True, slots=True)
class Examine:
    """What is found on this machine: keys by name, endpoints, sandbox, terminal."""


@dataclass(frozen=True, slots=True)
class TellBudget:
    """Say what the working budget is and where it comes from."""


@dataclass(frozen=True, slots=True)
class WriteDraft:
    """Put a text into the prompt, to be gone on with."""

    text: str


@dataclass(frozen=True, slots=True)
class PickTheme:
    """Choose a theme from a list."""


@dataclass(frozen=True, slots=True)
class SetTheme:
    """Another theme, from now on and in the settings."""

    name: str


@dataclass(frozen=True, slots=True)
class Attach:
    """Put images into the draft; what is no usable one is said."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class AttachClipboard:
    """Put the clipboard's image into the draft; `otherwise` is the text to paste where there is none."""

    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class PickModel:
    """Choose a model from a list."""


@dataclass(frozen=True, slots=True)
class AskKey:
    """Ask for a provider's key, without showing what is typed, and save it."""

    provider: str


@dataclass(frozen=True, slots=True)
class PickSession:
    """Choose a session to resume from a list; with `words` among those whose logs hold them (inline)."""

    words: str = ""


@dataclass(frozen=True, slots=True)
class RenameSession:
    """Give the session at `path`, now called `title`, another name; without `name` it is asked for."""

    path: str
    title: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DiscardSession:
    """Move the session at `path` to the trash; unless `sure`, after a question."""

    path: str
    title: str
    sure: bool = False


@dataclass(frozen=True, slots=True)
class ShowChanges:
    """What the session changed in files; `path` alone, if given."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class ShowMemory:
    """The project's memory: what it holds and where it is; with `edit` in the user's editor (inline)."""

    edit: bool = False


@dataclass(frozen=True, slots=True)
class PickRewind:
    """Choose the message to go back to from a list."""


@dataclass(frozen=True, slots=True)
class CopyAnswer:
    """Put the newest answer on the clipboard."""


@dataclass(frozen=True, slots=True)
class CopySelection:
    """Put the selected text on the clipboard."""


@dataclass(frozen=True, slots=True)
class CycleMode:
    """The next of plan, ask, edits, auto."""


@dataclass(frozen=True, slots=True)
class ToggleFolds:
    """Unfold all output, or fold it."""


@dataclass(frozen=True, slots=True)
class Scroll:
    """Move the transcript by pages; `start` and `end` go all the way."""

    to: Literal["up", "down", "start", "end"]


@dataclass(frozen=True, slots=True)
class Leave:
    """End the program."""


Action: TypeAlias = (
    Say
    | ShowSheet
    | ViewWhole
    | ShowText
    | SearchLog
    | ShowTimeline
    | Export
    | Examine
    | TellBudget
    | WriteDraft
    | PickTheme
    | SetTheme
    | Attach
    | AttachClipboard
    | PickModel
    | AskKey
    | PickSession
    | RenameSession
    | DiscardSession
    | PickRewind
    | ShowChanges
    | ShowMemory
    | CopyAnswer
    | CopySelection
    | CycleMode
    | ToggleFolds
    | Scroll
    | Leave
)
Wish: TypeAlias = Command | Action
