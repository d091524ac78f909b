"""May this call run: judged from what it needs, the mode, and the rules. Not the asking, and not the running.

    mode    reads inside    reads outside    writes inside    writes outside    commands
    plan    allowed         asked            denied           denied            denied, but those that only read
    ask     allowed         asked            asked            asked             asked, but those that only read
    edits   allowed         asked            allowed          asked             asked, but those that only read
    auto    allowed         allowed          allowed          asked             allowed

Tools of MCP servers are asked about, in auto allowed; in plan denied, but those asked about that say they only read.

"Inside" is the session's folder with links resolved; in auto the system's folder for temporary files counts as inside.
The places where people keep keys are asked about in every mode, and so are writes to `.git` and `.ullage`, which other
programs obey. A command that writes by a redirection needs what the write needs.

Order: a deny rule, an ask rule, an allow rule, the mode. Denying is generous (behind wrappers, by any path), allowing
is strict (the very words; nothing that starts other programs); a line that is not understood is never allowed but by a
rule for its exact text. Plan mode is not widened by allow rules. What a command's arguments touch cannot be known: only
words that are plainly paths are looked at. The sandbox is what holds where this guesses.

Invariants
 1. No line is allowed by a prefix rule unless every command in it is.
 2. `judge` is a function of its arguments and of the links on disk; it changes nothing.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from agent.permissions.parsed import Command, Opaque, Redirect, parse
from agent.permissions.reading import descends, only_reads
from agent.permissions.rules import Rule, Rules, granted
from agent.permissions.starting import WRAPPERS, hazard, nested, prefix_of
from agent.places import here
from agent.sanitise import one_line
from agent.tools.contract import Need
from agent.wire import Mode

# A line longer than this is not remembered word for word: nobody would recognise it in a list. Characters.
LONGEST_EXACT = 300

# Folders in the session's own that programs obey: a hook or a setting written there runs later, unasked.
OBEYED = frozenset({".git", ".ullage"})

# Where people keep keys, below their home.
KEYS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".npmrc", ".pypirc",
    ".config/gcloud", ".config/gh", ".password-store", ".local/share/keyrings",
)  # fmt: skip

# In a command's verdict: no prefix can settle it, the line as a whole may be remembered.
_WHOLE = "-"

# Redirections there write nothing.
_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


@dataclass(frozen=True, slots=True)
class Allow:
    """It may run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The user must say so. `why` is for people; `prefix` is what a yes for longer would allow, empty for "nothing".

    `granted(tool, prefix)` makes the rules of it.
    """

    why: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    """It may not run; `why` is read by the model."""

    why: str


Verdict: TypeAlias = Allow | Ask | Deny


class Place(Protocol):
    """What is needed of a workspace: its folder and where the shell stands (real paths)."""

    @property
    def folder(self) -> Path: ...

    @property
    def cwd(self) -> Path: ...


PLANNING = (
    "refused: plan mode only reads. Go on by reading, then present the plan; the user leaves plan mode to have it done."
)


def judge(need: Need, tool: str, mode: Mode, rules: Rules, ws: Place) -> Verdict:
    """Whether a call of `tool` that needs `need` may run."""
    match need.kind:
        case "recall":
            return Allow()
        case "run" if need.command:
            return _command_line(need.command, tool, mode, rules, ws)
        case "run" | "server":
            return _named(need, tool, mode, rules)
        case "read" | "write":
            return _worst([_path(need.kind, tool, path, mode, rules, ws) for path in need.paths] or [Allow()])


def _worst(verdicts: list[Verdict]) -> Verdict:
    for kind in (Deny, Ask):
        for verdict in verdicts:
            if isinstance(verdict, kind):
                return verdict
    return Allow()


def _named(need: Need, tool: str, mode: Mode, rules: Rules) -> Verdict:
    """A tool known by its name alone. That it only reads is a server's own word, so it is never enough for a yes."""
    for rule in rules.deny:
        if rule.is_for(tool) and rule.everything:
            return Deny(f"refused by the rule deny {rule}")
    if mode == "plan" and not need.reads:
        return Deny(PLANNING)
    asked = any(rule.is_for(tool) and rule.everything for rule in rules.ask)
    allowed = mode == "auto" or any(rule.is_for(tool) and rule.everything for rule in rules.allow)
    if allowed and not asked:
        return Allow()
    says = ", which says that it only reads" if need.reads else ""
    why = f"a tool of an MCP server{says}" if need.kind == "server" else f"{tool} is not one of our own tools"
    return Ask(why, "*")


