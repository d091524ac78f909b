"""Failures after which another model may well answer: the provider has too much to do, is in trouble, or is not there.

Not the trying again (that is `models.retry`, and is over by then) and not the switching (`wishes.switching`).
"""

from __future__ import annotations

from agent.model import CutOff, ModelError, Overloaded, RateLimited, TimedOut, Unreachable

# What a server answers that has too much to do; other answers of its own fault mean that something is broken there.
BUSY = (503, 529)


def unavailable(error: ModelError, *, after_text: bool = False) -> str:
    """What is wrong with the provider, to stand behind a model's name; empty where asking another is no answer.

    So it is too when text of an answer had come: nobody is answered twice. `after_text`: nobody had received it.
    """
    if error.kept.strip() and not after_text:
        return ""
    match error:
        case RateLimited():
            return "is overloaded"
        case Overloaded(status=status):
            return "is overloaded" if status is None or status in BUSY else "has trouble of its own"
        case Unreachable():
            return "cannot be reached"
        case CutOff():
            return "breaks off before it answers"
        case TimedOut():
            return "stays silent"
        case _:
            return ""


__all__ = ["unavailable"]
