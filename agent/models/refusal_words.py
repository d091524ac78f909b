"""What a refusal speaks of apart from length: money, keys, models, rates, content; and how long it asks to wait. Pure.

Not the verdict (that is `errors_from`, which weighs the status as well). Reads `plain_words.plain`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MONEY = re.compile(
    r"insufficient[ _](?:quota|balance|credits?|funds)|balance is (?:insufficient|too low)|credit balance|\bbilling\b"
    r"|payment required|(?:out of|no|any|all available|included) credits|can only afford|arrearage|overdue"
    r"|spending limit|usage limits?\b.{0,40}\bregain|budget (?:has been )?exceeded|\bbudget_exceeded\b"
    r"|free tier\b.{0,40}\bexhausted|exceeded your (?:current |monthly )?quota|quota_exceeded|plan and billing"
)
KEY = re.compile(
    r"(?:incorrect|invalid|wrong|missing|expired|revoked|no) (?:x-)?api[ _-]?key"
    r"|api[ _-]?key(?: is| has)? (?:not valid|invalid|incorrect|expired|missing|not found|must be set)"
    r"|invalid_api_key|api_key_invalid|api_key client option must be set|authentication (?:fails|failed|error)"
    r"|invalid (?:authentication|credentials|bearer|proxy server token)|no auth credentials"
)
UNKNOWN = re.compile(
    r"no such model|llm provider not provided|not a valid model id|unknown model|model[ _](?:is )?not[ _](?:found"
    r"|exist)"
    r"|is not supported by any provider|model_not_supported|requested model is not supported"
    r"|model identifier is invalid"
    r"|model (?:or endpoint )?(?:\S+ )?does not exist|not found the model|invalid model name|invalid model(?:[:.]|$)"
    r"|\binvalid_model\b|deploymentnotfound"
)
FILTERED = re.compile(
    r"content[ _](?:filter|policy|management|violat)|moderation|\bflagged\b|\bsafety\b|\bsensitive\b|\w_sensitive\b"
    r"|inappropriate|usage (?:guidelines|policies|policy)|datainspection|responsibleai|considered high risk"
    r"|sensitivecontent"
)
RATED = re.compile(
    r"rate[- _]?limit|too many requests|throttl|\b(?:tpm|tpd|rpm|rpd|itpm)\b|concurren(?:t|cy)|\btoken rate\b"
    r"|(?:per|each|every)[- ](?:minute|day|hour|second)\b|(?:tokens?|requests?|calls?|\d) ?/ ?(?:min|minute|sec"
    r"|second|hour|day)\b"
    r"|(?:\bdaily|\bweekly|\bmonthly|\bhourly|\d-hour|\busage)\b.{0,20}\b(?:limit|quota|allowance)"
    r"|(?:in|over|within) the (?:last|past) \d+ (?:second|minute|hour|day)"
)
BUSY = re.compile(
    r"overload|server_error|internal server error|api_error|unavailable|temporarily|capacity|high (?:demand|traffic"
    r"|load)"
)

# "try again in 31m3.6s", "retry after 26 seconds", "available in 3 seconds".
_LENGTHS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0}
_SPAN = r"\d+(?:\.\d+)? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)(?![a-z])"
_WAIT = re.compile(rf"\b(?:retry|again|wait|available|resets?)\b[^.\d]{{0,20}}((?:{_SPAN} ?)+)")
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|milli|s|m|h)")
# A year, seconds: nobody is asked to wait longer, so what is more is no wait.
_LONGEST = 31_536_000
_WAIT_FIELDS = ("resets_in_seconds", "retry_after_seconds", "retry_after")


def wait_in(said: str, numbers: Mapping[str, int]) -> float | None:
    """Seconds that the words ask to wait, or None."""
    if found := _WAIT.search(said):
        parts = ((float(n), unit) for n, unit in _PART.findall(found[1]))
        wait = sum(n * _LENGTHS["ms" if unit == "milli" else unit] for n, unit in parts)
        return wait if wait <= _LONGEST else None
    field = next((numbers[name] for name in _WAIT_FIELDS if name in numbers), -1)
    return float(field) if 0 <= field <= _LONGEST else None
