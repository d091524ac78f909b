"""A real worker over a scripted model, on the test's own loop, so that a test reads as a short story.

    async with Story(tmp_path, "Hello.") as story:
        await story.say("hi")
        assert story.answers == ["Hello."]

Nothing is patched: model, clock, disk and folders are handed in as values.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from agent import places, settings
from agent.endpoints import Endpoints
from agent.instructions import prompt
from agent.log_file import Disk
from agent.mcp.server import servers_of
from agent.mcp.servers import Servers
from agent.model import Endpoint, Model, ModelError, Request
from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.models.scripted import Say, Scripted, ScriptedModel
from agent.models.stub_tokens import canonical, tokens
from agent.opening import Opening
from agent.session import Kit, Session
from agent.wire import (
    Answer,
    Asking,
    Command,
    Event,
    Finished,
    Gated,
    Idle,
    Interrupt,
    Meter,
    Metered,
    Quit,
    Returned,
    Submit,
    Told,
)
from agent.worker import Worker
from compaction.records import AssistantSaid, Record
from compaction.summary import Prompts

# A story that stands still for so long has a fault (seconds); nothing in a story waits for a clock.
PATIENCE = 120.0

NAME = "openai/scripted"

# What commands inherit.
ENVIRON = {"PATH": "/usr/bin:/bin"}

# What the next process of the same user is given as it was.
KEPT = (
    "window", "max_output", "budget", "context", "more", "mode", "max_steps", "interactive", "clock", "count",
)  # fmt: skip

# A summary that every judge accepts.
SUMMARY = "## Goal\n- {what}\n## Constraints\n- none\n## Done\n- looked\n## Decisions\n- none\n## Next\n- go on"

E = TypeVar("E")


@dataclass
class Clock:
    """Seconds since the epoch, moved by hand."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Story:
    """One program over `folder / project`; `replies` is a model, or what a scripted one says, in order.

    `window` and `max_output` are the user's claims in tokens (None: unknown); `more` is TOML behind the settings' first
    lines.
    """

    root: Path
    replies: ScriptedModel | Model | Sequence[Scripted] | str = ()
    window: int | None = 100_000
    budget: str | None = None
    context: str = ""
    more: str = ""
    max_output: int | None = 4_000
    mode: str = "auto"
    max_steps: int = 50
    interactive: bool = True
    disk: Disk | None = None
    servers: Servers | None = None
    first: str | None = None
    summary_deadline: float = PATIENCE * 10
    flags: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    count: Callable[[str], int] = tokens
    events: list[Event] = field(default_factory=list)
    raises: bool = True

    def __post_init__(self) -> None:
        replies = [self.replies] if isinstance(self.replies, str) else self.replies
        self.model: Any = ScriptedModel(replies) if isinstance(replies, Sequence) else replies
        self.places = places.under(self.root / "home")
        self.folder = self.root / "project"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._news = asyncio.Event()
        self.sessions: list[Session] = []

    # ── the program ──

    def kit(self) -> Kit:
        """What the wiring would make, but for model, clock and counter."""
        self.places.config.mkdir(parents=True, exist_ok=True)
        budget = f'budget = "{self.budget}"\n' if self.budget else ""
        claim = f"window = {self.window}\n" if self.window else ""
        claim += f"max_output = {self.max_output}\n" if self.max_output else ""
        text = (
            f'model = "{NAME}"\nmode = "{self.mode}"\nmax_steps = {self.max_steps}\n[context]\n{budget}{self.context}\n'
        )
        text += f'[sandbox]\nuse = "off"\n[models."{NAME}"]\n{claim}{self.more}\n'
        if not self.places.settings.exists():
            self.places.settings.write_text(text)
        chosen = settings.load(self.folder, self.places, {}, self.flags)
        prompts = Prompts(*(prompt(f"summary_{name}") for name in ("system", "first", "update", "in_context")))
        return Kit(
            chosen, self.places, self.model, Catalogue(Learned(self.places.state / "learned.json")),
            Endpoints(chosen, {"OPENAI_API_KEY": "k"}), self.count, prompts, self.heard, self.clock, ENVIRON,
            self.interactive, "test", self.summary_deadline, self.disk,
            load=lambda: settings.load(self.folder, self.places, {}, self.flags),
            servers=self.servers or Servers(servers_of(chosen, self.folder), self.places, ENVIRON, patience=PATIENCE),
        )  # fmt: skip

    async def __aenter__(self) -> Story:
        story = self

        class Noting(Opening):
            async def open(self, path: str | None, emit: Callable[[Event], None]) -> Session:
                session = await super().open(path, emit)
                story.sessions.append(session)
                return session

        self.worker = Worker(Noting(self.kit(), self.folder), self.heard, self.first)
        self.running = asyncio.ensure_future(self.worker.serve())
        await self.until(Idle)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.worker.send(Quit())
        await asyncio.wait({self.running}, timeout=PATIENCE)
        if error is None and self.raises:
            await self.running

    def heard(self, event: Event) -> None:
        """Every event of the story, in order."""
        self.events.append(event)
        self._news.set()

    def again(self, replies: ScriptedModel | Sequence[Scripted] | str | None = None, **more: Any) -> Story:
        """The same user in a new process, who goes on with the last session unless `first` says otherwise."""
        kept = {name: getattr(self, name) for name in KEPT}
        first = str(self.session.log.path)
        return Story(self.root, self.model if replies is None else replies, **{**kept, "first": first, **more})

    # ── acting ──

    def send(self, *commands: Command) -> None:
        """Hands commands over and does not wait."""
        for command in commands:
            self.worker.send(command)

    async def do(self, command: Command) -> Idle:
        """Sends a command and waits for its end."""
        return await self.until(Idle, sent=command)

    async def say(self, text: str, *images: str) -> Idle:
        """One turn."""
        return await self.do(Submit(text, tuple(images)))

    async def wish(self, command: Command) -> Finished:
        """Sends a wish; how it ended."""
        finished = await self.until(Finished, sent=command)
        await self.until(Idle, after=finished)
        return finished

    async def until(
        self, kind: type[E], test: Callable[[E], bool] = lambda event: True, *, sent: Command | None = None,
        after: Event | None = None,
    ) -> E:  # fmt: skip
        """The next event of a kind: from now on, or behind `after`. The whole story so far counts for the first."""
        at = len(self.events) if sent is not None else 0
        if after is not None:
            at = next(i for i, event in enumerate(self.events) if event is after) + 1
        if sent is not None:
            self.send(sent)
        async with asyncio.timeout(PATIENCE):
            while True:
                while at < len(self.events):
                    event = self.events[at]
                    at += 1
                    if isinstance(event, kind) and test(event):
                        return event
                if self.running.done():
                    await self.running
                    raise AssertionError("the worker has ended")
                self._news.clear()
                await asyncio.wait(
                    {self.running, asyncio.ensure_future(self._news.wait())}, return_when="FIRST_COMPLETED"
                )

    def mark(self) -> Event:
        """The newest event, to wait behind."""
        return self.events[-1]

    async def stop(self) -> Idle:
        """Esc."""
        return await self.do(Interrupt())

    async def answer(self, choice: Any, reason: str = "") -> None:
        """Answers the newest question."""
        asking = [e for e in self.events if isinstance(e, Asking)][-1]
        self.send(Answer(asking.id, choice, reason))

    # ── looking ──

    @property
    def session(self) -> Session:
        """The open session."""
        return self.sessions[-1]

    def said(self, kind: type[E]) -> list[E]:
        """All events of a kind."""
        return [e for e in self.events if isinstance(e, kind)]

    @property
    def told(self) -> str:
        """All sentences for people, one a line."""
        texts = [e.text for e in self.events if isinstance(e, (Told, Gated))]
        return "\n".join(texts + [e.why for e in self.said(Returned)])

    @property
    def tags(self) -> list[str]:
        """How gates ended, in order."""
        return [e.tag for e in self.said(Gated)]

    @property
    def meter(self) -> Meter:
        """The meter as last shown."""
        return self.said(Metered)[-1].meter

    @property
    def records(self) -> Sequence[Record]:
        """The log."""
        return self.session.log.records

    def bodies(self, kind: type[E]) -> list[E]:
        """All records' bodies of a kind."""
        return [r.body for r in self.records if isinstance(r.body, kind)]

    @property
    def answers(self) -> list[str]:
        """What the model said, as logged."""
        return [body.text for body in self.bodies(AssistantSaid)]

    @property
    def requests(self) -> list[Request]:
        """All requests."""
        return list(self.model.requests)

    @property
    def turns(self) -> list[Request]:
        """The requests with tools: not the summaries."""
        return [r for r in self.requests if r.tools]

    @property
    def summaries(self) -> list[Request]:
        """The requests without tools."""
        return [r for r in self.requests if not r.tools]


