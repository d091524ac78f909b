"""What of a project its hooks run: files whose writing is asked about, since the program itself starts them unasked.

Not the hooks' running. A hook is trusted by its command's words; a script they name could say anything a minute later.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from agent.permissions.rules import Rule, Rules
from agent.places import project
from agent.settings.hooks import Hook


def guards(hooks: Iterable[Hook], folder: Path) -> Rules:
    """Rules that ask before a file in `folder` is written that a hook's command names. Looks at the disk."""
    top, home = project(folder), Path(os.path.realpath(folder))
    found: dict[str, None] = {}
    for hook in hooks:
        for word in _words(hook.command):
            path = Path(os.path.realpath(top / os.path.expanduser(word)))
            if home in path.parents and os.path.isfile(path):
                name = path.relative_to(home).as_posix()
                if re.fullmatch(r"[^*?\[\]{}\n]+", name):
                    found[name] = None
    return Rules(ask=tuple(Rule("write", path=name) for name in found))


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    return [bare for word in words if (bare := word.strip(";&|()<>`$")) and len(bare) < 4_096]
