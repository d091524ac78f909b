"""What a server offers beside tools: prompts, which are typed as `/server:prompt`, and resources, as `@server:uri`.

Not the asking (that is `servers`) and not the sending (that is `agent.incoming.from_servers`). All of it is foreign:
cleaned, sorted, bounded.

Invariants
 1. A prompt's command is a name that can be typed; two prompts of a server never share one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.custom_files import BadWords
from agent.mcp.names import server_part
from agent.sanitise import clean, one_line, scrub

# A description is one line of a list; characters.
MOST_SAID = 200

# A longer address is data, not a name; characters.
LONGEST_URI = 2_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """One argument of a prompt."""

    name: str
    required: bool


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `name` is what is typed behind the slash, `prompt` what the server calls it."""

    server: str
    prompt: str
    name: str
    description: str = ""
    wanted: tuple[Wanted, ...] = ()

    @property
    def arguments(self) -> str:
        """What may follow the name, as a hint."""
        shown = [(one_line(one.name, 30), one.required) for one in self.wanted]
        return " ".join(name if required else f"[{name}]" for name, required in shown)

    @property
    def whose(self) -> str:
        """Where it comes from."""
        return f"MCP server {one_line(self.server, 40)}"

    def filled(self, typed: str) -> dict[str, str]:
        """The arguments in what was typed behind the name: in order, or as `name=value`. Raises `BadWords`.

        What is left over belongs to the last; a prompt with one argument takes the whole line as it is.
        """
        typed, names = typed.strip(), [one.name for one in self.wanted]
        if not names and typed:
            raise BadWords(f"/{self.name} takes nothing behind it")
        if len(names) == 1 and typed and not typed.startswith(f"{names[0]}="):
            return {names[0]: typed}
        try:
            words = shlex.split(typed)
        except ValueError as error:
            raise BadWords(f"/{self.name}: a quotation mark in what follows it is not closed") from error
        found: dict[str, str] = {}
        for word in words:
            name, given, value = word.partition("=")
            free = [one for one in names if one not in found]
            if given and name in names:
                found[name] = value
            elif free:
                found[free[0]] = word
            else:
                found[names[-1]] += f" {word}"
        missing = [one.name for one in self.wanted if one.required and one.name not in found]
        if missing:
            raise BadWords(f"/{self.name} needs {', '.join(one_line(name, 30) for name in missing)}: {self._usage()}")
        return found

    def _usage(self) -> str:
        return f"/{self.name} {self.arguments}".rstrip()


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource. `name` is what is written behind the @."""

    server: str
    uri: str
    name: str
    description: str = ""


def prompts_of(server: str, listed: Iterable[Mapping[str, Any]]) -> tuple[Prompt, ...]:
    """The prompts of a server's own list, sorted by name; one whose name cannot be typed is left out."""
    found: dict[str, Prompt] = {}
    for entry in sorted(listed, key=lambda entry: str(entry.get("name"))):
        prompt = scrub(str(entry.get("name") or ""))
        name = prompt_name(server, prompt)
        wanted = tuple(Wanted(scrub(str(one["name"])), one["required"] is True) for one in entry.get("arguments") or ())
        if name and name not in found:
            found[name] = Prompt(server, prompt, name, _said(entry), wanted)
    return tuple(found[name] for name in sorted(found))


def resources_of(server: str, listed: Iterable[Mapping[str, Any]]) -> tuple[Resource, ...]:
    """The resources of a server's own list, sorted by address."""
    uris = {scrub(str(entry.get("uri") or "")): _said(entry) for entry in listed}
    part = server_part(server)
    return tuple(
        Resource(server, uri, f"{part}:{uri}", said)
        for uri, said in sorted(uris.items())
        if uri and len(uri) <= LONGEST_URI and uri == one_line(uri, LONGEST_URI + 1)
    )


def prompt_name(server: str, prompt: str) -> str:
    """The command a prompt is; empty where no letter of its name can be typed."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", prompt).strip("-_")
    return f"{command_part(server)}:{plain}".lower() if plain and command_part(server) else ""


def command_part(server: str) -> str:
    """The part of a command's name that stands for a server."""
    return server_part(server).lstrip("-_").lower()


def _said(entry: Mapping[str, Any]) -> str:
    return one_line(" ".join(clean(str(entry.get("description") or "")).split()), MOST_SAID)


__all__ = ["Prompt", "Resource", "Wanted", "command_part", "prompt_name", "prompts_of", "resources_of"]
