"""An editor into which long texts and images are pasted as chips.

Not the chips (those are `pastes`), and no file or clipboard: images are asked for by a wish, and come back by `attach`.
"""

from __future__ import annotations

from pathlib import Path

from textual import events

from tui.actions import Attach, AttachClipboard
from tui.attachments import Attached, dragged
from tui.full.line_editor import LineEditor
from tui.full.wished import Wished
from tui.pastes import Pastes, cleaned


class PastingEditor(LineEditor):
    """`folder` is what relative paths are relative to."""

    folder: str = "."
    pastes: Pastes

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def action_paste(self) -> None:
        """Ctrl+V: the clipboard's image, else what was copied inside the app."""
        self.post_message(Wished(AttachClipboard(self.app.clipboard)))

    def attach(self, found: Attached) -> None:
        """Images come into the draft as chips."""
        chips = "".join(f"{self.pastes.chip(label, mention)} " for label, mention in found.chips)
        self._insert(chips + self.pastes.fold(cleaned(found.text)))

    def paste(self, text: str) -> None:
        """Insert at the cursor, folded where it is long; the path of an image is attached."""
        if paths := dragged(text, Path(self.folder)):
            self.post_message(Wished(Attach(paths)))
        else:
            self._insert(self.pastes.fold(cleaned(text)))

    def _insert(self, text: str) -> None:
        if text and (result := self._replace_via_keyboard(text, *self.selection)):
            self.move_cursor(result.end_location)

    def chip_before(self) -> int:
        """The length of the chip that stands before the cursor; 0 without one."""
        row, column = self.cursor_location
        return self.pastes.chip_before(self.document[row][:column]) if self.selection.is_empty else 0
