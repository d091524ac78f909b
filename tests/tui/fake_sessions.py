"""Earlier sessions that answer from memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.reading.session_rows import SessionRow


@dataclass
class FakeSessions:
    """Rows in order; `held`: the words of a query, and the logs that hold them. Keeps what it was asked to do."""

    given: Sequence[SessionRow]
    held: Mapping[str, Collection[str]] = field(default_factory=dict)
    done: list[tuple[str, ...]] = field(default_factory=list)

    def rows(self) -> Iterator[SessionRow]:
        yield from self.given

    def preview(self, path: str) -> str:
        return f"what is in {path}"

    def holding(self, words: str) -> Collection[str]:
        return self.held.get(words, ())

    def rename(self, path: str, name: str) -> str:
        self.done.append(("rename", path, name))
        return f"the session is called {name!r}"

    def discard(self, path: str) -> str:
        self.done.append(("discard", path))
        return "moved to the trash"
