"""Makes the pictures in this folder: the real screen over the real worker; only the model and the clock are scripted.

    python screenshots/make.py [FOLDER [wide | usual | narrow | ascii | no-color …]]

Invariants
 1. Two runs on one machine give the same bytes.
 2. A picture names no font but a generic one and no address: it looks the same offline.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from textual.pilot import Pilot  # noqa: E402

from agent import places, settings, tour  # noqa: E402
from agent.models.scripted import Say, ScriptedModel  # noqa: E402
from agent.opening import Opening  # noqa: E402
from agent.reading import Reading  # noqa: E402
from agent.wire import Asking, Event, Idle, Inspected, Opened, Planned, Quit  # noqa: E402
from agent.worker import Worker  # noqa: E402
from screenshots import script  # noqa: E402
from tui.front import Choices  # noqa: E402
from tui.full.app import UllageApp  # noqa: E402
from tui.full.prompt import Prompt  # noqa: E402
from tui.kit import make_kit  # noqa: E402

# The path is part of the prompt and so of the numbers: always the same one.
WORK = Path(tempfile.gettempdir()) / "ullage-screenshots"

# Tuesday, 1 July 2025, 09:00 UTC; seconds.
MORNING = 1_751_360_400.0

# What is random or long in a session, made plain.
SESSION = "5e55a9c1d2"
FOLDER = "~/tally"

# What is drawn, in columns and rows, and how the names of its pictures end.
KINDS = {
    "wide": ((120, 40), ""),
    "usual": ((80, 24), "-80x24"),
    "narrow": ((40, 12), "-40x12"),
    "ascii": ((80, 24), "-ascii"),
    "no-color": ((80, 24), "-no-color"),  # the last: it changes the environment of what follows
}

# As the exporter draws: the height of a line and what is below the last, units; and how many lines the foot has.
LINE, MARGIN, FOOT = 24.4, 6, 6


@dataclass
class Clock:
    """Time that moves only as fast as the model speaks, seconds."""

    at: float = MORNING

    def read(self) -> float:
        return self.at


@dataclass
class Session:
    """The app under a pilot, and the events that came."""

    app: UllageApp
    worker: Worker
    pilot: Pilot[int]
    clock: Clock
    seen: list[Event] = field(default_factory=list)

    async def say(self, text: str, *, until: type[Event] = Idle) -> None:
        """Types a line, sends it, and waits for what it comes to."""
        self.prompt.insert(text)
        await self.pilot.pause()
        await self._after(lambda: self.pilot.press("enter"), until)

    async def press(self, key: str, *, until: type[Event] | None = None) -> None:
        if until is None:
            await self.pilot.press(key)
        else:
            await self._after(lambda: self.pilot.press(key), until)

    async def opened(self) -> None:
        await self._after(lambda: asyncio.sleep(0), Idle)

    @property
    def prompt(self) -> Prompt:
        return self.app.screen_stack[0].query_one(Prompt)

    async def _after(self, act: Callable[[], Awaitable[object]], until: type[Event]) -> None:
        before = sum(isinstance(event, until) for event in self.seen)
        await act()
        for _ in range(12_000):
            if sum(isinstance(event, until) for event in self.seen) > before:
                return
            await asyncio.sleep(0.01)
        raise TimeoutError(f"no {until.__name__} came; the last: {self.seen[-3:]}")

    async def picture(self) -> str:
        """What the screen shows once it has come to rest."""
        self.prompt.cursor_blink = False
        last = ""
        for _ in range(600):
            await self.pilot.pause(0.1)
            now = self.app.export_screenshot(title="ullage")
            if now == last:
                return plain_fonts(now)
            last = now
        raise TimeoutError("the screen never came to rest")


def plain_fonts(svg: str) -> str:
    """The picture without the exporter's fonts and their addresses."""
    svg = re.sub(r"@font-face\s*{[^}]*}\s*", "", svg)
    svg = re.sub(r"font-family:\s*[^;]*;", "font-family: monospace;", svg)
    svg = re.sub(r"terminal-\d+-", "t-", svg).replace("<!-- Generated with Rich https://www.textualize.io -->", "")
    return re.sub(r"[ \t]+\n", "\n", svg)


