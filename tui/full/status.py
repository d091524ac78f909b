"""The lines between the conversation and the prompt: what runs, what waits, and where one is.

Not the meter. Each widget here shows what it was last told and decides nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import get_args

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive, var
from textual.timer import Timer
from textual.widget import Widget

from agent.wire import MODE_NAMES, Asking, Command, Mode, Opened, Progress, SetMode, Streaming, ToolRunning
from compaction.records import Record, SettingsChanged
from tui.full.meter_bar import SHORT_ROWS
from tui.full.palette import ASCII, UNICODE
from tui.keytable import USUAL, Keys, hint
from tui.plain import in_one, one_line, plural, safe, seconds, tokens
from tui.wording import DOING

# Eight turns a second: seen as moving, felt by no key.
SPIN = 0.125

# A sentence is read in this time; seconds.
ASIDE = 5.0

# More waiting messages than this are counted, not listed.
LISTED = 3

# Under this the message needs the room that the hint would take, cells.
HINTED = 60


class Activity(Widget, can_focus=False):
    """What the worker does, for how long; empty while it rests."""

    DEFAULT_CSS = "Activity { height: 1; }"

    doing: reactive[str] = reactive("")
    below: reactive[int] = reactive(0)
    jobs: reactive[int] = reactive(0)
    ascii: var[bool] = var(False)

    def __init__(
        self, *, ascii: bool = False, now: Callable[[], float] = time.monotonic, keys: Keys = USUAL,
        id: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(id=id)
        self.set_reactive(Activity.ascii, ascii)
        self._stops, self._jumps = hint("stop", keys, " stops"), hint("end", keys)
        self._now = now
        self._began = self._since = 0.0  # the work, and what it is at where that has a clock of its own
        self._streamed = 0
        self._aside, self._aside_at = "", float("-inf")
        self._timer: Timer | None = None

    def begin(self, what: str) -> None:
        """Work began."""
        self._began = self._since = self._now()
        self._streamed, self._aside_at = 0, float("-inf")
        self.doing = DOING.get(what, "working")
        if self._timer is None:
            self._timer = self.set_interval(SPIN, self.refresh)

    def end(self) -> None:
        """Work ended."""
        self.doing = ""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def elapsed(self) -> float:
        """Seconds since the work began."""
        return self._now() - self._began

    def aside(self, text: str) -> None:
        """A sentence that was said while an answer grows: its place is above the answer, perhaps out of view."""
        if self.doing:
            self._aside, self._aside_at = one_line(text, 200), self._now()
            self.refresh()

    def note(self, event: Progress | ToolRunning | Streaming | Asking) -> None:
        """What the work is at."""
        if not self.doing:
            return
        # Only what reports them has tokens and a clock of its own: a compaction's are over with it.
        self._streamed, self._since = 0, self._began
        match event:
            case Progress(what=what, tokens=streamed, elapsed=elapsed):
                self.doing, self._streamed, self._since = safe(what), streamed, self._now() - elapsed
            case ToolRunning(title=title, name=name):
                if title or name:
                    self.doing = f"running {one_line(title, 60) or safe(name)}"
            case Streaming(kind="call", text=text):
                # The call's name, and how many characters of it have come.
                name, _, size = one_line(text, 40).partition(" ")
                much = f" ({size} characters)" if size else ""
                self.doing = f"writing a call of {name}{much}" if name else self.doing
            case Asking():
                self.doing = "waiting for your answer"
            case Streaming(kind=kind):
                self.doing = "thinking" if kind == "thinking" else "answering"

    def render(self) -> RenderResult:
        """One line."""
        glyphs, variables = (ASCII if self.ascii else UNICODE), self.app.theme_variables
        line = Content("")
        if self.doing:
            spin = glyphs.spin[int(self._now() / SPIN) % len(glyphs.spin)]
            facts = [seconds(self._now() - self._since)] + (
                [f"{tokens(self._streamed)} tokens"] if self._streamed else []
            )
            tail = f"  {f' {glyphs.dot} '.join([*facts, *self._stops])}"
            # How to stop stays in view, however long a command is.
            room = max(8, self.size.width - cell_len(tail) - len(spin) - 1)
            doing = Content(self.doing).truncate(room, ellipsis=True)
            line = Content.assemble((f"{spin} ", variables["primary"]), doing, (tail, "dim"))
            if self._now() - self._aside_at < ASIDE:
                return Content.assemble(line, f"  {self._aside}").truncate(self.size.width, ellipsis=True)
        right = [plural(self.jobs, "job")] if self.jobs and self.app.size.height < SHORT_ROWS else []
        right += [f"{plural(self.below, 'line')} below", *self._jumps] if self.below > 0 else []
        if right:
            said = f" {glyphs.dot} ".join(right)
            room = max(1, self.size.width - line.cell_length - len(said) - 1)
            line = Content.assemble(line, " " * room, (said, "dim"))
        return line.truncate(self.size.width, ellipsis=True)


class Queue(Widget, can_focus=False):
    """The messages that wait for the turn to end."""

    DEFAULT_CSS = "Queue { height: auto; display: none; }"

    texts: reactive[tuple[str, ...]] = reactive((), layout=True)

    def __init__(self, *, keys: Keys = USUAL, id: str | None = None) -> None:
        super().__init__(id=id)
        self._hint = "".join(hint("unqueue", keys, " takes it back"))

    def show(self, texts: tuple[str, ...]) -> None:
        """These wait now."""
        self.texts = texts
        self.display = bool(texts)

    def render(self) -> RenderResult:
        """The newest are nearest to the prompt."""
        more = len(self.texts) - LISTED
        rows = [Content.styled(f"  {more} more waiting", "dim")] if more > 0 else []
        for text in self.texts[-LISTED:]:
            rows.append(Content.assemble(("  waiting  ", "dim"), in_one(text)).truncate(self.size.width, ellipsis=True))
        if self.size.width < HINTED or not self._hint:
            return Content("\n").join(rows)
        room = max(0, self.size.width - len(self._hint) - 4)
        rows[-1] = Content.assemble(rows[-1].truncate(room, ellipsis=True), (f"  {self._hint}", "dim"))
        return Content("\n").join(rows)


class Foot(Widget, can_focus=False):
    """Mode, model and folder; and how many commands run in the background."""

    DEFAULT_CSS = "Foot { height: 1; }"

    mode: reactive[Mode] = reactive("ask")
    model: reactive[str] = reactive("")
    folder: reactive[str] = reactive("")
    jobs: reactive[int] = reactive(0)
    ascii: var[bool] = var(False)

    def __init__(self, *, ascii: bool = False, keys: Keys = USUAL, id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(Foot.ascii, ascii)
        self._sheet = hint("keys", keys, " keys")

    def show(self, event: Opened) -> None:
        """A session is open."""
        self.mode, self.model, self.folder = event.mode, safe(event.model), safe(event.folder)
        self.jobs = 0

    def heed(self, command: Command) -> None:
        """A wish that is on its way: a mode holds from the moment it is asked for, however, and leaves no record."""
        if isinstance(command, SetMode):
            self.mode = command.mode

    def learn(self, record: Record) -> None:
        """The user switched something."""
        if isinstance(record.body, SettingsChanged):
            for mode in get_args(Mode):
                if record.body.mode == mode:
                    self.mode = mode
            self.model = safe(record.body.model or self.model)

    def render(self) -> RenderResult:
        """One line; what does not fit is cut at the folder."""
        variables, dot = self.app.theme_variables, " - " if self.ascii else " · "
        colour = {"plan": "secondary", "ask": "primary", "edits": "warning", "auto": "error"}[self.mode]
        words = MODE_NAMES[self.mode]
        right = dot.join([*([plural(self.jobs, "job")] if self.jobs else []), *self._sheet])
        left = Content.assemble((words, variables[colour]), (f"{dot}{self.model}{dot}{self.folder}", "dim"))
        left = left.truncate(max(0, self.size.width - len(right) - 1), ellipsis=True, pad=True)
        return Content.assemble(left, " ", (right, "dim"))
