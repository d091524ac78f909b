"""How long a key waits for the next frame at the most, asked of a fresh interpreter: textual reads it once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.architecture.tree import ROOT

OPEN_THE_SCREEN = """
import json, os
import tui.full.app
from textual.screen import UPDATE_PERIOD
print(json.dumps([1 / UPDATE_PERIOD, os.environ.get("TEXTUAL_FPS")]))
"""


def rate(**asked: str) -> list[object]:
    """Frames a second, and what children would inherit as the wish of the user."""
    environ = {name: value for name, value in os.environ.items() if name != "TEXTUAL_FPS"} | asked
    command = [sys.executable, "-c", OPEN_THE_SCREEN]
    result = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=True)
    found: list[object] = json.loads(result.stdout)
    return found


def test_a_key_waits_4_ms_for_its_frame_and_no_child_is_told_of_it() -> None:
    assert rate() == [240, None]


def test_the_users_own_rate_counts_for_a_slow_line() -> None:
    assert rate(TEXTUAL_FPS="20") == [20, "20"]
