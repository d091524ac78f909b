"""What a summary costs, asked for inside the conversation and in a request of its own, and which is the cheaper.

Not the asking (that is `compactor`) and not its request (those are `in_place`'s and `compaction.summary`'s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.forecast import forecast_next
from agent.session import Session
from compaction.cache import summary_costs
from compaction.cut import Cut
from compaction.emergency import previous_summary
from compaction.records import Gate
from compaction.summary import TooLarge, build_request, in_context_text

Way: TypeAlias = Literal["flattened", "in_context"]

# What a summary usually comes to when nothing is known of it yet: a third of what is allowed.
SUMMARY_SHARE = 3


@dataclass(frozen=True, slots=True)
class SummaryPrice:
    """Dollars either way. `in_context` None: another model summarises. `warm`: some of the conversation is cached."""

    flattened: float
    in_context: float | None
    warm: bool

    @property
    def cheaper_inside(self) -> bool:
        """Whether asking inside costs less, which only a warm cache can bring about for sure."""
        return self.warm and self.in_context is not None and self.in_context < self.flattened


def summary_price(session: Session, cut: Cut, focus: str = "") -> SummaryPrice | None:
    """Both prices of a summary of `cut.prefix`; None when no price is known."""
    summariser = session.summariser()
    if summariser.prices is None:
        return None
    prompts, cap = session.kit.summary_prompts, session.budget.summary_cap
    built = build_request(
        cut, session.view, prompts, focus=focus, previous_summary=previous_summary(session.view), cap_tokens=cap
    )
    flattened = 0 if isinstance(built, TooLarge) else session.estimate_text(built.system + built.user_text)
    text = in_context_text(prompts, focus=focus, cap_tokens=cap)
    records, now = session.log.records, session.kit.clock()
    cached = forecast_next(records, session.ladders, session.view, session.warm_s(), now).tokens
    inside, apart = summary_costs(
        size=session.size().total + session.estimate_text(text), cached=cached, flattened=flattened,
        output=cap // SUMMARY_SHARE, prices=summariser.prices,
    )  # fmt: skip
    own = summariser.endpoint.name == session.view.model
    return SummaryPrice(apart, inside if own else None, cached > 0)


def way_of(session: Session, gate: Gate, price: SummaryPrice | None) -> Way:
    """How the summary is asked for: as the settings say where both ways are open, else in a request of its own.

    `auto` takes the cheaper while the cache is warm; without prices nothing says that inside is.
    """
    mode = session.kit.settings.summary_mode
    own = session.summariser().endpoint.name == session.view.model
    if mode == "flattened" or not own or gate not in (Gate.ASKED, Gate.PROACTIVE):
        return "flattened"
    if mode == "auto" and not (price is not None and price.cheaper_inside):
        return "flattened"
    return "in_context"


__all__ = ["SUMMARY_SHARE", "SummaryPrice", "Way", "summary_price", "way_of"]
