"""The slash table: a name, its arguments, a line of help, and what it asks for. Both full screen and inline use it.

Not the doing: a line of text becomes one command to the worker or one action of the screen, purely.

A new command is a new row here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, get_args

from agent.wire import (
    Compact,
    Fork,
    Init,
    Inspect,
    InspectJobs,
    ListTools,
    Mode,
    Open,
    Pin,
    Prune,
    Reload,
    Rename,
    RestartServer,
    Rewind,
    SetBudget,
    SetEffort,
    SetMode,
    SetModel,
    SetSetting,
    Shell,
    ShowHooks,
    ShowPermissions,
    ShowSettings,
    ShowTrust,
    Submit,
    Undo,
)
from tui.actions import (
    AskKey,
    CopyAnswer,
    Examine,
    Export,
    Leave,
    PickModel,
    PickRewind,
    PickSession,
    PickTheme,
    Say,
    SearchLog,
    SetTheme,
    ShowChanges,
    ShowMemory,
    ShowSheet,
    ShowTimeline,
    TellBudget,
    Wish,
)

# Two columns are read badly on longer lines than this; a narrower screen has shorter ones. Cells.
MEASURE = 100

# What other terminal agents call it: fingers remember. Only a hint, so that each command has one name.
ELSEWHERE = {
    "clear": "new", "reset": "new", "continue": "resume", "sessions": "resume", "history": "resume", "title": "rename",
    "branch": "fork", "checkpoint": "rewind", "exit": "quit", "status": "context", "compress": "compact",
    "summarize": "compact", "usage": "cost", "stats": "cost", "tokens": "cost", "models": "model", "thinking": "effort",
    "reasoning": "effort", "login": "key", "auth": "key", "ps": "jobs", "bashes": "jobs", "approvals": "permissions",
    "plan": "mode", "config": "settings", "shortcuts": "keys", "color": "theme", "search": "recall",
}  # fmt: skip

# A range like `14-18` beyond this is a slip of the finger, not a choice of records.
LONGEST_RANGE = 10_000


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One row. `run` gets what was typed after the name, stripped."""

    name: str
    arguments: str
    help: str
    run: Callable[[str], Wish]


def parse(text: str, custom: Collection[str] = ()) -> Wish:
    """What a line typed at the prompt asks for. `custom` are the names of the user's own commands, which are sent."""
    line = text.strip()
    if line.startswith("!!"):
        return _shell(line[2:].strip(), join=False)
    if line.startswith("!"):
        return _shell(line[1:].strip(), join=True)
    if found := re.match(r"/([A-Za-z0-9][\w:-]*)(?:\s+|$)", line):
        if found[1].lower() not in TABLE and found[1].lower() in custom:
            return Submit(text)
        return slash(found[1], line[found.end() :].strip(), custom)
    return Submit(text)


def slash(name: str, arguments: str, custom: Collection[str] = ()) -> Wish:
    """The wish of one slash command; for an unknown name a sentence with the nearest."""
    if command := TABLE.get(name.lower()):
        return command.run(arguments)
    if known := ELSEWHERE.get(name.lower()):
        return Say(f"There is no command /{name}. Here it is /{known}: {TABLE[known].help}.", "warning", unknown=True)
    near = difflib.get_close_matches(name.lower(), [*TABLE, *custom], n=1, cutoff=0.5)
    hint = f" Did you mean /{near[0]}?" if near else " /help lists them all."
    return Say(f"There is no command /{name}.{hint}", "warning", unknown=True)


def _shell(command: str, *, join: bool) -> Wish:
    if not command:
        return Say("Write a command after the !, as in `!git status`; `!!` keeps its output out of the context.")
    return Shell(command, join=join)


def _compact(text: str) -> Wish:
    preview = review = False
    words = text.split()
    while words and words[0] in ("--preview", "--review"):
        flag = words.pop(0)
        preview, review = preview or flag == "--preview", review or flag == "--review"
    if words and words[0].startswith("--"):
        return Say(f"/compact knows --preview and --review, not {words[0]}.", "warning")
    if preview and review:
        return Say("/compact takes --preview or --review, not both.", "warning")
    return Compact(focus=" ".join(words), preview=preview, review=review)


