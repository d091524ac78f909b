"""One MCP server as the settings name it: what is started or asked, with which variables; and how that is told.

Not the reading of a settings file (`agent.settings.text`) and no connection.

Invariants
 1. The values of `env` and `headers` are in no sentence, no digest's input is kept, and no file of ours holds them.
 2. `$NAME` in them is replaced when the server is started, never before.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.places import project
from agent.sanitise import one_line
from agent.settings import Settings

# Seconds a call may take where the settings say nothing: a search or a build takes one, a question to a person more.
TIMEOUT = 120.0

_VARIABLE = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")


class Unset(Exception):
    """A variable that is referred to is not set; with its name."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server: a `command` (its words) with `env` and `cwd`, or a `url` with `headers`. `timeout` is in seconds."""

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = TIMEOUT
    enabled: bool = True

    @property
    def digest(self) -> str:
        """What its last known list is kept by: another command, folder or address may offer other tools."""
        said = [
            self.name, list(self.command), sorted(self.env.items()), self.cwd, self.url, sorted(self.headers.items())
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]

    @property
    def shown(self) -> str:
        """The command or the address, for people; an address without what may be secret in it."""
        if self.command:
            return one_line(shlex.join(self.command), 200)
        return one_line(re.sub(r"(?<=//)[^/@]*@", "", self.url.partition("?")[0]), 200)

    @property
    def given(self) -> tuple[str, ...]:
        """The variables whose values it is given, by name."""
        return tuple(sorted({*_variables(self.env), *_variables(self.headers)}))

    def spelled(self, environ: Mapping[str, str]) -> dict[str, Any]:
        """What the child process is told to start it with. Raises `Unset`."""
        return {
            "name": self.name,
            "command": list(self.command),
            "env": {name: _filled(value, environ) for name, value in self.env.items()},
            "cwd": self.cwd,
            "url": self.url,
            "timeout": self.timeout,
            "headers": {name: _filled(value, environ) for name, value in self.headers.items()},
        }


def servers_of(settings: Settings, folder: Path) -> tuple[Server, ...]:
    """The servers of the settings, in their order. Commands run in `folder` unless they say otherwise."""
    return tuple(server_of(name, said, folder) for name, said in settings.mcp.items())


def server_of(name: str, said: Mapping[str, Any], folder: Path) -> Server:
    """One server from what its table says. A relative `cwd` is below the project's root."""
    cwd = project(folder) / os.path.expanduser(said["cwd"]) if "cwd" in said else folder
    return Server(
        name,
        (*said.get("command", ()), *said.get("args", ())),
        dict(said.get("env", {})),
        str(cwd) if "command" in said else "",
        said.get("url", ""),
        dict(said.get("headers", {})),
        said.get("timeout", TIMEOUT),
        said.get("enabled", True),
    )


def _variables(values: Mapping[str, str]) -> set[str]:
    return {found[2] or found[3] for v in values.values() for found in _VARIABLE.finditer(v) if not found[1]}


def _filled(text: str, environ: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced; `$$` is a dollar. Raises `Unset`."""

    def value(found: re.Match[str]) -> str:
        if found[1]:
            return "$"
        name = found[2] or found[3]
        if name not in environ:
            raise Unset(name)
        return environ[name]

    return _VARIABLE.sub(value, text)