def foot(svg: str) -> str:
    """The lowest lines of a picture: prompt, meter and foot."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert found is not None
    width, height = float(found[1]), float(found[2])
    high = FOOT * LINE + 6
    return svg.replace(found[0], f'viewBox="8 {height - high - MARGIN:.1f} {width - 16:.1f} {high:.1f}"', 1)


Scene = Callable[[Session], Awaitable[None]]


async def play(size: tuple[int, int], replies: Sequence[Say | str], scene: Scene, *, ascii: bool = False) -> None:
    """One session from its start: opens it, plays the scene, ends it."""
    shutil.rmtree(WORK, ignore_errors=True)
    here = places.under(WORK / "ullage")
    here.settings.parent.mkdir(parents=True)
    here.settings.write_text(script.SETTINGS, "utf-8")
    folder = tour.copy_project(WORK)
    clock = Clock()
    chosen = settings.load(folder, here, {})
    assert chosen.notices == (), chosen.notices

    environ = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(WORK), "LANG": "C.UTF-8"}
    kit = make_kit(chosen, here, interactive=True, environ=environ)
    kit = replace(kit, model=ScriptedModel(replies, count=kit.count), clock=clock.read)
    sessions: list[Session] = []
    early: list[Event] = []

    def emit(event: Event) -> None:
        if isinstance(event, Opened):
            event = replace(event, session=SESSION, folder=FOLDER)
        (sessions[0].seen if sessions else early).append(event)
        app.post_event(event)

    worker = Worker(Opening(kit, folder), emit)
    reading = Reading(kit, folder)
    app = UllageApp(worker.send, choices=Choices(log=reading), ascii=ascii, now=clock.read)
    async with app.run_test(size=size) as pilot:
        session = Session(app, worker, pilot, clock, early)
        sessions.append(session)
        opening = session.opened()
        worker.start()
        await opening
        await scene(session)
        worker.send(Quit())
        await asyncio.to_thread(worker.join, 10)
    shutil.rmtree(WORK)


class Album:
    """Where pictures go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def put(self, name: str, svg: str) -> None:
        (self._folder / f"{name}.svg").write_text(svg, "utf-8")
        print(f"{name}.svg")


async def main(folder: Path, wanted: Sequence[str] = ()) -> None:
    """The pictures of the kinds `wanted`, or all."""
    album = Album(folder)

    def whole(of: str, *, meters: bool = False) -> Scene:
        """Every screen in its turn; `of` ends the names, `meters` adds the foot alone in three states."""

        async def scene(s: Session) -> None:
            album.put(f"start{of}", await s.picture())
            await s.say(script.LOOK)
            await s.say(script.FIND)
            album.put(f"turn{of}", await s.picture())
            if meters:
                album.put("meter", foot(await s.picture()))
            await s.press("shift+tab")  # auto, plan
            await s.press("shift+tab")  # ask
            await s.say(script.MEND, until=Asking)
            album.put(f"approval{of}", await s.picture())
            s.clock.at += 1.0  # a key in the panel's first moments is not taken for an answer
            await s.press("y", until=Idle)
            await s.say("/budget 11k")
            if meters:
                album.put("meter-warning", foot(await s.picture()))
            await s.say("/budget 8k")
            album.put(f"over{of}", await s.picture())
            if meters:
                album.put("meter-over", foot(await s.picture()))
            await s.say("/budget 24k")
            await s.say("/context", until=Inspected)
            album.put(f"context{of}", await s.picture())
            await s.press("escape")
            await s.say("/prune", until=Planned)
            album.put(f"prune{of}", await s.picture())
            await s.press("escape")
            await s.say("/compact what the failing tests said")
            album.put(f"compacted{of}", await s.picture())
            await s.say(script.ASK_ON)
            s.prompt.insert("/timeline")
            await s.press("enter")
            album.put(f"timeline{of}", await s.picture())

        return scene

    replies: list[Say | str] = [*script.LOOKING, *script.FINDING, *script.MENDING, script.SUMMARY, script.GOING_ON]
    for kind in wanted or KINDS:
        size, ending = KINDS[kind]
        if kind == "no-color":
            os.environ["NO_COLOR"] = "1"
        await play(size, replies, whole(ending, meters=kind == "wide"), ascii=kind == "ascii")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent, sys.argv[2:]))