def _prune(text: str) -> Wish:
    """Always shown before it is done: the plan comes back, and Enter commits exactly what it lists."""
    words = text.split()
    force = "--force" in words
    rest = " ".join(word for word in words if word != "--force")
    if rest == "--all":
        return Prune(every=True, force=force, dry_run=True)
    ids = numbers(rest)
    if ids is None:
        return Say("/prune takes record numbers as in `/prune 12 14-18`, or --all, and --force, or nothing.", "warning")
    return Prune(records=ids, force=force, dry_run=True)


def numbers(text: str) -> tuple[int, ...] | None:
    """`12 14-18 #20` as record numbers, in order and once each; None where it is something else."""
    ids: dict[int, None] = {}
    for word in text.replace(",", " ").split():
        found = re.fullmatch(r"#?(\d{1,9})(?:-#?(\d{1,9}))?", word)
        if found is None:
            return None
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first > LONGEST_RANGE:
            return None
        ids.update(dict.fromkeys(range(first, last + 1)))
    return tuple(ids)


def _one_number(name: str, make: Callable[[int], Wish]) -> Callable[[str], Wish]:
    def run(text: str) -> Wish:
        ids = numbers(text)
        if ids is None or len(ids) != 1:
            return Say(
                f"/{name} takes one record number, as in `/{name} 12`; it stands at the right of each card.", "warning"
            )
        return make(ids[0])

    return run


def _key(text: str) -> Wish:
    """A word that is too long for a provider is not repeated: it may be the key itself."""
    if re.fullmatch(r"[A-Za-z0-9_]{1,40}", text) and not re.search(r"\d{4}", text):
        return AskKey(text)
    return Say(
        "/key takes a provider, as in `/key anthropic`; the key itself is asked for then, and not shown.", "warning"
    )


def _mode(text: str) -> Wish:
    for mode in get_args(Mode):
        if text.lower() == mode:
            return SetMode(mode)
    return Say("/mode takes plan, ask, edits or auto; Shift+Tab goes through them.", "warning")


def _settings(text: str) -> Wish:
    key, _, value = text.partition(" ")
    if not key:
        return ShowSettings()
    value = value.strip()
    if not value:
        return Say(f"/settings {key} takes a value, or default; /settings alone shows what it is.", "warning")
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        value = value[1:-1]
    if key == "theme":
        return SetTheme("auto" if value == "default" else value)
    return SetSetting(key, None if value == "default" else value)


def _rename(text: str) -> Wish:
    return Rename(text) if text else Say("/rename takes the session's new name.", "warning")


def _mcp(text: str) -> Wish:
    word, _, name = text.partition(" ")
    if not text:
        return ListTools("servers")
    if word == "restart" and name.strip():
        return RestartServer(name.strip())
    return Say("/mcp lists the servers; `/mcp restart NAME` starts one anew.", "warning")


def _resume(text: str) -> Wish:
    return Open(text) if text else PickSession()


def _rewind(text: str) -> Wish:
    if text == "--back":
        return Rewind(0, back=True)
    return _one_number("rewind", lambda id: Rewind(id, "ask"))(text) if text else PickRewind()


def _fork(text: str) -> Wish:
    return _one_number("fork", Fork)(text) if text else Fork()


def _memory(text: str) -> Wish:
    if text and text != "edit":
        return Say("/memory shows what is remembered; /memory edit opens it in $EDITOR.", "warning")
    return ShowMemory(edit=bool(text))


def _export(text: str) -> Wish:
    format, _, file = text.partition(" ")
    for known in get_args(Literal["md", "html", "json"]):
        if format.lower() == known:
            return Export(known, file.strip())
    return Say("/export takes md, html or json, and a file if you like, as in `/export html session.html`.", "warning")


def _plainly(wish: Wish) -> Callable[[str], Wish]:
    return lambda _: wish


