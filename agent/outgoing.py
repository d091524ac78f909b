"""The next request of a session: its view as messages, with marks, tools and room for the answer.

Not the spelling of messages (that is `request`) and no sending.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.forecast import replies
from agent.model import Request
from agent.models.spelling import spell
from agent.request import messages_of, tools_of
from agent.session import Session
from compaction import cache
from compaction.attempts import refused_before, wished_in
from compaction.budget import answer_room
from compaction.view import View


def next_request(session: Session, max_tokens: int | None = None, view: View | None = None) -> Request:
    """The request that goes out next; `view` is the session's own, or one with something said that is not yet."""
    view = session.view if view is None else view
    size = session.size()
    window = wished_in(session.view, session.target.window)
    refused = refused_before(session.view, unnumbered=window.output_apart or window.effective is None)
    if max_tokens is None:
        max_tokens = answer_room(window, size.total, size.estimated, refused=refused)
    else:
        # What a refusal leaves room for may be more than the model says at once.
        max_tokens = min(max_tokens, answer_room(replace(window, ceiling=None), size.total, 0) or max_tokens)
    marks = cache.marks(view, _kept(session, view))
    settings = session.kit.settings
    return Request(
        messages_of(view, marks=marks, images=session.blind() is None),
        tools_of(view, mark=cache.TOOLS in marks),
        max_tokens,
        effort=settings.effort_for(view.model),
        deadline=settings.deadline,
    )


def _kept(session: Session, view: View) -> int:
    """Leading items that a rewrite since the last request left of it; 0 when none did."""
    last = next(replies(session.log.records), None)
    if last is None:
        return 0
    before = session.ladders.sent(session.log.records, last)
    same = cache.equal_items(before, session.ladders.now(view))
    return same if same < len(before.segments) - cache.FIXED_SEGMENTS else 0


def body_of(session: Session, request: Request) -> dict[str, Any]:
    """The body as an OpenAI-compatible server gets it: the model's name there, messages, tools, and how to answer."""
    call = spell(
        session.target.endpoint, request, supports_effort=session.kit.catalogue.supports_effort(session.view.model)
    )
    for ours in ("timeout", "api_base", "api_key", "extra_body"):
        call.pop(ours, None)
    model = session.target.endpoint.model
    call["model"] = model.partition("/")[2] or model
    return {**call, "stream": True, "stream_options": {"include_usage": True}}
