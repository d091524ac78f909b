"""Earlier sessions on the inline screen: the list, a name to be written, a yes before one goes to the trash.

Not the reading (`front.Sessions`), which happens on a thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from agent.wire import Rename
from tui import session_list
from tui.actions import DiscardSession, PickSession, RenameSession, Say, Wish
from tui.front import Sessions
from tui.inline.lists import Picking
from tui.inline.print import Row, row
from tui.inline.questions import WAITS, Reply
from tui.inline.surface import Surface
from tui.inline.talk import Talk
from tui.picks import Pick
from tui.plain import one_line
from tui.present import sentence

SessionWish: TypeAlias = PickSession | RenameSession | DiscardSession


@dataclass(slots=True)
class Naming:
    """A session's new name is written."""

    action: RenameSession
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True
    hint: ClassVar[str] = "write the new name · enter alone leaves it"

    def rows(self, width: int) -> list[Row]:
        """What it is called now."""
        return [(), row(f"Another name for “{one_line(self.action.title, 60)}”", "class:strong")]

    def key(self, key: str) -> Reply:
        """Esc leaves."""
        return Reply() if key == "escape" else WAITS

    def line(self, text: str) -> Reply:
        """The name, or nothing."""
        name = text.strip()
        return Reply((RenameSession(self.action.path, self.action.title, name),) if name else ())


@dataclass(slots=True)
class InlineSessions:
    """Asks, reads, prints. `sessions` None: nothing was wired."""

    talk: Talk
    surface: Surface
    sessions: Sessions | None

    def perform(self, wish: SessionWish) -> None:
        """Do it."""
        sessions = self.sessions
        match wish:
            case RenameSession(path=path, name=str(name)) if path == self.talk.path:
                self.talk.send(Rename(name))
            case _ if sessions is None:
                self._tell(session_list.UNWIRED)
            case PickSession(words=words):
                self.surface.read(lambda: self._found(sessions, words), self._offer)
            case RenameSession(name=None):
                self.talk.offer(Naming(wish))
            case RenameSession(path=path, name=str(name)):
                self.surface.read(lambda: sessions.rename(path, name), self._tell)
            case DiscardSession(sure=False):
                title, picks = session_list.confirm(wish)
                self.talk.offer(Picking(title, picks))
            case DiscardSession(path=path):
                self.surface.read(lambda: sessions.discard(path), self._tell)

    def _found(self, sessions: Sessions, words: str) -> tuple[str, list[Pick]]:
        if not words:
            return session_list.TITLE, session_list.once(session_list.picks(sessions))
        held = frozenset(sessions.holding(words))
        return f"Sessions that hold “{one_line(words, 40)}”", session_list.once(session_list.picks(sessions, held))

    def _offer(self, found: tuple[str, list[Pick]]) -> None:
        title, picks = found
        if picks:
            self.talk.offer(Picking(title, picks, elsewhere=_elsewhere))
        else:
            self._tell(session_list.NOTHING if title == session_list.TITLE else f"{title}: none")

    def _tell(self, text: str) -> None:
        self.talk.say(Say(sentence(text)))
        self.talk.flush()


def _elsewhere(words: str) -> Wish:
    return PickSession(words)
