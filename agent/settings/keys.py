"""Every key of the settings: its name, what it takes, its default, and where it may be set.

Not the layers (that is `agent.settings`): here one value is read, and a wrong one is a `Wrong` with the reason.

Invariants
 1. A key stands here once; the files, the environment, the flags and `ullage config show` are all made from this table.
 2. A project's file, even a trusted one, can set no address, no name of a key, and nothing that loosens what is asked.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, get_args

from agent.wire import Mode
from compaction.budget import DEFAULT_RULE, Policy, check_rule, parse_size
from compaction.errors import BadBudget

# Steps of one turn before it must end in words: a long refactoring takes 30 to 60; a loop that goes on costs money.
MAX_STEPS = 100

# Silence between two bytes before an answer is given up, seconds: reasoning models think for a minute without a byte.
DEADLINE = 120.0

# What most providers keep a prompt cache for, seconds.
CACHE_TTL = 300.0

# What the names of our environment variables begin with.
PREFIX = "ULLAGE_"

# The units of a time, in seconds.
_SPANS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Wrong(ValueError):
    """A value its key cannot take; the text completes `KEY …`."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a key takes. `read` takes a TOML value, `parse` the text of a variable or a flag; both raise `Wrong`."""

    read: Callable[[Any], Any]
    parse: Callable[[str], Any]


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Wrong("must be a text in quotes")
    return value.strip()


def _choice(*words: str) -> Kind:
    def read(value: Any) -> str:
        if value not in words:
            raise Wrong(f"must be one of {', '.join(words)}; it is {value!r}")
        return str(value)

    return Kind(read, lambda text: read(text.strip().lower()))


def _whole(least: int) -> Kind:
    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Wrong(f"must be a whole number; it is {value!r}")
        if value < least:
            raise Wrong(f"must be at least {least:,}; it is {value:,}")
        return value

    def parse(text: str) -> int:
        try:
            return read(int(text.replace(",", "")))
        except ValueError as error:
            raise error if isinstance(error, Wrong) else Wrong(f"must be a whole number; it is {text!r}") from None

    return Kind(read, parse)


def _size(value: Any) -> int:
    """Tokens."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise Wrong(f'must be a number of tokens such as 20000 or "20k"; it is {value!r}')
    try:
        size = parse_size(text)
    except BadBudget:
        raise Wrong(f'must be a number of tokens such as 20000 or "20k"; it is {value!r}') from None
    if size < 1:
        raise Wrong("must be at least 1 token")
    return size


def _rule(value: Any) -> str:
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise Wrong(f'must be a budget such as "160k", "60%" or "min(200k, 80%)"; it is {value!r}')
    if text.strip() == "default":
        return DEFAULT_RULE
    try:
        return check_rule(text)
    except BadBudget as error:
        raise Wrong(f"cannot be used: {error}") from None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"must be true or false; it is {value!r}")
    return value


def _flag_word(text: str) -> bool:
    word = text.strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise Wrong(f"must be true or false; it is {text!r}")


def _seconds(value: Any) -> float:
    text = str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip()) if isinstance(text, str) else None
    if not found:
        raise Wrong(f'must be a time such as "300s", "5m" or "1h"; it is {value!r}')
    return float(found[1]) * _SPANS[found[2]]


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < 1e9:
        raise Wrong(f"must be a number, 0 or more; it is {value!r}")
    return float(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise Wrong(f"must be a list of texts; it is {value!r}")
    return tuple(value)


def _command(value: Any) -> tuple[str, ...]:
    """A program and its first words: a line as a shell would cut it, or a list."""
    try:
        words = shlex.split(value) if isinstance(value, str) else list(_texts(value))
    except ValueError as error:
        raise error if isinstance(error, Wrong) else Wrong(f"cannot be cut into words: {error}") from None
    if not words or not words[0].strip() or any("\0" in word for word in words):
        raise Wrong(f"must name a program, as a text or a list of texts; it is {value!r}")
    return tuple(words)


def _address(value: Any) -> str:
    text = _text(value)
    if not re.match(r"https?://[^/\s]", text):
        raise Wrong(f"must be an address that begins with http:// or https://; it is {text!r}")
    return text


def _patience(value: Any) -> float:
    seconds = _seconds(value)
    if seconds <= 0:
        raise Wrong("must be more than nothing")
    return seconds


def _words(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise Wrong("must be a table of texts")
    return MappingProxyType(dict(value))


TEXT = Kind(_text, _text)
FLAG = Kind(_flag, _flag_word)
SIZE = Kind(_size, _size)
RULE = Kind(_rule, _rule)
SECONDS = Kind(_seconds, _seconds)
NUMBER = Kind(_number, _number)
TEXTS = Kind(_texts, lambda text: tuple(p.strip() for p in text.split(",") if p.strip()))
WORDS = Kind(_words, _words)
COMMAND = Kind(_command, _command)
ADDRESS = Kind(_address, _address)
PATIENCE = Kind(_patience, _patience)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
EFFORT = _choice(*EFFORTS)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting. `name` is dotted as in TOML; `field` the attribute of `Settings` (of `ModelEntry` for a model's).

    `project`: a trusted project's file may set it. `file`: any file may.
    """

    name: str
    kind: Kind
    default: Any = None
    project: bool = True
    file: bool = True

    @property
    def field(self) -> str:
        """`context.budget` is `budget`, `shell.keep` is `shell_keep`."""
        return self.name.removeprefix("context.").removeprefix("permissions.").replace(".", "_")

    @property
    def variable(self) -> str | None:
        """The prefix and the field in capitals; tables have none."""
        return None if self.kind is WORDS else f"{PREFIX}{self.field.upper()}"


