"""What providers really answer (`refusals.json`): refusals for length with the numbers they state, and lookalikes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_ALL = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

# (status, body, window, asked)
TOO_LONG: list[tuple[int | None, Any, int | None, int | None]] = [tuple(case.values()) for case in _ALL["too_long"]]

# (status, body): refused for its bytes.
TOO_LARGE: list[tuple[int | None, Any]] = [tuple(case.values()) for case in _ALL["too_large"]]

# (status, body): rates and money, one string, files, images, tools, the answer alone, and whatever else.
OTHER: list[tuple[int | None, Any]] = [tuple(case.values()) for case in _ALL["other"]]
