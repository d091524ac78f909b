"""The list above the prompt from which a completion is chosen.

Not what is in it (that is `completion`); it holds candidates and a mark, the prompt moves the mark.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual import work
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from tui import completion
from tui.actions import Say
from tui.completion import Candidate, Token
from tui.customs import Customs
from tui.full.wished import Wished
from tui.plain import safe
from tui.present import sentence

# Eight rows show the best without hiding the conversation; on a short screen the style sheet allows fewer.
ROWS = 8


class Popup(Widget, can_focus=False):
    """Candidates for the token at the cursor."""

    DEFAULT_CSS = "Popup { height: auto; display: none; }"

    class Listed(Message, bubble=False):
        """A thread has read the user's own commands; `problems` are sentences."""

        def __init__(self, problems: Sequence[str]) -> None:
            super().__init__()
            self.problems = problems

    chosen: reactive[int] = reactive(0)
    candidates: reactive[tuple[Candidate, ...]] = reactive((), layout=True)
    token: Token | None = None

    def __init__(self, customs: Customs | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.customs = customs or Customs()

    def slashes(self, query: str) -> list[Candidate]:
        """Commands for `query`. When the list opens the user's own are read anew: a file may be new."""
        if not self.open:
            self.read()
        return completion.slashes(query, self.customs.rows)

    @work(thread=True, exclusive=True, group="customs")
    def read(self) -> None:
        """The user's own commands anew: when a session opens, and when the list does."""
        self.post_message(self.Listed(self.customs.read()))

    def on_popup_listed(self, message: Listed) -> None:
        """What is new joins the list, or opens it where nothing fitted; files that are none are named."""
        if self.token is not None and self.token.kind == "slash":
            marked, chosen = self.current(), self.chosen
            found = completion.slashes(self.token.query, self.customs.rows)
            if not self.open and [candidate.insert for candidate in found] == [f"/{self.token.query}"]:
                found = []
            self.offer(self.token, found)
            self.chosen = found.index(marked) if marked in found else min(chosen, max(0, len(found) - 1))
        for problem in message.problems:
            self.post_message(Wished(Say(sentence(problem), "warning")))

    @property
    def open(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self.candidates)

    def offer(self, token: Token | None, candidates: list[Candidate]) -> None:
        """Show these, the first marked; none closes the list."""
        self.token = token
        self.candidates = tuple(candidates)
        self.chosen = 0
        self.display = bool(candidates)
        self.screen.set_class(bool(candidates), "-choosing")

    def close(self) -> None:
        """Nothing to choose."""
        self.offer(None, [])

    def move(self, by: int) -> None:
        """Move the mark, around the ends."""
        if self.candidates:
            self.chosen = (self.chosen + by) % len(self.candidates)

    def current(self) -> Candidate | None:
        """The marked candidate."""
        return self.candidates[self.chosen] if self.candidates else None

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """As many rows as there are candidates, up to `ROWS`."""
        limit = ROWS if self.app.size.height >= 20 else 3
        return min(limit, len(self.candidates))

    def _label_room(self, width: int) -> int:
        return width - 2 if all(not candidate.hint for candidate in self.candidates) else max(20, width * 9 // 20)

    def render(self) -> RenderResult:
        """The rows around the mark."""
        width, height = self.size.width, max(1, self.size.height)
        first = max(0, min(self.chosen - height // 2, len(self.candidates) - height))
        rows: list[Content] = []
        shown = self.candidates[first : first + height]
        wide = min(max((cell_len(candidate.label) for candidate in shown), default=0), self._label_room(width))
        marked, quiet = self.app.theme_variables, Style(dim=True)
        for index, candidate in enumerate(shown, first):
            mark = "> " if index == self.chosen else "  "
            label = Content(safe(candidate.label)).truncate(wide, pad=True, ellipsis=True)
            row = Content.assemble(mark, label, "  ", (safe(candidate.hint), quiet)).truncate(width, ellipsis=True)
            if index == self.chosen:
                row = row.stylize(Style.parse(f"bold {marked['primary']}"))
            rows.append(row)
        if rows and len(self.candidates) > height:
            # Who sees eight rows should know that there are more, and where among them the mark is.
            place = f"  {self.chosen + 1}/{len(self.candidates)}"
            last = rows[-1].truncate(max(0, width - len(place)), pad=True, ellipsis=True)
            rows[-1] = Content.assemble(last, (place, quiet))
        return Content("\n").join(rows)
