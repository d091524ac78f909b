"""A summary asked for inside the conversation: the next request's own bytes with one instruction behind them.

The provider's cache then holds nearly all of it. No judgement of the reply (that is `compaction.judge`) and no other
way of asking (that is `compactor`).

Invariants
 1. Messages, tools and effort are those of the next request, unchanged, so its cached prefix stays whole.
 2. Only the session's own model can be asked so, and only where nothing depends on the answer: gates the user opened,
    and the proactive one.
"""

from __future__ import annotations

from dataclasses import replace

from agent.model import Request
from agent.outgoing import next_request
from agent.session import Session
from compaction import cache
from compaction.gates import Compact
from compaction.records import Gate
from compaction.summary import in_context_text
from compaction.tokens import calibration


def request_in_place(session: Session, decision: Compact, focus: str, cap: int, output: int) -> Request | None:
    """The request for a summary of `cap` tokens, `output` with its thinking; None: the other way is to be taken."""
    if not _wanted(session, decision, cap):
        return None
    text = in_context_text(session.kit.summary_prompts, focus=focus, cap_tokens=cap)
    need = session.size().total + session.estimate_text(text)
    room, limit = session.target.window.effective, session.budget.limit
    if room is not None and limit is not None and (need >= limit or need + output > room):
        return None
    request = next_request(session, output)
    return replace(request, messages=(*request.messages, {"role": "user", "content": text}), restartable=True)


def _wanted(session: Session, decision: Compact, cap: int) -> bool:
    mode = session.kit.settings.summary_mode
    if mode == "flattened" or decision.gate not in (Gate.ASKED, Gate.PROACTIVE):
        return False
    if session.summariser().endpoint.name != session.view.model:
        return False
    return mode == "in_context" or _cheaper(session, decision, cap)


def _cheaper(session: Session, decision: Compact, cap: int) -> bool:
    """Whether the cache, while it is warm, makes this the cheaper way."""
    meter, prices = session.meter(), session.target.prices
    if prices is None or not meter.cache.warm_s:
        return False
    flattened = round(session.ruler.items(decision.cut.prefix) * calibration(session.view))
    inside, apart = cache.summary_costs(
        size=meter.used, cached=meter.cache.next_cached, flattened=flattened, output=cap, prices=prices
    )
    return inside < apart


__all__ = ["request_in_place"]
