"""The full-screen front end: what is on the screen, and one match over events. It only wires.

Not logic: a new feature is a row in `present` or `commands`, an action, or a widget; never a method here.

Invariants
 1. `post_event` may be called from any thread, before the app runs and after it ended; it never blocks or raises.
 2. Events are taken in order, in batches, with room for keys between two batches.
 3. Nothing here waits: no file, no lock, no network.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import assert_never

from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.filter import LineFilter
from textual.message import Message

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
    Jobs,
    Metered,
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
from tui.actions import Action, Say, ShowText, Wish
from tui.customs import Customs
from tui.full import attention, strips
from tui.full.ascii_only import AsciiOnly
from tui.full.desk import Choices, Desk
from tui.full.dialogs import Approval
from tui.full.first_use import FirstUse
from tui.full.jobs_screen import JobsScreen
from tui.full.meter_bar import SHORT_ROWS, TALL_ROWS, MeterBar
from tui.full.overlay import Overlay
from tui.full.palette import ULLAGE_DARK, ULLAGE_LIGHT
from tui.full.plans import PlanScreen, ReviewScreen
from tui.full.popup import Popup
from tui.full.prompt import Prompt, Wished
from tui.full.status import Activity, Foot, Queue
from tui.full.transcript import Transcript
from tui.full.trust_panel import TrustPanel
from tui.keytable import bound
from tui.plain import only_ascii, safe
from tui.present import sentence

# Events taken before keys get their turn: a batch of records presented in about 20 ms.
BATCH = 200


class Arrived(Message):
    """Events wait in the inbox."""


def _load_the_rest() -> None:
    """What the first picture did without."""
    strips.load()
    # What stands is there to stay: a collection that looks at all of it again holds a key back for 40 ms.
    gc.freeze()


class UllageApp(App[int], inherit_bindings=False):
    """The screen. `run()` returns the exit status.

    Without textual's own bindings: Ctrl+Q would end the program in the middle of a turn, over whatever `[keys]` says.
    """

    CSS_PATH = Path(__file__).with_name("app.tcss")
    TITLE = "Ullage"
    ENABLE_COMMAND_PALETTE = False
    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT_ROWS, "-middle"), (TALL_ROWS, "-tall")]  # noqa: RUF012 - as textual declares it

    def __init__(
        self,
        send: Callable[[Command], None],
        *,
        choices: Choices = Choices(),  # noqa: B008 - frozen
        history: Sequence[str] = (),
        remember: Callable[[str], None] | None = None,
        ascii: bool | None = None,
        now: Callable[[], float] = time.monotonic,
        first: Wish | None = None,
        keymap: Mapping[str, str] | None = None,
    ) -> None:
        """`send` hands a command to the worker; `first` is carried out once the screen stands.

        `keymap` gives other keys to bindings, by their ids (`/keys` shows what they do).
        """
        super().__init__()
        self._send, self._first = send, first
        self._inbox: deque[Event] = deque()
        self._desk = Desk(self, choices, choices.keys if keymap is None else keymap, theme=choices.theme)
        self._history, self._remember = history, remember
        self._ascii = self._desk.ascii = only_ascii(os.environ) if ascii is None else ascii
        self._now = now
        self.session: str | None = None
        self._dress()

    def _dress(self) -> None:
        """The theme of the settings, before anything is parsed: set on a screen that stands it has every style sheet
        read again and every widget styled again, a quarter of the way to the first picture."""
        self.register_theme(ULLAGE_DARK)
        self.register_theme(ULLAGE_LIGHT)
        self.set_reactive(App.theme, self._desk.named())
        dark = self.current_theme.dark
        for name, holds in (("-dark-mode", dark), ("-light-mode", not dark), (f"-theme-{self.theme}", True)):
            self.set_class(holds, name, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    def compose(self) -> ComposeResult:
        """Top to bottom."""
        keys = bound(self._desk.keymap, "full")
        yield Transcript(ascii=self._ascii, keys=keys, id="transcript")
        yield Activity(ascii=self._ascii, now=self._now, keys=keys, id="activity")
        yield Queue(keys=keys, id="queue")
        yield Approval(now=self._now, keys=keys, id="approval")
        log = self._desk.choices.log
        yield FirstUse(None if log is None or log.chosen else log.at_hand, id="first-use")
        yield TrustPanel(now=self._now, id="trust")
        popup = Popup(Customs(log), id="popup")
        with Vertical(id="entry"):
            yield popup
            yield Prompt(popup, history=self._history, remember=self._remember, now=self._now, keys=keys, id="prompt")
        yield MeterBar(ascii=self._ascii, now=self._now, id="meter")
        yield Foot(ascii=self._ascii, keys=keys, id="foot")

    def on_mount(self) -> None:
        """The focus, and whatever came before the screen stood."""
        self.set_class(self._ascii, "ascii")
        attention.arrive(self)
        self.set_keymap(dict(self._desk.keymap))
        self.query_one(Prompt).above = (self.query_one(TrustPanel), self.query_one(FirstUse))
        self.query_one(Prompt).focus()
        # Textual lays a new screen out three times; it is painted after the last, so that no key waits for the others.
        laying = ExitStack()
        laying.enter_context(self.batch_update())
        self.call_after_refresh(self._stands, laying)
        self.post_message(Arrived())
        if self._first is not None:
            self.post_message(Wished(self._first))

    def _stands(self, laying: ExitStack) -> None:
        laying.close()
        self.screen.refresh()
        self.run_worker(_load_the_rest, thread=True)

    def on_unmount(self) -> None:
        """The window gets its own name back."""
        attention.leave(self)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every line goes through last."""
        return [*super().get_line_filters(), *([AsciiOnly()] if self._ascii else [])]

    def post_event(self, event: Event) -> None:
        """Hand an event over, from any thread."""
        self._inbox.append(event)
        if len(self._inbox) == 1 and self.is_running:
            self.post_message(Arrived())

    async def on_arrived(self) -> None:
        """Take a batch; come back for the rest. The pause lets the terminal's own thread hand its keys in."""
        with self.screen_stack[0].query_one(Transcript).filling(more=len(self._inbox) > BATCH):
            for _ in range(min(BATCH, len(self._inbox))):
                self.take(self._inbox.popleft())
        if self._inbox:
            await asyncio.sleep(0)
            self.post_message(Arrived())

    def on_wished(self, message: Wished) -> None:
        """A wish of the screen is carried out here, any other is the worker's."""
        if isinstance(message.wish, Action):
            self._desk.perform(message.wish)
        else:
            self._send(message.wish)
            self.screen_stack[0].query_one(Foot).heed(message.wish)
        if isinstance(message.wish, Submit | Steer | Shell | Say):
            self.screen_stack[0].query_one(Transcript).go("end")

    def on_prompt_declined(self) -> None:
        """Esc at the prompt closes what is offered above it, too."""
        self.screen_stack[0].query_one(FirstUse).close()

    def take(self, event: Event) -> None:
        """One event to the widgets it concerns."""
        home = self.screen_stack[0]
        transcript, prompt = home.query_one(Transcript), home.query_one(Prompt)
        activity, foot, approval = home.query_one(Activity), home.query_one(Foot), home.query_one(Approval)
        blocks = self._desk.presenter.show(event)
        home.query_one(FirstUse).hear(event)
        home.query_one(TrustPanel).hear(event)
        for screen in self.screen_stack[1:]:
            if isinstance(screen, Overlay) and screen.is_mounted:
                screen.hear(event)
        match event:
            case Opened():
                self.session, self._desk.opened = event.session, event
                self._desk.costs.clear()
                transcript.forget()
                prompt.folder = event.folder
                prompt.popup.read()
                foot.show(event)
                activity.jobs = 0
                attention.title(self, f"ullage · {event.folder}")
            case Appended(record=record, replay=replay):
                self._desk.costs.add(record)
                transcript.learn(record)
                prompt.learn(record, replay=replay)
                foot.learn(record)
            case Streaming():
                activity.note(event)
                transcript.stream(event)
            case Restreamed():
                transcript.unstream()
            case ToolRunning() | Progress():
                activity.note(event)
            case Metered(meter=meter):
                home.query_one(MeterBar).show(meter)
                # A rewind leaves a switch behind, and no record says so.
                foot.model = safe(meter.model) or foot.model
            case Asking():
                activity.note(event)
                approval.ask(event)
                attention.call(self, f"Ullage asks: {event.title}", wanted=self._desk.choices.notify)
            case Planned(plan=plan, offered=True):
                PlanScreen.offer(self, plan)
            case Reviewing():
                self.push_screen(ReviewScreen(event))
            case RewindOffered():
                self._desk.offer(event)
            case Sheet(title=title, text=text):
                self._desk.perform(ShowText(title, lambda: text))
            case Inspected():
                # Here, because it costs a start 45 ms before the screen stands.
                from tui.full.context_screen import ContextScreen

                ContextScreen.open(self, event, ascii=self._ascii)
            case Jobs(rows=rows, asked=asked):
                foot.jobs = activity.jobs = sum(row.runs for row in rows)
                if asked:
                    JobsScreen.open(self, event)
            case ToolsListed():
                self._desk.list_tools(event)
            case SettingsShown() | Permissions():
                self._desk.configure(event)
            case Queued(texts=texts):
                home.query_one(Queue).show(texts)
            case Returned(text=text):
                prompt.put_back(text)
            case Busy(what=what):
                prompt.busy = True
                activity.begin(what)
            case Idle() | Crashed():
                attention.after(self, activity.elapsed(), "Ullage is done", wanted=self._desk.choices.notify)
                prompt.busy = False
                activity.end()
                approval.dismiss()
                trust = home.query_one(TrustPanel)
                (trust if trust.deciding else prompt).focus()
                transcript.unstream()
            case Drafted(text=text):
                prompt.put_back(text)
            case Told(text=text):
                activity.aside(sentence(text))
            case Gated() | Finished() | Planned() | Proposed():
                pass
            case _:
                assert_never(event)
        transcript.show(blocks)

    def on_text_area_changed(self) -> None:
        """Somebody types."""
        self.screen_stack[0].query_one(Transcript).typed()

    def on_transcript_moved(self, message: Transcript.Moved) -> None:
        """How far the end is."""
        self.query_one(Activity).below = message.lines_below
