"""Which environment variables a command gets: all but those that look like secrets, and a few set for a quiet terminal.

Not a sandbox: what a command can read from disk is `sandbox`'s and the permissions' business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

# A part of the name between underscores that says "secret". PWD and OLDPWD are folders, so PWD is not among them.
_SECRET_PARTS = re.compile(
    "(?:^|_)(?:(?:API)?KEYS?|TOKENS?|SECRETS?|PASSW(?:OR)?D|PASS|PASSPHRASE|CREDENTIALS?|CREDS|PAT|PRIVATE|COOKIE|AUTH"
    "|BEARER|SIGNATURE|SALT|JWT|DSN)(?:_|$)",
    re.I,
)
_SECRET_INSIDE = re.compile("APIKEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|PRIVATEKEY|ACCESSKEY", re.I)

# A user and password inside an address (a database's, say). Proxies are left: without them no download works.
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:[^/\s@]+@")

# Sockets and terminals whose names only sound like secrets; they hold an address, not the secret.
_HARMLESS = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"})

# No pager may wait for a key nobody can press, no program may draw; git must fail instead of asking or opening an
# editor.
_QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
}


def secret(name: str, value: str) -> bool:
    """Whether a variable looks like a secret, by its name, or by a password inside an address."""
    if name in _HARMLESS:
        return False
    if _SECRET_PARTS.search(name) or _SECRET_INSIDE.search(name):
        return True
    return bool(_IN_ADDRESS.search(value)) and not name.upper().endswith("_PROXY")


@dataclass(frozen=True, slots=True)
class Environment:
    """The policy: `keep` and `drop` are globs on names that overrule what a name looks like; `drop` wins."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def for_commands(self, environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
        """What a command gets, and the names it does not get, sorted."""
        given: dict[str, str] = {}
        dropped: list[str] = []
        for name, value in environ.items():
            wanted = any(fnmatchcase(name, g) for g in self.keep) or not secret(name, value)
            if wanted and not any(fnmatchcase(name, g) for g in self.drop):
                given[name] = value
            else:
                dropped.append(name)
        return given | _QUIET, tuple(sorted(dropped))
