"""Models that take user and assistant in turns only: known from the settings, or learned from their own refusal.

Not the joining of messages (that is `request`) and not the wording of a refusal (that is `models.turns_wanted`).

Invariants
 1. Whether turns are kept is a record, since it changes bytes already sent: a resume sends the same, and a break of the
    provider's cache has this name.
 2. A refusal is followed by one more try: where turns are kept already, or the settings forbid it, it stands.
"""

from __future__ import annotations

from agent.model import ModelError, WantsTurns
from agent.session import Kit, Session
from compaction.records import SettingsChanged
from compaction.turns import alternates
from compaction.view import View


def starts_so(kit: Kit, model: str) -> bool:
    """Whether a session that starts with `model` keeps turns."""
    said = kit.settings.entry_for(model).alternate
    return kit.catalogue.alternates(kit.endpoints.resolve(model)) if said is None else said


def changed_turns(view: View, kit: Kit, model: str) -> bool | None:
    """What a `SettingsChanged` says of turns for the requests to `model`; None where they stay as they are.

    What the log says of the model it went on with holds, though nobody knows any more why.
    """
    said, now = kit.settings.entry_for(model).alternate, alternates(view)
    if said is None and model == view.model and now:
        return None
    wanted = starts_so(kit, model)
    return None if wanted == now else wanted


async def taken(session: Session, error: ModelError) -> bool:
    """Whether the request is to be sent again, with turns kept from now on. Learned for later sessions too."""
    model, endpoint = session.view.model, session.target.endpoint
    if not isinstance(error, WantsTurns) or alternates(session.view):
        return False
    if session.kit.settings.entry_for(model).alternate is False:
        session.warn(f'models."{model}".alternate is false in the settings, so messages are sent as they are')
        return False
    session.kit.catalogue.learn_turns(endpoint)
    await session.append(SettingsChanged(alternate=True))
    session.tell(
        f"{model} takes user and assistant in turns only: user messages that follow one another are sent as one from "
        "now on. Kept for later sessions."
    )
    return True


__all__ = ["changed_turns", "starts_so", "taken"]
