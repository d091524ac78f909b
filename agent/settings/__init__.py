"""The settings in force: one frozen value made from layers, each stronger than the one before.

    defaults < config.toml < the project's .ullage/config.toml, once trusted < ULLAGE_… variables < flags

Not the table of keys (`agent.settings.keys`), not the writing (`agent.settings.file`).

Invariants
 1. A project's file does nothing until the user has agreed to its exact content.
 2. An unknown key is a notice, never an error; a wrong value is an error, never a default.
 3. `origin` names the layer that each value came from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from agent.models.catalogue import Claim
from agent.places import Places, project
from agent.sanitise import one_line
from agent.settings.hooks import Hook
from agent.settings.keys import BY_NAME, KEYS, MODEL_BY_NAME, PREFIX, Wrong
from agent.settings.text import Layer, SettingsError, nearest_variable, read_layer
from agent.trust import Trust
from agent.wire import Mode
from compaction.budget import Policy
from compaction.cache import Prices

DEFAULT = "default"

# Lists that only ever forbid, ask or withhold: a project's file adds to the user's own and cannot empty them.
TIGHTENING = ("permissions.ask", "permissions.deny", "shell.drop")

# The project's own settings, below its root.
PROJECT_FILE = Path(".ullage", "config.toml")

# A settings file longer than this is none (bytes); reading it whole would only delay the sentence that says so.
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """What the user says about a model: claims about facts (window, max_output, prices) and choices. None is unsaid.

    `window`, `max_output`, `reserve` in tokens; `cache_ttl` in seconds. Prices are known when input and output are.
    `alternate`: user and assistant are to take turns; unsaid, they do where the provider was found to insist.
    """

    api_base: str | None = None
    api_key_env: str | None = None
    window: int | None = None
    max_output: int | None = None
    output_apart: bool | None = None
    budget: str | None = None
    reserve: int | None = None
    cache_ttl: float | None = None
    effort: str | None = None
    prices: Prices | None = None
    fallback: str | None = None
    images: bool | None = None
    alternate: bool | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything the user chose. Sizes in tokens, times in seconds. `models` keeps the order of the files.

    `instructions` are files read beside AGENTS.md, from the project's root on. `mcp` are MCP servers by name, the
    user's before the project's (`agent.mcp.server` reads them).

    `hooks` are run in this order, the user's before the project's.

    `notices` are sentences to show once. `untrusted` is a project's settings file that waits for the user's yes.
    """

    model: str | None
    api_base: str | None
    api_key_env: str | None
    window: int | None
    effort: str | None
    fallback: str | None
    fallback_without_asking: bool
    mode: Mode
    max_steps: int
    deadline: float
    theme: str
    inline: bool
    notify: bool
    keys: Mapping[str, str]
    instructions: tuple[str, ...]
    budget: str
    reserve: int | None
    keep_recent: int
    prune_protect: int
    prune_minimum: int
    automatic: bool
    summariser: str
    summary_mode: Literal["flattened", "in_context", "auto"]
    cache_ttl: float
    shell_keep: tuple[str, ...]
    shell_drop: tuple[str, ...]
    sandbox_use: Literal["auto", "on", "off"]
    sandbox_network: bool
    sandbox_writable: tuple[str, ...]
    allow: tuple[str, ...]
    ask: tuple[str, ...]
    deny: tuple[str, ...]
    models: Mapping[str, Mapping[str, Any]]
    mcp: Mapping[str, Mapping[str, Any]]
    origin: Mapping[str, str]
    hooks: tuple[Hook, ...] = ()
    notices: tuple[str, ...] = ()
    untrusted: Path | None = None

    # ── by model ──

    def entry_for(self, model: str) -> ModelEntry:
        """What is said about a model: every glob that matches, the more literal one winning, the exact name last.

        Address, key and window given by flag or variable are about the session's model, and win for it.
        """
        said: dict[str, Any] = {}
        matching = [g for g in self.models if g == model or fnmatchcase(model, g)]
        for glob in sorted(matching, key=lambda g: (g == model, len(g) - sum(map(g.count, "*?[")))):
            said |= self.models[glob]
        own = self._is_own(model)
        for name in ("api_base", "api_key_env", "window", "effort"):
            value, wished = getattr(self, name), own and self._given(name)
            if value is not None and (wished or (name not in said and name != "window")):
                said[name] = value
        prices = {name.removeprefix("prices."): said.pop(name) for name in list(said) if name.startswith("prices.")}
        return ModelEntry(**said, prices=Prices(**prices) if {"input", "output"} <= prices.keys() else None)

    def key_variables(self) -> tuple[str, ...]:
        """The variables that these settings name for a key."""
        named = (said.get("api_key_env") for said in self.models.values())
        return tuple(dict.fromkeys(name for name in (self.api_key_env, *named) if name))

    def claim_for(self, model: str) -> Claim:
        """What is said about the facts of a model: for the catalogue."""
        entry = self.entry_for(model)
        return Claim(entry.window, entry.max_output, entry.output_apart, entry.prices)

    def effort_for(self, model: str) -> str | None:
        """The reasoning effort asked of a model; None leaves it to the provider."""
        return self.entry_for(model).effort

    def fallback_for(self, model: str) -> str | None:
        """The model to go on with while `model` is overloaded; None: there is none."""
        said = self.entry_for(model).fallback or self.fallback
        return None if said == model else said

    def policy_for(self, model: str, rule: str | None = None) -> Policy:
        """The budget policy for a model. `rule` is the session's own choice, stronger than all else."""
        entry = self.entry_for(model)
        own = self._is_own(model)
        budget = self.budget if entry.budget is None or (own and self._given("context.budget")) else entry.budget
        reserve = self.reserve if entry.reserve is None or (own and self._given("context.reserve")) else entry.reserve
        return Policy(
            rule if rule is not None else budget,
            reserve,
            self.automatic,
            self.keep_recent,
            self.prune_protect,
            self.prune_minimum,
        )

    def cache_ttl_for(self, model: str) -> float:
        """How long the provider keeps a prompt cache, seconds."""
        said = self.entry_for(model).cache_ttl
        return self.cache_ttl if said is None or self._given("context.cache_ttl") else said

    def _is_own(self, model: str) -> bool:
        """Whether `model` is the one these settings name: `my-model` names `openai/my-model`, `embedded` its family."""
        named = self.model
        if named is None or named == model or model.endswith(f"/{named}") or model.startswith(f"{named}/"):
            return True
        # A model's file is stored by its whole path.
        return model.startswith("embedded/") and Path(named).name == Path(model).name

    def _given(self, name: str) -> bool:
        """Whether a flag or a variable set it: a wish for this run, above what any file says."""
        return self.origin[name].startswith(("flag ", "variable "))

    # ── for `ullage config show` ──

    def shown(self) -> tuple[tuple[str, Any, str], ...]:
        """(key, value, where from) of everything, models last."""
        rows = [(key.name, getattr(self, key.field), self.origin[key.name]) for key in KEYS]
        for glob, said in self.models.items():
            rows += [(f'models."{glob}".{n}', value, self.origin[f"models.{glob}.{n}"]) for n, value in said.items()]
        for server, said in self.mcp.items():
            # What a variable or a header holds may be a secret: names only.
            named = {n: tuple(value) if n in ("env", "headers") else value for n, value in said.items()}
            rows += [(f'mcp."{server}".{n}', value, self.origin[f"mcp.{server}.{n}"]) for n, value in named.items()]
        rows += [(f"hooks.{hook.event}", hook.command, hook.origin) for hook in self.hooks]
        return tuple(rows)


