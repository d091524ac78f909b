"""Rules that allow, ask or deny: how they are written, what they match, where they are remembered.

    bash                  every command            write                 every write (`edit` means the same)
    bash(git commit)      commands that begin so   write(src/**)         files, by glob, relative to the folder
    bash(= make; ls)      exactly this line        read(/etc/hosts)      a path outside
    mcp__time__*          a server's tools         mcp__time__convert    one of them

Not a judge (that is `permissions`). A prefix is words, not characters: `git com` is no prefix of `git commit`.
Remembered rules are kept outside every repository, one file a project, so that no checkout can bring its own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from agent.permissions.parsed import Command, Opaque, parse
from agent.permissions.starting import INTERPRETERS, SHELLS, WRAPPERS
from agent.tools.plain_search import matcher
from agent.whole_file import locked, write_whole

Action = Literal["allow", "ask", "deny"]

# `edit` and `write` change files, the others read them: one word a kind, so that no rule can be walked around.
_KINDS = {"read": "read", "grep": "read", "glob": "read", "write": "write", "edit": "write", "bash": "run"}

# What the names of MCP servers' tools begin with.
SERVERS = "mcp__"


class BadRule(ValueError):
    """A rule that cannot be read; its text is a sentence."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, without its action. With none of `path`, `prefix` and `exact` it is about everything the tool does."""

    tool: str
    path: str = ""
    prefix: tuple[str, ...] = ()
    exact: str = ""

    @classmethod
    def of(cls, text: str) -> Rule:
        """The rule a text spells. Raises `BadRule`."""
        found = re.fullmatch(r"\s*([\w*-][\w.*-]*)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
        if not found:
            raise BadRule(f"{text!r} is no rule; write it as bash(git commit), write(src/**) or read")
        tool, inner = found[1], found[2]
        tool = tool.lower() if tool.lower() in _KINDS else tool
        if inner is None or inner.strip() in ("", "*"):
            return cls(tool)
        inner = inner.strip()
        if tool.startswith(SERVERS):
            raise BadRule(f"{text!r}: a server's tool is named alone, as mcp__time__convert or mcp__time__*")
        if _KINDS.get(tool) != "run":
            return cls(tool, path=inner)
        if inner.startswith("="):
            return cls(tool, exact=inner[1:].strip())
        commands = parse(re.sub(r"(:|\s)\*$", "", inner))
        if isinstance(commands, Opaque) or len(commands) != 1 or commands[0].redirects or commands[0].assignments:
            raise BadRule(f"{text!r}: a prefix is the plain first words of one command")
        if not commands[0].words or not all(w.literal for w in commands[0].words):
            raise BadRule(f"{text!r}: the words of a prefix cannot hold *, ?, [ or ~")
        return cls(tool, prefix=tuple(w.text for w in commands[0].words))

    def __str__(self) -> str:
        inner = self.path or (f"= {self.exact}" if self.exact else " ".join(map(_quoted, self.prefix)))
        return f"{self.tool}({inner})" if inner else self.tool

    @property
    def kind(self) -> str:
        """`read`, `write`, `run`, or empty for another tool."""
        return _KINDS.get(self.tool, "")

    @property
    def everything(self) -> bool:
        """Whether it is about all a tool does."""
        return not (self.path or self.prefix or self.exact)

    @property
    def restrains_commands(self) -> bool:
        """Whether, as a deny or an ask rule, it may be about something a command does."""
        return self.tool == "*" or self.kind == "run" or bool(self.path)

    def is_for(self, tool: str) -> bool:
        """Whether it is about this tool."""
        if self.tool.startswith(SERVERS) and "*" in self.tool:
            return fnmatchcase(tool, self.tool)
        return self.tool in ("*", tool) or (self.kind != "" and self.kind == _KINDS.get(tool))

    def covers(self, kind: str, tool: str, path: Path, folder: Path) -> bool:
        """Whether it is about this real path, or a folder above it."""
        if self.tool != "*" and self.kind != kind:
            return False
        if self.everything:
            return self.is_for(tool) or self.kind == kind
        if not self.path:
            return False
        pattern = os.path.expanduser(self.path)
        if pattern.startswith("/"):
            names = [str(p) for p in (path, *path.parents)]
        else:
            if folder not in path.parents and path != folder:
                return False
            relative = path.relative_to(folder)
            names = [p.as_posix() for p in (relative, *relative.parents)]
        fits = matcher(pattern.removeprefix("./"))
        return any(fits(name.lstrip("/")) for name in names)

    def is_exactly(self, tool: str, line: str) -> bool:
        """Whether it is about exactly this line."""
        return self.is_for(tool) and bool(self.exact) and self.exact == line.strip()

    def allows(self, tool: str, command: Command) -> int | None:
        """How many words of the command it vouches for; 0 for a rule about everything, None when it is not about it."""
        if not self.is_for(tool) or self.exact or self.path:
            return None
        if self.everything:
            return 0
        words = command.words[: len(self.prefix)]
        same = len(words) == len(self.prefix) and all(
            w.literal and w.text == p for w, p in zip(words, self.prefix, strict=True)
        )
        return len(self.prefix) if same else None

    def names(self, tool: str, command: Command) -> bool:
        """Whether the command, or what a wrapper in it starts, begins with the prefix: paths in front do not matter."""
        if not self.is_for(tool) or not self.prefix:
            return False
        words = [w.text for w in command.words]
        wrapped = bool(words) and os.path.basename(words[0]) in WRAPPERS
        starts = range(len(words)) if wrapped or "-exec" in words or "-execdir" in words else range(1)
        size = len(self.prefix)
        wanted = [os.path.basename(self.prefix[0]), *self.prefix[1:]]
        return any([*map(os.path.basename, words[i : i + 1]), *words[i + 1 : i + size]] == wanted for i in starts)

    def mentioned_in(self, tool: str, command: Command, names: Sequence[str]) -> bool:
        """Whether the command may start what the rule is about in a way we do not follow: asked about, not denied."""
        if not self.is_for(tool) or not self.prefix:
            return False
        program = os.path.basename(self.prefix[0])
        if program in names[1:]:
            return True
        name = names[0] if names else ""
        if any(not w.literal for w in command.words[: len(self.prefix)]):
            return True
        if name == program:
            # `git -c x commit` against `git commit`: the same program, its words in another place.
            return all(any(w.text == p for w in command.words) for p in self.prefix[1:])
        texts = [w.text for w in command.words[1:]]
        runs = name in SHELLS or name in WRAPPERS or name in ("eval", "source", ".", "trap", "alias")
        runs = runs or INTERPRETERS.fullmatch(name) is not None
        return runs and any(re.search(rf"(?<![\w-]){re.escape(program)}(?![\w-])", t) for t in texts)


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def granted(tool: str, prefix: str) -> tuple[Rule, ...]:
    """The rules that a yes "for the session" or "for the project" makes, from `Ask.prefix`; none for an empty one."""
    if prefix == "":
        return ()
    if prefix == "*":
        return (Rule(tool),)
    if _KINDS.get(tool) != "run":
        return (Rule(tool, path=prefix),)
    if prefix.startswith("= "):
        return (Rule(tool, exact=prefix[2:].strip()),)
    return tuple(Rule.of(f"{tool}({one})") for one in prefix.split(" && "))


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules in force. Order within a list does not matter: deny wins over ask, ask over allow."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    @classmethod
    def of(
        cls, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()
    ) -> tuple[Rules, tuple[str, ...]]:
        """Rules from their texts, and a sentence for each that cannot be read.

        An allow rule that cannot be read is left out; an ask or deny rule becomes one about the whole tool, so that a
        slip of the pen does not open what was to be closed.
        """
        wrong: list[str] = []

        def read(texts: Iterable[str], closed: bool) -> tuple[Rule, ...]:
            rules: list[Rule] = []
            for text in texts:
                try:
                    rules.append(Rule.of(text))
                except BadRule as error:
                    wrong.append(str(error))
                    if closed:
                        name = text.partition("(")[0].strip()
                        name = name if name.startswith(SERVERS) else name.lower()
                        rules.append(Rule(name if name in _KINDS or name.startswith(SERVERS) else "*"))
            return tuple(rules)

        return cls(read(allow, False), read(ask, True), read(deny, True)), tuple(wrong)

    def with_session(self, *rules: Rule) -> Rules:
        """These rules and more that allow, until the session is closed."""
        return replace(self, allow=tuple(dict.fromkeys((*self.allow, *rules))))

    def without(self, text: str) -> Rules:
        """These rules, but for the one that allows and is spelled so."""
        return replace(self, allow=tuple(rule for rule in self.allow if str(rule) != text))

    def joined(self, other: Rules) -> Rules:
        """Both sets of rules."""
        return Rules(self.allow + other.allow, self.ask + other.ask, self.deny + other.deny)

    def hides(self, folder: Path) -> Callable[[Path], bool]:
        """Which real paths a search must leave out: those whose reading is denied."""
        rules = [r for r in self.deny if r.path and r.kind == "read"]
        return lambda path: any(r.covers("read", "read", path, folder) for r in rules)


def remembered(path: Path) -> tuple[Rules, tuple[str, ...]]:
    """What was remembered for a project in the file `path`, and a sentence for each thing in it that cannot be read."""
    try:
        held = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return Rules(), ()
    except (OSError, ValueError) as error:
        return Rules(), (f"{path} cannot be read: {error}",)
    texts = held.get("allow", []) if isinstance(held, dict) else None
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        return Rules(), (f"{path} does not hold a list of rules",)
    return Rules.of(allow=texts)


def remember(path: Path, project: Path, *rules: Rule) -> None:
    """Add rules that allow to a project's file, for good. Raises `OSError`.

    A file that cannot be read is replaced: it allowed nothing, so nothing is lost but what nobody could use.
    """
    with locked(path):
        before, _ = remembered(path)
        texts = [str(r) for r in before.with_session(*rules).allow]
        held = {"project": str(project), "allow": texts}
        write_whole(path, json.dumps(held, ensure_ascii=True, indent=1) + "\n")


def forget(path: Path, project: Path, text: str) -> None:
    """Take one rule out of a project's file. Raises `OSError`."""
    with locked(path):
        before, _ = remembered(path)
        if before.without(text) != before:
            held = {"project": str(project), "allow": [str(r) for r in before.without(text).allow]}
            write_whole(path, json.dumps(held, ensure_ascii=True, indent=1) + "\n")
