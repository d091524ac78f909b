"""The approval panel: a tool asks, the user answers, above the prompt and with the conversation in view.

Not permissions (those are the agent's): it shows what would happen and sends one `Answer`.

Invariants
 1. A key pressed before the panel was visible for `SETTLE` seconds does nothing, whatever the key, and begins the wait
    anew: somebody who types on is writing, not answering. So does a letter that is no choice, at any time.
 2. The choices are always in view; what would happen scrolls, on twelve lines too.
 3. Each question is answered once, in the order asked; stopping the turn answers none.
 4. After the last answer the prompt has the focus, whatever the turn does next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from agent.wire import Answer, Asking, Choice, Interrupt
from tui import keytable
from tui.front import KEYS, SETTLE
from tui.full.meter_bar import TALL_ROWS
from tui.full.prompt import Prompt, Wished
from tui.keytable import Keys
from tui.plain import safe
from tui.present import lasting, question

# The rows around what would happen: two of the conversation, the activity, the panel's title, choices and border
# (2 + 4 + 2), the meter and the foot (2 + 1); with room for them also its margins and the prompt (2 + 3).
AROUND = 14
ROOMY = 5

# Fewer rows show nothing of a diff; the short layout leaves room for these on twelve lines.
LEAST_BODY = 3

# Rows that show a change with the lines around it: its place, three lines before it, and two of itself.
LEAST_DIFF = 6

# Below this many cells a lasting yes is named in one word, so that what it is about is in view.
NARROW = 56

WHY = "Why not? The model reads this. Enter refuses, Esc goes back."
BRIEF_WHY = "why not? esc goes back"

# How often a covered panel looks whether it is seen; a tenth is not noticed, seconds.
UNCOVERED = 0.1


def coloured(text: str, *, diff: bool, variables: dict[str, str]) -> Content:
    """A command or a diff as content; nothing in it is markup."""
    if not diff:
        return Content(safe(text))
    rows = []
    for line in safe(text).split("\n"):
        style = "dim"
        if line.startswith("+") and not line.startswith("+++ "):
            style = variables["success"]
        elif line.startswith("-") and not line.startswith("--- "):
            style = variables["error"]
        rows.append(Content.styled(line, style))
    return Content("\n").join(rows)


def change_row(diff: str) -> int:
    """The first row of a diff that adds or takes away; 0 for none."""
    return next((n for n, line in enumerate(diff.split("\n")) if line[:1] in ("+", "-")), 0)


class Approval(Vertical, can_focus=True):
    """The panel."""

    DEFAULT_CSS = """
    Approval { display: none; height: auto; }
    Approval #body { height: auto; }
    Approval #reason { display: none; }
    Approval #choices.-one-line { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("enter", "take", show=False),
        Binding("escape,ctrl+c", "stop", show=False),
        *(Binding(key, f"choose('{key}')", show=False) for key in KEYS),
    ]

    def __init__(
        self, *, now: Callable[[], float] = time.monotonic, keys: Keys | None = None, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._now = now
        self._keys = keytable.bound({}, "full") if keys is None else keys
        self._waiting: list[Asking] = []
        self._marked = 0
        self._change = 0
        self._shown_at = float("inf")

    def compose(self) -> ComposeResult:
        """Title, what would happen, the choices, and a line for a reason."""
        yield Static(id="title", markup=False)
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="what", markup=False)
        yield Static(id="choices", markup=False)
        yield Input(id="reason", placeholder=WHY)

    @property
    def open(self) -> bool:
        """Whether a question waits."""
        return bool(self._waiting)

    def ask(self, event: Asking) -> None:
        """One more question; the first is shown."""
        self._waiting.append(event)
        if len(self._waiting) == 1:
            self._show()

    def dismiss(self) -> None:
        """No question waits any more: the turn ended."""
        self._waiting.clear()
        self._hide()

    def settle(self) -> None:
        """The panel is seen from now on: the wait begins."""
        self._shown_at = self._now()

    def _show(self) -> None:
        asking, self._marked = self._waiting[0], 0
        self._shown_at = float("inf")
        variables = self.app.theme_variables
        title, why, text = question(asking)
        self.query_one("#title", Static).update(
            Content.assemble((f"{title}?", f"bold {variables['warning']}"), (f"\n{why}" if why else "", "dim"))
        )
        self.query_one("#what", Static).update(coloured(text, diff=bool(asking.diff), variables=variables))
        self.query_one("#body").display = bool(text)
        self._change = change_row(text) if asking.diff else 0
        self._draw_choices()
        self.on_resize()
        self.display = True
        self.screen.add_class("-asking")
        self._ask_why(on=False)
        if self._covered():
            self.app.notify(f"{title}?", title="Ullage asks", severity="warning", markup=False)
        self._wait_to_be_seen()

    def _covered(self) -> bool:
        return self.app.screen is not self.screen

    def _wait_to_be_seen(self) -> None:
        """The time that counts begins when nothing lies over the panel."""
        if self._covered():
            self.set_timer(UNCOVERED, self._wait_to_be_seen)
        else:
            self.call_after_refresh(self.settle)

    def _to_change(self) -> None:
        """Few rows of a diff begin where it changes something, not at the lines around it."""
        body = self.query_one("#body", VerticalScroll)
        body.scroll_to(y=max(0, self._change - 1) if body.size.height < LEAST_DIFF else 0, animate=False)

    def on_resize(self) -> None:
        """What would happen takes the rows that title, choices and the rest of the screen leave."""
        rows = self.app.size.height
        self.query_one("#reason", Input).placeholder = WHY if self.app.size.width >= len(WHY) + 6 else BRIEF_WHY
        if self._waiting:
            self._draw_choices()
        self.query_one("#body").styles.max_height = max(LEAST_BODY, rows - AROUND - (ROOMY if rows >= TALL_ROWS else 0))
        self.call_after_refresh(self._to_change)

    def _ask_why(self, *, on: bool) -> None:
        """The line for a reason in place of the choices, or back."""
        reason = self.query_one("#reason", Input)
        reason.value, reason.display = "", on
        self.query_one("#choices").display = not on
        (reason if on else self).focus()

    def _hide(self) -> None:
        self.display = False
        self.screen.remove_class("-asking")

    def _choices(self) -> list[tuple[str, Choice, str]]:
        if self._waiting[0].about == "model":
            return [
                ("y", "once", "yes, for this turn"),
                ("s", "session", "yes, for this session"),
                ("n", "refuse", "no"),
            ]
        prefix = lasting(self._waiting[0], 60)
        yes = "yes, for this " if self.app.size.width >= NARROW else ""
        rows: list[tuple[str, Choice, str]] = [("y", "once", "yes, once")]
        if prefix:
            # Without one nothing could be remembered, so a lasting yes would be no more than one for once.
            rows += [("s", "session", f"{yes}session: {prefix}"), ("p", "project", f"{yes}project: {prefix}")]
        return [*rows, ("n", "refuse", "no, and say why")]

    def _draw_choices(self) -> None:
        primary, rows = self.app.theme_variables["primary"], []
        for index, (key, _, words) in enumerate(self._choices()):
            mark, style = ("> ", f"bold {primary}") if index == self._marked else ("  ", "")
            rows.append(Content.styled(f"{mark}{key}  {words}", style))
        choices = self.query_one("#choices", Static)
        choices.update(Content("\n").join(rows))
        # A row that breaks would push the last choice off a short screen; what a yes is about stands above, too.
        choices.set_class(self.app.size.height < TALL_ROWS, "-one-line")

    def _early(self) -> bool:
        """Whether a key is too early; asked once for each, because one that is begins the wait anew."""
        now = self._now()
        early = now - self._shown_at < SETTLE
        if early and self._shown_at != float("inf"):
            self._shown_at = now
        return early

    def action_move(self, by: int) -> None:
        """Up and down."""
        if not self._early():
            self._marked = (self._marked + by) % len(self._choices())
            self._draw_choices()

    def action_page(self, by: int) -> None:
        """Scroll what would happen."""
        body = self.query_one("#body", VerticalScroll)
        body.scroll_relative(y=by * max(1, body.size.height - 1), animate=False)

    def action_take(self) -> None:
        """Enter: the marked choice."""
        if not self._early() and self._waiting:
            self._answer(self._choices()[self._marked][1])

    def action_choose(self, key: str) -> None:
        """A choice by its letter."""
        if not self._early() and self._waiting and key in [row[0] for row in self._choices()]:
            self._answer(KEYS[key])

    def action_stop(self) -> None:
        """Esc stops the turn; from the reason it goes back to the choices."""
        reason = self.query_one("#reason", Input)
        if reason.display:
            self._ask_why(on=False)
        elif not self._early():
            self.post_message(Wished(Interrupt()))

    def _answer(self, choice: Choice) -> None:
        if choice == "refuse" and self._waiting[0].about == "tool":
            self._ask_why(on=True)
            return
        self._send(choice, "")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The reason is written."""
        event.stop()
        self._send("refuse", event.value.strip())

    def _send(self, choice: Choice, reason: str) -> None:
        asked = self._waiting.pop(0)
        self.post_message(Wished(Answer(asked.id, choice, reason)))
        if self._waiting:
            self._show()
        else:
            self._hide()
            # Textual would give the focus to nobody, and what is written while the turn goes on would be lost.
            self.screen.query_one(Prompt).focus()

    def on_key(self, event: events.Key) -> None:
        """The key that stops does so here; a letter that is no choice goes nowhere, least of all into the draft."""
        if self.has_focus and self._keys.get(keytable.canonical(event.key) or "") == "stop":
            event.stop()
            self.action_stop()
        elif self.has_focus and event.is_printable and event.character not in KEYS:
            event.stop()
            if self._shown_at != float("inf"):
                self._shown_at = self._now()
