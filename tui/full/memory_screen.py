"""The project's memory over the screen: what it holds, where it is, who reads it when; `e` opens it in the editor.

Not the learning and not the writing (those are the worker's side).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType

from tui.actions import Say
from tui.full.editor import edited
from tui.full.pages import Page, PageScreen
from tui.full.prompt import Wished
from tui.memory_words import TITLE, about, held
from tui.plain import plural
from tui.present import sentence

if TYPE_CHECKING:
    from agent.reading import Memory


class MemoryScreen(PageScreen):
    """A page that can be edited."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", "edit it")]

    def __init__(self, load: Callable[[], Memory], keep: Callable[[str, str], str], tokens: int) -> None:
        """`tokens` is what taking it in now would read again."""
        super().__init__(lambda: _page(load(), tokens))
        self._memory, self._keep = load, keep

    def action_edit(self) -> None:
        """In the user's own editor; written when it comes back changed."""
        before = self._memory().text
        try:
            after = edited(self.app, before)
        except (OSError, ValueError) as error:
            self.post_message(Wished(Say(f"The editor could not be run: {error}.", "warning")))
            return
        if after.strip() != before.strip():
            self._write(before, f"{after.rstrip()}\n" if after.strip() else "")

    @work(thread=True)
    def _write(self, before: str, after: str) -> None:
        said = self._keep(before, after)
        self.post_message(Wished(Say(sentence(said))))
        self.app.call_from_thread(self.refresh_page)


def _page(memory: Memory, size: int) -> Page:
    lines = plural(memory.text.count("\n"), "line")
    return Page(TITLE, f"{lines} · e opens it in $EDITOR", f"{about(memory, size)}\n\n{held(memory)}")
