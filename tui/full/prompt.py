"""The prompt: text is written here and every key of the main screen starts here.

Not what a line means (that is `commands.parse`) and not where it goes: the prompt posts `Wished` and the app wires it.

Invariants
 1. Typing is never blocked and never lost: a cleared, refused or taken-back draft can be had again.
 2. Enter sends, and only Enter: pasted newlines never do.
 3. Esc closes the popup first; stopping keeps the draft.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import TextArea

from agent.wire import Interrupt, Steer, Submit, Unqueue
from compaction.records import Record, UserSaid
from tui import completion, keytable
from tui.actions import (
    CopySelection,
    CycleMode,
    Leave,
    PickRewind,
    Say,
    Scroll,
    ShowSheet,
    ToggleFolds,
)
from tui.completion import Candidate, Token
from tui.front import TWICE
from tui.full.editor import edited
from tui.full.pasting import PastingEditor
from tui.full.popup import Popup
from tui.full.wished import Wished as Wished
from tui.pastes import Pastes, cleaned
from tui.recall import Recall

# A listing of the folder is good for this long: a file made a minute ago should be found; seconds.
LISTING_FRESH = 20.0

# What the names of `keytable` do here; the others need to know more than their name.
ACTIONS: Mapping[str, str] = {
    "stop": "stop", "rewind": "rewind", "break": "break", "quit": "end", "mode": "wish_cycle", "unfold": "wish_fold",
    "search": "search", "editor": "editor", "unqueue": "take_back", "paste": "paste",
    "suspend": "app.suspend_process", "page-up": "scroll('up')", "page-down": "scroll('down')",
    "start": "scroll('start')", "end": "scroll('end')", "line-start": "cursor_line_start",
    "line-end": "cursor_line_end", "delete-to-end": "delete_to_end_of_line_or_delete_line",
    "delete-to-start": "delete_to_start_of_line", "delete-word": "delete_word_left", "right": "cursor_right",
    "left": "cursor_left", "take-back": "undo", "keys": "keys",
}  # fmt: skip

# A text field has a use of its own for these while nothing is bound to them.
OWN_USE = frozenset({"enter", "up", "down", "pageup", "pagedown"})


class Prompt(PastingEditor):
    """Where the user writes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+h", "delete_left", "delete left", show=False)]

    busy: var[bool] = var(False)

    class Declined(Message):
        """Esc with nothing to close here and nothing to stop."""

    class Found(Message, bubble=False):
        """A thread has found what completes a token."""

        def __init__(self, token: Token, candidates: list[Candidate]) -> None:
            super().__init__()
            self.token, self.candidates = token, candidates

    def __init__(
        self,
        popup: Popup,
        *,
        history: Sequence[str] = (),
        remember: Callable[[str], None] | None = None,
        now: Callable[[], float] = time.monotonic,
        keys: Mapping[str, str] | None = None,
        id: str | None = None,
    ) -> None:
        """`keys`: what each key means, by the names of `keytable`."""
        self._keys = keytable.bound({}, "full") if keys is None else keys
        sheet = "".join(f", {keytable.written(key)} for keys" for key in keytable.keys_of("keys", self._keys)[:1])
        super().__init__(id=id, soft_wrap=True, tab_behavior="focus", placeholder=f"Ask, or / for commands{sheet}")
        self.popup = popup
        self.above: tuple[Widget, ...] = ()
        self.folder = "."
        self._recall = Recall(list(history))
        self._remember = remember
        self._now = now
        self.pastes = Pastes()
        self._broke_at = self._stopped_at = float("-inf")
        self._files: tuple[str, ...] = ()
        self._listed_at = float("-inf")
        self._searching = False

    def on_mount(self) -> None:
        """Back from the background, the terminal shows nothing of what was drawn before."""
        self.app.app_resume_signal.subscribe(self, lambda _: self.app.refresh(layout=True))

    # ── what others call ──

    def learn(self, record: Record, *, replay: bool) -> None:
        """What was said before this program ran can be had again with Up."""
        if replay and isinstance(record.body, UserSaid) and record.body.how != "shell":
            self._recall.add(record.body.said)

    def put_back(self, text: str) -> None:
        """A text that was not taken comes back as the draft, before whatever is being written."""
        self.write(text + (f"\n{self.text}" if self.text.strip() else ""))

    def write(self, text: str) -> None:
        """Replace the draft; the cursor goes to its end."""
        self.text = text
        self.move_cursor(self.document.end)

    def clear_draft(self) -> None:
        """An empty prompt; what stood there is one Up away."""
        self._recall.add(self.text)
        self._recall.leave()
        self.text = ""

    # ── keys ──

    async def _on_key(self, event: events.Key) -> None:
        key = event.key.replace("\r", "enter")
        key = (keytable.canonical(event.character or "") if event.is_printable else keytable.canonical(key)) or key
        name = self._keys.get(key, "")
        if keytable.writes(key) and self.text:
            name = ""
        if name in ACTIONS:
            # At once, as in `LineEditor`: left to bubble up, it would come after letters pressed later.
            event.stop()
            event.prevent_default()
            await self.run_action(ACTIONS[name])
            return
        if not self._special(name, key):
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()

    def _special(self, name: str, key: str) -> bool:
        """What is more than an action. False: the text field has its own use for the key."""
        match name:
            case "steer":
                self._send(steer=True)
            case "newline":
                self._newline()
            case "send":
                self._enter()
            case "older" | "newer":
                return self._walk(name, key)
            case "complete" if self.popup.open:
                self._accept()
            case "complete" if not self.text and (above := [one for one in self.above if one.display]):
                above[0].focus()
            case "complete":
                self._complete(open_for_any=True)
            case _ if key == "backspace" and (chip := self.chip_before()):
                row, column = self.cursor_location
                self.delete((row, column - chip), (row, column))
            case _:
                # A default key that was given away does nothing any more.
                return key in keytable.DEFAULTS and not keytable.writes(key) and key not in OWN_USE
        return True

    def _walk(self, name: str, key: str) -> bool:
        """Through what is offered, or through earlier messages; the arrows only from the draft's edge."""
        up = name == "older"
        if self.popup.open:
            self.popup.move(-1 if up else 1)
        elif up and (key != "up" or (self.cursor_at_first_line and self._recall.messages)):
            self.action_older()
        elif not up and (key != "down" or (self.cursor_at_last_line and self._recall.at is not None)):
            self.action_newer()
        else:
            return False
        return True

    def _enter(self) -> None:
        self._catch_up()
        candidate, token = self.popup.current(), self.popup.token
        if candidate is not None and token is not None and candidate.insert.strip() != self._typed(token):
            self._accept()
            if not (token.kind == "slash" and candidate.run):
                return
        row, column = self.cursor_location
        if column and self.document[row][column - 1] == "\\":
            # VS Code sends Shift+Enter as a backslash and Enter; shells taught people to type it.
            self.delete((row, column - 1), (row, column))
            self._newline()
            return
        self._send(steer=False)

    def _catch_up(self) -> None:
        """What is offered for an earlier text is no answer: keys can come faster than the offers follow."""
        token = self.popup.token
        if token is None or token.kind == "history":
            return
        now = completion.token_at(self.text, self._cursor())
        if now is not None and now.kind == "slash":
            self._complete()
        elif now != token:
            self.popup.close()

    def _newline(self) -> None:
        self._replace_via_keyboard("\n", *self.selection)

    def _send(self, *, steer: bool) -> None:
        text = self.pastes.unfold(self.text)
        if not text.strip():
            return
        wish = self.popup.customs.parse(text)
        if steer and isinstance(wish, Submit):
            wish = Steer(text)
        shown = self.text
        self._recall.leave()
        self.text = ""
        self.popup.close()
        self._recall.add(shown)
        if self._remember is not None and not text.startswith("/key"):  # a key may have been typed behind it
            self._remember(text)
        self.post_message(Wished(wish))

    # ── actions ──

    def action_stop(self) -> None:
        """Esc."""
        now = self._now()
        if self.popup.open:
            self.popup.close()
            self._searching = False
        elif self.busy:
            self.post_message(Wished(Interrupt()))
        elif now - self._stopped_at < TWICE:
            self.post_message(Wished(PickRewind()))
            now = float("-inf")
        else:
            self.post_message(self.Declined())
        self._stopped_at = now

    def action_break(self) -> None:
        """Ctrl+C."""
        now = self._now()
        if not self.selection.is_empty or self.screen.get_selected_text():
            self.post_message(Wished(CopySelection()))
            return
        if now - self._broke_at < TWICE:
            self.post_message(Wished(Leave()))
            return
        self._broke_at = now
        if self.text:
            self.clear_draft()
        elif self.busy:
            self.post_message(Wished(Interrupt()))
        else:
            self.post_message(Wished(Say("Press Ctrl+C once more to quit.")))

    def action_end(self) -> None:
        """Ctrl+D."""
        if self.text:
            self.action_delete_right()
        else:
            self.post_message(Wished(Leave()))

    def action_wish_cycle(self) -> None:
        """Shift+Tab."""
        self.post_message(Wished(CycleMode()))

    def action_wish_fold(self) -> None:
        """Ctrl+O."""
        self.post_message(Wished(ToggleFolds()))

    def action_rewind(self) -> None:
        """What Esc twice does."""
        self.post_message(Wished(PickRewind()))

    def action_keys(self) -> None:
        """`?` in an empty prompt."""
        self.post_message(Wished(ShowSheet("keys")))

    def action_take_back(self) -> None:
        """Alt+Up."""
        self.post_message(Wished(Unqueue()))

    def action_scroll(self, to: str) -> None:
        """The transcript's keys, pressed here."""
        for known in ("up", "down", "start", "end"):
            if to == known:
                self.post_message(Wished(Scroll(known)))

    # ── history ──

    def action_older(self) -> None:
        """The message before the one shown."""
        self._show(self._recall.older(self.text))

    def action_newer(self) -> None:
        """The message after the one shown; after the last, the draft."""
        self._show(self._recall.newer())

    def _show(self, text: str | None) -> None:
        if text is None:
            return
        with self.prevent(TextArea.Changed):
            self.write(text)
        self.popup.close()

    def action_search(self) -> None:
        """Ctrl+R: earlier messages that hold what is written."""
        self._searching = True
        self._complete()
        if not self.popup.open:
            self._searching = False
            self.post_message(Wished(Say("No earlier message holds that.")))

    # ── completion ──

    def on_text_area_changed(self) -> None:
        """Offer what fits the token at the cursor."""
        if not self.text:
            self._searching = False
        self._complete()

    def _cursor(self) -> int:
        row, column = self.cursor_location
        return sum(len(self.document[line]) + 1 for line in range(row)) + column

    def _location(self, index: int) -> tuple[int, int]:
        before = self.text[:index]
        return before.count("\n"), len(before) - (before.rfind("\n") + 1)

    def _typed(self, token: Token) -> str:
        return self.text[token.start : self._cursor()].strip()

    def _complete(self, *, open_for_any: bool = False) -> None:
        if self._searching:
            self.popup.offer(Token("history", self.text, 0), completion.earlier(self.text, self._recall.messages))
            return
        # A long draft has its tokens at the cursor's line; joining all of a pasted file at every key would be felt.
        token = completion.token_at(self.text, self._cursor()) if self.document.line_count < 200 else None
        if token is None:
            self.popup.close()
        elif token.kind == "slash":
            found = self.popup.slashes(token.query)
            if [candidate.insert for candidate in found] == [f"/{token.query}"] and not open_for_any:
                found = []
            self.popup.offer(token, found)
        else:
            self._find_paths(token)

    @work(thread=True, exclusive=True, group="paths")
    def _find_paths(self, token: Token) -> None:
        """Listing and ranking off the screen's thread; a later key makes an earlier answer worthless."""
        if self._now() - self._listed_at > LISTING_FRESH:
            self._files, self._listed_at = completion.files(self.folder), self._now()
        found = completion.paths(token.query, self._files, self.popup.customs.resources())
        self.post_message(self.Found(token, found))

    def on_prompt_found(self, message: Found) -> None:
        """Files for a token, if it is still the one at the cursor."""
        if completion.token_at(self.text, self._cursor()) == message.token:
            self.popup.offer(message.token, message.candidates)

    def _accept(self) -> None:
        candidate, token = self.popup.current(), self.popup.token
        if candidate is None or token is None:
            return
        end = len(self.text) if token.kind == "history" else self._cursor()
        self._searching = False
        with self.prevent(TextArea.Changed):
            self.write(self.text[: token.start] + candidate.insert + self.text[end:])
            after = token.start + len(candidate.insert)
            self.move_cursor(self._location(after))
        self.popup.close()

    # ── the editor ──

    def action_editor(self) -> None:
        """Ctrl+G: the draft in $EDITOR, while the screen waits."""
        try:
            text = edited(self.app, self.pastes.unfold(self.text))
        except (OSError, ValueError) as error:
            self.post_message(Wished(Say(f"The editor could not be run: {error}.", "warning")))
            return
        self.write(self.pastes.fold(cleaned(text)))
        self.app.refresh(layout=True)
