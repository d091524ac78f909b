"""/theme: the list of themes, each shown while it is marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tui.full.pickers import Picker
from tui.picks import Pick
from tui.themes import resolved


class ThemePicker(Picker):
    """The mark paints the screen; leaving paints it as it was."""

    def __init__(self, title: str, picks: Sequence[Pick], environ: Mapping[str, str]) -> None:
        super().__init__(title, lambda: picks, "there is no theme")
        self._environ = environ
        self._before = ""

    def on_mount(self) -> None:
        """What leaving goes back to."""
        # Textual calls the list's own handler as well.
        self._before = self.app.theme

    def on_option_list_option_highlighted(self) -> None:
        """Another theme is marked."""
        if self.marked is not None:
            self.app.theme = resolved(self.marked.label, self._environ, self.app.available_themes)

    def action_leave(self) -> None:
        """Nothing chosen."""
        self.app.theme = self._before
        super().action_leave()
