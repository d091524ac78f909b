"""The command line: reads the arguments, picks a front end, wires log, model and worker.

Starts with the standard library alone, so that `--version` and mistakes answer at once; textual is imported only when
its screen opens, litellm never (it lives in the model host's own process).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from tui.version import VERSION

READING = (
    "sessions",
    "context",
    "recall",
    "timeline",
    "request",
    "verify",
    "fork",
    "export",
    "config",
    "models",
    "doctor",
)
WRITING = ("exec", "prune", "compact", "undo", "pin", "rewind")
COMMANDS = (*READING, *WRITING, "keys", "tour")

# What the screens and other agents call an option that commands for scripts have under another name.
MEANT = {"--resume": "--session", "--output-format": "--json"}

# How a command is told which session it is about.
SESSION = "an id, a unique part of one, a path, or 'last'"

# What a shell reports for a program that SIGINT ended: 128 + 2.
INTERRUPTED = 130

# A single word this close to a command's name is a slip, not a message; of 1, as `difflib` counts.
ALIKE = 0.85


def main(argv: Sequence[str] | None = None) -> int:
    """The `ullage` command. Returns the exit status of HEADLESS: 0, 1, 2, 3, 4 or 130."""
    fill_streams()
    problem = shadowed()
    if problem is not None:
        print(f"ullage: {problem}", file=sys.stderr)
        return 2
    arguments = list(sys.argv[1:] if argv is None else argv)
    options = parse(arguments)
    folder = Path(os.path.expanduser(getattr(options, "directory", ".")))
    if not folder.is_dir():
        print(f"ullage: -C {folder}: there is no such folder", file=sys.stderr)
        return 2
    os.chdir(folder)
    try:
        from tui import wiring

        return wiring.run(options)
    except KeyboardInterrupt:
        # Before a screen or a run listens for it: nothing was begun, so there is nothing to say.
        return INTERRUPTED


def fill_streams() -> None:
    """A standard stream that was closed (`>&-`) leads nowhere from now on: else the next file that is opened, a log
    perhaps, would get its number, and with it whatever a child says."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)
    os.close(number)


def shadowed() -> str | None:
    """A sentence when another package on the path is taken for one of ours."""
    here = Path(__file__).resolve().parent.parent
    for name in ("agent", "compaction"):
        spec = find_spec(name)
        place = Path(next(iter(spec.submodule_search_locations or []), "")).resolve() if spec else None
        if place is None or place.parent != here:
            where = "nothing" if place is None else str(place)
            return f"the package {name!r} is taken from {where}, not from {here}; unset PYTHONPATH or leave that folder"
    return None


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options. Exits with status 2 and a sentence for what cannot be read."""
    if _first_word(arguments) not in COMMANDS:
        parser = _screen_parser()
        options, left = parser.parse_known_args(arguments)
        if left:
            parser.error(_unknown(left, parser))
        word = options.prompt[0] if len(options.prompt) == 1 and " " not in options.prompt[0] else ""
        near = get_close_matches(word, COMMANDS, 1, ALIKE)
        if near:
            said = f"there is no command {word!r}; did you mean `ullage {near[0]}`?"
            parser.error(f"{said} As a message, that one word needs quotes and a blank: {word + ' '!r}")
        options.command = "screen"
        options.prompt = " ".join(options.prompt)
        return options
    parser, commands = _command_parser()
    options, left = parser.parse_known_args(arguments)
    # Words after an option: the parser has closed its list of words by then, and people write them in any order.
    lists = ("prompt", "records", "focus", "query")
    words = next((name for name in lists if isinstance(getattr(options, name, None), list)), None)
    if left and options.command == "keys":
        # Not repeated: it may be the key, and what is printed is kept in more places than the shell's own list.
        parser.error("a key is never an argument: `keys set PROVIDER` asks for it, or takes it from standard input")
    if left and (words is None or any(word.startswith("-") for word in left)):
        commands[options.command].error(_unknown(left, commands[options.command]))
    if words is not None:
        setattr(options, words, [*getattr(options, words), *left])
    return options


def _unknown(left: list[str], parser: argparse.ArgumentParser) -> str:
    """What is wrong with arguments that nothing takes, and what may have been meant."""
    known = parser.format_help().replace(",", " ").split()
    options = sorted({word for word in known if word.startswith("--")})
    near = get_close_matches(MEANT.get(left[0], left[0].partition("=")[0]), options, 1)
    if left[0].isdecimal() and "--before" in options:
        near = [f"--before {left[0]}"]
    return f"unrecognized arguments: {' '.join(left)}" + (f"; did you mean {near[0]}?" if near else "")


def _first_word(arguments: list[str]) -> str | None:
    """The first argument that is neither an option nor the value of one."""
    takes_value = {
        "-C",
        "--model",
        "--api-base",
        "--budget",
        "--window",
        "--mode",
        "--session",
        "--max-steps",
        "--resume",
    }
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in takes_value:
            skip = True
        elif not argument.startswith("-"):
            return argument
    return None


def _named(text: str) -> str:
    """Not empty: a script's variable that was never set must not begin another session."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; leave it away for a new session")
    return text


class _Asking(argparse.ArgumentParser):
    """Says of a session that is not named how to name one."""

    def error(self, message: str) -> NoReturn:
        """Ends the program with status 2."""
        super().error(f"{message}; SESSION is {SESSION}" if "required: SESSION" in message else message)