# Under each other in /help and behind a lone `/`, so in the order of how often people reach for them.
GROUPS: tuple[tuple[str, tuple[SlashCommand, ...]], ...] = (
    (
        "The conversation",
        (
            SlashCommand("new", "", "start another session", _plainly(Open(None))),
            SlashCommand("resume", "[id]", "go on with an earlier session", _resume),
            SlashCommand("rename", "name", "name this session", _rename),
            SlashCommand("fork", "[#]", "a new session from here, or from before a record; this one stays", _fork),
            SlashCommand(
                "rewind", "[# | --back]", "go on from before a message, with its files; --back undoes that for files",
                _rewind,
            ),
            SlashCommand("copy", "", "copy the last answer", _plainly(CopyAnswer())),
            SlashCommand("export", "md | html | json [file]", "write the session to a file", _export),
            SlashCommand("quit", "", "leave; the session can be resumed", _plainly(Leave())),
        ),
    ),
    (
        "The context",
        (
            SlashCommand("context", "", "everything in the context, item by item", _plainly(Inspect())),
            SlashCommand("compact", "[--preview | --review] [focus]", "summarise what is old", _compact),
            SlashCommand("prune", "[12 14-18 | --all] [--force]", "drop old tool results, after the plan", _prune),
            SlashCommand("undo", "", "take back the last prune or compaction", _plainly(Undo())),
            SlashCommand("pin", "#", "keep a record word for word through everything", _one_number("pin", Pin)),
            SlashCommand("unpin", "#", "keep it so no longer", _one_number("unpin", lambda id: Pin(id, on=False))),
            SlashCommand("recall", "words | #", "search the whole log, and put something back", SearchLog),
            SlashCommand("timeline", "", "every request as a bar, with rewrites and breaks", _plainly(ShowTimeline())),
            SlashCommand("cost", "", "tokens and price, request by request", _plainly(ShowSheet("cost"))),
            SlashCommand(
                "budget", "[160k | 60% | min(200k, 80%) | default]", "show or set the working budget",
                lambda text: SetBudget(text) if text else TellBudget(),
            ),
        ),
    ),
    (
        "The model",
        (
            SlashCommand("model", "[name]", "switch the model", lambda text: SetModel(text) if text else PickModel()),
            SlashCommand(
                "effort", "[none | low | medium | high | … | default]", "how much the model reasons", SetEffort,
            ),
            SlashCommand("key", "provider", "save a provider's key", _key),
        ),
    ),
    (
        "The project",
        (
            SlashCommand("diff", "[path]", "what this session changed in files", ShowChanges),
            SlashCommand("init", "", "have the repository studied and its AGENTS.md written", _plainly(Init())),
            SlashCommand("memory", "[edit]", "what is remembered of this project, and where", _memory),
            SlashCommand("reload", "", "take changed instructions and tools in", _plainly(Reload())),
            SlashCommand("jobs", "", "commands in the background: their output, and end", _plainly(InspectJobs())),
        ),
    ),
    (
        "What is allowed, and tools",
        (
            SlashCommand("mode", "plan | ask | edits | auto", "what needs your yes", _mode),
            SlashCommand(
                "permissions", "", "the mode, and every rule with where it comes from", _plainly(ShowPermissions())
            ),
            SlashCommand("trust", "", "see the project's settings file, and trust it or not", _plainly(ShowTrust())),
            SlashCommand("hooks", "", "your commands at events: which, whence, how they ended", _plainly(ShowHooks())),
            SlashCommand("tools", "", "every tool, and what it costs in each request", _plainly(ListTools("tools"))),
            SlashCommand("mcp", "[restart name]", "the MCP servers: state, tools, tokens, log", _mcp),
        ),
    ),
    (
        "This program",
        (
            SlashCommand("help", "", "what the commands do", _plainly(ShowSheet("help"))),
            SlashCommand("keys", "", "what the keys do", _plainly(ShowSheet("keys"))),
            SlashCommand("settings", "[key [value | default]]", "show the settings, or change one", _settings),
            SlashCommand("theme", "[name]", "choose the colours", lambda text: SetTheme(text) if text else PickTheme()),
            SlashCommand("doctor", "", "what is found on this machine", _plainly(Examine())),
        ),
    ),
)  # fmt: skip

TABLE: dict[str, SlashCommand] = {row.name: row for _, rows in GROUPS for row in rows}
