"""The inline screen without a terminal: events become printed rows and a live area, lines and keys become wishes.

Not drawing: a `Surface` prints, keeps the draft, and hands keys in. All of it happens on the surface's loop.

Invariants
 1. What may still change stands in the live area; what is printed is finished (`printer`).
 2. While a question is open, lines and keys are its answers and nothing else (`asks`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never, get_args

from agent.wire import (
    Appended,
    Asking,
    Busy,
    Command,
    Crashed,
    Drafted,
    Event,
    Finished,
    Gated,
    Idle,
    Inspect,
    Inspected,
    Interrupt,
    Jobs,
    Meter,
    Metered,
    Mode,
    Opened,
    Permissions,
    Planned,
    Progress,
    Proposed,
    Queued,
    Restreamed,
    Returned,
    Reviewing,
    RewindOffered,
    SetMode,
    SettingsShown,
    Sheet,
    Shell,
    Steer,
    Streaming,
    Submit,
    Told,
    ToolRunning,
    ToolsListed,
)
from compaction.records import AssistantSaid, Pinned, Record, SettingsChanged, UserSaid
from tui import config_pages, going_back, tool_pages
from tui.actions import Action, Leave, PickRewind, Say, ShowText, Wish
from tui.costs import Costs
from tui.customs import Customs
from tui.front import TWICE
from tui.inline import questions as questions
from tui.inline.asks import Asks
from tui.inline.context import Context
from tui.inline.jobs import JobList
from tui.inline.lists import Picking
from tui.inline.live import Live
from tui.inline.print import Row, prose, row
from tui.inline.printer import Printer
from tui.inline.questions import Question
from tui.inline.surface import Surface
from tui.inline.trust import Trusting, found_rows
from tui.plain import one_line
from tui.present import Presenter, sentence
from tui.recall import Recall

# A turn shorter than this was watched; seconds.
LONG_TURN = 20.0


@dataclass(slots=True)
class Talk:
    """One conversation on a surface."""

    surface: Surface
    send: Callable[[Command], None]
    perform: Callable[[Action], None] = lambda action: None
    recall: Recall = field(default_factory=Recall)
    remember: Callable[[str], None] = lambda text: None
    editor: bool = True
    calls: bool = True
    now: Callable[[], float] = time.monotonic
    presenter: Presenter = field(default_factory=Presenter)
    costs: Costs = field(default_factory=Costs)
    customs: Customs = field(default_factory=Customs)
    printer: Printer = field(init=False)
    live: Live = field(init=False)
    asks: Asks = field(init=False)
    meter: Meter = field(default_factory=Meter)
    metered_at: float = 0.0
    mode: Mode = "ask"
    folder: str = "."
    session: str | None = None
    path: str = ""
    busy: bool = False
    records: dict[int, Record] = field(default_factory=dict)
    answer: str = ""
    _broke_at: float = float("-inf")
    _stopped_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.printer = Printer(self.surface)
        self.live = Live(self.now)
        self.presenter.thoughts.now = self.now
        self.asks = Asks(self.surface, self.printer, self.wish, self.now, self.editor)

    @property
    def question(self) -> Question | None:
        """The one that is open."""
        return self.asks.open

    # ── events ──

    def take_all(self, events: Sequence[Event]) -> None:
        """A batch; printed at once."""
        for event in events:
            self.take(event)
        self.flush()

    def take(self, event: Event) -> None:
        """One event."""
        blocks = self.presenter.show(event)
        if isinstance(event, Appended):
            self._learn(event.record)
            if event.replay:
                self.printer.replay(blocks)
                return
            # What the opening itself wrote (a call closed, say) stands behind what was there.
            self.printer.replayed()
            if isinstance(event.record.body, AssistantSaid):
                self.printer.settle(blocks)
                if counted := self.presenter.thoughts.amiss(event.record.body):
                    self.print([row(f"  {counted}", "class:quiet")])
            else:
                self.printer.show(blocks)
            return
        if not isinstance(event, Opened):
            self.printer.replayed()
        if isinstance(event, Streaming):
            # The line about the reasoning stands before the answer that begins with this event.
            self.printer.show(blocks)
            blocks = ()
        self._concerns(event)
        self.printer.show(blocks)
        if isinstance(event, Idle) and event.session:
            self.surface.turned(self.meter)

    def _concerns(self, event: Event) -> None:
        match event:
            case Opened():
                self._opened(event)
            case Streaming(text=text, kind=kind):
                self.live.note(event)
                if kind == "text":
                    self.printer.stream(text)
            case Restreamed():
                self.printer.end_stream("The answer starts over.")
            case ToolRunning() | Progress():
                self.live.note(event)
            case Metered(meter=meter):
                self.meter, self.metered_at = meter, self.now()
            case Asking():
                self.asks.ask(questions.Approval(event))
                self._call(f"Ullage asks: {one_line(event.title)}")
            case Planned(plan=plan, offered=True) if plan.what == "prune" and plan.records:
                self.asks.ask(questions.Planned(plan))
            case Planned(plan=plan, offered=True) if plan.rows or plan.kept_rows or not plan.why_nothing:
                self.print(questions.plan_rows(plan, self.surface.width()))
            case Proposed(asked=True):
                self.asks.ask(Trusting(event))
            case Proposed():
                self.print(found_rows(event, self.surface.width()))
            case Reviewing():
                self.asks.ask(questions.Review(event))
            case RewindOffered(files=files):
                lines = [row(f"  {line}") for line in going_back.file_lines(files)]
                self.asks.ask(Picking(going_back.title(event), going_back.choices(event), lines=lines))
            case Sheet(title=title, text=text):
                self.perform(ShowText(title, lambda: text))
            case Inspected():
                self._inspected(event)
            case Jobs(rows=rows, asked=asked):
                self.live.jobs = sum(row.runs for row in rows)
                if asked and rows:
                    self.asks.ask(JobList(event))
                elif asked:
                    self.say(Say("No command was put into the background."))
            case ToolsListed():
                self._listed(event)
            case SettingsShown():
                self.asks.ask(Picking(config_pages.SETTINGS, config_pages.settings(event)))
            case Permissions():
                self.asks.ask(Picking(config_pages.PERMISSIONS, config_pages.permissions(event)))
            case Queued(texts=texts):
                self.live.queue = texts
            case Returned(text=text) | Drafted(text=text):
                self.surface.write(text)
            case Busy(what=what):
                self.busy = True
                self.live.begin(what)
            case Idle() | Crashed():
                self._idle()
            case Appended() | Gated() | Finished() | Told() | Planned():
                pass
            case _:
                assert_never(event)

    def _opened(self, event: Opened) -> None:
        self.session, self.path, self.folder, self.mode = event.session, event.path, event.folder, event.mode
        self.costs.clear()
        self.records.clear()
        self.printer.forget()
        self.answer = ""
        self.live.jobs = 0
        self.surface.title(f"ullage · {event.folder}")

    def _learn(self, record: Record) -> None:
        self.records[record.id] = record
        self.costs.add(record)
        match record.body:
            case AssistantSaid(text=text) if text.strip():
                self.answer = text
            case UserSaid(how=how) as body if how != "shell":
                self.recall.add(body.said)
            case SettingsChanged(mode=said):
                self.mode = next((mode for mode in get_args(Mode) if mode == said), self.mode)
            case Pinned() if isinstance(self.question, Context):
                self.send(Inspect(again=True))
            case _:
                pass

    def _inspected(self, event: Inspected) -> None:
        if isinstance(self.question, Context):
            self.question.event = event
            self.print(self.question.rows(self.surface.width()))
        elif not event.again:
            self.asks.ask(Context(event, self.records.get))

    def _listed(self, event: ToolsListed) -> None:
        name, remark = tool_pages.title(event)
        width = self.surface.width()
        self.print([(), *prose(f"{name}: {remark}", width, "class:strong")])
        for line in tool_pages.text(event).split("\n"):
            self.print([row(line)] if len(line) <= width else prose(line.strip(), width, "", "    ", "    "))

    def _idle(self) -> None:
        if self.busy and self.live.elapsed() >= LONG_TURN:
            self._call("Ullage is done")
        self.busy = False
        self.live.end()
        self.printer.end_stream()
        self.printer.rest()
        self.asks.end_of_turn()

    def _call(self, text: str) -> None:
        if self.calls:
            self.surface.call(text)

    # ── printing ──

    def print(self, more: Sequence[Row]) -> None:
        """Print with the batch."""
        self.printer.print(more)

    def say(self, action: Say) -> None:
        """A sentence of the screen's own."""
        self.printer.show([self.presenter.say(action.level, action.text)])

    def mistakes(self, problems: Sequence[str]) -> None:
        """Files that were to be commands and are none."""
        for problem in problems:
            self.say(Say(sentence(problem), "warning"))
        if problems:
            self.flush()

    def offer(self, question: Question) -> None:
        """A question of the screen's own."""
        self.asks.ask(question)
        self.flush()

    def flush(self) -> None:
        """All that was printed goes out; the live area is drawn anew."""
        self.live.tail = self.printer.tail
        self.printer.flush()
        self.surface.changed()

    # ── what the user does ──

    def key(self, key: str) -> None:
        """A key for the question."""
        self.asks.key(key)
        self.flush()

    def enter(self, text: str, *, steer: bool = False) -> None:
        """A line was written."""
        if self._instead(text):
            self.asks.leave()
            self._sent(text, steer)
        elif self.question is not None:
            self.asks.line(text)
        elif text.strip():
            self._sent(text, steer)
        self.flush()

    def _instead(self, text: str) -> bool:
        """Whether a list waits and a command was written, which no list takes."""
        match self.question:
            case Context() as context:
                return self.customs.knows(text) and not context.held(text.strip()[1:])
            case Picking() | JobList():
                return self.customs.knows(text)
            case _:
                return False

    def _sent(self, text: str, steer: bool) -> None:
        wish = self.customs.parse(text)
        if steer and isinstance(wish, Submit):
            wish = Steer(text)
        self.recall.leave()
        if not text.startswith("/key"):  # a key may have been typed behind it
            self.recall.add(text)
            self.remember(text)
        if not isinstance(wish, Submit | Steer | Shell):
            self.print([(), *prose(text.strip(), self.surface.width(), "class:user", "▌ ", "▌ ")])
        self.wish(wish)

    def begin(self, wish: Wish) -> None:
        """What the command line asked for."""
        self.wish(wish)
        self.flush()

    def wish(self, wish: Wish) -> None:
        """Carried out here, or sent."""
        if isinstance(wish, Action):
            self.perform(wish)
        else:
            if isinstance(wish, SetMode):  # it holds from now on, and leaves no record that could tell of it
                self.mode = wish.mode
            self.send(wish)

    def stop(self) -> None:
        """Esc."""
        now = self.now()
        if self.question is not None:
            self.key("escape")
        elif self.busy:
            self.send(Interrupt())
        elif now - self._stopped_at < TWICE:
            self.perform(PickRewind())
            now = float("-inf")
        self._stopped_at = now

    def break_off(self, draft: bool) -> bool:
        """Ctrl+C; true when the draft is to be cleared."""
        now = self.now()
        if now - self._broke_at < TWICE:
            self.perform(Leave())
            return False
        self._broke_at = now
        if draft:
            return True
        if self.question is not None:
            self.key("escape")
        elif self.busy:
            self.send(Interrupt())
        else:
            self.say(Say("Press Ctrl+C once more to quit."))
            self.flush()
        return False
