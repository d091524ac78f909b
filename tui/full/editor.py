"""A text written in the user's own editor, while the screen waits for it.

Not the prompt. The one place where the screen's thread waits for a process: the terminal is the editor's then.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported


def edited(app: App[int], text: str) -> str:
    """`text` as the user left it. Raises `OSError` or `ValueError` when no editor could be run."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        path = Path(folder, "prompt.md")
        path.write_text(text, encoding="utf-8", errors="replace")
        try:
            with app.suspend():
                subprocess.run([*shlex.split(command), str(path)], check=False)
        except SuspendNotSupported as error:
            raise OSError("this terminal cannot be handed over") from error
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