def load(
    folder: Path,
    places: Places,
    environ: Mapping[str, str] = os.environ,
    overrides: Mapping[str, Any] = MappingProxyType({}),
) -> Settings:
    """The settings for work in `folder`. `overrides` are flags: dotted names or fields to values, None unset.

    Raises `SettingsError`.
    """
    notices: list[str] = []
    values: dict[str, Any] = {key.name: key.default for key in KEYS}
    origin: dict[str, str] = dict.fromkeys(values, DEFAULT)
    models: dict[str, dict[str, Any]] = {}
    mcp: dict[str, Mapping[str, Any]] = {}
    hooks: list[Hook] = []

    def put(layer: Layer, source: str, *, project: bool = False) -> None:
        notices.extend(layer.notices)
        hooks.extend(layer.hooks)
        for name, value in layer.values.items():
            joins = project and name in TIGHTENING and values[name]
            values[name] = (*values[name], *value) if joins else value
            origin[name] = f"{origin[name]} and {source}" if joins else source
        for glob, said in layer.models.items():
            models.setdefault(glob, {}).update(said)
            origin.update({f"models.{glob}.{name}": source for name in said})
        for server, said in layer.mcp.items():
            if server in mcp:
                # Whole or not at all: the user's headers must not go to the project's address.
                notices.append(f"{source}: the server mcp.{one_line(server)} is not taken; your own settings have one")
                continue
            mcp[server] = MappingProxyType(dict(said))
            origin.update({f"mcp.{server}.{name}": source for name in said})

    own = _content(places.settings)
    if own is not None:
        put(read_layer(places.settings, own, project=False), str(places.settings))
    theirs, untrusted, content = settings_of(folder, places), None, None
    try:
        content = _content(theirs) if theirs is not None else None
    except SettingsError as error:
        # Opening a folder must not fail for what a repository brought along.
        notices.append(str(error))
    if theirs is not None and content is not None:
        if Trust(places).holds(theirs, content):
            put(read_layer(theirs, content, project=True), str(theirs), project=True)
        else:
            untrusted = theirs
            notices.extend([] if Trust(places).refused(theirs, content) else [waiting(theirs)])
    put(_from_environment(environ), "variable")
    origin.update({n: f"variable {BY_NAME[n].variable}" for n, source in origin.items() if source == "variable"})
    flags = _from_flags(overrides)
    values.update(flags)
    origin.update({name: f"flag --{name.rsplit('.', 1)[-1].replace('_', '-')}" for name in flags})

    named = {key.field: values[key.name] for key in KEYS}
    frozen = MappingProxyType({glob: MappingProxyType(said) for glob, said in models.items()})
    return Settings(
        **named,
        models=frozen,
        mcp=MappingProxyType(mcp),
        hooks=tuple(hooks),
        origin=MappingProxyType(origin),
        notices=tuple(notices),
        untrusted=untrusted,
    )


