"""Going on with another model: for good, or while the one in use is overloaded.

Not a turn (that is `loop`), which asks here when its request has failed for good, and not the list of models.

Invariants
 1. Every switch is a `SettingsChanged` record, the way back included: the log tells which model was asked.
 2. A turn asks at most once, and only where somebody can answer; elsewhere the settings decide, and say no by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.alternating import changed_turns
from agent.model import ModelError, Overloaded, RateLimited, UnknownModel
from agent.models.weights import is_embedded
from agent.resuming import changed_effort
from agent.session import Session, Target
from agent.wire import Asking
from compaction.records import SettingsChanged
from compaction.room import k

# What a server answers that is only in trouble, not too busy: another model there would fail the same way.
IN_TROUBLE = (500, 502)

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


def is_overload(error: ModelError) -> bool:
    """Whether a failure means that the provider has too much to do, and that nothing of an answer had come."""
    busy = isinstance(error, RateLimited) or (isinstance(error, Overloaded) and error.status not in IN_TROUBLE)
    return busy and not error.kept.strip()


@dataclass
class Detour:
    """One turn's way around an overloaded model."""

    session: Session
    left: str = ""
    asked: bool = field(default=False, init=False)

    async def taken(self, error: ModelError) -> bool:
        """Whether the turn goes on with the fallback. Each turn is asked once."""
        session, busy = self.session, self.session.view.model
        name = session.kit.settings.fallback_for(busy)
        if self.asked or name is None or not is_overload(error):
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
        ready, way = (True, "") if is_embedded(name) else session.kit.endpoints.way_in(name)
        if ready is False:
            session.warn(f"{busy} is overloaded and its fallback {name} {way}")
            return False
        choice = await self._choice(busy, target)
        if choice == "refuse":
            return False
        # First, since a stop may come while the record is on its way to the disk.
        self.left = busy if choice == "once" else ""
        await switch(session, name)
        how = "for this turn" if choice == "once" else "from now on"
        session.tell(f"{busy} is overloaded; going on with {name} {how}", "warning")
        return True

    async def back(self) -> None:
        """The turn is over: the next one asks the model that was left."""
        if self.left and self.left != self.session.view.model:
            try:
                await switch(self.session, self.left)
            except UnknownModel as unknown:
                self.session.warn(str(unknown))

    async def _choice(self, busy: str, target: Target) -> str:
        settings = self.session.kit.settings
        if settings.fallback_without_asking:
            return "once"
        if not self.session.kit.interactive:
            return "refuse"
        async with self.session.answers.turn:
            name = target.endpoint.name
            title = f"{busy} is overloaded; go on with {name}"
            choice, _ = await self.session.answers.ask(
                Asking(0, "", "fallback", title, offer(self.session, target), about="model")
            )
        return choice


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


__all__ = ["Detour", "is_overload", "offer", "switch"]