# ── paths ──


def _inside(path: Path, ws: Place) -> bool:
    return path == ws.folder or ws.folder in path.parents


def _temporary(path: Path) -> bool:
    roots = {Path(os.path.realpath("/tmp")), Path(os.path.realpath(tempfile.gettempdir()))}
    return any(root in path.parents for root in roots)


def _keys(path: Path, below: bool = False) -> bool:
    """Whether keys are kept in `path`, or (`below`) somewhere under it."""
    home = Path(os.path.realpath(os.path.expanduser("~")))
    places = [*(home / k for k in KEYS), Path(os.path.realpath(here().keys))]
    return any(place == path or place in path.parents or (below and path in place.parents) for place in places)


def _ours(path: Path, ws: Place) -> bool:
    """Whether it is among our own settings, agreements and sessions, which a workspace such as a home may hold."""
    own = here()
    places = [Path(os.path.realpath(place)) for place in (own.config, own.data, own.state)]
    return any(place in (path, *path.parents) and place not in (ws.folder, *ws.folder.parents) for place in places)


def _obeyed(path: Path, ws: Place) -> bool:
    return _inside(path, ws) and any(part.lower() in OBEYED for part in path.relative_to(ws.folder).parts)


def _shown(path: Path, ws: Place) -> str:
    return path.relative_to(ws.folder).as_posix() if _inside(path, ws) else str(path)


def _path(kind: str, tool: str, path: Path, mode: Mode, rules: Rules, ws: Place) -> Verdict:
    path = Path(os.path.realpath(path))
    rule = next((r for r in rules.deny if r.covers(kind, tool, path, ws.folder)), None)
    if rule is not None:
        return Deny(f"refused by the rule deny {rule}")
    if kind == "write" and mode == "plan":
        return Deny(PLANNING)
    shown = _shown(path, ws)
    verb = "write" if kind == "write" else "read"
    prefix = shown if re.fullmatch(r"[^*?\[\]{}\n]+", shown) else ""
    rule = next((r for r in rules.ask if r.covers(kind, tool, path, ws.folder)), None)
    if rule is not None:
        return Ask(f"the rule ask {rule}", "")
    if any(r.covers(kind, tool, path, ws.folder) for r in rules.allow):
        return Allow()
    # A search goes through everything below; in the session's own folder that was agreed to by opening it.
    if _keys(path, below=tool == "grep" and not _inside(path, ws)):
        return Ask(f"keys are kept in {one_line(shown)}", "")
    if kind == "write" and _ours(path, ws):
        return Ask(f"Ullage keeps its settings, agreements and sessions in {one_line(shown)}", "")
    if kind == "write" and _obeyed(path, ws):
        return Ask(f"other programs obey what is in {one_line(shown)}", "")
    if _inside(path, ws) or (mode == "auto" and (kind == "read" or _temporary(path))):
        return Ask(f"{verb} {one_line(shown)}", prefix) if kind == "write" and mode == "ask" else Allow()
    return Ask(f"{one_line(shown)} is outside {ws.folder}", prefix)


# ── commands ──


