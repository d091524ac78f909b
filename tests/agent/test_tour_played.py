"""The tour through the real worker: every stop shows what its words promise, whatever the prompts' sizes become."""

from __future__ import annotations

import queue
from dataclasses import replace
from pathlib import Path

from agent import places, settings, tour
from agent.opening import Opening
from agent.tour.script import MEND, TEST
from agent.wire import (
    Appended,
    Command,
    Compact,
    Event,
    Finished,
    Gated,
    Idle,
    Metered,
    Planned,
    Prune,
    Quit,
    Submit,
    Undo,
)
from agent.worker import Worker
from compaction.records import Compacted, ToolReturned
from tui.kit import make_kit

# Only what hangs meets it; seconds.
HANGING = 120


async def at_once(seconds: float) -> None:
    assert seconds >= 0


def command(prompt: str) -> Command:
    if prompt == "/prune":
        return Prune(dry_run=True)
    if prompt == "/undo":
        return Undo()
    if prompt.startswith("/compact "):
        return Compact(prompt.removeprefix("/compact "))
    return Submit(prompt)


class Played:
    """A worker with the recording, and its events up to each `Idle`."""

    def __init__(self, root: Path) -> None:
        here = places.under(root / "ullage")
        here.settings.parent.mkdir(parents=True)
        here.settings.write_text(tour.TOUR_SETTINGS)
        self.folder = tour.copy_project(root)
        chosen = settings.load(self.folder, here, {})
        assert chosen.notices == ()
        kit = replace(make_kit(chosen, here, interactive=True), model=tour.TourModel(pause=at_once))
        self.events: queue.Queue[Event] = queue.Queue()
        self.worker = Worker(Opening(kit, self.folder), self.events.put)
        self.worker.start()
        self.until_idle()

    def until_idle(self) -> list[Event]:
        seen: list[Event] = []
        while not seen or not isinstance(seen[-1], Idle):
            seen.append(self.events.get(timeout=HANGING))
        assert seen[-1].stop == "done", seen[-1]
        return seen

    def do(self, wish: Command) -> list[Event]:
        self.worker.send(wish)
        return self.until_idle()


def used(events: list[Event]) -> int:
    return [e.meter for e in events if isinstance(e, Metered)][-1].used


def results(events: list[Event]) -> list[ToolReturned]:
    return [e.record.body for e in events if isinstance(e, Appended) and isinstance(e.record.body, ToolReturned)]


def test_the_tour_shows_what_it_says(tmp_path: Path) -> None:
    played = Played(tmp_path)
    by_prompt = {}
    for prompt in tour.TOUR_PROMPTS:
        if prompt == "/context":
            continue
        by_prompt[prompt] = played.do(command(prompt))
        if prompt == "/prune":
            by_prompt["commit"] = played.do(Prune())
    played.worker.send(Quit())
    assert played.worker.join(HANGING)

    assert len(results(by_prompt[tour.TOUR_PROMPTS[0]])) == 10
    test_run, register = sorted(results(by_prompt[TEST.prompt]), key=lambda body: body.title.endswith("--register"))
    assert test_run.exit_status == 1
    assert register.spilled is not None
    every = [body for events in by_prompt.values() for body in results(events)]
    assert [body for body in every if body.failed] == [test_run]
    assert results(by_prompt[MEND.prompt])[-1].exit_status == 0

    meter = [e.meter for e in by_prompt[MEND.prompt] if isinstance(e, Metered)][-1]
    assert meter.trigger * 0.85 < meter.used < meter.trigger
    (plan,) = [e.plan for e in by_prompt["/prune"] if isinstance(e, Planned)]
    assert len(plan.records) >= 5
    assert used(by_prompt["commit"]) < meter.used - 3_000
    gates = [e.tag for events in by_prompt.values() for e in events if isinstance(e, Gated)]
    assert gates == ["asked.pruned", "asked.compacted"]

    compacting = by_prompt[tour.TOUR_PROMPTS[5]]
    (record,) = [e.record.body for e in compacting if isinstance(e, Appended) and isinstance(e.record.body, Compacted)]
    assert "test_negative_below_one (5 != -5)" in record.summary
    assert record.after < record.before * 3 / 4
    (undone,) = [e for e in by_prompt["/undo"] if isinstance(e, Finished)]
    assert undone.committed
    assert used(by_prompt["/undo"]) > used(compacting)
