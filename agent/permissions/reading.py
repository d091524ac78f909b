"""Which calls of well-known programs only read, and only in the session's folder: those run without a question.

Not a judge (that is `permissions`), and short on purpose. Everything here errs on the side of asking: options are
listed, never excluded, so an option we have not heard of is not read-only; an abbreviated one is an unknown one too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.permissions.parsed import Command, Word


@dataclass(frozen=True, slots=True)
class Reads:
    """A program that only reads when called with these options alone.

    `short` letters may be clustered and followed by a number; `long` without a value or with `=value`. `pattern_first`:
    the first operand is no path. `paths` false: operands are not paths at all. `most` operands.
    """

    short: str = ""
    long: tuple[str, ...] = ()
    pattern_first: bool = False
    paths: bool = True
    most: int = 1_000
    descends: bool = False


_GREP = Reads("EFGPivwxcloqsnhHabLzZrIABCmT", ("color", "include", "exclude", "exclude-dir"), True, descends=True)
_RG = (
    "hidden no-ignore count type glob line-number ignore-case word-regexp fixed-strings context after-context "
    "before-context files-with-matches max-count heading no-heading color sort"
)

READERS: dict[str, Reads] = {
    "ls": Reads("aAbBcCdfFgGhiklmnNopqQrRsStuUvxX1", ("all", "almost-all", "color", "human-readable"), descends=True),
    "cat": Reads("AbeEnstTuv"),
    "head": Reads("cnqv"),
    "tail": Reads("cnqv"),
    "wc": Reads("clmwL"),
    "pwd": Reads("LP", most=0),
    "echo": Reads("neE", paths=False),
    "true": Reads(),
    "false": Reads(),
    "which": Reads("a", paths=False),
    "basename": Reads("a", paths=False),
    "dirname": Reads("", paths=False),
    "realpath": Reads("emqs"),
    "stat": Reads("ft"),
    "diff": Reads("uUNwbBqyiEZ", ("color", "unified", "brief")),
    "cmp": Reads("bls"),
    "sort": Reads("bdfghiMnRrVcCmsuzkt"),
    "uniq": Reads("cdDuizfsw", most=1),
    "cut": Reads("bcdfsz", ("complement",)),
    "tr": Reads("cCdst", paths=False),
    "uname": Reads("asrmnvpio", most=0),
    "whoami": Reads(most=0),
    "nproc": Reads("", ("all",), most=0),
    "du": Reads("hsacdx", ("max-depth",), descends=True),
    "df": Reads("hTi"),
    "tree": Reads("adfiLIP", ("dirsfirst", "gitignore"), descends=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Reads("niwlcFABCgtTvSsoNIHx", tuple(_RG.split()), True, descends=True),
}

_DIFF = (
    "stat cached staged name-only name-status numstat shortstat summary color no-color word-diff unified patch "
    "no-ext-diff no-textconv diff-filter ignore-all-space ignore-space-change check no-renames"
)
_LOG = (
    f"{_DIFF} oneline graph all decorate max-count since until after before author grep pretty format follow no-merges "
    "merges reverse first-parent abbrev-commit date no-patch"
)

# Git runs what a repository's configuration names, so these read only in the session's own folder (see `only_reads`).
GIT_READERS: dict[str, Reads] = {
    "status": Reads("sbuz", ("short", "branch", "porcelain", "ignored", "untracked-files")),
    "diff": Reads("pUuwbMCz", tuple(_DIFF.split())),
    "log": Reads("pUuwbMCznis", tuple(_LOG.split())),
    "show": Reads("pUuwbMCzs", tuple(_LOG.split())),
    "blame": Reads("wMCles"),
    "branch": Reads("avr", ("show-current", "all", "list", "remotes"), most=0),
    "remote": Reads("v", most=0),
    "tag": Reads("ln", ("list",), most=0),
    "ls-files": Reads("cdmosz", ("others", "exclude-standard", "cached", "modified", "deleted")),
    "rev-parse": Reads("", ("abbrev-ref", "short", "show-toplevel", "verify", "is-inside-work-tree")),
    "shortlog": Reads("sne"),
    "describe": Reads("", ("tags", "always")),
    "cat-file": Reads("pts"),
}

_FIND_TESTS = {"-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-type", "-size", "-mtime", "-mmin", "-newer"}
_FIND_TESTS |= {"-maxdepth", "-mindepth", "-not", "!", "-o", "-or", "-a", "-and", "-empty", "-prune", "-perm"}
_FIND_TESTS |= {"-print", "-print0", "(", ")"}


def _options_known(words: tuple[Word, ...], known: Reads) -> tuple[bool, list[str]]:
    """Whether every option is listed, and the operands."""
    operands: list[str] = []
    ended = False
    for word in words:
        text = word.text
        if ended or text == "-" or not text.startswith("-"):
            operands.append(text)
        elif text == "--":
            ended = True
        elif text.startswith("--"):
            name, _, value = text[2:].partition("=")
            if name not in known.long or "/" in value:
                return False, []
        elif not re.fullmatch(rf"-[{re.escape(known.short) or '-'}]*\d*", text) or text == "-":
            return False, []
    return len(operands) <= known.most, operands


def only_reads(command: Command, cwd: Path, folder: Path, inside: Callable[[Path], bool]) -> bool:
    """Whether a command of literal words surely changes nothing and reads nothing outside the session's folder.

    Its redirections are judged elsewhere. `cwd` is where it runs, `folder` the session's.
    """
    if command.assignments or not command.words or not all(w.literal for w in command.words):
        return False
    name, rest = command.name, command.words[1:]
    if name == "git":
        # Elsewhere a folder may pose as a repository whose configuration runs programs.
        if cwd != folder or not rest or rest[0].text not in GIT_READERS:
            return False
        known, rest = GIT_READERS[rest[0].text], rest[1:]
    elif name == "find":
        return _find_reads(rest, cwd, inside)
    elif name == "date":
        return all(w.text.startswith("+") or w.text in ("-u", "-I", "-R") for w in rest)
    elif name in READERS:
        known = READERS[name]
    else:
        return False
    listed, operands = _options_known(rest, known)
    if not listed:
        return False
    if known.pattern_first:
        operands = operands[1:]
    return not known.paths or all(inside_path(text, cwd, inside) for text in operands)


def _find_reads(words: tuple[Word, ...], cwd: Path, inside: Callable[[Path], bool]) -> bool:
    starts = True
    for word in words:
        text = word.text
        starts = starts and not text.startswith(("-", "(", "!"))
        if text.startswith("-") and text not in _FIND_TESTS and not re.fullmatch(r"-\d+", text):
            return False
        if (starts or text.startswith("/")) and not inside_path(text, cwd, inside):
            return False
    return True


def descends(command: Command) -> bool:
    """Whether a read-only command may read every file below a folder."""
    known = READERS.get(command.name)
    return command.name in ("git", "find") or (known is not None and known.descends)


def inside_path(text: str, cwd: Path, inside: Callable[[Path], bool]) -> bool:
    """Whether an operand, links resolved, lies in the session's folder, should it be a path."""
    try:
        return text == "-" or inside((cwd / text).resolve())
    except (OSError, ValueError, RuntimeError):
        return False
