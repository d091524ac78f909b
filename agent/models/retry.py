"""When a failed request is tried again, and after how long. Pure; the waiting is `remote`'s.

Invariant: no request is tried again after text was shown, unless it is restartable.
"""

from __future__ import annotations

from agent.model import CutOff, ModelError, Overloaded, RateLimited, TimedOut, Unreachable

# Seconds before the first, second and third retry: together shorter than a person's patience for a dead provider.
WAITS = (1.0, 2.0, 4.0)

# A quarter up or down, so that many sessions refused at once do not come back at once.
JITTER = 0.25

# The longest wait a provider may ask for, seconds. Beyond it people rather decide themselves, so the error is raised.
LONGEST = 60.0

# A refused connection rarely heals by itself; half a second covers a server that is being restarted.
UNREACHABLE_WAIT = 0.5

# A second silence of a whole deadline (two minutes) says enough.
TIMEOUT_RETRIES = 1
UNREACHABLE_RETRIES = 1


def wait_before_retry(error: ModelError, failed: int, *, shown: bool, restartable: bool, chance: float) -> float | None:
    """Seconds until the next attempt, or None: give up. `failed` attempts so far; `chance` from 0 to 1 spreads."""
    if shown and not restartable:
        return None
    match error:
        case Unreachable():
            return UNREACHABLE_WAIT if failed <= UNREACHABLE_RETRIES else None
        case TimedOut() if failed > TIMEOUT_RETRIES:
            return None
        case RateLimited() | Overloaded() | TimedOut() | CutOff():
            if failed > len(WAITS) or (error.retry_after or 0) > LONGEST:
                return None
            wait = WAITS[failed - 1] * (1 + JITTER * (2 * chance - 1))
            return max(wait, error.retry_after or 0)
    return None
