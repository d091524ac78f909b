"""The inline screen without a terminal: events become printed rows and a live area, lines and keys become wishes.

Not drawing: a `Surface` prints, keeps the draft, and hands keys in. All of it happens on the surface's loop.

Invariants
 1. What is printed is never printed again; what may still change stands in the live area.
 2. A guarded question hears nothing until it was seen for `SETTLE` seconds.
 3. Questions are asked one at a time, in the order they came; those of a turn end with it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, assert_never

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
    Inspected,
    Interrupt,
    Meter,
    Metered,
    Mode,
    Opened,
    Planned,
    Progress,
    Queued,
    Restreamed,
    Returned,
    Reviewing,
    Steer,
    Streaming,
    Submit,
    Told,
    ToolRunning,
)
from compaction.records import AssistantSaid, Record, SettingsChanged, UserSaid
from tui import inline_questions as questions
from tui.actions import Action, Leave, PickRewind, Say, Wish
from tui.block import Block, Fold
from tui.commands import parse
from tui.costs import Costs
from tui.front import SETTLE, TWICE
from tui.inline_context import Context
from tui.inline_live import Live
from tui.inline_print import MOST_PROSE, Growing, Row, prose, row, rows
from tui.inline_questions import Question, Reply
from tui.plain import one_line, safe
from tui.present import Presenter
from tui.recall import Recall

# Of a session that is gone on with, this much is printed again: about two screens. Blocks.
REPLAYED = 40

# A turn shorter than this was watched; seconds.
LONG_TURN = 20.0

T = TypeVar("T")


class Surface(Protocol):
    """Where it happens."""

    def width(self) -> int:
        """Cells of a row."""

    def show(self, rows: Sequence[Row]) -> None:
        """Print these, for good."""

    def changed(self) -> None:
        """The live area is another."""

    def ask(self, question: Question | None) -> None:
        """A question is asked, or none any more: the draft steps aside, or comes back."""

    def write(self, text: str) -> None:
        """Put `text` before the draft."""

    def fill(self, text: str) -> None:
        """What an open question is written about, to be changed."""

    def edit(self, text: str, then: Callable[[str], None]) -> None:
        """Let the user edit `text`."""

    def read(self, load: Callable[[], T], then: Callable[[T], None]) -> None:
        """Read on a thread, go on here."""

    def copy(self, text: str) -> bool:
        """To the clipboard, if there is a way."""

    def call(self, text: str) -> None:
        """Ask for attention."""

    def title(self, text: str) -> None:
        """Name the window."""

    def turned(self, meter: Meter) -> None:
        """A turn ended with these numbers."""

    def leave(self, status: int) -> None:
        """End."""


@dataclass(slots=True)
class Talk:
    """One conversation on a surface."""

    surface: Surface
    send: Callable[[Command], None]
    perform: Callable[[Action], None] = lambda action: None
    recall: Recall = field(default_factory=Recall)
    remember: Callable[[str], None] = lambda text: None
    editor: bool = True
    now: Callable[[], float] = time.monotonic
    presenter: Presenter = field(default_factory=Presenter)
    costs: Costs = field(default_factory=Costs)
    live: Live = field(init=False)
    meter: Meter = field(default_factory=Meter)
    metered_at: float = 0.0
    mode: Mode = "ask"
    model: str = ""
    folder: str = "."
    session: str | None = None
    busy: bool = False
    question: Question | None = None
    records: dict[int, Record] = field(default_factory=dict)
    answer: str = ""
    hidden: Block | None = None
    _waiting: deque[Question] = field(default_factory=deque)
    _replayed: deque[Block] = field(default_factory=lambda: deque(maxlen=REPLAYED))
    _replays: int = 0
    _held: dict[str, Block] = field(default_factory=dict)
    _growing: Growing | None = None
    _out: list[Row] = field(default_factory=list)
    _seen_at: float | None = None
    _broke_at: float = float("-inf")
    _stopped_at: float = float("-inf")

    def __post_init__(self) -> None:
        self.live = Live(self.now)

    # ── events ──

    def take_all(self, events: Sequence[Event]) -> None:
        """A batch; printed at once."""
        for event in events:
            self.take(event)
        self.flush()

    def take(self, event: Event) -> None:
        """One event."""
        if isinstance(event, Appended) and isinstance(event.record.body, AssistantSaid):
            blocks: Sequence[Block] = self._settled(event, event.record.body)
        else:
            blocks = self.presenter.show(event)
        if isinstance(event, Appended) and event.replay:
            self._replayed.extend(blocks)
            self._replays += len(blocks)
            self._learn(event.record)
            return
        if self._replays and not isinstance(event, Opened):
            self._replay()
        match event:
            case Opened():
                self._opened(event)
            case Appended(record=record):
                self._learn(record)
            case Streaming(text=text, kind=kind):
                self.live.note(event)
                if kind == "text":
                    self._stream(text)
            case Restreamed():
                self._end_stream("The answer starts over.")
            case ToolRunning() | Progress():
                self.live.note(event)
            case Metered(meter=meter):
                self.meter, self.metered_at = meter, self.now()
            case Asking():
                self._ask(questions.Approval(event))
                self.surface.call(f"Ullage asks: {one_line(event.title)}")
            case Planned(plan=plan, offered=True) if plan.what == "prune" and plan.records:
                self._ask(questions.Planned(plan))
            case Planned(plan=plan, offered=True) if plan.rows or plan.kept_rows or not plan.why_nothing:
                self.print(questions.plan_rows(plan, self.surface.width()))
            case Reviewing():
                self._ask(questions.Review(event))
            case Inspected():
                if isinstance(self.question, Context):
                    self.question.event = event
                    self.print(self.question.rows(self.surface.width()))
                else:
                    self._ask(Context(event, self.records.get))
            case Queued(texts=texts):
                self.live.queue = texts
            case Returned(text=text) | Drafted(text=text):
                self.surface.write(text)
            case Busy(what=what):
                self.busy = True
                self.live.begin(what)
            case Idle() | Crashed():
                self._idle()
            case Gated() | Finished() | Told() | Planned():
                pass
            case _:
                assert_never(event)
        self._show(blocks)
        if isinstance(event, Idle) and event.session:
            self.surface.turned(self.meter)

    def _opened(self, event: Opened) -> None:
        self.session, self.folder, self.mode, self.model = event.session, event.folder, event.mode, event.model
        self.costs.clear()
        self.records.clear()
        self._replayed.clear()
        self._replays, self.answer = 0, ""
        self.surface.title(f"ullage · {event.folder}")

    def _learn(self, record: Record) -> None:
        self.records[record.id] = record
        self.costs.add(record)
        match record.body:
            case AssistantSaid(text=text) if text.strip():
                self.answer = text
            case UserSaid(text=text, how=how) if how != "shell":
                self.recall.add(text)
            case SettingsChanged(mode=mode, model=model):
                self.mode = mode if mode is not None else self.mode  # type: ignore[assignment]
                self.model = model or self.model
            case _:
                pass

    def _replay(self) -> None:
        earlier = self._replays - len(self._replayed)
        if earlier > 0:
            self.print([row(f"… {earlier} earlier; /context and /rewind know them all", "class:quiet")])
        held, self._replays = list(self._replayed), 0
        self._replayed.clear()
        done = {block.key for block in held if block.state != "running"}
        self._show([block for block in held if block.state != "running" or block.key not in done])

    def _idle(self) -> None:
        if self.live.elapsed() >= LONG_TURN and self.busy:
            self.surface.call("Ullage is done")
        self.busy = False
        self.live.end()
        self._end_stream("")
        held, self._held = self._held, {}
        for block in held.values():
            self.print(rows(block, self.surface.width()))
        self._waiting = deque(question for question in self._waiting if not question.of_turn)
        if self.question is not None and self.question.of_turn:
            self._next()

    # ── printing ──

    def print(self, more: Sequence[Row]) -> None:
        """Print with the batch."""
        self._out += more

    def say(self, action: Say) -> None:
        """A sentence of the screen's own."""
        self._show([self.presenter.say(action.level, action.text)])

    def flush(self) -> None:
        """All that was printed goes out; the live area is drawn anew."""
        if self._out:
            out, self._out = self._out, []
            self.surface.show(out)
        self.surface.changed()

    def _show(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            if block.role == "shell" and block.record is None:
                self._held[block.key] = block
                continue
            if block.state == "running":
                continue
            self._held.pop(block.key, None)
            if block.fold is not None and block.body and (block.fold == Fold() or len(rows(block, 80)) > 3):
                self.hidden = block
            self.print(rows(block, self.surface.width()))

    def _stream(self, text: str) -> None:
        if self._growing is None:
            text = text.lstrip("\n")
            if not text:
                return
            self._growing = Growing(max(8, min(self.surface.width(), MOST_PROSE)))
            self.print([()])
        self.print(self._growing.feed(safe(text)))
        self.live.tail = self._growing.tail

    def _settled(self, event: Appended, body: AssistantSaid) -> Sequence[Block]:
        """The record of what was streamed: only what was not printed yet is."""
        blocks = self.presenter.show(event)
        growing = self._growing
        said = next((block for block in blocks if block.role == "agent"), None)
        if growing is None or said is None:
            self._end_stream("")
            return blocks
        given = growing.given if said.body.startswith(growing.given) else growing.given.rstrip("\n")
        if said.body.startswith(given):
            self.print(growing.feed(said.body[len(growing.given) :]))
            self._end_stream("")
            return [block for block in blocks if block is not said]
        self._end_stream("The whole answer:")
        return blocks

    def _end_stream(self, why: str) -> None:
        if self._growing is not None:
            self.print(self._growing.end())
            self._growing, self.live.tail = None, ""
            if why:
                self.print([row(f"· {why}", "class:quiet")])

    # ── questions ──

    def _ask(self, question: Question) -> None:
        self._waiting.append(question)
        if self.question is None:
            self._next()

    def offer(self, question: Question) -> None:
        """A question of the screen's own."""
        self._ask(question)
        self.flush()

    def _next(self) -> None:
        self.question = self._waiting.popleft() if self._waiting else None
        self._seen_at = None
        if self.question is not None:
            self.print(self.question.rows(self.surface.width()))
        self.surface.ask(self.question)

    def seen(self) -> None:
        """The surface has drawn the question."""
        if self._seen_at is None and self.question is not None and not self._out:
            self._seen_at = self.now()

    def _early(self) -> bool:
        if self.question is None or not self.question.guarded:
            return False
        return self._seen_at is None or self.now() - self._seen_at < SETTLE

    def _reply(self, reply: Reply) -> None:
        question = self.question
        self.print(reply.rows)
        if reply.over:
            self._next()
        if reply.draft is not None and isinstance(question, questions.Review):
            review = question
            if self.editor:
                self.surface.edit(reply.draft, lambda text: self._edited(review, text))
            else:
                review.write_here()
                self.surface.fill(reply.draft)
        for wish in reply.wishes:
            self.wish(wish)
        self.flush()

    def _edited(self, review: questions.Review, text: str) -> None:
        if self.question is review:
            self._reply(review.edited(text))

    # ── what the user does ──

    def key(self, key: str) -> None:
        """A key for the question."""
        if self.question is not None and not self._early():
            self._reply(self.question.key(key))

    def enter(self, text: str, *, steer: bool = False) -> None:
        """A line was written."""
        if self.question is not None:
            if self._early():
                self.print([row("That came before the question could be read; it still waits.", "class:warning")])
                self.flush()
            else:
                self._reply(self.question.line(text))
            return
        if not text.strip():
            return
        wish = parse(text)
        if steer and isinstance(wish, Submit):
            wish = Steer(text)
        self.recall.leave()
        self.recall.add(text)
        self.remember(text)
        if not isinstance(wish, Submit | Steer):
            self.print([(), *prose(text.strip(), self.surface.width(), "class:user", "▌ ", "▌ ")])
        self.wish(wish)
        self.flush()

    def begin(self, wish: Wish) -> None:
        """What the command line asked for."""
        self.wish(wish)
        self.flush()

    def wish(self, wish: Wish) -> None:
        """Carried out here, or sent."""
        if isinstance(wish, Action):
            self.perform(wish)
        else:
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
