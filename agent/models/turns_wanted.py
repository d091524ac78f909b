"""Whether a refusal means that user and assistant have to take turns. Pure.

Written from what chat templates and providers send. A template's own text is often quoted behind the complaint, with
every complaint it could have made in it: only what was raised counts.
"""

from __future__ import annotations

import re

# Behind these stands what a template raised, before them or after them its source.
_RAISED = re.compile(r"jinja exception:\s*", re.IGNORECASE)
_SOURCE = re.compile(r"\s+at row \d+", re.IGNORECASE)

_TURNS = re.compile(
    r"\broles? (?:must|should)(?: be)? alternat"
    r"|\balternat\w*\b.{0,60}\buser\b.{0,60}\b(?:assistant|model)\b"
    r"|\buser\b.{0,60}\b(?:must|should)(?: be)? alternat"
    r"|multiple [\"'`\\]*user[\"'`\\]* roles in a row"
    r"|unexpected role [\"'`\\]*user[\"'`\\]* after role [\"'`\\]*(?:tool|user)\b"
    r"|(?:successive|consecutive) (?:user|messages? (?:from|with) the same role)",
    re.IGNORECASE,
)


def wants_turns(said: str) -> bool:
    """Whether a server says this when two messages of the user's follow one another, or one follows a result."""
    return bool(_TURNS.search(raised(said)))


def raised(said: str) -> str:
    """What of a complaint is the complaint, without the template's source around it."""
    return _SOURCE.split(_RAISED.split(said)[-1], maxsplit=1)[0].strip()


__all__ = ["raised", "wants_turns"]
