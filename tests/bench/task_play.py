"""One task played in one mode: a real worker, the real tools, a provider spoken to over HTTP, and a user who answers.

Not the script (that is `task_script`) and no table (that is `bench_task`). What is looked at afterwards is the folder,
git's word on it, the log and the requests as they arrived: nothing that the program says of itself alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent import places, settings
from agent.model import Endpoint, Model, Part, Request
from agent.models.stub_server import StubServer
from agent.models.stub_tokens import canonical
from agent.opening import Opening
from agent.permissions import rules as permission_rules
from agent.reading import Reading
from agent.session import rules_file
from agent.verify import verify
from agent.wire import Answer, Appended, Asking, Choice, Event, Idle, Mode, Quit, Submit, ToolRunning
from agent.worker import Worker
from compaction.records import AssistantSaid, ToolReturned
from tests.bench.task_script import STEPS, Mind, Repository, plant
from tui.kit import make_kit

MODEL = "openai/scripted"

SETTINGS = """model = "{model}"
mode = "{mode}"
[context]
budget = "100k"
[sandbox]
use = "{sandbox}"
[models."{model}"]
api_base = "{base}"
window = 128000
max_output = 8000
"""

REASON = "committing is mine"

# What the user says, in the order of the questions; a question too many is refused.
SAID: Mapping[Mode, tuple[tuple[Choice, str], ...]] = {
    "plan": (),
    # test, edit 1, edit 2, test, (edit 3, if in a file of its own), write outside, git commit
    "ask": (("once", ""), ("once", ""), ("session", ""), ("session", ""), ("refuse", ""), ("refuse", REASON)),
    "edits": (("project", ""), ("refuse", ""), ("refuse", REASON)),
    "auto": (("refuse", ""),),
}

# What must have become of each step's call, in the order of `STEPS`: "0" and "1" are exit statuses.
FATES: Mapping[Mode, str] = {
    "plan": "ran ran ran ran ran ran ran denied denied denied denied failed denied denied ran,0 denied denied",
    "ask": "ran ran ran ran ran ran ran once,1 once session session,1 failed ran ran,0 ran,0 refuse refuse",
    "edits": "ran ran ran ran ran ran ran project,1 ran ran ran,1 failed ran ran,0 ran,0 refuse refuse",
    "auto": "ran ran ran ran ran ran ran ran,1 ran ran ran,1 failed ran ran,0 ran,0 refuse ran,0",
}


@dataclass
class Played:
    """What one mode left behind. `wrong` says in sentences what must not be so; empty is good."""

    mode: Mode
    fates: list[str] = field(default_factory=list)
    asked: list[Asking] = field(default_factory=list)
    given: dict[str, Choice] = field(default_factory=dict)
    diff: str = ""
    before: str = ""
    after: str = ""
    remembered: tuple[str, ...] = ()
    told: dict[str, str] = field(default_factory=dict)
    requests: int = 0
    cached: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def changed(self) -> list[str]:
        """The lines that the diff adds and takes away."""
        return [s for s in self.diff.splitlines() if s[:1] in ("+", "-") and s[:4] not in ("+++ ", "--- ")]


@dataclass(frozen=True)
class Lent:
    """A model whose process several plays share: a closed session leaves it running."""

    model: Model

    def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        return self.model.stream(endpoint, request)

    async def aclose(self) -> None:
        pass


def expected(repository: Repository, mode: Mode) -> tuple[list[str], list[tuple[Choice, str]]]:
    """What must become of each step in a mode, and the user's answers. A file of its own is a question of its own."""
    fates, said = FATES[mode].split(), list(SAID[mode])
    if mode == "ask" and repository.bugs[2].file != repository.bugs[1].file:
        fates[STEPS.index("edit 3")] = "once"
        said.insert(4, ("once", ""))
    return fates, said


