"""The flags a session was started with, for a run that does not repeat them.

Not the log's own state (model, budget and mode changes are records): only what a flag or variable said about the model
when the session began and today's settings leave open: its server, its window, the budget rule.

Invariants
 1. Today's flags, variables and settings about the model win; keys are always today's.
 2. A log from anywhere but the user's own data folder sets no address: it may have come with a repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from agent.session import Kit
from agent.session_log import SessionLog
from agent.settings import Settings, with_model
from compaction.cache import DEFAULT_EFFORT, effort
from compaction.records import Started, WindowSource
from compaction.view import View

# Where these values say they came from; the first word is what makes them weigh like a flag.
KEPT = "flag of the session's start"


def flag_given(settings: Settings, key: str) -> bool:
    """Whether a flag or a variable of this run set `key`."""
    return settings.origin[key].startswith(("flag ", "variable "))


def as_before(kit: Kit, log: SessionLog) -> Kit:
    """The kit for going on with `log`."""
    started = log.view.started
    if started is None:
        return kit
    settings = kit.settings
    if not flag_given(settings, "model"):
        settings = with_model(settings, log.view.model)
    if (settings.model or log.view.model) in (started.model, log.view.model):
        ours = kit.places.sessions in log.path.parents
        settings = _filled(settings, _left_open(settings, started, log.view, ours))
    return replace(kit, settings=settings, endpoints=kit.endpoints.anew(settings))


def changed_effort(view: View, settings: Settings, model: str) -> str | None:
    """What a `SettingsChanged` says of the effort from now on asked of `model`; None where it is the one in force.

    Another effort breaks the provider's cache as surely as a prune, so the log has to know of it.
    """
    today = settings.effort_for(model)
    return None if today == effort(view) else today or DEFAULT_EFFORT


def _left_open(settings: Settings, started: Started, view: View, ours: bool) -> Mapping[str, Any]:
    """Keys that today's settings leave open, with what was said at the start."""
    entry = settings.entry_for(started.model)
    found: dict[str, Any] = {}
    if view.model == started.model:
        if entry.api_base is None and ours and started.endpoint.startswith(("http://", "https://")):
            found["api_base"] = started.endpoint
        if entry.window is None and started.window_source is WindowSource.USER:
            found["window"] = started.window
    if started.rule is not None and not flag_given(settings, "context.budget"):
        found["context.budget"] = started.rule
    return found


def _filled(settings: Settings, values: Mapping[str, Any]) -> Settings:
    if not values:
        return settings
    fields = {key.removeprefix("context."): value for key, value in values.items()}
    origin = MappingProxyType({**settings.origin, **dict.fromkeys(values, KEPT)})
    return replace(settings, origin=origin, **fields)
