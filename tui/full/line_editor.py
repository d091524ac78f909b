"""A text area whose line keys work as in the shell: on the whole line, however it is wrapped on the screen.

Not the prompt: no sending, no history, no completion.

Invariants
 1. Keys take effect in the order they came, however fast: what Ctrl+U or Backspace deletes was written before it.
"""

from __future__ import annotations

from textual import events
from textual.widgets import TextArea


class LineEditor(TextArea):
    """Ctrl+A, E, U and K by lines of the text; the text area's own go by lines of the screen."""

    async def _on_key(self, event: events.Key) -> None:
        """The keys bound here act at once. Left to bubble up to the app, they act after letters that came later."""
        active = None if event.is_printable else self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self or not active.enabled:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
        await self.run_action(active.binding.action)

    def action_cursor_line_start(self, select: bool = False) -> None:
        """Ctrl+A."""
        self.move_cursor((self.cursor_location[0], 0), select=select)

    def action_cursor_line_end(self, select: bool = False) -> None:
        """Ctrl+E."""
        row = self.cursor_location[0]
        self.move_cursor((row, len(self.document[row])), select=select)

    def action_delete_to_start_of_line(self) -> None:
        """Ctrl+U."""
        row, column = self.cursor_location
        self.delete((row, 0), (row, column))

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        """Ctrl+K; at the line's end the next line joins it."""
        row, column = self.cursor_location
        end = (row, len(self.document[row]))
        if column == end[1] and row + 1 < self.document.line_count:
            end = (row + 1, 0)
        self.delete((row, column), end)
