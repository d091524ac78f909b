"""Agreeing to a project's settings file from a shell: what is agreed to is printed, and the exit status says the rest.

Not the panels of the screens (those are answered through `agent.wishes.trusting`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.places import Places
from agent.settings import settings_of
from agent.settings.projects import Quoted, bounded, quoted_settings
from agent.trust import Trust


@dataclass(frozen=True, slots=True)
class Agreed:
    """How it ended. `trusted` is how the file stands now. `code`: 0 done, 1 failed, 2 no such use, 4 nothing to do.

    `text` is the file with nothing hidden, `says` what it does, a phrase each; both empty where nothing was read.
    """

    path: str
    trusted: bool
    code: int
    sentence: str
    says: tuple[str, ...] = ()
    text: str = ""


def agree(places: Places, folder: Path, *, withdraw: bool) -> Agreed:
    """Trusts the settings file of the project around `folder` as it stands, or takes that back."""
    file = settings_of(folder, places)
    if file is None:
        return Agreed(str(places.settings), True, 4, "these settings are your own: they need no trust")
    try:
        return _withdrawn(places, file) if withdraw else _agreed(places, file, quoted_settings(file))
    except OSError as error:
        return Agreed(str(file), False, 1, f"{error.filename or file}: {error.strerror or error}")


def _agreed(places: Places, file: Path, quoted: Quoted | None) -> Agreed:
    if quoted is None:
        return Agreed(str(file), False, 4, f"there is no {file}: nothing to trust")
    told = (quoted.says, quoted.text)
    if quoted.problem:
        return Agreed(str(file), False, 2, f"{file} cannot be trusted: {quoted.problem}", *told)
    if Trust(places).holds(file, quoted.content):
        return Agreed(str(file), True, 4, f"{file} is trusted already", *told)
    Trust(places).grant(file, quoted.content)
    return Agreed(str(file), True, 0, f"{file} is trusted as it stands; one changed byte asks anew", *told)


def _withdrawn(places: Places, file: Path) -> Agreed:
    content = bounded(file)
    trust = Trust(places)
    if content is not None and not (trust.holds(file, content) or trust.refused(file, content)):
        return Agreed(str(file), False, 4, f"{file} was not trusted")
    trust.withdraw(file)
    return Agreed(str(file), False, 0, f"{file} is not trusted any more; the next session asks about it")
