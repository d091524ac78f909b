"""Carries out what the inline screen itself was asked: one match over the actions.

Not the worker's commands: those are sent as they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never, get_args

from agent.wire import Meter, Mode, SetMode, SetModel, SetSetting
from tui import config_pages, going_back
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
from tui.front import Choices
from tui.help_page import help_text
from tui.inline.keymap import listed, meanings
from tui.inline.lists import Picking
from tui.inline.log import InlineLog
from tui.inline.print import Row, prose, row, rows
from tui.inline.questions import KeyLine
from tui.inline.sessions import InlineSessions
from tui.inline.surface import Surface
from tui.inline.talk import Talk
from tui.keytable import hint
from tui.model_words import brief
from tui.picks import Pick, merged
from tui.plain import one_line, plural, safe, tokens
from tui.present import sentence
from tui.priced import budget_of
from tui.themes import AUTO, OURS

if TYPE_CHECKING:
    from agent.reading import ModelRow


@dataclass(slots=True)
class InlineDesk:
    """What actions need."""

    talk: Talk
    surface: Surface
    choices: Choices

    def perform(self, action: Action) -> None:
        """Do it."""
        talk = self.talk
        match action:
            case Say():
                talk.say(action)
            case ShowSheet(what=what):
                match what:
                    case "help":
                        sheet = hint("keys", meanings(self.choices.keys))
                        text = help_text(talk.customs.help(), self.surface.width(), sheet)
                    case "keys":
                        text = listed(self.choices.keys, self.surface.width())
                    case "cost":
                        text = talk.costs.table()
                talk.print([(), *self._sheet(text)])
            case ShowText():
                self.surface.read(action.load, lambda text: self._text(action, text))
            case TellBudget():
                talk.say(Say(budget_of(talk.meter)))
            case PickModel():
                meter = talk.meter
                self.surface.read(
                    lambda: list(self.choices.models(meter.model)), lambda found: self._models(found, meter)
                )
            case AskKey(provider=provider) if self.surface.hides:
                talk.offer(KeyLine(provider))
            case AskKey(provider=provider):
                talk.say(
                    Say(f"What is typed here is shown. In another terminal: `ullage keys set {provider}`, then /model.")
                )
            case PickSession() | RenameSession() | DiscardSession():
                InlineSessions(talk, self.surface, self.choices.sessions).perform(action)
            case WriteDraft(text=text):
                self.surface.write(text)
            case PickTheme():
                self._offer(config_pages.THEME, config_pages.themes(OURS, self.choices.theme), "")
            case SetTheme(name=name):
                talk.send(SetSetting("theme", None if name == AUTO else name))
                talk.say(Say("The inline screen has the terminal's own colours; the theme is the full screen's."))
            case Attach():
                self.surface.read(lambda: attached(self.choices.log, action, talk.meter.model), self._attached)
            case AttachClipboard():
                self.surface.read(
                    lambda: from_clipboard(self.choices.log, action, talk.meter.model, os.environ), self._attached
                )
            case PickRewind():
                self._offer(going_back.TITLE, going_back.said(talk.records.values()), "Nothing was said yet.")
            case CopyAnswer():
                talk.say(Say(self._copy()))
            case CycleMode():
                modes: tuple[Mode, ...] = get_args(Mode)
                talk.wish(SetMode(modes[(modes.index(talk.mode) + 1) % len(modes)]))
            case ToggleFolds():
                if talk.printer.hidden is None:
                    talk.say(Say("Nothing was folded."))
                else:
                    talk.print(rows(talk.printer.hidden, self.surface.width(), open=True))
            case Leave():
                self.surface.leave(0)
            case ViewWhole() | SearchLog() | ShowTimeline() | ShowChanges() | ShowMemory() | Export() | Examine():
                InlineLog(talk, self.surface, self.choices.log).perform(action)
            case CopySelection() | Scroll():
                pass  # the terminal's own
            case _:
                assert_never(action)
        talk.flush()

    def _text(self, what: ShowText, text: str) -> None:
        head: Row = (("class:strong", one_line(what.title)), ("class:quiet", f"  {one_line(what.remark)}".rstrip()))
        self.talk.print([(), head, *(row(f"  {line}") for line in safe(text).rstrip("\n").split("\n"))])
        self.talk.flush()

    def _attached(self, found: Attached) -> None:
        self.surface.attach(found)
        for why in found.troubles:
            self.talk.say(Say(sentence(why), "warning"))
        self.talk.flush()

    def _sheet(self, text: str) -> list[Row]:
        width = self.surface.width()
        found: list[Row] = []
        for line in text.split("\n"):
            found += [row(line)] if len(line) <= width else prose(" ".join(line.split()), width, "", "", "    ")
        return found

    def _offer(self, title: str, picks: list[Pick], nothing: str) -> None:
        if picks:
            self.talk.offer(Picking(title, picks))
        else:
            self.talk.say(Say(nothing))
            self.talk.flush()

    def _models(self, found: Sequence[ModelRow], meter: Meter) -> None:
        picks = [
            Pick(row.name, SetModel(row.name, row.api_base), brief(row, meter.used), likely=row.group != "other",
                 name=True, key=row.name)
            for row in found
        ]  # fmt: skip
        if picks:
            foot = f"{tokens(meter.used)} tokens would be read again, uncached, for the price after ≈."
            self.talk.offer(Picking("Switch the model", merged((), picks), foot=foot))
        else:
            self._offer("", [], "No model is known by name: /model NAME.")

    def _copy(self) -> str:
        if not self.talk.answer:
            return "There is no answer yet."
        if not self.surface.copy(self.talk.answer):
            return "This terminal has no way to a clipboard."
        return f"Copied {plural(len(self.talk.answer), 'character')}."
