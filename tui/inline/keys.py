"""The inline prompt's keys, over those every shell has.

Not what they do to the conversation (that is `talk`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, FilterOrBool
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.named_commands import get_by_name
from prompt_toolkit.keys import Keys

from agent.wire import Unqueue
from tui.actions import Attach, AttachClipboard, CycleMode, Leave, PickRewind, Say, ShowSheet, ToggleFolds
from tui.attachments import dragged
from tui.inline.keymap import spelled
from tui.inline.menu import Menu
from tui.inline.talk import Talk
from tui.keytable import DEFAULTS, keys_of, writes
from tui.pastes import Pastes, cleaned

Pressed = Callable[[KeyPressEvent], None]

# What a shell's line keys are called by readline.
SHELL = {
    "line-start": "beginning-of-line", "line-end": "end-of-line", "delete-to-end": "kill-line",
    "delete-to-start": "unix-line-discard", "delete-word": "unix-word-rubout", "right": "forward-char",
    "left": "backward-char", "take-back": "undo",
}  # fmt: skip


class Keyed(Protocol):
    """What the keys are pressed on."""

    buffer: Buffer
    menu: Menu
    pastes: Pastes
    meanings: Mapping[str, str]
    app: Application[int]

    @property
    def talk(self) -> Talk: ...

    @property
    def keyed(self) -> bool: ...

    def put(self, text: str) -> None: ...

    def edit(self, text: str, then: Callable[[str], None]) -> None: ...

    def interrupt(self) -> None: ...


def bindings(screen: Keyed) -> KeyBindings:
    """The keys of `screen`."""
    keys = KeyBindings()
    keyed = Condition(lambda: screen.keyed)
    asking = Condition(lambda: screen.talk.question is not None)
    listed = Condition(lambda: screen.menu.open)
    empty = Condition(lambda: not screen.buffer.text)

    _writing(keys, screen, keyed, listed)
    _wishes(keys, screen, asking, listed, empty)

    @keys.add(Keys.Any, filter=keyed, eager=True)
    def _answer(event: KeyPressEvent) -> None:
        screen.talk.key(event.data.lower())

    @keys.add("enter", filter=keyed, eager=True)
    def _answer_enter(event: KeyPressEvent) -> None:
        screen.talk.key("enter")

    @keys.add("escape", filter=keyed, eager=True)
    def _answer_stop(event: KeyPressEvent) -> None:
        # By name and eager: the binding for any key is eager too, and would take it for a letter.
        screen.talk.stop()

    @keys.add(Keys.BracketedPaste, filter=keyed, eager=True)
    @keys.add("c-j", filter=keyed, eager=True)
    @keys.add("tab", filter=keyed, eager=True)
    def _ignored(event: KeyPressEvent) -> None:
        """A paste answers nothing."""

    return keys


def _writing(keys: KeyBindings, screen: Keyed, keyed: Condition, listed: Condition) -> None:
    buffer, menu = screen.buffer, screen.menu

    @_named(keys, screen, "newline", filter=~keyed)
    def _newline(event: KeyPressEvent) -> None:
        buffer.insert_text("\n")

    @_named(keys, screen, "send", filter=~keyed)
    def _enter(event: KeyPressEvent) -> None:
        _send(screen, steer=False)

    @_named(keys, screen, "steer", filter=~keyed)
    def _steer(event: KeyPressEvent) -> None:
        _send(screen, steer=True)

    @keys.add(Keys.BracketedPaste, filter=~keyed)
    def _paste(event: KeyPressEvent) -> None:
        if paths := dragged(event.data, Path(screen.talk.folder)):
            screen.talk.perform(Attach(paths))
        else:
            buffer.insert_text(screen.pastes.fold(cleaned(event.data)))

    @_named(keys, screen, "paste", filter=~keyed)
    def _clipboard(event: KeyPressEvent) -> None:
        screen.talk.perform(AttachClipboard())

    @keys.add("backspace", filter=~keyed)
    @keys.add("c-h", filter=~keyed)
    def _back(event: KeyPressEvent) -> None:
        chip = screen.pastes.chip_before(buffer.document.current_line_before_cursor)
        buffer.delete_before_cursor(chip or 1)

    @_named(keys, screen, "complete", filter=~keyed)
    def _tab(event: KeyPressEvent) -> None:
        if menu.open:
            menu.take()
        else:
            menu.typed(asked=True)

    @_named(keys, screen, "older", filter=listed)
    def _up(event: KeyPressEvent) -> None:
        menu.move(-1)

    @_named(keys, screen, "newer", filter=listed)
    def _down(event: KeyPressEvent) -> None:
        menu.move(1)

    @_named(keys, screen, "older", filter=~listed)
    def _older(event: KeyPressEvent) -> None:
        if buffer.document.cursor_position_row > 0:
            buffer.cursor_up()
        elif screen.talk.question is None and (text := screen.talk.recall.older(buffer.text)) is not None:
            screen.put(text)

    @_named(keys, screen, "newer", filter=~listed)
    def _newer(event: KeyPressEvent) -> None:
        if buffer.document.cursor_position_row < buffer.document.line_count - 1:
            buffer.cursor_down()
        elif screen.talk.question is None and (text := screen.talk.recall.newer()) is not None:
            screen.put(text)

    for name, usual in SHELL.items():
        for key in keys_of(name, screen.meanings):
            keys.add(*spelled(key), filter=~keyed)(get_by_name(usual))

    @_freed(keys, screen, ~keyed)
    def _nothing(event: KeyPressEvent) -> None:
        """A default key that was given away does nothing any more."""


def _wishes(keys: KeyBindings, screen: Keyed, asking: Condition, listed: Condition, empty: Condition) -> None:
    @_named(keys, screen, "stop")
    def _stop(event: KeyPressEvent) -> None:
        if screen.menu.open:
            screen.menu.close()
            return
        if screen.talk.question is not None:
            screen.put("")
        screen.talk.stop()

    @_named(keys, screen, "break", eager=True)
    @keys.add("<sigint>", eager=True)
    def _break(event: KeyPressEvent) -> None:
        screen.interrupt()

    @_named(keys, screen, "quit", eager=True)
    def _end(event: KeyPressEvent) -> None:
        if screen.buffer.text:
            screen.buffer.delete(1)
        else:
            screen.talk.perform(Leave())

    @_named(keys, screen, "keys", filter=empty & ~asking)
    def _keys(event: KeyPressEvent) -> None:
        screen.talk.perform(ShowSheet("keys"))

    @_named(keys, screen, "rewind", filter=~asking)
    def _rewind(event: KeyPressEvent) -> None:
        screen.talk.perform(PickRewind())

    @_named(keys, screen, "mode")
    def _cycle(event: KeyPressEvent) -> None:
        screen.talk.perform(CycleMode())

    @_named(keys, screen, "unfold")
    def _unfold(event: KeyPressEvent) -> None:
        screen.talk.perform(ToggleFolds())

    @_named(keys, screen, "search", filter=~asking)
    def _search(event: KeyPressEvent) -> None:
        if not screen.menu.search():
            screen.talk.perform(Say("No earlier message holds that."))

    @_named(keys, screen, "editor", filter=~asking)
    def _editor(event: KeyPressEvent) -> None:
        def back(text: str) -> None:
            screen.put(screen.pastes.fold(cleaned(text)))

        screen.edit(screen.pastes.unfold(screen.buffer.text), back)

    @_named(keys, screen, "unqueue", filter=~asking)
    def _unqueue(event: KeyPressEvent) -> None:
        screen.talk.wish(Unqueue())

    @_named(keys, screen, "suspend", eager=True)
    def _background(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()


def _named(
    keys: KeyBindings, screen: Keyed, name: str, *, filter: FilterOrBool = True, eager: bool = False
) -> Callable[[Pressed], Pressed]:
    """Binds every key that a name has, as the settings say."""

    def bind(pressed: Pressed) -> Pressed:
        for key in keys_of(name, screen.meanings):
            keys.add(*spelled(key), filter=filter, eager=eager)(pressed)
        return pressed

    return bind


def _freed(keys: KeyBindings, screen: Keyed, filter: FilterOrBool) -> Callable[[Pressed], Pressed]:
    """Binds the default keys that have no meaning now; Enter and the arrows keep what a text field makes of them."""

    def bind(pressed: Pressed) -> Pressed:
        for key in sorted(DEFAULTS - screen.meanings.keys() - {"enter", "up", "down"}):
            if spelled(key) and not writes(key):
                keys.add(*spelled(key), filter=filter)(pressed)
        return pressed

    return bind


def _send(screen: Keyed, *, steer: bool) -> None:
    buffer, menu = screen.buffer, screen.menu
    if screen.talk.question is None and menu.would_change():
        token = menu.token
        candidate = menu.take()
        if not (token is not None and token.kind == "slash" and candidate is not None and candidate.run):
            return
    if buffer.document.char_before_cursor == "\\":
        # Some terminals send Shift+Enter as a backslash and Enter; shells taught people to type it.
        buffer.delete_before_cursor(1)
        buffer.insert_text("\n")
        return
    text = screen.pastes.unfold(buffer.text)
    if screen.talk.question is None and not text.strip():
        return
    buffer.set_document(Document(), bypass_readonly=True)
    menu.close()
    screen.talk.enter(text, steer=steer)
