"""Lists to choose one thing from, filtered by typing: sessions, models, messages to go back to.

Not the things (those are `picks`, handed in). Rows that must be read from disk are read on a thread and stand as they
come; so is what is shown beside the marked one.

Invariants
 1. Opening waits for no row, moving the mark for no preview.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from tui.full.prompt import Wished
from tui.picks import Deep, Other, Pick, fitting, merged
from tui.plain import safe

# Rows that come one by one are shown in batches: the first as soon as there is a screenful, seconds.
BATCH = 0.05

# The mark rests this long before its preview is read; seconds.
RESTS = 0.08

# The words rest this long before whole logs are searched, which slows whatever is typed meanwhile; seconds.
DEEP_RESTS = 0.3

# Words shorter than this are in every log.
LEAST_DEEP = 3

# The scrollbar, the gap before a remark, and the rows' own padding; cells.
SCROLLBAR = 6

# What a row may be asked for with Ctrl; the line editor's own letters are not among them, but for x.
LETTERS = "fgnoprstxy"


class Picker(ModalScreen[None]):
    """Type to filter, Enter chooses, Esc leaves; Ctrl and a letter asks the marked row for something else."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012 - as textual declares it
    DEFAULT_CSS = """
    Picker #picker-beside { display: none; }
    Picker.-previews #picker-body { height: 1fr; }
    Picker.-previews.-narrow #picker-body { layout: vertical; }
    Picker.-previews OptionList { width: 45%; height: 1fr; max-height: 100%; }
    Picker.-previews.-narrow OptionList { width: 100%; height: 55%; }
    Picker.-previews #picker-beside { display: block; width: 1fr; height: 1fr; max-height: 100%; margin: 0; }
    Picker.-previews.-wide #picker-beside { border-left: vkey $border; padding: 0 0 0 1; }
    Picker.-previews.-narrow #picker-beside { border-top: hkey $border; }
    Picker #picker-body { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "leave"),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
        *(Binding(f"ctrl+{letter}", f"other('{letter}')", show=False, priority=True) for letter in LETTERS),
    ]

    class Loaded(Message, bubble=False):
        """A thread has read some rows; at the `end` there are no more, and `trouble` says why."""

        def __init__(self, picks: Sequence[Pick], end: bool = False, trouble: str = "") -> None:
            super().__init__()
            self.picks, self.end, self.trouble = picks, end, trouble

    class Previewed(Message, bubble=False):
        """A thread has read what stands beside a row."""

        def __init__(self, pick: Pick, text: str) -> None:
            super().__init__()
            self.pick, self.text = pick, text

    class Dug(Message, bubble=False):
        """A thread has looked for words where no row says them."""

        def __init__(self, query: str, keys: Collection[str]) -> None:
            super().__init__()
            self.query, self.keys = query, keys

    def __init__(
        self, title: str, load: Callable[[], Iterable[Pick]], nothing: str, *, deep: Deep | None = None,
        batch: float = BATCH,
    ) -> None:  # fmt: skip
        """`load` is called, and what it gives iterated, on a thread; `nothing` is the sentence for no row."""
        super().__init__()
        self._batch = batch
        self._title, self._load, self._nothing, self._deep = title, load, nothing, deep
        self._picks: list[Pick] = []
        self._shown: list[Pick] = []
        self._found: Collection[str] = ()
        self._beside: Pick | None = None
        self._preview_soon: Timer | None = None
        self._dig_soon: Timer | None = None
        self._ended = False

    def compose(self) -> ComposeResult:
        """Title, filter, rows with what stands beside them, hint."""
        with Vertical(classes="sheet"):
            yield Static(Content.styled(self._title, "bold"), classes="sheet--title")
            yield Input(placeholder="type to filter")
            with Horizontal(id="picker-body"):
                yield OptionList(markup=False)
                with VerticalScroll(id="picker-beside", can_focus=False):
                    yield Static(id="picker-preview")
            yield Static(id="picker-foot")
            yield Static(Content.styled("enter chooses · esc leaves", "dim"), id="hint")

    def on_mount(self) -> None:
        """The rows may take a while to read."""
        self.query_one(Input).focus()
        self.query_one("#picker-foot").display = False
        self._read()

    # ── rows ──

    @work(thread=True)
    def _read(self) -> None:
        fresh: list[Pick] = []
        since = time.monotonic()
        stopped = get_current_worker()
        trouble = ""
        try:
            for pick in self._load():
                fresh.append(pick)
                if time.monotonic() - since >= self._batch:
                    self.post_message(self.Loaded(fresh))
                    fresh, since = [], time.monotonic()
                if stopped.is_cancelled:
                    return
        except OSError as error:
            trouble = f"the list could not be read: {error}"
        self.post_message(self.Loaded(fresh, end=True, trouble=trouble))

    def on_picker_loaded(self, message: Loaded) -> None:
        """Some rows are here."""
        self._picks = merged(self._picks, message.picks)
        self._ended = self._ended or message.end
        if any(pick.preview is not None for pick in message.picks) and not self.has_class("-previews"):
            self.add_class("-previews")
            self.query_one(".sheet").add_class("whole-screen")
        if message.end and not self._picks:
            self.query_one("#hint", Static).update(Content(safe(message.trouble or self._nothing)))
        if message.picks or message.end:
            self._filter()

    def _filter(self) -> None:
        """Shows what fits; the mark stays on its row while that is there."""
        query = self.query_one(Input).value.strip()
        marked = self.marked
        shown = fitting(query, self._picks, self._found)
        if shown == self._shown:
            return
        options = self.query_one(OptionList)
        there = len(self._shown)
        if 0 < there < len(shown) and not shown[0].name and shown[:there] == self._shown:
            self._shown = shown
            options.add_options(_row(pick, 0) for pick in shown[there:])
            return
        self._shown = shown
        options.clear_options()
        wide = self._column(options.size.width)
        options.add_options(_row(pick, wide) for pick in shown)
        stays = [at for at, pick in enumerate(shown) if marked is not None and _same(pick, marked)]
        options.highlighted = (stays[0] if stays and not query else 0) if shown else None
        self._mark()

    def _column(self, width: int) -> int:
        """Cells of the column of names; the remarks have what they need before it, as far as they can."""
        wide = max((cell_len(pick.label) for pick in self._shown), default=0)
        remark = max((cell_len(pick.remark) for pick in self._shown), default=0)
        return min(wide, max(width * 3 // 8, width - remark - SCROLLBAR)) if width else wide

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter; and once the words rest, look where no row says them."""
        self._found = ()
        if self._dig_soon is not None:
            self._dig_soon.stop()
        if self._deep is not None and len(event.value.strip()) >= LEAST_DEEP:
            self._dig_soon = self.set_timer(DEEP_RESTS, self._dig)
        self._filter()

    def _dig(self) -> None:
        if self._deep is not None:
            self._look(self._deep, self.query_one(Input).value.strip())

    @work(thread=True, exclusive=True, group="deep")
    def _look(self, deep: Deep, query: str) -> None:
        self.post_message(self.Dug(query, deep(query)))

    def on_picker_dug(self, message: Dug) -> None:
        """More rows, if the words are still the same."""
        if message.query == self.query_one(Input).value.strip():
            self._found = message.keys
            self._filter()

    # ── the marked row ──

    @property
    def marked(self) -> Pick | None:
        """The row that Enter chooses."""
        at = self.query_one(OptionList).highlighted
        return self._shown[at] if at is not None and at < len(self._shown) else None

    def on_option_list_option_highlighted(self) -> None:
        """Another row is marked."""
        self._mark()

    def _mark(self) -> None:
        pick = self.marked
        foot = self.query_one("#picker-foot", Static)
        foot.display = pick is not None and bool(pick.foot)
        if pick is not None:
            foot.update(Content(safe(pick.foot)))
            others = "".join(f" · ctrl+{other.letter} {other.what}" for other in pick.others)
            self.query_one("#hint", Static).update(Content.styled(f"enter chooses{others} · esc leaves", "dim"))
        elif self._picks:
            self.query_one("#hint", Static).update(Content.styled("nothing holds that · esc leaves", "dim"))
        if pick is self._beside:
            return
        self._beside = pick
        if self._preview_soon is not None:
            self._preview_soon.stop()
        if pick is None or pick.preview is None:
            self._draw_preview("")
        else:
            self._preview_soon = self.set_timer(RESTS, lambda: self._preview(pick))

    @work(thread=True, exclusive=True, group="preview")
    def _preview(self, pick: Pick) -> None:
        if pick.preview is not None:
            self.post_message(self.Previewed(pick, pick.preview()))

    def on_picker_previewed(self, message: Previewed) -> None:
        """It is read; another row may be marked by now."""
        if message.pick is self._beside:
            self._draw_preview(message.text)

    def _draw_preview(self, text: str) -> None:
        self.query_one("#picker-preview", Static).update(Content(safe(text)))
        self.query_one("#picker-beside").scroll_home(animate=False)

    # ── keys ──

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A letter with Ctrl is the line editor's, unless the marked row has it."""
        return action != "other" or self._other(str(parameters[0])) is not None

    def _other(self, letter: str) -> Other | None:
        pick = self.marked
        return next((other for other in pick.others if other.letter == letter), None) if pick is not None else None

    def action_other(self, letter: str) -> None:
        """What else the marked row can be asked for."""
        if (other := self._other(letter)) is not None:
            if other.closes:
                self.dismiss()
            self.post_message(Wished(other.wish))

    def on_input_submitted(self) -> None:
        """Enter: the marked row."""
        if (pick := self.marked) is not None:
            self._choose(pick)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click."""
        self._choose(self._shown[event.option_index])

    def _choose(self, pick: Pick) -> None:
        self.post_message(Wished(pick.wish))
        self.dismiss()

    def action_move(self, by: int) -> None:
        """The arrows move the mark while the filter is written."""
        options = self.query_one(OptionList)
        if by < 0:
            options.action_cursor_up()
        else:
            options.action_cursor_down()

    def action_page(self, by: int) -> None:
        """So do the page keys, by a page."""
        options = self.query_one(OptionList)
        at, last = options.highlighted, len(self._shown) - 1
        if at is not None:
            options.highlighted = min(last, max(0, at + by * max(1, options.size.height - 1)))

    def action_leave(self) -> None:
        """Nothing chosen."""
        self.dismiss()


def _row(pick: Pick, wide: int) -> Option:
    label = Content(safe(pick.label))
    if pick.name:
        label = label.truncate(wide, pad=True, ellipsis=True)
    return Option(Content.assemble(label, (f"  {safe(pick.remark)}" if pick.remark else "", "dim")))


def _same(one: Pick, other: Pick) -> bool:
    return one is other or (bool(one.key) and one.key == other.key)
