"""Whether a refusal means that only the wished answer is too long, and how long one may be. Pure.

Not the window: what is said of an answer's own limit teaches nothing of it (`overflow`). Reads `plain_words.plain`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agent.models.lengths import LEAST_WINDOW, MOST_TOKENS, sizes_in
from agent.models.overflow import answer_alone

# A limit is named …
_LIMIT = re.compile(
    r"at most|less than or equal|<=|\d['`]? ?> ?['`]?\d|\bmax\w*|\brange\b|\bbetween\b|up to"
    r"|cannot be (?:greater|larger|more)"
)
# … or passed.
_PASSED = re.compile(r"exceed|too (?:large|big|high|long)")


@dataclass(frozen=True, slots=True)
class AnswerLimit:
    """`most`: the longest answer the model gives, tokens, where it was stated."""

    most: int | None = None


def answer_limit(said: str) -> AnswerLimit | None:
    """What a refusal says of the wished answer's length; None where it is about something else."""
    if not answer_alone(said) or "budget" in said or "greater than or equal" in said:
        return None
    sizes = sorted({size for size in sizes_in(said) if LEAST_WINDOW <= size <= MOST_TOKENS})
    # Of two numbers the larger was wished for. More of them are something else as well.
    if len(sizes) in (1, 2) and (_LIMIT.search(said) or _PASSED.search(said)):
        return AnswerLimit(sizes[0] - ("(exclusive)" in said))
    return AnswerLimit() if _PASSED.search(said) else None