def _common() -> _Asking:
    common = _Asking(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("-C", dest="directory", metavar="DIR", help="work in this folder")
    common.add_argument("--model", metavar="M", help="litellm's name, embedded/smollm2, or a path that ends in .gguf")
    common.add_argument("--api-base", metavar="URL", help="an OpenAI-compatible server of your own")
    common.add_argument("--budget", metavar="B", help="working budget: 160k, 60%% or min(200k, 80%%)")
    common.add_argument("--window", metavar="N", help="what you know of the model's window, tokens")
    common.add_argument("--mode", choices=("plan", "ask", "edits", "auto"), help="what runs without asking")
    common.add_argument("--session", type=_named, metavar="ID|PATH", help="go on with this session")
    common.add_argument("--continue", dest="resume_last", action="store_true", help="go on with this folder's newest")
    common.add_argument("--max-steps", type=int, metavar="N", help="requests in one turn at the most")
    return common


def _screen_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ullage",
        parents=[_common()],
        description="A coding agent for people who care what is in the model's context.",
        epilog=f"commands for scripts: {', '.join(COMMANDS)}; each has its own --help",
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("--version", action="version", version=f"ullage {VERSION}", help="show the version and exit")
    parser.add_argument(
        "--resume", nargs="?", const="", metavar="ID", help="choose a session to go on with, or name it"
    )
    parser.add_argument("--inline", action="store_true", help="the inline front end: native scrollback")
    parser.add_argument("prompt", nargs="*", default=[], metavar="PROMPT", help="the first message")
    return parser


def _command_parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    common = _common()
    parser = argparse.ArgumentParser(prog="ullage", parents=[common], argument_default=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Asking)

    def command(name: str, text: str, *, session: bool = False, json: bool = True) -> argparse.ArgumentParser:
        made = commands.add_parser(
            name, parents=[common], help=text, description=text, argument_default=argparse.SUPPRESS
        )
        if session:
            made.add_argument("target", metavar="SESSION", help=SESSION)
        if json:
            made.add_argument("--json", action="store_true", default=False, help="JSON on stdout, nothing else")
        return made

    run = command("exec", "one turn without a screen")
    run.add_argument("prompt", nargs="*", default=[], metavar="PROMPT", help="the message; - or none reads stdin")
    sessions = command("sessions", "this folder's sessions")
    sessions.add_argument("--all", action="store_true", default=False, help="every folder's")
    command("context", "the view item by item, and the numbers of the meter", session=True)
    prune = command("prune", "replace old tool results by placeholders", session=True)
    prune.add_argument("records", nargs="*", default=[], metavar="ID", help="records: 12 14-18")
    prune.add_argument("--all", action="store_true", default=False, help="every unprotected result")
    prune.add_argument("--dry-run", action="store_true", default=False, help="show the plan only")
    prune.add_argument("--force", action="store_true", default=False, help="even when it frees little")
    compact = command("compact", "summarise what lies before the tail", session=True)
    compact.add_argument("focus", nargs="*", default=[], metavar="FOCUS", help="what the summary must keep")
    compact.add_argument("--preview", action="store_true", default=False, help="show the plan only; no model is asked")
    command("undo", "take back the newest prune or compaction", session=True)
    pin = command("pin", "keep a record word for word through everything", session=True)
    pin.add_argument("id", type=int, metavar="ID")
    pin.add_argument("--remove", action="store_true", default=False, help="unpin it")
    rewind = command("rewind", "go on from just before a message of yours", session=True)
    rewind.add_argument("record", type=int, nargs="?", default=0, metavar="RECORD", help="the message's number")
    rewind.add_argument("--back", action="store_true", default=False, help="take back the last giving back of files")
    rewind.add_argument("--files", action="store_true", default=False, help="give files back what they held then, too")
    recall = command("recall", "search the whole session log", session=True)
    recall.add_argument("query", nargs="+", metavar="QUERY", help="words, or a record's number")
    command("timeline", "one row a request: size, cached, cost, rewrites", session=True)
    request = command("request", "the exact request body that would go out next", session=True, json=False)
    request.add_argument("--prompt", metavar="TEXT", default=None, help="as if this were said next")
    command("verify", "replay the log and check what a log can show", session=True)
    fork = command("fork", "a new session with this one's log up to here; this one stays as it is", session=True)
    fork.add_argument("--before", type=int, metavar="RECORD", default=None, help="only up to before this record")
    export = command("export", "the session for people", session=True, json=False)
    export.add_argument("--format", choices=("md", "html", "json"), default="md")
    export.add_argument("-o", dest="output", metavar="FILE", default=None)
    config = command("config", "settings and where each value came from")
    config.add_argument("what", nargs="?", choices=("show", "check", "path", "trust"), default="show")
    config.add_argument("--withdraw", action="store_true", default=False, help="with trust: take it back")
    models = command("models", "known models: window, source, output limit, prices")
    models.add_argument("--forget", metavar="NAME", default=None, help="forget a learned window")
    command("doctor", "what is found: keys (never shown), endpoints, sandbox, terminal")
    keys = command("keys", "save, forget or list the keys of providers; none is ever shown")
    keys.add_argument("what", nargs="?", choices=("list", "set", "forget"), default="list")
    keys.add_argument("provider", nargs="?", metavar="PROVIDER", default=None, help="anthropic, openai, …")
    command("tour", "two minutes through meter, prune, compaction and undo, without a model", json=False)
    return parser, commands.choices
