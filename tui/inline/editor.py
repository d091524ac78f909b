"""A text written in the user's own editor, which has the terminal meanwhile.

Not the giving of the terminal: whoever calls has put its own drawing away.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path


def edited(text: str) -> str:
    """`text` as the user left it. Raises `OSError` or `ValueError` when no editor could be run."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        path = Path(folder, "prompt.md")
        path.write_text(text, encoding="utf-8", errors="replace")
        subprocess.run([*shlex.split(command), str(path)], check=False)
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
