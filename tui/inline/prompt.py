"""The inline screen on a capable terminal: finished rows go into its own scrollback, under them a prompt and the meter.

Not what is said (that is `talk`): an application of a few rows that is wiped before anything is printed and
drawn again under it. Raw mode is never left for that, so no key is echoed in between.

Invariants
 1. The application runs from start to end; Enter hands the line over and leaves the prompt standing.
 2. No answer of the terminal is waited for, so one that never answers looks the same.
 3. The draft steps aside for a question and comes back after it.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.layout import HSplit, Layout, VerticalAlign, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import ConditionalProcessor, PasswordProcessor
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.renderer import print_formatted_text

from agent.wire import MODE_NAMES, Meter
from tui.alphabet import ascii_text
from tui.attachments import Attached
from tui.inline.editor import edited
from tui.inline.keymap import meanings
from tui.inline.keys import bindings
from tui.inline.live import meter_rows
from tui.inline.menu import Menu
from tui.inline.print import Row
from tui.inline.questions import KeyLine, Question
from tui.inline.style import STYLE
from tui.inline.talk import Talk
from tui.pastes import Pastes, cleaned
from tui.plain import one_line, safe

# Fewer rows than this leave no room for lists beside the conversation.
SHORT_ROWS = 16

# After Esc the rest of a longer key is on its way: over a slow line it takes this long. Seconds.
ESC_PATIENCE = 0.1

T = TypeVar("T")


class Screen:
    """The prompt, what stands above it, and the meter below."""

    hides: ClassVar[bool] = True

    def __init__(
        self, talk: Callable[[], Talk], *, input: Input, output: Output, ascii: bool, colours: bool,
        keymap: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self._talk = talk
        self._ascii = ascii
        self.meanings: Mapping[str, str] = meanings(keymap)
        self._held: list[Row] = []
        self._stashed: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._away = self._hidden = False
        self.pastes = Pastes()
        self.buffer = Buffer(multiline=True, on_text_changed=lambda _: self.menu.typed())
        self.menu = Menu(self.buffer, talk, self.later)
        self.app: Application[int] = Application(
            layout=self._layout(),
            key_bindings=bindings(self),
            style=STYLE,
            color_depth=None if colours else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output,
            erase_when_done=True,
            after_render=lambda _: self._drawn(),
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESC_PATIENCE

    @property
    def talk(self) -> Talk:
        """The conversation."""
        return self._talk()

    @property
    def keyed(self) -> bool:
        """Whether letters answer a question instead of being written."""
        question = self.talk.question
        return question is not None and not question.writing

    @property
    def _secret(self) -> bool:
        """Whether what is written may not be seen."""
        return isinstance(self.talk.question, KeyLine)

    # ── drawing ──

    def _layout(self) -> Layout:
        def lines(rows: Callable[[], list[Row]]) -> Window:
            return Window(FormattedTextControl(lambda: self._fragments(rows())), dont_extend_height=True, height=None)

        entry = Window(
            BufferControl(self.buffer, [ConditionalProcessor(PasswordProcessor(), Condition(lambda: self._secret))]),
            height=lambda: Dimension(min=1, max=max(1, self._rows() // 2)),
            get_line_prefix=self._sign,
            wrap_lines=True,
            dont_extend_height=True,
        )
        parts = [lines(self._above), entry, lines(self._menu), lines(self._meter)]
        return Layout(HSplit(parts, align=VerticalAlign.TOP), entry)

    def _rows(self) -> int:
        return self.app.output.get_size().rows

    def _above(self) -> list[Row]:
        talk = self.talk
        # A blank row keeps the prompt apart from what was printed.
        short = self._rows() < SHORT_ROWS
        rows = talk.live.rows(self.width(), talk.question, short=short, ascii=self._ascii, keys=self.meanings)
        return rows if short else [(), *rows]

    def _menu(self) -> list[Row]:
        return self.menu.rows(self.width(), 3 if self._rows() < SHORT_ROWS else 8)

    def _meter(self) -> list[Row]:
        talk = self.talk
        if not talk.meter.budget:
            return []
        return meter_rows(talk.meter, self.width(), talk.now() - talk.metered_at, ascii=self._ascii)

    def _sign(self, line: int, wrapped: int) -> StyleAndTextTuples:
        talk = self.talk
        words = "?" if talk.question is not None else MODE_NAMES[talk.mode]
        sign = f"{words} > " if self._ascii else f"{words} › "
        style = "class:hint" if talk.question is not None else f"class:mode-{talk.mode}"
        return [(style, sign if line == wrapped == 0 else " " * len(sign))]

    def _fragments(self, rows: Sequence[Row]) -> StyleAndTextTuples:
        found: StyleAndTextTuples = []
        for index, one in enumerate(rows):
            found += [("", "\n")] if index else []
            found += [(style, ascii_text(text) if self._ascii else text) for style, text in one]
        return found

    def _drawn(self) -> None:
        if not self._held:
            self.talk.asks.seen()

    # ── what a surface does ──

    def width(self) -> int:
        """Cells of a row; the last stays free, since some terminals break the line there."""
        return max(8, self.app.output.get_size().columns - 1)

    def show(self, rows: Sequence[Row]) -> None:
        """Print for good, above the prompt; while the terminal is an editor's, later."""
        self._held += rows
        if self._away or not self._held:
            return
        out, self._held = self._held, []
        renderer = self.app.renderer
        if self.app.is_running:
            renderer.erase()
        fragments = [*self._fragments(out), ("", "\n")]
        print_formatted_text(self.app.output, fragments, STYLE, color_depth=self.app.color_depth)
        # Drawn at once, flushed together: a frame later the prompt would be seen to flicker, a paste come unframed.
        self.app._redraw()
        self.app.output.flush()

    def changed(self) -> None:
        """Draw the live area anew, a little later; what comes until then is drawn with it."""
        self.app.invalidate()

    def ask(self, question: Question | None) -> None:
        """The draft steps aside, or comes back."""
        self.menu.close()
        if self._hidden:
            # A key must not come back by taking back an edit, nor by pasting what was deleted.
            self.buffer.reset()
            self.app.clipboard.set_text("")
        self._hidden = self._secret
        if question is not None:
            if self._stashed is None:
                self._stashed = self.buffer.text
            self._put("")
        elif self._stashed is not None:
            self._put(self._stashed)
            self._stashed = None

    def _put(self, text: str) -> None:
        self.buffer.set_document(Document(text, len(text)), bypass_readonly=True)
        self.menu.close()

    def write(self, text: str) -> None:
        """Before whatever is being written."""
        folded = self.pastes.fold(cleaned(text))
        if self._stashed is not None:
            self._stashed = folded + (f"\n{self._stashed}" if self._stashed.strip() else "")
        else:
            self.put(folded + (f"\n{self.buffer.text}" if self.buffer.text.strip() else ""))

    def put(self, text: str) -> None:
        """Another draft."""
        self._put(text)

    def attach(self, found: Attached) -> None:
        """Chips at the cursor."""
        chips = "".join(f"{self.pastes.chip(label, mention)} " for label, mention in found.chips)
        self.buffer.insert_text(chips + self.pastes.fold(cleaned(found.text)))

    def fill(self, text: str) -> None:
        """What a question has to be written about."""
        self._put(text)

    def edit(self, text: str, then: Callable[[str], None]) -> None:
        """In $EDITOR."""
        self.later(self._edit(text, then))

    async def _edit(self, text: str, then: Callable[[str], None]) -> None:
        self._away = True
        try:
            async with in_terminal():
                found = await asyncio.to_thread(edited, text)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            self._away = False
            self.show([(("class:warning", f"▲ The editor could not be run: {one_line(str(error))}."),)])
            return
        self._away = False
        self.show([])
        then(found)

    def read(self, load: Callable[[], T], then: Callable[[T], None]) -> None:
        """On a thread."""

        async def run() -> None:
            then(await asyncio.to_thread(load))

        self.later(run())

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """A task of the application's own; a fault in it is the application's."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and self.app.is_running:
            self.app.exit(exception=error)

    def copy(self, text: str) -> bool:
        """By OSC 52; terminals that do not know it ignore it."""
        coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
        self._raw(f"\x1b]52;c;{coded}\x07")
        return True

    def call(self, text: str) -> None:
        """By OSC 9."""
        self._raw(f"\x1b]9;{one_line(text, 80)}\x07")

    def title(self, text: str) -> None:
        """The window's name."""
        self._raw(f"\x1b]2;{one_line(safe(text), 80)}\x07")

    def _raw(self, sequence: str) -> None:
        self.app.output.write_raw(sequence)
        self.app.output.flush()

    def turned(self, meter: Meter) -> None:
        """The meter stands there anyway."""

    def leave(self, status: int) -> None:
        """End."""
        if self.app.is_running and not (self.app.future and self.app.future.done()):
            self.app.exit(result=status)

    def interrupt(self) -> None:
        """Ctrl+C, as a key or as a signal."""
        if self.talk.break_off(bool(self.buffer.text) and not self.keyed):
            if not self._secret:
                self.talk.recall.add(self.buffer.text)
            self.talk.recall.leave()
            self.put("")

    async def run(self, talk: Talk) -> int:
        """Until the user leaves; the exit status."""
        # The window's name goes on the terminal's own stack, and comes back from it.
        self._raw("\x1b[22;2t")
        try:
            return await self.app.run_async(handle_sigint=True, set_exception_handler=False)
        except EOFError:
            return 0
        finally:
            for task in self._tasks:
                task.cancel()
            self._raw("\x1b]2;\x07\x1b[23;2t")


class Lines(Vt100_Output):
    """A terminal whose scrollback gets what was printed and nothing else."""

    def erase_down(self) -> None:
        """From the cursor. Some terminals move a screen that is erased from its first cell into their scrollback; so
        that cell goes with its line, before the rest."""
        self.write_raw("\x1b7\x1b[K\x1b[C\x1b[J\x1b8")


def terminal_screen(talk: Callable[[], Talk], *, ascii: bool, colours: bool, keymap: Mapping[str, str]) -> Screen:
    """The screen on this process's own terminal."""
    output = Lines.from_pty(sys.stdout, term=os.environ.get("TERM"))
    output.enable_cpr = False
    return Screen(talk, input=create_input(), output=output, ascii=ascii, colours=colours, keymap=keymap)
