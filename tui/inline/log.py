"""What the log of the open session can be asked, printed: a record whole, hits, the timeline, an export, the machine.

Not the reading (`front.Looks` does that, on a thread): rows for what it found, or a sentence for why it could not.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, assert_never

from agent.wire import Pin
from tui import diff_lines, memory_words
from tui.actions import Examine, Export, Say, SearchLog, ShowChanges, ShowMemory, ShowTimeline, ViewWhole
from tui.front import Looks
from tui.inline.lists import Picking
from tui.inline.print import Row, cut, prose, row, table
from tui.inline.surface import Surface
from tui.inline.talk import Talk
from tui.picks import Other, Pick
from tui.plain import dollars, one_line, plural, safe, tokens
from tui.plot import happened_since
from tui.present import sentence

Look: TypeAlias = ViewWhole | SearchLog | ShowTimeline | ShowChanges | ShowMemory | Export | Examine

# A bar of the timeline: wide enough to tell 5 % apart, beside the figures on 80 columns; cells.
BAR = 24

# More than these fill a screen and are found by better words; and of each, the first line around the words.
HITS = 15

# How the lines of a diff are printed, by kind.
STYLES: dict[diff_lines.Kind, str] = {
    "": "class:output", "head": "class:strong", "quiet": "class:quiet", "added": "class:added",
    "removed": "class:removed", "place": "class:quiet",
}  # fmt: skip

Found: TypeAlias = list[Row] | Picking | str


@dataclass(slots=True)
class InlineLog:
    """Asks, and prints. `log` None: nothing was wired that could answer."""

    talk: Talk
    surface: Surface
    log: Looks | None

    def perform(self, look: Look) -> None:
        """On a thread; printed when it is there."""
        log, path = self.log, Path(self.talk.path)
        if log is None or not self.talk.path:
            self._tell("No session is open yet.")
            return
        width = self.surface.width()
        if isinstance(look, ShowMemory) and look.edit:
            self._edit_memory(log)
            return
        if isinstance(look, SearchLog) and not look.query.strip():
            self._tell("/recall takes the words to look for.")
            return
        self.surface.read(lambda: self._asked(log, path, look, width), self._tell)

    def _asked(self, log: Looks, path: Path, look: Look, width: int) -> Found:
        troubles: tuple[type[Exception], ...] = (LookupError, OSError, *log.troubles)
        try:
            return self._found(log, path, look, width)
        except troubles as error:
            return f"{str(error)[:1].upper()}{str(error)[1:]}."

    def _tell(self, found: Found) -> None:
        if isinstance(found, str):
            self.talk.say(Say(safe(found)))
        elif isinstance(found, Picking):
            self.talk.offer(found)
        else:
            self.talk.print(found)
        self.talk.flush()

    def _found(self, log: Looks, path: Path, look: Look, width: int) -> Found:
        match look:
            case ViewWhole(record=record):
                whole = log.whole(path, record)
                title = f"#{record} {one_line(whole.title)}"
                head: Row = (("class:strong", title), ("class:quiet", f"  {whole.standing}"))
                return [(), head, *(row(f"  {line}") for line in safe(whole.text).rstrip("\n").split("\n"))]
            case SearchLog(query=query):
                hits = log.hits(path, query)[:HITS]
                if not hits:
                    return f"Nothing in the session's log holds “{one_line(query)}”."
                picks = [
                    Pick(
                        f"#{hit.record} {one_line(hit.title)}",
                        ViewWhole(hit.record),
                        f"{hit.standing} · {one_line(hit.excerpt)}",
                        (Other("p", "puts it back", Pin(hit.record)),) if hit.standing != "rewound" else (),
                    )
                    for hit in hits
                ]
                return Picking(f"In the session's log: {one_line(query)}", picks, stays=True)
            case ShowTimeline():
                return self._timeline(log, path, width)
            case ShowChanges(path=only):
                return self._changes(log, path, only)
            case ShowMemory():
                memory = log.memory()
                out: list[Row] = [(), row(memory_words.TITLE, "class:strong")]
                about = memory_words.about(memory, self.talk.meter.used).split("\n")
                text = [row(f"  {line}") for line in safe(memory_words.held(memory)).rstrip("\n").split("\n")]
                return [*out, *(part for line in about for part in prose(line, width, "class:quiet", "  ")), *text]
            case Export(format=format, file=file):
                return self._export(log, path, format, file)
            case Examine():
                lines = [
                    " · ".join(safe(str(value)) for value in found.values())
                    for found in log.doctor(self.talk.meter.model)
                ]
                return [(), *(part for line in lines for part in prose(line, width, "", "", "    "))]
            case _:
                assert_never(look)

    def _changes(self, log: Looks, path: Path, only: str) -> Found:
        found = log.changed_files(path, only)
        if not found.files:
            return f"No file is {found.since}."
        out: list[Row] = [(), (("class:strong", diff_lines.title(found)), ("class:quiet", f"  {found.since}"))]
        return [*out, *(row(f"  {text}", STYLES[kind]) for kind, text in diff_lines.lines(found.files))]

    def _edit_memory(self, log: Looks) -> None:
        def opened(before: str) -> None:
            def back(after: str) -> None:
                kept = f"{after.rstrip()}\n" if after.strip() else ""
                if after.strip() == before.strip():
                    self._tell("The memory is as it was.")
                else:
                    self.surface.read(lambda: log.keep_memory(before, kept), lambda said: self._tell(sentence(said)))

            self.surface.edit(before, back)

        self.surface.read(lambda: log.memory().text, opened)

    def _timeline(self, log: Looks, path: Path, width: int) -> Found:
        requests = log.timeline(path)
        if not requests:
            return "No request has been made in this session."
        meter = self.talk.meter
        most = max([request.size for request in requests] + [1])
        narrow = width < 60
        cells, size = [], 10 if narrow else BAR
        for request in requests:
            filled = request.size * size // most
            cached = min(filled, request.cache_read * size // most)
            marks = [f"[{tag}]" for tag in request.rewrites]
            marks += [f"broken: {request.breaks}"] if request.breaks else []
            bar = "█" * cached + "▒" * (filled - cached) + " " * (size - filled)
            price = dollars(request.cost) if request.cost is not None else "?"
            figures = (f"{request.record}", tokens(request.size), tokens(request.cache_read))
            cells.append((*figures, *(() if narrow else (price,)), f"{bar} {' '.join(marks)}"))
        heads = ("#", "size", "cached", *(() if narrow else ("price",)), "█ cached ▒ not")
        window = "?" if meter.window is None else tokens(meter.window)
        foot = f"the longest bar is {tokens(most)}; budget {tokens(meter.budget)}, window {window}"
        said = f"after #{requests[-1].record}: {happened_since(requests.since)}" if requests.since else ""
        after = prose(said, width, "class:quiet") if said else []
        return [(), *table("", heads, cells, width), *after, row(cut(foot, width), "class:quiet")]

    def _export(self, log: Looks, path: Path, format: str, file: str) -> Found:
        name = file or f"ullage-{self.talk.session}.{format}"
        target = Path(self.talk.folder, os.path.expanduser(name))
        text = log.exported(path, format)
        with open(target, "x", encoding="utf-8", errors="replace") as out:
            out.write(text)
        return f"Wrote {plural(len(text), 'character')} to {target}."
