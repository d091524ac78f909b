"""An image on the system's clipboard, by the platform's own tool: wl-paste, xclip or pngpaste.

Not text (the terminal pastes that itself) and no file: bytes come back, or the sentence for why there are none.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

# The tools answer within some milliseconds; one that waits for a display that is gone would wait for ever. Seconds.
PATIENCE = 3.0

PNG = "image/png"

MISSING = (
    "An image cannot be taken from the clipboard here: {} is not installed. Paste the path of a file, or write @path."
)
NO_DISPLAY = (
    "An image cannot be taken from the clipboard here: there is no display. Paste the path of a file, or write @path."
)
NOTHING = "There is no image on the clipboard."

Run = Callable[[Sequence[str]], bytes | None]


def _run(argv: Sequence[str]) -> bytes | None:
    """What a tool prints; None when it fails."""
    try:
        done = subprocess.run(argv, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def image(
    environ: Mapping[str, str],
    *,
    platform: str = sys.platform,
    find: Callable[[str], str | None] = shutil.which,
    run: Run = _run,
) -> bytes | str:
    """The image on the clipboard, or a sentence. Blocks for some milliseconds."""
    types: tuple[str, ...] | None
    taken: tuple[str, ...]
    if platform == "darwin":
        tool, types, taken = "pngpaste", None, ("-",)
    elif environ.get("WAYLAND_DISPLAY"):
        tool, types, taken = "wl-paste", ("--list-types",), ("--type", PNG)
    elif environ.get("DISPLAY"):
        tool = "xclip"
        types = ("-selection", "clipboard", "-t", "TARGETS", "-o")
        taken = ("-selection", "clipboard", "-t", PNG, "-o")
    else:
        return NO_DISPLAY
    program = find(tool)
    if program is None:
        return MISSING.format(tool)
    if types is not None and PNG not in (run((program, *types)) or b"").decode("utf-8", "replace").split():
        return NOTHING
    return run((program, *taken)) or NOTHING
