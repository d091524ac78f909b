"""Which programs start other programs, by name or by option, and which prefix of a command is worth remembering.

Not a judge (that is `permissions`). Everything here errs on the side of asking: what may start another program is taken
to do so. The lists are not complete and cannot be; they are there so that a rule for a harmless prefix stays harmless.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.permissions.parsed import Command, Word


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# The command behind them is what counts; a rule must reach as far as its name.
WRAPPERS = _words(
    "env xargs nice ionice nohup timeout stdbuf setsid command builtin exec sudo doas su runuser watch parallel ssh",
    "chroot unshare nsenter strace ltrace gdb script flock busybox npx bunx uvx pipx entr at batch systemd-run proot",
    "fakeroot chrt taskset numactl unbuffer expect tmux screen",
)

# They run what their words, a file or their input say, in our shell or another.
EVALUATORS = _words("eval source . trap alias hash enable shopt set export declare typeset local readonly unset bind")

SHELLS = _words("bash sh dash zsh ksh fish csh tcsh ash rbash")
INTERPRETERS = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|tclsh|osascript|Rscript|julia)[\d.]*")
EDITORS = _words("vi vim nvim view ex ed nano emacs less more most man ftp gdb mysql psql sqlite3")

# Programs of subcommands: the second word (for some the third) says what is done.
_SUBCOMMANDS = _words(
    "git npm pnpm yarn cargo go docker podman kubectl pip pip3 uv poetry hatch pdm conda apt brew rustup dotnet gradle",
    "mvn bundle rake rails composer terraform helm gh make just task tox nox pre-commit",
)
_RUNNERS = {
    "npm": "run exec",
    "pnpm": "run exec dlx",
    "yarn": "run dlx",
    "uv": "run tool",
    "poetry": "run",
    "hatch": "run",
    "pdm": "run",
    "conda": "run",
    "bundle": "exec",
    "docker": "run exec compose",
    "podman": "run exec",
    "kubectl": "exec",
    "go": "tool",
    "git": "bisect submodule filter-branch",
    "deno": "eval",
    "bun": "x",
}

# One wrong argument does harm that cannot be taken back, or reaches out: remembered word for word only.
_NEVER_BY_PREFIX = _words(
    "rm rmdir dd mkfs shred truncate chmod chown chgrp kill killall pkill shutdown reboot curl wget scp rsync sftp nc",
    "ncat socat telnet crontab mount umount useradd userdel passwd visudo iptables systemctl",
)

# Long options by which programs start others or write where they are told; any abbreviation may be taken for one.
_STARTING = (
    "exec", "execdir", "exec-batch", "to-command", "checkpoint-action", "use-compress-program", "rsh", "rsh-command",
    "pager", "compress-program", "upload-pack", "receive-pack", "ext-diff", "extcmd", "open-files-in-pager", "eval",
    "vettool", "toolexec", "output", "hostname-bin", "script-shell",
)  # fmt: skip
_STARTING_OF = {
    "tar": ("info-script", "new-volume-script", "rmt-command"),
    "git": ("config-env", "exec-path"),
    "split": ("filter",),
    "rg": ("pre",),
    "su": ("command",),
}

# Short options of the same kind.
_STARTING_SHORT = {"tar": "IF", "zip": "T", "rsync": "e", "sort": "oT", "fd": "xX", "fdfind": "xX", "ssh-keygen": "D"}


def _runs(words: Sequence[str]) -> bool:
    """Whether the first two words are a program's way to start another."""
    return len(words) > 1 and words[1] in _RUNNERS.get(words[0], "").split()


def _program(text: str) -> str:
    return PurePosixPath(text).name


def _starting_option(name: str, text: str) -> bool:
    if not text.startswith("-") or len(text) < 3:
        return False
    option = text.lstrip("-").partition("=")[0]
    if text.startswith("--"):
        known = _STARTING + _STARTING_OF.get(name, ())
        return bool(option) and any(long.startswith(option) for long in known)
    return option in (
        "exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls", "vettool", "toolexec"
    )  # fmt: skip


def hazard(command: Command, covered: int) -> str:
    """Why a rule of `covered` words does not vouch for this command, though it begins with them; empty when it does."""
    words = [w.text for w in command.words]
    name = _program(words[0])
    behind = words[covered:]
    if any(_may_hide_an_option(w, name, words, covered) for w in command.words[covered:]):
        return "a pattern may stand for an option"
    option = next((w for w in behind if _starting_option(name, w)), None)
    if option is not None:
        return f"{option} can start another program or write a file"
    if name in WRAPPERS or _runs(words):
        first = 2 if _runs(words) else 1
        target = next((i for i, w in enumerate(words) if i >= first and _names_program(w)), len(words))
        if target >= covered:
            return f"{name} starts another program"
    if name in EVALUATORS or name in EDITORS:
        return f"{name} can change what later words mean" if covered < 2 else ""
    if name in SHELLS or INTERPRETERS.fullmatch(name):
        return _interpreter_hazard(name, words, covered)
    if name == "git":
        return _git_hazard(words, covered)
    if name in ("awk", "gawk", "mawk") and any(re.search(r"system|\||>|getline|@|^-[fiEle]", w) for w in behind):
        return "awk programs can start others and write files"
    if name == "sed" and not all(_plain_sed(w) for w in behind):
        return "sed scripts can start programs and write files"
    letters = _STARTING_SHORT.get(name)
    if letters and any(re.match(rf"-[A-Za-z]*[{letters}]", w) and not w.startswith("--") for w in behind):
        return f"{name} can start another program or write elsewhere by its options"
    if name in ("make", "gmake") and any(re.match(r"[A-Za-z_]+\s*[:+?!]*=|-[a-zA-Z]*[fCIE]", w) for w in behind):
        return "make can be told what to run by these words"
    return ""


