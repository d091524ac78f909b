"""The full-screen front end: the only rooms that know textual.

Textual paints on a grid of frames: what changes just behind one waits for the next. At its own 60 frames a second a key
that falls behind a drawn piece of the answer, or a turn of the spinner, waits up to 17 ms, three times its own cost.
"""

from __future__ import annotations

import os

# A key waits at most 1/240 s, 4 ms. A frame in which nothing changed costs nothing, and under load the work between two
# frames keeps them apart: text in a burst, and a streaming answer, cost the same at 60 and at 240.
FRAMES = 240


def _set_rate() -> None:
    """Textual reads the rate once, at its import. The variable is the user's; no child is to inherit it from us."""
    if "TEXTUAL_FPS" not in os.environ:
        os.environ["TEXTUAL_FPS"] = str(FRAMES)
        import textual.constants  # noqa: F401 - here, while the variable is set

        del os.environ["TEXTUAL_FPS"]


_set_rate()