class User:
    """The folder, the homes, and whoever answers the questions."""

    def __init__(self, root: Path, source: Path, repository: Repository, mode: Mode) -> None:
        self.root, self.repository, self.mode = root, repository, mode
        self.folder = root / "project"
        self.home, self.places = root / "user", places.under(root / "ullage")
        self.environ = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        self.home.mkdir(parents=True)
        self.run("cp", "-R", str(source), str(self.folder), cwd=root)
        self.git("init", "-q")
        self.git("config", "user.email", "user@localhost")
        self.git("config", "user.name", "User")
        self.commit("As it came")
        plant(self.folder, repository.bugs)
        self.planted = self.git("diff", "-R", "--no-prefix")
        self.commit("With three bugs")
        self.start = self.git("rev-parse", "HEAD").strip()

    def run(self, *argv: str, cwd: Path | None = None) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            argv, cwd=cwd or self.folder, env=self.environ, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def git(self, *argv: str) -> str:
        return self.run("git", *argv)

    def commit(self, words: str) -> None:
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "-m", words)

    def tested(self) -> str:
        """The last line of the repository's own test run, without its time."""
        done = subprocess.run(
            ["bash", "-c", self.repository.test], cwd=self.folder, env=self.environ, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return lines[-1].partition(" in ")[0].strip("= ") if lines else "nothing was printed"

    def foreign(self, *roots: Path) -> dict[str, str]:
        """All that no task may change: what lies outside the folder, and what git obeys inside it."""
        watched = [*roots, self.home, self.folder / ".git" / "hooks", self.folder / ".git" / "config"]
        files = [f for root in watched for f in ([root] if root.is_file() else sorted(root.rglob("*")))]
        held = {str(f): hashlib.sha256(f.read_bytes()).hexdigest() if f.is_file() else "folder" for f in files}
        return held | {str(path): "beside" for path in self.root.iterdir()}


async def play(
    root: Path, source: Path, repository: Repository, mode: Mode, model: Model, outside: Path, sandbox: str = "off"
) -> Played:
    """Plays one mode in `root` on a copy of `source`. `outside` is a folder that is neither inside nor temporary."""
    user = User(root, source, repository, mode)
    played = Played(mode, before=await asyncio.to_thread(user.tested))
    (outside / "notes.txt").write_text("Nobody may change this.\n")
    mind = Mind(repository, outside / "report.txt")
    fates, said = expected(repository, mode)
    async with StubServer(mind.steps()) as server:
        user.places.config.mkdir(parents=True)
        text = SETTINGS.format(model=MODEL, mode=mode, sandbox=sandbox, base=server.base)
        user.places.settings.write_text(text)
        foreign = user.foreign(outside)
        path = await _turn(user, played, model, deque(said))
        asked = [received for received in server.asked if received.messages]
        played.requests = len(asked)
        for before, after in pairwise(asked):
            if not canonical(after.body["messages"])[:-1].startswith(canonical(before.body["messages"])[:-1]):
                played.wrong.append("a request does not continue the one before it")
            if after.body["tools"] != before.body["tools"]:
                played.wrong.append("the list of tools changed")
    played.wrong += mind.lost
    await asyncio.to_thread(_look, user, played, path, fates)
    if user.foreign(outside) != foreign:
        changed = {p for p, _ in user.foreign(outside).items() ^ foreign.items()}
        played.wrong.append(f"changed outside the folder: {', '.join(sorted(changed))}")
    return played


async def _turn(user: User, played: Played, model: Model, said: deque[tuple[Choice, str]]) -> Path:
    """One session with one turn; the session's log."""
    chosen = settings.load(user.folder, user.places, {})
    played.wrong += chosen.notices
    kit = replace(make_kit(chosen, user.places, interactive=True, environ=user.environ), model=Lent(model))
    idle: asyncio.Queue[Idle] = asyncio.Queue()
    events: list[Event] = []

    def heard(event: Event) -> None:
        events.append(event)
        if isinstance(event, Idle):
            idle.put_nowait(event)
        if isinstance(event, Asking):
            choice, reason = said.popleft() if said else ("refuse", "nobody expected this question")
            played.asked.append(event)
            played.given[event.call] = choice
            worker.send(Answer(event.id, choice, reason))

    worker = Worker(Opening(replace(kit, emit=heard), user.folder), heard)
    running = asyncio.ensure_future(worker.serve())
    try:
        opened = await _next(idle, running)
        worker.send(Submit("Some tests fail. Find out why, mend it, and commit."))
        ended = await _next(idle, running)
    finally:
        worker.send(Quit())
        await running
    if (ended.stop, ended.code) != ("done", 0):
        played.wrong.append(f"the turn ended as {ended.stop}: {ended.error}")
    if said:
        played.wrong.append(f"{len(said)} answers were never asked for")
    _told(played, events)
    return Path(opened.path)


async def _next(idle: asyncio.Queue[Idle], running: asyncio.Future[None]) -> Idle:
    waiting = asyncio.ensure_future(idle.get())
    either: set[asyncio.Future[Any]] = {waiting, running}
    await asyncio.wait(either, return_when="FIRST_COMPLETED")
    if not waiting.done():
        running.result()
    return waiting.result()


def _told(played: Played, events: list[Event]) -> None:
    """What became of each call, from the events a front end sees."""
    ran = {e.call for e in events if isinstance(e, ToolRunning) and e.name}
    records = [e.record.body for e in events if isinstance(e, Appended)]
    order = [call.id for body in records if isinstance(body, AssistantSaid) for call in body.calls]
    results = {body.call: body for body in records if isinstance(body, ToolReturned)}
    if len(order) != len(STEPS):
        played.wrong.append(f"{len(order)} calls were made, not {len(STEPS)}")
    for step, call in zip(STEPS, order, strict=False):
        result = results[call]
        played.told[step] = result.text
        silent = "denied" if result.text.startswith("refused") else "failed"
        fate = played.given.get(call) or ("ran" if call in ran else silent)
        played.fates.append(fate if result.exit_status is None else f"{fate},{result.exit_status}")
        if (fate in ("refuse", "denied", "failed")) == (call in ran):
            played.wrong.append(f"{step}: {fate}, and yet it {'ran' if call in ran else 'did not run'}")
        if fate == "refuse" and not result.text.startswith("refused by the user"):
            played.wrong.append(f"{step}: the model was not told that the user refused: {result.text[:200]}")


def _look(user: User, played: Played, log: Path, fates: list[str]) -> None:
    """What the folder, git, the log and the remembered rules say afterwards."""
    wrong = played.wrong
    for step, fate, must in zip(STEPS, played.fates, fates, strict=False):
        if fate != must:
            wrong.append(f"{step}: {fate}, expected {must}: {played.told[step][:300]}")
    played.diff = user.git("diff", "--no-prefix", user.start)
    wanted = "" if user.mode == "plan" else user.planted
    if _lines(played.diff) != _lines(wanted):
        wrong.append(f"the diff is not what undoes the bugs:\n{played.diff}")
    if user.git("ls-files", "--others", "--exclude-standard"):
        wrong.append("files were added to the folder")
    made = user.git("rev-list", "--count", f"{user.start}..HEAD").strip()
    if made != ("1" if user.mode == "auto" else "0"):
        wrong.append(f"{made} commits were made")
    played.after = user.tested()
    if user.mode == "ask" and REASON not in played.told.get("git commit", ""):
        wrong.append("the user's reason did not reach the model")
    rules, unread = permission_rules.remembered(rules_file(user.places, user.folder))
    played.remembered = tuple(map(str, rules.allow))
    lasting = next((a.prefix for a in played.asked if played.given[a.call] == "project"), "")
    must_hold = tuple(map(str, permission_rules.granted("bash", lasting)))
    if unread or played.remembered != must_hold or bool(must_hold) != (user.mode == "edits"):
        wrong.append(f"remembered for the project: {played.remembered}, not {must_hold} {unread}")
    report = verify(log)
    wrong += [f"verify: {line}" for line in report.lines()]
    chosen = settings.load(user.folder, user.places, {})
    kit = make_kit(chosen, user.places, interactive=False, environ=user.environ)
    rows = Reading(kit, user.folder).timeline(log)
    played.cached = sum(row.cache_read for row in rows)
    for row in rows:
        if row.breaks or row.predicted != row.cache_read:
            wrong.append(
                f"record {row.record}: {row.predicted} cached tokens predicted, {row.cache_read} reported: {row.breaks}"
            )


def _lines(diff: str) -> list[str]:
    """A diff's lines without git's names of the blobs."""
    return [line for line in diff.splitlines() if not line.startswith("index ")]