# ── what replies and requests look like ──


def call(tool: str, **arguments: Any) -> tuple[str, str]:
    """A call as the model writes it."""
    return tool, json.dumps(arguments)


def calls(*made: tuple[str, str], text: str = "") -> Say:
    """A reply that calls tools."""
    return Say(text, calls=made)


def summary(what: str = "the work") -> str:
    """A summary that is accepted."""
    return SUMMARY.format(what=what)


def last_text(request: Request) -> str:
    """The last message's text."""
    content = request.messages[-1]["content"]
    return content if isinstance(content, str) else str(content)


def spoken(request: Request) -> str:
    """All of a request as one text."""
    return "\n".join(canonical(m) for m in request.messages)


def prefix(request: Request) -> bytes:
    """The canonical [tools, system, messages] without cache marks and without its closing bracket."""
    whole = canonical([list(request.tools), *request.messages])
    return whole[:-1].encode()


def is_prefix(before: Request, after: Request) -> bool:
    """Whether one request continues the other, byte for byte."""
    return prefix(after).startswith(prefix(before))


def pairs_are_valid(request: Request) -> bool:
    """Whether each call is followed by exactly its results, in order, and no result stands alone."""
    waiting: list[str] = []
    for message in request.messages:
        if message["role"] == "tool":
            if not waiting or waiting.pop(0) != message["tool_call_id"]:
                return False
            continue
        if waiting:
            return False
        waiting = [c["id"] for c in message.get("tool_calls") or ()]
    return not waiting


