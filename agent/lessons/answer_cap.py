"""A model that gives no answer as long as was asked for: shorter ones are asked for from then on.

Not the reading of the refusal (`models.answer_limit`). What a list or the settings say of the longest answer may be
more than an endpoint gives; without this every request there would be refused.

Invariant
 1. Each time the wish is smaller than the one refused, so this ends.
"""

from __future__ import annotations

from agent.model import AnswerTooLong, Endpoint, ModelError
from agent.outgoing import next_request
from agent.session import Session
from compaction.room import k

# Less is no answer to work with: whoever refuses that means something else, tokens.
LEAST = 512


def taken(session: Session, error: ModelError) -> bool:
    """Whether the turn's request is to be sent again with a smaller wish. Holds until the program ends."""
    if not isinstance(error, AnswerTooLong):
        return False
    return lowered(session, session.target.endpoint, error, next_request(session).max_tokens)


def lowered(session: Session, endpoint: Endpoint, error: AnswerTooLong, wished: int | None) -> bool:
    """Whether less than `wished` tokens are asked of `endpoint` from now on, as its refusal says."""
    if wished is None:
        return False
    most = error.most if error.most is not None and error.most < wished else wished // 2
    if most < LEAST:
        return False
    session.kit.catalogue.cap_answers(endpoint, most)
    session.refresh()
    session.tell(
        f"{endpoint.name} gives no answer of {k(wished)} tokens: {k(most)} are asked for from now on. "
        f'models."{endpoint.name}".max_output in the settings keeps it.'
    )
    return True


__all__ = ["lowered", "taken"]
