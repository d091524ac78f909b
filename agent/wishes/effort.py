"""`/effort`: how much the model in use is to reason, kept for it in the settings and told by a record.

Not the spelling per provider (that is `models.spelling`).

Invariants
 1. An effort is set only where it will be sent: elsewhere a sentence says that it would do nothing.
 2. Another effort breaks the provider's cache, so it is a record, and its price is said.
"""

from __future__ import annotations

from dataclasses import replace

from agent.forecast import replies
from agent.resuming import changed_effort
from agent.session import Session
from agent.settings import SettingsError, with_effort
from agent.settings.file import save
from agent.settings.keys import EFFORTS
from agent.wire import Finished
from compaction.cache import DEFAULT_EFFORT
from compaction.records import SettingsChanged
from compaction.room import k


async def set_effort(session: Session, level: str) -> Finished:
    """Carries the wish out."""
    level, model, kit = level.strip().lower(), session.view.model, session.kit
    if not kit.catalogue.takes_effort(model):
        return Finished("effort", False, 4, None, f"{model} is not known to take a reasoning effort, so none is sent")
    now = kit.settings.effort_for(model)
    if not level:
        others = ", ".join((*EFFORTS, DEFAULT_EFFORT))
        text = f"the reasoning effort of {model} is {now or 'left to the provider'}; /effort takes {others}"
        return Finished("effort", False, 0, None, text)
    if level not in (*EFFORTS, DEFAULT_EFFORT):
        return Finished("effort", False, 2, None, f"/effort takes {', '.join((*EFFORTS, DEFAULT_EFFORT))}")
    wanted = None if level == DEFAULT_EFFORT else level
    settings = with_effort(kit.settings, model, wanted)
    then = settings.effort_for(model)
    if then == now:
        return Finished("effort", False, 4, None, f"the reasoning effort of {model} is {now or 'the default'} already")
    session.kit = replace(kit, settings=settings, endpoints=kit.endpoints.under(settings))
    record = changed_effort(session.view, settings, model)
    if record is not None:
        await session.append(SettingsChanged(effort=record))
    session.refresh()
    session.metered()
    said = f"reasoning effort of {model}: {then or 'left to the provider'}"
    return Finished("effort", True, 0, None, f"{said}{_price(session)}{_kept(session, wanted)}")


def _price(session: Session) -> str:
    if next(replies(session.log.records), None) is None:
        return ""
    return f"; it breaks the provider's cache, so {k(session.size().total)} tokens are read anew with the next request"


def _kept(session: Session, effort: str | None) -> str:
    try:
        save(session.kit.places, ("models", session.view.model, "effort"), effort)
    except SettingsError as error:
        return f"; for this session only: {error}"
    return ""


__all__ = ["set_effort"]