_POLICY = Policy()

KEYS = (
    Key("model", TEXT),
    Key("api_base", TEXT, project=False),
    Key("api_key_env", TEXT, project=False),
    Key("window", SIZE, file=False),
    Key("effort", EFFORT),
    Key("fallback", TEXT),
    Key("mode", _choice(*get_args(Mode)), "ask", project=False),
    Key("max_steps", _whole(1), MAX_STEPS),
    Key("fallback_without_asking", FLAG, False, project=False),
    Key("deadline", SECONDS, DEADLINE),
    Key("theme", TEXT, "auto"),
    Key("inline", FLAG, False),
    Key("notify", FLAG, True),
    Key("keys", WORDS, MappingProxyType({}), project=False),
    Key("instructions", TEXTS, (), project=False),
    Key("context.budget", RULE, _POLICY.rule),
    Key("context.reserve", SIZE),
    Key("context.keep_recent", SIZE, _POLICY.keep_recent),
    Key("context.prune_protect", SIZE, _POLICY.prune_protect),
    Key("context.prune_minimum", SIZE, _POLICY.prune_minimum),
    Key("context.automatic", FLAG, _POLICY.automatic),
    Key("context.summariser", TEXT, "same"),
    Key("context.summary_mode", _choice("flattened", "in_context", "auto"), "flattened"),
    Key("context.cache_ttl", SECONDS, CACHE_TTL),
    Key("shell.keep", TEXTS, (), project=False),
    Key("shell.drop", TEXTS, ()),
    Key("sandbox.use", _choice("auto", "on", "off"), "auto", project=False),
    Key("sandbox.network", FLAG, False, project=False),
    Key("sandbox.writable", TEXTS, (), project=False),
    Key("permissions.allow", TEXTS, (), project=False),
    Key("permissions.ask", TEXTS, ()),
    Key("permissions.deny", TEXTS, ()),
)

# What stands under [models."glob"]. Prices are dollars per million tokens.
MODEL_KEYS = (
    Key("api_base", TEXT, project=False),
    Key("api_key_env", TEXT, project=False),
    Key("window", SIZE),
    Key("max_output", SIZE),
    Key("output_apart", FLAG),
    Key("images", FLAG),
    Key("alternate", FLAG),
    Key("budget", RULE),
    Key("reserve", SIZE),
    Key("cache_ttl", SECONDS),
    Key("effort", EFFORT),
    Key("fallback", TEXT),
    Key("prices.input", NUMBER),
    Key("prices.cached", NUMBER),
    Key("prices.cache_write", NUMBER),
    Key("prices.output", NUMBER),
)

# What stands under [mcp.NAME]. A project's file may name servers: to trust it is to agree to exactly these.
MCP_KEYS = (
    Key("command", COMMAND),
    Key("args", TEXTS),
    Key("env", WORDS),
    Key("cwd", TEXT),
    Key("url", ADDRESS),
    Key("headers", WORDS),
    Key("enabled", FLAG),
    Key("timeout", PATIENCE),
)

BY_NAME: Mapping[str, Key] = {key.name: key for key in KEYS}
MODEL_BY_NAME: Mapping[str, Key] = {key.name: key for key in MODEL_KEYS}
MCP_BY_NAME: Mapping[str, Key] = {key.name: key for key in MCP_KEYS}