def settings_of(folder: Path, places: Places) -> Path | None:
    """Where the settings file of the project around `folder` is or would be; None where that is the user's own."""
    theirs = project(folder) / PROJECT_FILE
    return None if os.path.realpath(theirs) == os.path.realpath(places.settings) else theirs


def waiting(file: Path) -> str:
    """The sentence about a project's file that nobody has agreed to."""
    return f"{file} is not used: its settings wait until you trust this project (`ullage config trust`)"


def _content(path: Path) -> bytes | None:
    """The file's bytes; None without a file. Raises `SettingsError`."""
    try:
        if not os.path.isfile(path):
            return None
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(content) > MOST_BYTES:
        raise SettingsError(f"{path}: longer than {MOST_BYTES:,} bytes, so no settings file")
    return content


def _from_environment(environ: Mapping[str, str]) -> Layer:
    values: dict[str, Any] = {}
    notices: list[str] = []
    by_variable = {key.variable: key for key in KEYS if key.variable}
    for variable, raw in environ.items():
        if not variable.startswith(PREFIX):
            continue
        text = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        key = by_variable.get(variable)
        if key is None:
            near = nearest_variable(variable)
            notices += [f"the variable {variable} is not known{near}"] if near else []
        elif text.strip():  # an empty variable is the shell's way of not setting it
            try:
                values[key.name] = key.kind.parse(text)
            except Wrong as wrong:
                raise SettingsError(f"the variable {variable} {wrong}") from None
    return Layer(values, {}, tuple(notices))


def _from_flags(overrides: Mapping[str, Any]) -> dict[str, Any]:
    by_field = {key.field: key for key in KEYS}
    found: dict[str, Any] = {}
    for name, value in overrides.items():
        if value is None:
            continue
        key = BY_NAME.get(name) or by_field[name]
        try:
            found[key.name] = key.kind.parse(value) if isinstance(value, str) else key.kind.read(value)
        except Wrong as wrong:
            raise SettingsError(f"--{key.field.replace('_', '-')} {wrong}") from None
    return found


def with_model(settings: Settings, model: str) -> Settings:
    """The same settings for another session's model: flags about the window, address and budget are about that one."""
    return replace(settings, model=model)


def with_effort(settings: Settings, model: str, effort: str | None) -> Settings:
    """The same settings with this effort for exactly this model, whatever a flag or variable said before."""
    said = {name: value for name, value in settings.models.get(model, {}).items() if name != "effort"}
    said |= {} if effort is None else {"effort": effort}
    models = MappingProxyType({**settings.models, model: MappingProxyType(said)})
    general = effort if settings._given("effort") else settings.effort
    return replace(settings, models=models, effort=general)


def without_budget(settings: Settings, model: str) -> Settings:
    """The same settings with nothing said about the budget of exactly this model."""
    said = {name: value for name, value in settings.models.get(model, {}).items() if name != "budget"}
    return replace(settings, models=MappingProxyType({**settings.models, model: MappingProxyType(said)}))


assert {key.field for key in KEYS} <= {f.name for f in fields(Settings)}, "a key without its field"
assert {name.split(".")[0] for name in MODEL_BY_NAME} == {f.name for f in fields(ModelEntry)}, (
    "an entry without its key"
)

__all__ = [
    "ModelEntry", "Settings", "SettingsError", "load", "settings_of", "waiting", "with_effort",
    "with_model", "without_budget",
]  # fmt: skip
