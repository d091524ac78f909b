"""What of a project its hooks and MCP servers run: files whose writing is asked about, since the program itself starts
them unasked.

Not their running. They are trusted by their commands' words; a script these name could say anything a minute later.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from agent.mcp.server import servers_of
from agent.permissions.rules import Rule, Rules
from agent.places import project
from agent.settings import Settings


def guards(settings: Settings, folder: Path) -> Rules:
    """Rules that ask before a file in `folder` is written that a hook or a server is started from. Reads the disk."""
    top, home = project(folder), Path(os.path.realpath(folder))
    named = [(top, word) for hook in settings.hooks for word in _words(hook.command)]
    for server in servers_of(settings, folder):
        named += [(Path(server.cwd), word) for word in server.command]
    found: dict[str, None] = {}
    for place, word in named:
        path = Path(os.path.realpath(place / os.path.expanduser(word)))
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