def _may_hide_an_option(word: Word, name: str, words: list[str], covered: int) -> bool:
    """Whether bash may make an option of a word: braces spell anything, a leading glob finds a file named like one."""
    if word.literal:
        return False
    if "{" in word.text or word.text.startswith("-"):
        return True
    if name == "git":
        careless = covered > 1 and words[1] in ("add", "commit", "rm", "mv", "restore", "checkout", "stage", "status")
        return not careless and (covered < 2 or word.text[0] in "*?[")
    careful = name in WRAPPERS or name in SHELLS or INTERPRETERS.fullmatch(name) or name in _STARTING_SHORT
    careful = careful or name in _STARTING_OF or name in ("find", "awk", "gawk", "mawk", "sed", "make")
    return bool(careful) and word.text[0] in "*?["


def _names_program(word: str) -> bool:
    """Whether a wrapper's word may be the program it starts: no option, assignment or number."""
    return not (word.startswith("-") or "=" in word or word == "{}" or re.fullmatch(r"[\d.]+[smhd]?", word))


def _interpreter_hazard(name: str, words: list[str], covered: int) -> str:
    """A rule that names the script, or the program text, vouches for it; the bare name for script files only."""
    if covered > 1 and not words[1].startswith("-"):
        return ""
    codes = "csi" if name in SHELLS else "ci" if name.startswith(("python", "pypy")) else "ceEprniBR"
    for index, word in enumerate(words[1:], 1):
        if word == "-" or word.startswith("--eval") or re.match(rf"-[A-Za-z]*[{codes}]", word):
            return "" if index + 1 < covered else f"{name} runs the program text given to it"
        if word == "-m":
            return "" if index + 1 < covered else f"{name} -m runs any module"
    return "" if any(not w.startswith("-") for w in words[1:]) else f"{name} runs what its input says"


def _git_hazard(words: list[str], covered: int) -> str:
    sub = next((i for i, w in enumerate(words) if i and not w.startswith("-")), len(words))
    if any(w.startswith(("-c", "-C", "--exec-path", "--config-env", "--git-dir", "--work-tree")) for w in words[1:sub]):
        return "git takes another configuration or folder by these options"
    if sub >= len(words):
        return ""
    short = {"rebase": "x", "difftool": "x", "grep": "O", "clone": "uc", "diff": "O", "archive": "o", "config": "e"}
    letters = short.get(words[sub], "")
    behind = words[max(sub + 1, covered) :]
    if letters and any(re.match(rf"-[A-Za-z]*[{letters}]", w) and not w.startswith("--") for w in behind):
        return f"git {words[sub]} can start another program by these options"
    if words[sub] in ("bisect", "submodule", "filter-branch", "config", "difftool", "mergetool") and covered < 3:
        return f"git {words[sub]} can start other programs"
    # ext::sh -c … is an address too.
    return "an address can start a program" if any("::" in w for w in words[sub + 1 :]) else ""


def _plain_sed(word: str) -> bool:
    """Whether a word of a sed command is an option, a path, a line address to print, or a plain substitution."""
    if word.startswith("-"):
        return bool(re.fullmatch(r"-[nErsz]+|--quiet|--silent", word))
    if re.fullmatch(r"(\d+|\$)(,(\d+|\$))?[pdq]", word):
        return True
    if re.fullmatch(r"s([/|#,])(?:(?!\1)[^\\\n;{}]|\\.)*\1(?:(?!\1)[^\\\n;{}]|\\.)*\1[gp\d]*", word):
        return True
    return bool(re.fullmatch(r"[\w./-]+/[\w./-]*|[\w-]+\.[A-Za-z]\w*", word))


def nested(command: Command) -> list[str]:
    """Every word that may be a program the command starts: its name first. For rules that deny."""
    words = [w.text for w in command.words]
    names = [_program(words[0])] if words else []
    return names + [_program(w) for w in words[1:] if _names_program(w)]


def prefix_of(command: Command) -> tuple[str, ...] | None:
    """The words worth remembering, so that the like is not asked again; None: only the whole line may be."""
    words = command.words
    if not words or command.assignments or not words[0].literal:
        return None
    texts = [w.text if w.literal else "" for w in words]
    name = _program(texts[0])
    count = 1
    if name in WRAPPERS or name in EVALUATORS or name in SHELLS or name in EDITORS or name in _NEVER_BY_PREFIX:
        return None
    if INTERPRETERS.fullmatch(name):
        if len(texts) < 2:
            return None
        count = 3 if texts[1] == "-m" else 2
        if count == 2 and not re.fullmatch(r"[\w./][\w./-]*", texts[1]):
            return None
    elif name in _SUBCOMMANDS:
        count = 3 if _runs(texts) else 2
    if name == "make":
        count = min(2, len(texts))
    if len(texts) < count or not all(re.fullmatch(r"-m|[\w./][\w./:@+-]*", t) for t in texts[:count]):
        return None
    if name == "git" and texts[1] in ("config", "push", "clean", "reset", "filter-branch", "bisect", "submodule"):
        return None
    runs = texts[2] if _runs(texts) else ""
    if runs in WRAPPERS or runs in SHELLS or INTERPRETERS.fullmatch(runs):
        return None
    prefix = tuple(texts[:count])
    return None if hazard(command, count) else prefix