def _command_line(line: str, tool: str, mode: Mode, rules: Rules, ws: Place) -> Verdict:
    commands = parse(line)
    exact = any(rule.is_exactly(tool, line) for rule in rules.allow) and mode != "plan"
    remembered = f"= {line}" if len(line) <= LONGEST_EXACT and "\n" not in line else ""
    if any(rule.is_for(tool) and rule.everything for rule in rules.deny):
        return Deny(f"refused: a rule denies all of {tool}")
    if isinstance(commands, Opaque):
        # No rule can be held against what is not understood: where there are any, a person must look.
        if mode == "plan":
            return Deny(f"{PLANNING} (The command is not surely read-only: {commands.why}.)")
        if exact:
            return Allow()
        if mode == "auto" and not any(r.restrains_commands for r in (*rules.deny, *rules.ask)):
            return Allow()
        return Ask(f"the command cannot be judged: {commands.why}", remembered)
    places = list(_places(commands, ws))
    pairs = list(zip(commands, places, strict=True))
    for command, cwd in pairs:
        denied = _denied(command, tool, cwd, rules, ws)
        if denied is not None:
            return denied if isinstance(denied, Deny) or not exact else Allow()
    if exact:
        return Allow()
    verdicts = [_command(command, cwd, tool, mode, rules, ws) for command, cwd in pairs]
    worst = _worst(list(verdicts))
    if not isinstance(worst, Ask):
        return worst
    asking = [c for c, v in zip(commands, verdicts, strict=True) if isinstance(v, Ask)]
    return Ask(worst.why, _prefix(asking, verdicts) or remembered)


def _prefix(asking: list[Command], verdicts: list[Verdict]) -> str:
    """The prefixes that would have let all of them pass, joined; empty when only the whole line can be remembered."""
    if any(isinstance(v, Ask) and v.prefix == _WHOLE for v in verdicts):
        return ""
    prefixes: list[str] = []
    for command in asking:
        words = prefix_of(command)
        if words is None:
            return ""
        prefixes.append(" ".join(words))
    return " && ".join(dict.fromkeys(prefixes))


def _places(commands: tuple[Command, ...], ws: Place) -> Iterator[Path | None]:
    """Where each command runs: follows `cd` as long as that is certain, then None."""
    cwd: Path | None = ws.cwd
    for command in commands:
        yield cwd
        if command.name in ("pushd", "popd") or (command.name == "cd" and (cwd is None or not _certain(command, cwd))):
            cwd = None
        elif command.name == "cd" and cwd is not None:
            cwd = Path(os.path.realpath(cwd / command.words[1].text))


def _certain(command: Command, cwd: Path) -> bool:
    """Whether a `cd` surely goes where it says: one plain folder that is there, in our shell, run in any case."""
    alone = command.before in ("", "&&", ";", "\n") and command.after in ("", "&&", ";", "\n")
    target = command.words[1] if len(command.words) == 2 else None
    if target is None or not alone or not target.literal or target.text.startswith(_WHOLE) or command.assignments:
        return False
    return os.path.isdir(cwd / target.text)


def _denied(command: Command, tool: str, cwd: Path | None, rules: Rules, ws: Place) -> Ask | Deny | None:
    """What deny and ask rules say of one command; a mention that may be harmless is asked about."""
    for rule in rules.deny:
        if rule.names(tool, command):
            return Deny(f"refused by the rule deny {rule}")
    on_paths = [rule for rule in rules.deny if rule.path]
    for path in _mentioned(command, cwd or ws.cwd) if on_paths else ():
        for rule in on_paths:
            if rule.covers("read", tool, path, ws.folder) or rule.covers("write", tool, path, ws.folder):
                return Deny(f"refused by the rule deny {rule}")
    for rule in rules.ask:
        if rule.is_for(tool) and (rule.everything or rule.names(tool, command)):
            return Ask(f"the rule ask {rule}", _WHOLE)
    for rule in (*rules.deny, *rules.ask):
        if rule.mentioned_in(tool, command, nested(command)):
            return Ask(f"it mentions what the rule {rule} is about", _WHOLE)
    if descends(command) and any(rule.kind == "read" for rule in on_paths):
        return Ask("it may read below a folder that a rule denies", _WHOLE)
    return None


