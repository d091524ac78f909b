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
from agent.request import with_word
from agent.session import Session
from agent.summary_price import summary_price, way_of
from compaction.gates import Compact
from compaction.summary import in_context_text


def request_in_place(session: Session, decision: Compact, focus: str, cap: int, output: int) -> Request | None:
    """The request for a summary of `cap` tokens, `output` with its thinking; None: the other way is to be taken."""
    price = summary_price(session, decision.cut, focus)
    if way_of(session, decision.gate, price) != "in_context":
        return None
    text = in_context_text(session.kit.summary_prompts, focus=focus, cap_tokens=cap)
    need = session.size().total + session.estimate_text(text)
    room, limit = session.target.window.effective, session.budget.limit
    if room is not None and limit is not None and (need >= limit or need + output > room):
        return None
    request = next_request(session, output)
    # The instruction is said once and carries no mark: nothing after it will ever be read from a cache.
    return replace(request, messages=with_word(session.view, request.messages, text), restartable=True)


__all__ = ["request_in_place"]
