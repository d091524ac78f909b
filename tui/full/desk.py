"""Carries out what the screen itself was asked: one match over the actions.

Not the worker's commands: those are sent as they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, assert_never, get_args

from textual.app import App
from textual.screen import Screen

from agent.wire import (
    Meter,
    Mode,
    Opened,
    Permissions,
    Rename,
    RewindOffered,
    SetMode,
    SetModel,
    SetSetting,
    SettingsShown,
    ToolsListed,
)
from tui import config_pages, going_back, session_list, tool_pages
from tui.actions import (
    Action,
    AskKey,
    Attach,
    AttachClipboard,
    CopyAnswer,
    CopySelection,
    CycleMode,
    DiscardSession,
    Examine,
    Export,
    Leave,
    PickModel,
    PickRewind,
    PickSession,
    PickTheme,
    RenameSession,
    Say,
    Scroll,
    SearchLog,
    SetTheme,
    ShowChanges,
    ShowMemory,
    ShowSheet,
    ShowText,
    ShowTimeline,
    TellBudget,
    ToggleFolds,
    ViewWhole,
    WriteDraft,
)
from tui.attachments import Attached, attached, from_clipboard
from tui.costs import Costs
from tui.front import Choices as Choices
from tui.full.diff_screen import DiffScreen
from tui.full.key_screen import KeyScreen
from tui.full.keys import key_help
from tui.full.looks import Looking
from tui.full.memory_screen import MemoryScreen
from tui.full.meter_bar import MeterBar
from tui.full.naming import NameScreen
from tui.full.pages import Page, PageScreen
from tui.full.pickers import Picker
from tui.full.popup import Popup
from tui.full.prompt import Prompt, Wished
from tui.full.recall_screen import RecallScreen
from tui.full.status import Activity, Foot
from tui.full.theme_picker import ThemePicker
from tui.full.timeline import TimelineScreen
from tui.full.transcript import Transcript
from tui.help_page import help_text
from tui.keytable import bound, hint
from tui.model_words import facts, switching
from tui.picks import Pick
from tui.plain import one_line, plural
from tui.present import Presenter, sentence
from tui.priced import budget_of
from tui.themes import AUTO, resolved


@dataclass(slots=True)
class Desk:
    """The widgets of the main screen that actions touch."""

    app: App[int]
    choices: Choices
    keymap: Mapping[str, str]
    ascii: bool = False
    theme: str = AUTO
    opened: Opened | None = None
    presenter: Presenter = field(default_factory=Presenter)
    costs: Costs = field(default_factory=Costs)

    def perform(self, action: Action) -> None:
        """Do it."""
        home = self.app.screen_stack[0]
        transcript = home.query_one(Transcript)
        match action:
            case Say(text=text, level=level):
                transcript.show([self.presenter.say(level, text)])
                home.query_one(Activity).aside(text)
            case ShowSheet(what=what):
                self.app.push_screen(self._sheet(what))
            case ViewWhole(record=record):
                looking = self._looking()
                self.app.push_screen(PageScreen(lambda: looking.record(record)))
            case ShowText(title=title, load=load, remark=remark):
                self.app.push_screen(PageScreen(lambda: Page(title, remark, load())))
            case SearchLog(query=query):
                self.app.push_screen(RecallScreen(query, self._looking().hits))
            case ShowTimeline():
                meter = home.query_one(MeterBar).meter
                self.app.push_screen(TimelineScreen(self._looking().timeline, meter, ascii=self.ascii))
            case Export():
                self._export(action)
            case Examine():
                looking, model = self._looking(), home.query_one(MeterBar).meter.model
                self.app.push_screen(PageScreen(lambda: looking.doctor(model)))
            case TellBudget():
                transcript.show([self.presenter.say("notice", budget_of(home.query_one(MeterBar).meter))])
            case PickModel():
                self.app.push_screen(self._models(home.query_one(MeterBar).meter))
            case AskKey(provider=provider):
                self.app.push_screen(KeyScreen(provider))
            case PickSession():
                self._sessions()
            case RenameSession():
                self._rename(action)
            case DiscardSession():
                self._discard(action)
            case WriteDraft(text=text):
                home.query_one(Prompt).write(text)
            case PickTheme():
                picks = config_pages.themes(self.app.available_themes, self.theme)
                self.app.push_screen(ThemePicker(config_pages.THEME, picks, os.environ))
            case SetTheme(name=name):
                self._set_theme(name, transcript)
            case Attach() | AttachClipboard():
                self._attach(action)
            case ShowChanges(path=path):
                looking = self._looking()
                self.app.push_screen(DiffScreen(lambda: looking.changes(path)))
            case ShowMemory():
                self._memory()
            case PickRewind():
                picks = going_back.messages(transcript.blocks("user"))
                self.app.push_screen(Picker(going_back.TITLE, lambda: picks, going_back.NOTHING))
            case CopyAnswer():
                transcript.show([self.presenter.say("quiet", self._copy_answer(transcript))])
            case CopySelection():
                self._copy(home.query_one(Prompt))
            case CycleMode():
                modes: tuple[Mode, ...] = get_args(Mode)
                foot = home.query_one(Foot)
                foot.mode = modes[(modes.index(foot.mode) + 1) % len(modes)]
                self.app.post_message(Wished(SetMode(foot.mode)))
            case ToggleFolds():
                transcript.toggle()
            case Scroll(to=to):
                transcript.go(to)
            case Leave():
                self.app.exit(0)
            case _:
                assert_never(action)

    def offer(self, event: RewindOffered) -> None:
        """Files changed since: what should go back?"""
        picks = going_back.choices(event)
        self.app.push_screen(Picker(going_back.title(event), lambda: picks, ""))

    def configure(self, event: SettingsShown | Permissions) -> None:
        """What is in force, to look at and to change."""
        match event:
            case SettingsShown():
                title, rows = config_pages.SETTINGS, config_pages.settings(event)
            case Permissions():
                title, rows = config_pages.PERMISSIONS, config_pages.permissions(event)
        self.app.push_screen(Picker(title, lambda: rows, ""))

    def named(self) -> str:
        """The theme that the settings mean."""
        return resolved(self.theme, os.environ, self.app.available_themes)

    def _set_theme(self, name: str, transcript: Transcript) -> None:
        if name not in (AUTO, *self.app.available_themes):
            known = ", ".join((AUTO, *sorted(self.app.available_themes)))
            transcript.show([self.presenter.say("warning", f"There is no theme {one_line(name, 40)}: {known}.")])
            return
        self.theme = name
        self.app.theme = self.named()
        self.app.post_message(Wished(SetSetting("theme", None if name == AUTO else name)))

    def _attach(self, wish: Attach | AttachClipboard) -> None:
        """Looked at on a thread: files and the clipboard's tool may take their time."""
        log, model = self.choices.log, self.app.screen_stack[0].query_one(Foot).model

        def look() -> None:
            match wish:
                case AttachClipboard():
                    found = from_clipboard(log, wish, model, os.environ)
                case Attach():
                    found = attached(log, wish, model)
            self.app.call_from_thread(self._attached, found)

        self.app.run_worker(look, thread=True)

    def _attached(self, found: Attached) -> None:
        home = self.app.screen_stack[0]
        home.query_one(Prompt).attach(found)
        home.query_one(Transcript).show([self.presenter.say("warning", sentence(why)) for why in found.troubles])

    def _copy_answer(self, transcript: Transcript) -> str:
        answer = transcript.last_answer()
        if answer is None:
            return "There is no answer yet."
        self.app.copy_to_clipboard(answer)
        return f"Copied {plural(len(answer), 'character')}."

    def _copy(self, prompt: Prompt) -> None:
        text = prompt.selected_text or self.app.screen.get_selected_text() or ""
        if text:
            self.app.copy_to_clipboard(text)
        self.app.screen.clear_selection()

    def _sheet(self, what: Literal["help", "keys", "cost"]) -> Screen[None]:
        match what:
            case "help":
                customs = self.app.screen_stack[0].query_one(Popup).customs
                sheet = hint("keys", bound(self.keymap, "full"))
                return PageScreen(lambda: Page("Commands", "", lambda width: help_text(customs.help(), width, sheet)))
            case "keys":
                return PageScreen(lambda: Page("Keys", "", lambda width: key_help(self.keymap, width)))
            case "cost":
                return PageScreen(self._cost)

    def list_tools(self, event: ToolsListed) -> None:
        """A page over the screen."""
        self.app.push_screen(PageScreen(lambda: Page(*tool_pages.title(event), tool_pages.text(event))))

    def _looking(self) -> Looking:
        return Looking(self.choices.log, self.opened.path if self.opened is not None else "")

    def _cost(self) -> Page:
        return Page("Cost, in tokens and dollars", "", self.costs.table(self._looking().prices(self.costs.model)))

    def _export(self, wish: Export) -> None:
        """Written on a thread; how it ended comes back as a wish to say so."""
        looking, opened = self._looking(), self.opened
        folder, session = (opened.folder, opened.session) if opened is not None else (".", "session")

        def write() -> None:
            done, text = looking.export(wish, folder, session)
            self.app.post_message(Wished(Say(sentence(text), "notice" if done else "warning")))

        self.app.run_worker(write, thread=True)

    def _models(self, meter: Meter) -> Picker:
        def load() -> Iterator[Pick]:
            for row in self.choices.models(meter.model):
                wish, likely = SetModel(row.name, row.api_base), row.group != "other"
                foot = switching(row, meter.used)
                yield Pick(row.name, wish, facts(row), foot=foot, key=row.name, name=True, likely=likely)

        return Picker("Switch the model", load, "no model is known by name: /model NAME")

    def _sessions(self) -> None:
        sessions = self.choices.sessions
        if sessions is None:
            self.perform(Say(session_list.UNWIRED))
            return
        load = partial(session_list.picks, sessions)
        self.app.push_screen(Picker(session_list.TITLE, load, session_list.NOTHING, deep=sessions.holding))

    def _rename(self, wish: RenameSession) -> None:
        sessions, name = self.choices.sessions, wish.name
        if name is None:
            title = f"Another name for “{one_line(wish.title, 60)}”"
            self.app.push_screen(NameScreen(title, wish.title, partial(RenameSession, wish.path, wish.title)))
        elif self.opened is not None and wish.path == self.opened.path:
            self.app.post_message(Wished(Rename(name)))
        elif sessions is not None:
            self._told(partial(sessions.rename, wish.path, name))

    def _discard(self, wish: DiscardSession) -> None:
        sessions = self.choices.sessions
        if not wish.sure:
            title, picks = session_list.confirm(wish)
            self.app.push_screen(Picker(title, lambda: picks, ""))
        elif sessions is not None:
            self._told(partial(sessions.discard, wish.path))

    def _memory(self) -> None:
        log = self.choices.log
        if log is None:
            self.perform(Say("There is no memory to look into here."))
            return
        size = self.app.screen_stack[0].query_one(MeterBar).meter.used
        self.app.push_screen(MemoryScreen(log.memory, log.keep_memory, size))

    def _told(self, work: Callable[[], str]) -> None:
        """Done on a thread; how it ended is said."""

        def done() -> None:
            self.app.post_message(Wished(Say(sentence(work()))))

        self.app.run_worker(done, thread=True)