def scripted(
    turns: Sequence[Scripted], summaries: Sequence[Scripted] = (), *, window: int | None = None, forever: bool = False
) -> ScriptedModel:
    """A model with one script for turns and one for summaries; `forever` repeats the last of each.

    Behind their ends a turn says "Done." and a summary is one that is accepted.
    """
    scripts = {True: list(turns), False: list(summaries)}
    after: dict[bool, Scripted] = {True: "Done.", False: summary()}

    def answer(request: Request) -> Say | str:
        script = scripts[bool(request.tools)]
        said = (
            after[bool(request.tools)] if not script else script[0] if forever and len(script) == 1 else script.pop(0)
        )
        if isinstance(said, ModelError):
            return Say(error=said)
        return said if isinstance(said, (Say, str)) else said(request)

    return ScriptedModel(default=answer, window=window)


def output(characters: int, name: object = "", letter: str = "x") -> tuple[str, str]:
    """A call whose result has so many characters."""
    return call("bash", command=f"head -c {characters} /dev/zero | tr '\\0' {letter}; echo {name}")


def reads(count: int, characters: int = 6_000) -> list[Scripted]:
    """Steps that each bring so many characters in."""
    return [calls(output(characters, n)) for n in range(count)]


__all__ = [
    "NAME",
    "Clock",
    "Endpoint",
    "Story",
    "call",
    "calls",
    "is_prefix",
    "last_text",
    "output",
    "pairs_are_valid",
    "prefix",
    "reads",
    "scripted",
    "spoken",
    "summary",
]
