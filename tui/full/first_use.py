"""The panel of the first start: what could be used at once, above the prompt and in nobody's way.

Not the looking (that is `agent.reading.at_hand`, on a thread) and not the settings: choosing sends one `SetModel`, and
only `d` makes it last.

Invariants
 1. It never takes the focus by itself; whatever is typed goes to the prompt, and the first message closes it.
 2. A key of a provider is named, never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events, work
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from agent.wire import Appended, Event, Finished, Opened, SetModel
from compaction.records import UserSaid
from tui.full.prompt import Prompt, Wished
from tui.plain import one_line

if TYPE_CHECKING:
    from agent.reading import AtHand

# The exit status by which the screen asks for the tour; no shell gives it and no signal ends so.
TOUR = 1_000

# As many rows as leave most of the screen to the conversation; on a short screen three.
ROWS = 8
SHORT_ROWS = 3
SHORT = 16

TITLE = "No model is chosen yet. At hand:"
TITLE_ALONE = "No model is chosen yet; tab chooses:"
HINT = "tab to choose · enter uses it · d always uses it · esc closes · or just type"


class FirstUse(Widget, can_focus=True):
    """What was found."""

    # By a class: an inline style would win over the style sheet, which hides it while a question is open.
    DEFAULT_CSS = "FirstUse { height: auto; display: none; } FirstUse.-open { display: block; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("tab", "back", show=False),
        Binding("enter", "take", "use it in this session (tab in an empty prompt goes to the panel)"),
        Binding("d", "keep", "use it, and start new sessions with it"),
        Binding("escape", "close", "close the panel"),
    ]

    rows: reactive[tuple[AtHand, ...]] = reactive((), layout=True)
    marked: reactive[int] = reactive(0)

    class Looked(Message, bubble=False):
        """A thread has looked around."""

        def __init__(self, rows: Sequence[AtHand]) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, look: Callable[[], Sequence[AtHand]] | None, *, id: str | None = None) -> None:
        """`look` is called on a thread; None: a model is chosen, there is nothing to offer."""
        super().__init__(id=id)
        self._look = look

    def hear(self, event: Event) -> None:
        """Looks around once a new session stands; closes with the first message, or when a model is chosen."""
        match event:
            case Opened(resumed=False) if self._look is not None:
                self._find(self._look)
                self._look = None
            case Opened() | Finished(wish="model", committed=True):
                self.close()
            case Appended(record=record, replay=False) if isinstance(record.body, UserSaid):
                self.close()
            case _:
                pass

    @work(thread=True)
    def _find(self, look: Callable[[], Sequence[AtHand]]) -> None:
        self.post_message(self.Looked(look()))

    def on_first_use_looked(self, message: Looked) -> None:
        """Show it."""
        self.rows = tuple(message.rows)
        self.marked = 0
        self.add_class("-open")

    def close(self) -> None:
        """Away."""
        if self.has_focus:
            self._to_prompt()
        self.remove_class("-open")

    # ── drawing ──

    def _limit(self) -> int:
        return SHORT_ROWS if self.app.size.height < SHORT else ROWS

    def _lines(self) -> list[tuple[str, str]]:
        found = [(one_line(row.model) + ("…" if row.model.endswith("/") else ""), one_line(row.found))
                 for row in self.rows]  # fmt: skip
        saved = ("a provider's key", "kept by /key anthropic or `ullage keys set`")
        return [*found, saved, ("the tour", "two minutes, a recorded model, nothing is sent")]

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """Title, rows, hint."""
        return min(len(self._lines()), self._limit()) + (2 if self.app.size.height >= SHORT else 1)

    def render(self) -> RenderResult:
        """The rows around the mark."""
        width, primary, lines = self.size.width, self.app.theme_variables["primary"], self._lines()
        limit = self._limit()
        first = max(0, min(self.marked - limit // 2, len(lines) - limit))
        wide = min(max(cell_len(name) for name, _ in lines), max(12, width // 2))
        title = TITLE if self.app.size.height >= SHORT else TITLE_ALONE
        shown = [Content.styled(title, "bold").truncate(width, ellipsis=True)]
        for index, (name, found) in enumerate(lines[first : first + limit], first):
            here = index == self.marked and self.has_focus
            label = Content(name).truncate(wide, pad=True, ellipsis=True)
            row = Content.assemble("> " if here else "  ", label, "  ", (found, "dim")).truncate(width, ellipsis=True)
            shown.append(row.stylize(f"bold {primary}") if here else row)
        if self.app.size.height >= SHORT:
            shown.append(Content.styled(HINT, "dim").truncate(width, ellipsis=True))
        return Content("\n").join(shown)

    # ── keys ──

    def on_focus(self) -> None:
        """The mark is seen."""
        self.refresh()

    def on_blur(self) -> None:
        """It is not."""
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """Whatever is written belongs to the prompt."""
        if event.is_printable and event.character is not None and event.key != "d":
            event.stop()
            self._to_prompt().insert(event.character)

    def _to_prompt(self) -> Prompt:
        prompt = self.screen.query_one(Prompt)
        prompt.focus()
        return prompt

    def action_move(self, by: int) -> None:
        """Up and down, around the ends."""
        self.marked = (self.marked + by) % len(self._lines())

    def action_back(self) -> None:
        """To the prompt."""
        self._to_prompt()

    def action_close(self) -> None:
        """Not now."""
        self.close()

    def action_take(self) -> None:
        """Use it."""
        self._choose(remember=False)

    def action_keep(self) -> None:
        """Use it from now on."""
        self._choose(remember=True)

    def _choose(self, *, remember: bool) -> None:
        if self.marked > len(self.rows):
            self.app.exit(TOUR)
            return
        if self.marked == len(self.rows):
            self._to_prompt().put_back("/key ")
            return
        row = self.rows[self.marked]
        if row.model.endswith("/"):
            self._to_prompt().put_back(f"/model {row.model}")
            return
        self.post_message(Wished(SetModel(row.model, row.api_base, remember)))
        self._to_prompt()
