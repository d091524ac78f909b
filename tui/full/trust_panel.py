"""The panel about a project's file that waits for the user's yes: what it would do, and the file, to be scrolled.

Not the judgement of the file (the worker says what it would do) and in nobody's way: it never takes the focus unless
the user asked for it, and nothing waits for the answer.

Invariants
 1. A key pressed before the panel was visible and focused for `SETTLE` seconds does nothing, and begins the wait anew.
 2. Enter answers nothing: trusting takes its letter.
 3. All of the file can be scrolled to, on twelve lines too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from agent.wire import Event, Finished, Opened, Proposed
from tui.flow import wrap
from tui.front import SETTLE
from tui.full.meter_bar import SHORT_ROWS
from tui.full.pages import Lines
from tui.full.prompt import Prompt, Wished
from tui.trust_words import CHOICES, WORDS, answer, choices, quotation, title

# The rows around what is quoted while the prompt stands below: conversation and activity (3 + 1), title, keys and
# borders (2 + 2 + 2), the prompt, the meter and the foot (3 + 2 + 1), and two to spare. With fewer than these and a few
# to quote in, prompt and activity make room while the panel has the keys; a short screen has no borders and no foot.
AROUND = 18
DECIDING = 12
DECIDING_SHORT = 7
LEAST_BODY = 4

HINT = "tab to look and answer · or just type: nothing waits for this"


class TrustPanel(Vertical, can_focus=True):
    """One file at a time; a newer proposal takes the place of an older."""

    DEFAULT_CSS = """
    TrustPanel { display: none; height: auto; }
    TrustPanel.-open { display: block; }
    TrustPanel #trust-title { max-height: 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"scroll('{key}')", show=False) for key in ("up", "down", "pageup", "pagedown", "home", "end")),
        Binding("tab,shift+tab", "back", show=False),
        Binding("escape", "later", "not now"),
        *(Binding(key, f"choose('{key}')", WORDS[choice]) for key, choice in CHOICES.items()),
    ]

    def __init__(self, *, now: Callable[[], float] = time.monotonic, id: str | None = None) -> None:
        super().__init__(id=id)
        self._now = now
        self._shown: Proposed | None = None
        self._seen_at = float("inf")
        self._asked = False

    @property
    def deciding(self) -> bool:
        """Whether the keys are its own, or will be in a moment: giving the focus takes a turn of the loop."""
        return self._asked or self.has_focus

    def compose(self) -> ComposeResult:
        """Title, the body, what may be pressed."""
        yield Static(id="trust-title", markup=False)
        body = Lines(id="trust-body")
        body.can_focus = False
        yield body
        yield Static(id="trust-keys", markup=False)

    def hear(self, event: Event) -> None:
        """Shows what is proposed; goes away once it is answered, or with its session."""
        match event:
            case Proposed():
                self._show(event)
            case Opened() | Finished(wish="trust", committed=True):
                self._away()
            case _:
                pass

    def _show(self, event: Proposed) -> None:
        self._shown = event
        self._seen_at = float("inf")
        colours = self.app.theme_variables
        self.query_one("#trust-title", Static).update(Content.styled(title(event), f"bold {colours['warning']}"))
        self.query_one(Lines).scroll_home(animate=False)
        self.add_class("-open")
        self.screen.add_class("-proposing")
        self._asked = event.asked
        if event.asked:
            self.focus()
        self._draw_keys(focused=self.has_focus)
        # Its width is known once it is laid out.
        self.call_after_refresh(self.on_resize)

    def _away(self) -> None:
        if self.has_focus:
            self.screen.query_one(Prompt).focus()
        self._shown, self._asked = None, False
        self.remove_class("-open")
        self.screen.remove_class("-proposing", "-deciding")

    def on_resize(self) -> None:
        """The quotation takes the rows that the rest leaves."""
        height = self.app.size.height
        around = AROUND
        if self.screen.has_class("-deciding"):
            around = DECIDING if height >= SHORT_ROWS else DECIDING_SHORT
        if self._shown is not None:
            body = self.query_one(Lines)
            # A cell is the scroll bar's.
            laid = wrap(quotation(self._shown), max(8, self.content_region.width - 1))
            body.styles.height = min(len(laid), max(LEAST_BODY, height - around))
            body.show(laid)

    def _draw_keys(self, *, focused: bool) -> None:
        said = choices(self._shown) if self._shown is not None else {}
        keys = " · ".join([*(f"{key} {words}" for key, words in said.items()), "↑↓ scroll", "tab back"])
        self.query_one("#trust-keys", Static).update(Content.styled(keys if focused else HINT, "dim"))

    # ── keys ──

    def on_focus(self) -> None:
        """From here on keys may answer, once it has been seen for a moment."""
        self.screen.set_class(self.app.size.height < AROUND + LEAST_BODY, "-deciding")
        self._draw_keys(focused=True)
        self.on_resize()
        self._seen_at = float("inf")
        self.call_after_refresh(self._settle)

    def _settle(self) -> None:
        self._seen_at = self._now()

    def on_blur(self) -> None:
        """Keys go elsewhere."""
        self._asked = False
        self.screen.remove_class("-deciding")
        self._draw_keys(focused=False)
        self.on_resize()

    def _early(self) -> bool:
        """Whether a key is too early; asked once for each, because one that is begins the wait anew."""
        now = self._now()
        early = now - self._seen_at < SETTLE
        if early and self._seen_at != float("inf"):
            self._seen_at = now
        return early

    def action_scroll(self, key: str) -> None:
        """The quotation."""
        body = self.query_one(Lines)
        page = max(1, body.size.height - 1)
        match key:
            case "home":
                body.scroll_home(animate=False)
            case "end":
                body.scroll_end(animate=False)
            case _:
                by = {"up": -1, "down": 1, "pageup": -page, "pagedown": page}[key]
                body.scroll_relative(y=by, animate=False)

    def action_back(self) -> None:
        """To the prompt; the panel stays."""
        self.screen.query_one(Prompt).focus()

    def action_later(self) -> None:
        """Esc."""
        self.action_choose("n")

    def action_choose(self, key: str) -> None:
        """A choice by its letter."""
        if self._shown is not None and key in choices(self._shown) and not self._early():
            self.post_message(Wished(answer(self._shown, CHOICES[key])))
            self._away()

    def on_key(self, event: events.Key) -> None:
        """Any other letter is the beginning of a message."""
        if event.is_printable and event.character is not None and event.character not in CHOICES:
            event.stop()
            if not self._early():
                prompt = self.screen.query_one(Prompt)
                prompt.focus()
                prompt.insert(event.character)
