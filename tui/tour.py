"""The tour in the full screen: says what to look at, and types the next thing to do.

Not the script (that is `agent.tour`). Everything but the model is the real program, in a temporary folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agent import places, settings, tour
from agent.opening import Opening
from agent.reading import Reading
from agent.wire import Drafted, Event, Finished, Idle, Inspected, Told
from agent.worker import Worker


class Guide:
    """Stands between worker and screen and adds the words of the tour; called on the worker's thread."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._at = -1
        self._finished: Event | None = None

    def __call__(self, event: Event) -> None:
        """Passes an event on; after the one the tour waits for comes its next stop."""
        self._emit(event)
        if isinstance(event, Finished) and event.committed:
            self._finished = event
        if self._reached(event):
            self._at += 1
            self._finished = None
            self._emit(Told(tour.narration(self._at)))
            if self._at < len(tour.TOUR_PROMPTS):
                self._emit(Drafted(tour.TOUR_PROMPTS[self._at]))

    def _reached(self, event: Event) -> bool:
        if self._at >= len(tour.TOUR_PROMPTS):
            return False
        wanted = "" if self._at < 0 else tour.TOUR_PROMPTS[self._at]
        if wanted.startswith("/context"):
            return isinstance(event, Inspected)
        if not isinstance(event, Idle):
            return False
        if wanted.startswith("/"):
            done = self._finished
            return isinstance(done, Finished) and wanted.startswith(f"/{done.wish}")
        return event.stop == "done"


def run_tour() -> int:
    """Opens the tour; returns the exit status. Leaves nothing behind."""
    from tui.front import Choices
    from tui.full.running import run_full
    from tui.kit import make_kit

    with tempfile.TemporaryDirectory(prefix="ullage-tour-") as name:
        root = Path(name)
        here = places.under(root / "ullage")
        here.settings.parent.mkdir(parents=True)
        here.settings.write_text(tour.TOUR_SETTINGS, "utf-8")
        folder = tour.copy_project(root)
        os.chdir(folder)
        chosen = settings.load(folder, here, {})
        kit = make_kit(chosen, here, interactive=True)
        kit = replace(kit, model=tour.TourModel(count=kit.count))
        reading = Reading(kit, folder)

        def make_worker(emit: Callable[[Event], None]) -> Worker:
            return Worker(Opening(kit, folder), Guide(emit))

        try:
            choices = Choices(reading.shelf, reading.model_rows, reading)
            return run_full(make_worker, choices, here.state, lasting=False)
        finally:
            os.chdir("/")


__all__ = ["Guide", "run_tour"]
