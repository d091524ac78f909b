"""Going on with another model: for good, or while the one in use cannot be had.

Not a turn (that is `loop`), which asks here when its request has failed for good, and not the list of models.

Invariants
 1. Every switch is a `SettingsChanged` record, the way back included: the log tells which model was asked.
 2. A turn asks at most once, and only where somebody can answer; elsewhere the settings decide, and say no by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.lessons.alternating import changed_turns
from agent.lessons.unavailable import unavailable
from agent.model import ModelError, UnknownModel, Unreachable
from agent.models.weights import is_embedded
from agent.resuming import changed_effort
from agent.session import Session, Target
from agent.wire import Asking
from compaction.records import SettingsChanged
from compaction.room import k

MILLION = 1_000_000


async def switch(session: Session, name: str) -> Target:
    """From the next request on, `name` is asked. Raises `UnknownModel`."""
    target = await session.kit.target(name)
    effort = changed_effort(session.view, session.kit.settings, name)
    turns = changed_turns(session.view, session.kit, name)
    await session.append(SettingsChanged(name, target.endpoint.label, effort=effort, alternate=turns))
    session.refresh()
    session.metered()
    return target


@dataclass
class Detour:
    """One turn's way around a model that is overloaded, in trouble or gone."""

    session: Session
    left: str = ""
    asked: bool = field(default=False, init=False)

    async def taken(self, error: ModelError) -> bool:
        """Whether the turn goes on with the fallback. Each turn is asked once."""
        session, busy = self.session, self.session.view.model
        name = session.kit.settings.fallback_for(busy)
        what = unavailable(error)
        if self.asked or name is None or not what:
            return False
        name = session.kit.endpoints.name_of(name)
        if name == busy:
            return False
        self.asked = True
        try:
            target = await session.kit.target(name)
        except UnknownModel as unknown:
            session.warn(f"the fallback cannot be used: {unknown}")
            return False
        if isinstance(error, Unreachable) and not error.lost and _same_place(session, target):
            return False
        ready, way = (True, "") if is_embedded(name) else session.kit.endpoints.way_in(name)
        if ready is False:
            session.warn(f"{busy} {what} and its fallback {name} {way}")
            return False
        choice = await self._choice(busy, what, target)
        if choice == "refuse":
            return False
        # First, since a stop may come while the record is on its way to the disk.
        self.left = busy if choice == "once" else ""
        await switch(session, name)
        how = "for this turn" if choice == "once" else "from now on"
        session.tell(f"{busy} {what}; going on with {name} {how}", "warning")
        return True

    async def back(self) -> None:
        """The turn is over: the next one asks the model that was left."""
        if self.left and self.left != self.session.view.model:
            try:
                await switch(self.session, self.left)
            except UnknownModel as unknown:
                self.session.warn(str(unknown))

    async def _choice(self, busy: str, what: str, target: Target) -> str:
        settings = self.session.kit.settings
        if settings.fallback_without_asking:
            return "once"
        if not self.session.kit.interactive:
            return "refuse"
        async with self.session.answers.turn:
            name = target.endpoint.name
            title = f"{busy} {what}; go on with {name}"
            choice, _ = await self.session.answers.ask(
                Asking(0, "", "fallback", title, offer(self.session, target), about="model")
            )
        return choice


def _same_place(session: Session, target: Target) -> bool:
    """Whether another model is asked at the same address: where nothing answers, it does not either."""
    base = target.endpoint.api_base
    return base is not None and base == session.target.endpoint.api_base


def offer(session: Session, target: Target) -> str:
    """What going on with a model comes to, in words: its window, its prices, and what is read again."""
    window, prices, size = target.window, target.prices, session.size().total
    said = ["window unknown" if window.tokens is None else f"window {k(window.tokens)} ({window.source})"]
    if prices is None:
        said.append("prices unknown")
        said.append(f"{k(size)} tokens are read again, uncached")
    else:
        said.append(f"${prices.input:g} in, ${prices.output:g} out per million tokens")
        cost = size * prices.write / MILLION
        said.append(
            f"{k(size)} tokens are read again, uncached, for {f'${cost:.2f}' if cost >= 0.01 else 'under a cent'}"
        )
    limit = session.budget_of(target).limit
    if limit is not None and size >= limit:
        said.append(f"it takes {k(limit)} at most, so older parts are pruned or summarised first")
    return " · ".join(said)


__all__ = ["Detour", "offer", "switch"]