def _mentioned(command: Command, cwd: Path) -> Iterator[Path]:
    """Every path that a word, an option's value or a redirection may be."""
    texts = [w.text for w in command.words[1:]] + [r.target.text for r in command.redirects]
    for text in texts:
        for candidate in {text, text.partition("=")[2], text.rpartition(":")[2]}:
            if candidate and "\0" not in candidate and len(candidate) < 4_096:
                yield Path(os.path.realpath(cwd / os.path.expanduser(candidate)))


def _command(command: Command, cwd: Path | None, tool: str, mode: Mode, rules: Rules, ws: Place) -> Verdict:
    """One command by allow rules and the mode; deny and ask rules have spoken."""
    redirected = _worst([_redirect(redirect, cwd, mode, rules, ws) for redirect in command.redirects])
    if isinstance(redirected, Deny):
        return redirected
    if isinstance(redirected, Ask):
        return Ask(redirected.why, _WHOLE)
    if cwd is not None and only_reads(command, cwd, ws.folder, lambda path: _inside(path, ws) and not _keys(path)):
        return Allow()
    if command.name == "cd" and cwd is not None and _certain(command, cwd):
        target = Path(os.path.realpath(cwd / command.words[1].text))
        if _inside(target, ws):
            return Allow()
    if mode == "plan":
        return Deny(PLANNING)
    # An assignment in front (PATH, LD_PRELOAD, GIT_…) can make any name mean anything.
    reason = "it sets variables for the command" if command.assignments else ""
    for rule in rules.allow if not reason else ():
        covered = rule.allows(tool, command)
        if covered is not None:
            reason = hazard(command, covered) if covered else ""
            if not reason:
                return Allow()
    if mode == "auto":
        outside = next((p for p in _written(command, cwd or ws.cwd) if not _inside(p, ws) and not _temporary(p)), None)
        if outside is None:
            return Allow()
        return Ask(f"it changes {one_line(str(outside))}, outside {ws.folder}", _WHOLE)
    why = f"run {one_line(' '.join(w.text for w in command.words), 60)}" if command.words else "it sets variables"
    return Ask(f"{why}: {reason}" if reason else why)


def _redirect(redirect: Redirect, cwd: Path | None, mode: Mode, rules: Rules, ws: Place) -> Verdict:
    """A redirection is a read or a write like any other."""
    target = redirect.target.text
    if target in _NOWHERE or (redirect.operator in (">&", "<&") and re.fullmatch(r"\d+|-|\d+-", target)):
        return Allow()
    if redirect.target.literal and cwd is not None:
        kind = "read" if redirect.operator == "<" else "write"
        return _path(kind, kind, Path(os.path.realpath(cwd / target)), mode, rules, ws)
    match mode:
        case "auto":
            return Allow()
        case "plan":
            return Deny(PLANNING)
        case _:
            return Ask("it redirects to a place that is not known")


# Programs whose operands are what they change; for auto mode's guess at writes outside.
_CHANGES = {"rm", "rmdir", "mv", "cp", "ln", "install", "mkdir", "touch", "truncate", "chmod", "chown", "chgrp", "tee"}
_CHANGES |= {"dd", "shred", "unlink", "rsync"}


def _written(command: Command, cwd: Path) -> Iterator[Path]:
    """What a command plainly changes: the operands of programs that change files, behind wrappers too."""
    words = [w.text for w in command.words]
    at = next((i for i, w in enumerate(words) if os.path.basename(w) in _CHANGES), None)
    if at is None or (at > 0 and os.path.basename(words[0]) not in WRAPPERS):
        return
    for text in words[at + 1 :]:
        operand = text.removeprefix("of=")
        if not operand.startswith(_WHOLE) and "\0" not in operand:
            yield Path(os.path.realpath(cwd / os.path.expanduser(operand)))


__all__ = ["Allow", "Ask", "Deny", "Mode", "Rule", "Rules", "Verdict", "granted", "judge"]
