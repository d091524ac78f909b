"""The terminal's own ways to say where one is and to call back who looked away: its title, and OSC 9.

Not the screen's notices. Terminals that know neither sequence ignore them.
"""

from __future__ import annotations

from textual.app import App

from tui.plain import one_line

# A turn shorter than this was watched; seconds.
LONG_TURN = 20.0


def arrive(app: App[int]) -> None:
    """Put the window's name on the terminal's own stack, to be had back by `leave`."""
    _write(app, "\x1b[22;2t")


def title(app: App[int], text: str) -> None:
    """Name the terminal's window."""
    _write(app, f"\x1b]2;{one_line(text, 80)}\x07")


def leave(app: App[int]) -> None:
    """The name from the stack again; terminals without one get an empty name, which they fill in themselves."""
    _write(app, "\x1b]2;\x07\x1b[23;2t")


def call(app: App[int], text: str, *, wanted: bool = True) -> None:
    """Ask for attention, once; unless the settings say that it is not wanted."""
    if wanted:
        _write(app, f"\x1b]9;{one_line(text, 80)}\x07")


def after(app: App[int], elapsed: float, text: str, *, wanted: bool = True) -> None:
    """Ask for attention if the work took long enough to look away from."""
    if elapsed >= LONG_TURN:
        call(app, text, wanted=wanted)


def _write(app: App[int], sequence: str) -> None:
    driver = app._driver
    if driver is not None and not app.is_headless:
        driver.write(sequence)
