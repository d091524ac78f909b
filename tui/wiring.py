"""Puts the program together: settings, worker, and the front end that was asked for.

The only place beside `cli` where a front end's process meets the agent's inside.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent import places, settings
from agent.opening import Opening
from agent.reading import Reading
from agent.wire import Event
from agent.wishes.saving_keys import SavedKeys
from agent.worker import Worker
from tui.kit import make_kit
from tui.plain import speaks_plainly


def run(options: argparse.Namespace) -> int:
    """Runs what the options ask for; returns the exit status."""
    from tui.headless.reading import is_reading

    here = places.here()
    folder = Path.cwd()

    def load() -> settings.Settings:
        return _with_keys(settings.load(folder, here, os.environ, _overrides(options)))

    try:
        chosen = load()
    except settings.SettingsError as error:
        print(f"ullage: {error}", file=sys.stderr)
        return 2
    if options.command == "tour":
        from tui.tour import run_tour

        return run_tour()
    if options.command == "keys":
        from tui.headless.keys import run_keys

        return run_keys(options, SavedKeys(here, os.environ, chosen.key_variables()), sys.stdin, sys.stdout, sys.stderr)
    if options.command == "screen":
        return _screen(options, load, chosen, here, folder)
    if is_reading(options):
        from tui.headless.reading import run_reading

        kit = make_kit(chosen, here, interactive=False)
        return run_reading(options, Reading(kit, folder), sys.stdout, sys.stderr)
    from tui.headless.writing import run_writing

    asks = options.command in ("exec", "compact")
    kit = make_kit(chosen, here, interactive=False, start=asks, talks=options.command == "exec")
    wanted = getattr(options, "target", None) or getattr(options, "session", None) or _last(options)

    def make_worker(emit: Callable[[Event], None]) -> Worker:
        return Worker(Opening(kit, folder), emit, wanted)

    return run_writing(options, make_worker, Reading.record_json, sys.stdout, sys.stderr)


def _with_keys(chosen: settings.Settings) -> settings.Settings:
    """The settings, with a notice for each of `[keys]` that no screen knows or could use."""
    if not chosen.keys:
        return chosen
    from tui.keytable import mistakes

    said = [f"{chosen.origin['keys']}: {mistake}" for mistake in mistakes(chosen.keys)]
    return replace(chosen, notices=(*chosen.notices, *said))


def _overrides(options: argparse.Namespace) -> dict[str, Any]:
    """The flags that are settings."""
    names = {
        "model": "model",
        "api_base": "api_base",
        "budget": "context.budget",
        "window": "window",
        "mode": "mode",
        "max_steps": "max_steps",
    }
    return {key: getattr(options, flag) for flag, key in names.items() if hasattr(options, flag)}


def _last(options: argparse.Namespace) -> str | None:
    return "last" if getattr(options, "resume_last", False) else None


def _screen(
    options: argparse.Namespace, load: Callable[[], settings.Settings], chosen: settings.Settings,
    here: places.Places, folder: Path,
) -> int:  # fmt: skip
    """The full screen or the inline one, or a sentence where there is no terminal for it."""
    # On a terminal that can only be written on, the full screen would draw for ever and show nothing.
    inline = chosen.inline or getattr(options, "inline", False) or speaks_plainly(os.environ)
    if not (sys.stdin.isatty() and (sys.stdout if inline else sys.stderr).isatty()):
        print("ullage: the screen needs a terminal; `ullage exec PROMPT` works without one", file=sys.stderr)
        return 2
    from tui.front import Choices, first_wish

    kit = make_kit(chosen, here, interactive=True, start=True, load=load)
    reading = Reading(kit, folder)
    wanted = _wanted(options)
    first = first_wish(options.prompt, getattr(options, "resume", None))

    def make_worker(emit: Callable[[Event], None]) -> Worker:
        return Worker(Opening(kit, folder), emit, wanted)

    choices = Choices(
        reading.shelf, reading.model_rows, reading, keys=chosen.keys, theme=chosen.theme, notify=chosen.notify
    )
    if inline:
        from tui.inline.running import run_inline

        return run_inline(make_worker, choices, here.state, first=first)
    from tui.full.first_use import TOUR
    from tui.full.running import run_full

    status = run_full(make_worker, choices, here.state, first=first)
    if status == TOUR:
        from tui.tour import run_tour

        return run_tour()
    return status


def _wanted(options: argparse.Namespace) -> str | None:
    """The session to go on with; an empty `--resume` is answered by the screen's own list."""
    named = getattr(options, "session", None) or getattr(options, "resume", None)
    return named or _last(options)
