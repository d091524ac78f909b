"""Tool calls as cards: what ran, how it ended, how long it took, and a folded look at what came back.

Not the tools: a card knows a call's name, its arguments as JSON text, and its result.
"""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from typing import Any

from agent.wire import ToolRunning
from compaction.records import ToolCall, ToolReturned, UserSaid
from tui.block import Block, Fold, Form, State
from tui.plain import one_line, overdrawn, plural, safe, seconds, tokens

# English and code average four characters a token; a card says `~`.
CHARACTERS_PER_TOKEN = 4

# A result smaller than this fills no context worth a word; tokens.
WORTH_SAYING = 50

# A tool that took less was not waited for; seconds.
WORTH_A_TIME = 0.1

# How a tool's output folds: a command's end says how it ended, a search's first hits say whether it was the right
# one, and a file that was read needs no repeating.
FOLDS: dict[str, Fold] = {"read": Fold(), "glob": Fold(3), "grep": Fold(4), "bash": Fold(1, 4), "recall": Fold(4)}
# The tool's name under which the worker runs the user's own `!command`.
SHELL = "shell"
_I_RAN = re.compile(r"I ran `(.*?)`:\n\n", re.DOTALL)

# What a running tool printed is kept for the screen only this far, characters: about two screens of a wide terminal.
LIVE_OUTPUT = 8_000

ANY_OUTPUT = Fold(3, 2)
FAILED = Fold(6, 6)

# A diff is the point of its card; beyond this it folds, lines.
DIFF = Fold(24, 8)

# The pairs of argument names that hold a text before and after an edit.
BEFORE_AFTER = (("old", "new"), ("old_text", "new_text"), ("old_string", "new_string"), ("search", "replace"))


def waiting(made: ToolCall) -> Block:
    """A call nobody has run yet."""
    return Block(_key(made.id), "tool", _title(made), state="running")


@dataclass(frozen=True, slots=True)
class Running:
    """What is known of a call that runs: only its first event names it, later ones bring what it printed."""

    name: str
    title: str
    printed: str


def further(before: Running | None, event: ToolRunning, made: ToolCall | None) -> Running:
    """What is known after one more event."""
    name = event.name or (before.name if before is not None else "")
    known = before.title if before is not None else _title(made) if made is not None else name
    printed = before.printed if before is not None else ""
    # The user's own command ends with its whole output.
    whole = name == SHELL and event.name == SHELL and event.output
    printed = event.output if whole else overdrawn(printed, event.output)
    return Running(name, event.title or known, printed[-LIVE_OUTPUT:])


def running(call: str, now: Running) -> Block:
    """A call that runs, with the end of what it has printed."""
    title, printed = one_line(now.title) or safe(now.name), safe(now.printed)
    if now.name == SHELL:
        return Block(_key(call), "shell", title, printed, "output", ("yours",), ANY_OUTPUT)
    return Block(_key(call), "tool", title, printed, "output", fold=Fold(0, 5), state="running")


def returned(number: int, body: ToolReturned, made: ToolCall | None) -> Block:
    """A call's result."""
    text, form, fold = _body(body, made)
    meta: list[str] = []
    if body.exit_status is not None:
        meta.append(f"exit {body.exit_status}")
    if body.took is not None and body.took >= WORTH_A_TIME:
        meta.append(seconds(body.took))
    if form == "output" and fold == Fold() and text:
        meta.append(plural(text.rstrip("\n").count("\n") + 1, "line"))
    if (size := len(body.text) // CHARACTERS_PER_TOKEN) >= WORTH_SAYING:
        meta.append(f"~{tokens(size)} tokens")
    if body.spilled:
        meta.append(f"whole text ({body.characters:,} characters) in {safe(body.spilled)}")
    if body.images:
        meta.append(plural(len(body.images), "image"))
    title = one_line(body.title) or (_title(made) if made is not None else safe(body.tool))
    state: State = "failed" if body.failed or body.exit_status not in (None, 0) else "done"
    return Block(_key(body.call), "tool", title, text, form, tuple(meta), fold, state, number)


def shell(number: int, body: UserSaid) -> Block:
    """The user's own `!command` and what it printed; it takes the place of the card that showed it running."""
    text = safe(body.text)
    found = _I_RAN.match(text)
    title, rest = (found[1], text[found.end() :]) if found else text.partition("\n")[::2]
    meta = ("yours", "joins the context")
    return Block(
        f"call:{SHELL}-{number}", "shell", one_line(title), rest.strip("\n"), "output", meta, ANY_OUTPUT, record=number
    )


def _key(call: str) -> str:
    return f"call:{call}"


def _body(body: ToolReturned, made: ToolCall | None) -> tuple[str, Form, Fold]:
    if not body.failed and made is not None and (changes := edits(made)):
        return changes, "diff", DIFF
    text = safe(body.text)
    if looks_like_diff(text):
        return text, "diff", DIFF
    return text, "output", FAILED if body.failed else FOLDS.get(body.tool, ANY_OUTPUT)


def looks_like_diff(text: str) -> bool:
    """Whether `text` starts as a unified diff does."""
    lines = text.lstrip().split("\n", 3)
    return lines[0].startswith(("--- ", "diff --git ")) or lines[0].startswith("@@ -")


def edits(call: ToolCall) -> str:
    """The unified diff a call asks for, from its arguments; empty where it is no edit."""
    arguments = _arguments(call)
    several = arguments.get("edits")
    wanted: list[Any] = several if isinstance(several, list) else [arguments]
    hunks: list[str] = []
    for one in wanted:
        if not isinstance(one, dict):
            continue
        for before, after in BEFORE_AFTER:
            if isinstance(one.get(before), str) and isinstance(one.get(after), str):
                hunks.append(unified(one[before], one[after]))
                break
    if not hunks and call.name == "write" and isinstance(arguments.get("content"), str):
        hunks.append(unified("", arguments["content"]))
    shown = "\n".join(hunk for hunk in hunks if hunk)
    return shown


def unified(before: str, after: str) -> str:
    """The lines that leave and come, with three of context.

    Without line numbers: these are the numbers inside the argument, not the file's.
    """
    lines = difflib.unified_diff(safe(before).split("\n"), safe(after).split("\n"), lineterm="", n=3)
    body = list(lines)[3:]
    return "\n".join("@@" if line.startswith("@@ ") else line for line in body)


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        value = json.loads(call.arguments or "{}", strict=False)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _title(call: ToolCall) -> str:
    """`bash pytest -q`: the name and the argument that says most."""
    arguments = _arguments(call)
    for name in ("command", "path", "file", "file_path", "pattern", "query", "url"):
        if isinstance(arguments.get(name), str):
            return one_line(f"{call.name} {one_line(arguments[name], 100)}")
    return one_line(call.name)
