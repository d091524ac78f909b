"""The list under the inline prompt from which a completion is chosen; the first row is always marked.

Not what is in it (that is `completion`). Files are listed on a thread; a later key makes an earlier answer worthless.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from rich.cells import cell_len

from tui import completion
from tui.completion import Candidate, Token
from tui.inline.print import Row, cut
from tui.inline.talk import Talk
from tui.plain import safe

# A listing of the folder is good for this long: a file made a minute ago should be found; seconds.
LISTING_FRESH = 20.0

# A draft longer than this is not looked through at every key; characters.
LOOKED_THROUGH = 20_000


class Menu:
    """Candidates for the token at the cursor."""

    def __init__(
        self, buffer: Buffer, talk: Callable[[], Talk], later: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._buffer, self._talk, self._later = buffer, talk, later
        self.token: Token | None = None
        self.candidates: list[Candidate] = []
        self.chosen = 0
        self._searching = False
        self._files: tuple[str, ...] = ()
        self._listed_at = float("-inf")

    @property
    def open(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self.candidates)

    def close(self) -> None:
        """Nothing to choose."""
        self._searching = False
        self._offer(None, [])

    def move(self, by: int) -> None:
        """Move the mark, around the ends."""
        self.chosen = (self.chosen + by) % len(self.candidates)

    def typed(self, *, asked: bool = False) -> None:
        """The draft is another: offer what fits the token at the cursor. `asked`: with Tab."""
        text, cursor = self._buffer.text, self._buffer.cursor_position
        if self._talk().question is not None:
            return
        if self._searching and text:
            self._offer(Token("history", text, 0), completion.earlier(text, self._talk().recall.messages))
            return
        self._searching = False
        token = completion.token_at(text, cursor) if len(text) < LOOKED_THROUGH else None
        if token is None:
            self._offer(None, [])
        elif token.kind == "slash":
            if not self.open:
                self._later(self._read())
            found = completion.slashes(token.query, self._talk().customs.rows)
            whole = [candidate.insert for candidate in found] == [f"/{token.query}"] and not asked
            self._offer(token, [] if whole else found)
        else:
            self._later(self._find(token))

    def search(self) -> bool:
        """Ctrl+R: earlier messages that hold what is written; whether there are any."""
        found = completion.earlier(self._buffer.text, self._talk().recall.messages)
        self._searching = bool(found)
        self._offer(Token("history", self._buffer.text, 0), found)
        return bool(found)

    async def _read(self) -> None:
        """The user's own commands anew, when the list opens: a file may be new."""
        talk = self._talk()
        talk.mistakes(await asyncio.to_thread(talk.customs.read))
        token = self.token
        if token is not None and token.kind == "slash":
            marked, found = self.chosen, completion.slashes(token.query, talk.customs.rows)
            if not self.open and [candidate.insert for candidate in found] == [f"/{token.query}"]:
                found = []
            self._offer(token, found)
            self.chosen = min(marked, max(0, len(self.candidates) - 1))
            talk.surface.changed()

    async def _find(self, token: Token) -> None:
        talk = self._talk()
        if talk.now() - self._listed_at > LISTING_FRESH:
            listed = await asyncio.to_thread(completion.files, talk.folder)
            self._files, self._listed_at = listed, talk.now()
        found = await asyncio.to_thread(completion.paths, token.query, self._files, talk.customs.resources())
        if completion.token_at(self._buffer.text, self._buffer.cursor_position) == token:
            self._offer(token, found)
            talk.surface.changed()

    def _offer(self, token: Token | None, candidates: list[Candidate]) -> None:
        self.token, self.candidates, self.chosen = token, candidates, 0

    def current(self) -> Candidate | None:
        """The marked candidate."""
        return self.candidates[self.chosen] if self.candidates else None

    def would_change(self) -> bool:
        """Whether taking the marked candidate changes the draft."""
        candidate, token = self.current(), self.token
        if candidate is None or token is None:
            return False
        return candidate.insert.strip() != self._buffer.text[token.start : self._buffer.cursor_position].strip()

    def take(self) -> Candidate | None:
        """The marked candidate replaces the token."""
        candidate, token = self.current(), self.token
        if candidate is None or token is None:
            return None
        text = self._buffer.text
        end = len(text) if token.kind == "history" else self._buffer.cursor_position
        after = token.start + len(candidate.insert)
        self._buffer.set_document(Document(text[: token.start] + candidate.insert + text[end:], after))
        self.close()
        return candidate

    def rows(self, width: int, most: int) -> list[Row]:
        """The rows around the mark."""
        most = min(most, len(self.candidates))
        first = max(0, min(self.chosen - most // 2, len(self.candidates) - most))
        shown = self.candidates[first : first + most]
        hinted = any(candidate.hint for candidate in shown)
        room = max(20, width * 9 // 20) if hinted else width - 2
        wide = min(max((cell_len(candidate.label) for candidate in shown), default=0), room)
        out: list[Row] = []
        for index, candidate in enumerate(shown, first):
            label = cut(safe(candidate.label), wide)
            label += " " * (wide - cell_len(label))
            marked = index == self.chosen
            hint = cut(f"  {safe(candidate.hint)}", max(1, width - wide - 2)) if candidate.hint else ""
            style = "class:marked" if marked else ""
            out.append(((style, f"{'> ' if marked else '  '}{label}"), ("class:quiet", hint)))
        return out
