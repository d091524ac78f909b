"""Sessions for somebody who looks for one: rows, the last used first, what is in one, which hold certain words.

Not the naming of one (that is `sessions`) and not their content. Renaming appends a record to a session that nobody has
open; discarding moves its folder to the trash beside the sessions. Nothing is ever deleted.

Invariants
 1. The first rows come before any log was read whole; a row may come again, when its name was found further down.
 2. No lock is taken to look.

Threads: everything here blocks and may be called on any thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from agent.log_file import LogError, OsDisk, take
from agent.places import Places
from agent.sanitise import clean
from agent.session_log import SessionLog, heads, newest_first
from agent.sessions import HEAD, Found, id_of, newest_logs
from compaction.records import AssistantSaid, Record, SettingsChanged, Started, UserSaid
from compaction.view import first_line

# Logs no longer than this are read whole for the first rows already: their names stand at once. Bytes, and rows.
SHORT = 256 * 1024
FIRST = 20

# How much of a log's end is read for its last messages; one with longer results shows what can be found. Bytes.
END = 512 * 1024

# What is shown of one message, characters: a dozen lines beside the list.
SHOWN = 900

# Looking for words in more than this takes longer than somebody waits; seconds.
PATIENCE = 8.0


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session: its log, the user's name for it or its first message, and facts in a few words.

    `said` is the first message where the title is a name.
    """

    path: str
    title: str
    facts: str
    said: str = ""


@dataclass(frozen=True)
class SessionRows:
    """The sessions of `folder`, or everybody's; `now` gives seconds since the epoch."""

    places: Places
    folder: Path | None
    now: Callable[[], float] = time.time

    def rows(self) -> Iterator[SessionRow]:
        """All in which something was said, the last used first; then again those whose name was found later."""
        later: list[tuple[Path, Found, str]] = []
        shown = 0
        for log in self._logs():
            try:
                found, said = self._glanced(log)
                if not said and found.readable:
                    continue
                if shown < FIRST and found.size <= SHORT:
                    found = _named(log, found)
                else:
                    later.append((log, found, said))
            except OSError:
                continue
            shown += 1
            yield self._row(found, said)
        for log, found, said in later:
            try:
                named = _named(log, found)
            except OSError:
                continue
            if named != found:
                yield self._row(named, said)

    def preview(self, path: str) -> str:
        """What is in one, for people: facts, its first message and its last ones. Raises nothing."""
        log = Path(path)
        try:
            return self._preview(log)
        except OSError as error:
            return f"It cannot be read: {error.strerror or error}."

    def holding(self, words: str) -> frozenset[str]:
        """The logs that hold all of the words somewhere behind their first line, newest first until patience ends."""
        wanted = [word.encode() for word in words.lower().split()]
        until = time.monotonic() + PATIENCE
        found: set[str] = set()
        for log in self._logs():
            if not wanted or time.monotonic() > until:
                break
            try:
                data = log.read_bytes()
            except OSError:
                continue
            rest = data[data.find(b"\n") + 1 :].lower()
            if all(word in rest for word in wanted):
                found.add(str(log))
        return frozenset(found)

    def rename(self, path: str, name: str) -> str:
        """Names a session that nobody has open; the sentence for people."""
        try:
            log = SessionLog.open(Path(path), True)
        except LogError as error:
            return str(error)
        try:
            log.append_now(SettingsChanged(name=name))
        except LogError as error:
            return str(error)
        finally:
            log.close()
        return f"the session is called {name!r}"

    def discard(self, path: str) -> str:
        """Moves a session that nobody has open to the trash; the sentence for people."""
        log = Path(path)
        try:
            pen = take(log, OsDisk())
        except LogError as error:
            return str(error)
        try:
            trash = self.places.trash / log.parent.parent.name
            trash.mkdir(mode=0o700, parents=True, exist_ok=True)
            target = trash / log.parent.name
            if target.exists():
                target = trash / f"{log.parent.name}-{round(self.now())}"
            log.parent.rename(target)
        except OSError as error:
            return f"the session stays where it is: {error.strerror or error}"
        finally:
            pen.close()
        return f"moved to {target}; move it back to have it again"

    # ── reading ──

    def _logs(self) -> list[Path]:
        return newest_logs(self.places, self.folder)

    def _glanced(self, log: Path) -> tuple[Found, str]:
        """A log's facts from its first lines alone, and the line its first message begins with. Raises `OSError`."""
        status = os.stat(log)
        first: Record | None = None
        said = ""
        for record in islice(heads(log), HEAD):
            first = first or record
            if isinstance(record.body, UserSaid) and record.body.how == "typed" and record.body.text.strip():
                said = first_line(record.body.text)
                break
        started = first.body if first else None
        if first is None or not isinstance(started, Started):
            return Found(id_of(log), log, "", "", "", 0.0, status.st_mtime, status.st_size, readable=False), ""
        return Found(
            started.session, log, started.folder, said, started.model, first.at, status.st_mtime, status.st_size
        ), said  # fmt: skip

    def _row(self, found: Found, said: str) -> SessionRow:
        facts = [ago(self.now() - found.used), found.model or "its beginning is damaged"]
        if self.folder is None and found.folder:
            facts.append(found.folder)
        title = found.title or found.id
        return SessionRow(str(found.path), clean(title), clean(" · ".join(facts)), said if found.named else found.id)

    def _preview(self, log: Path) -> str:
        found, said = self._glanced(log)
        found = _named(log, found)
        size = os.stat(log).st_size
        with log.open("rb") as file:
            file.seek(max(0, size - END))
            data = file.read()
        messages = (r.body.text for r in newest_first(data, UserSaid) if isinstance(r.body, UserSaid))
        answers = (r.body.text for r in newest_first(data, AssistantSaid) if isinstance(r.body, AssistantSaid))
        last, answer = next(messages, ""), next((text for text in answers if text.strip()), "")
        begun = time.strftime("%d %b %Y %H:%M", time.localtime(found.started)) if found.started else "?"
        facts = [
            f"{found.id} · {found.model}",
            f"last used {ago(self.now() - found.used)} · begun {begun} · {size / 1000:,.0f} kB", found.folder,
        ]  # fmt: skip
        first = next((r.body.text for r in islice(heads(log), HEAD) if isinstance(r.body, UserSaid)), said)
        parts = ["\n".join(facts), f"First:\n{_cut(first)}" if first else "Nothing was said."]
        if last and last != first:
            parts.append(f"Last:\n{_cut(last)}")
        if answer:
            parts.append(f"Answer:\n{_cut(answer)}")
        return clean("\n\n".join(parts))


def _named(log: Path, found: Found) -> Found:
    """With the user's name for it, which may stand anywhere in the log. Raises `OSError`."""
    changes = (r.body for r in newest_first(log.read_bytes(), SettingsChanged))
    name = next((c.name for c in changes if isinstance(c, SettingsChanged) and c.name is not None), "")
    return replace(found, title=name, named=True) if name else found


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= SHOWN else f"{text[:SHOWN].rstrip()} …"


def ago(seconds: float) -> str:
    """How long ago in one word: `now`, `5 min ago`, `3 h ago`, `2 d ago`, `5 w ago`."""
    for least, unit in ((604_800, "w"), (86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= least:
            return f"{int(seconds // least)} {unit} ago"
    return "now"


__all__ = ["SessionRow", "SessionRows", "ago"]
