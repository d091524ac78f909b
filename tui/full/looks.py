"""Questions to the session's log as the screens ask them: on a thread, and answered with a page or a sentence.

Not the answers (those are `agent.reading`) and no widget. Everything here runs on a thread and raises nothing that the
log or the disk can cause.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compaction.cache import Prices
from tui import diff_lines
from tui.actions import Export
from tui.diff_lines import Kind
from tui.front import Looks
from tui.full.pages import Page
from tui.plain import safe
from tui.present import sentence
from tui.wording import STANDING

if TYPE_CHECKING:
    from agent.reading import Hit, Requests

UNWIRED = "there is no log to look into here"


@dataclass(frozen=True, slots=True)
class Looking:
    """One session's log, by its path."""

    log: Looks | None
    path: str

    def _failures(self) -> tuple[type[Exception], ...]:
        return (LookupError, OSError, *(self.log.troubles if self.log is not None else ()))

    def record(self, id: int) -> Page:
        """One record whole, and what the model is sent in its place."""
        if self.log is None:
            return Page(f"#{id}", "", UNWIRED)
        try:
            whole = self.log.whole(Path(self.path), id)
        except self._failures() as error:
            return Page(f"#{id}", "", _sentence(error))
        facts = f"{STANDING[whole.standing]} · {len(whole.text):,} characters"
        text = whole.text
        if whole.sent is not None:
            text = f"{text}\n\n── what the model is sent instead ──\n\n{whole.sent}"
        return Page(f"#{id} {whole.title}", facts, text)

    def hits(self, query: str) -> tuple[Sequence[Hit], str]:
        """What the log holds for words, or a sentence."""
        if self.log is None:
            return (), UNWIRED
        try:
            return self.log.hits(Path(self.path), query), ""
        except self._failures() as error:
            return (), _sentence(error)

    def changes(self, only: str) -> tuple[str, str, Sequence[tuple[Kind, str]]]:
        """What the session changed in files: title, remark, lines."""
        if self.log is None:
            return "", UNWIRED, ()
        try:
            found = self.log.changed_files(Path(self.path), only)
        except self._failures() as error:
            return "What changed", "", (("", sentence(_sentence(error))),)
        if not found.files:
            return "What changed", "", (("", f"No file is {found.since}."),)
        return diff_lines.title(found), found.since, tuple(diff_lines.lines(found.files))

    def timeline(self) -> tuple[Requests | None, str]:
        """The rows of the timeline, or a sentence."""
        if self.log is None:
            return None, UNWIRED
        try:
            return self.log.timeline(Path(self.path)), ""
        except self._failures() as error:
            return None, _sentence(error)

    def prices(self, model: str) -> Prices | None:
        """What a model costs; None where that is not known."""
        if self.log is None or not model:
            return None
        try:
            return self.log.prices(model)
        except self._failures():
            return None

    def doctor(self, model: str) -> Page:
        """What is found on this machine; `model` is the session's."""
        if self.log is None:
            return Page("Doctor", "", UNWIRED)
        rows = [(str(row["what"]), str(row["found"])) for row in self.log.doctor(model)]
        wide = max((len(what) for what, _ in rows), default=0)
        return Page("What is found on this machine", "", "\n".join(f"{what:<{wide}}  {found}" for what, found in rows))

    def export(self, wish: Export, folder: str, session: str) -> tuple[bool, str]:
        """Writes the session to a file that is not there yet; whether it did, and the sentence."""
        if self.log is None:
            return False, UNWIRED
        name = wish.file or f"ullage-{session}.{wish.format}"
        place = Path(folder, os.path.expanduser(name))
        try:
            text = self.log.exported(Path(self.path), wish.format)
            with place.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False, f"{place} is there already; /export {wish.format} FILE takes another name"
        except self._failures() as error:
            return False, f"{place} could not be written: {_sentence(error)}"
        return True, f"written to {place}"


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError):
        return safe(error.strerror or str(error))
    return safe(str(error.args[0] if error.args else error))
