"""What a hook's command answered: exit status and output as a decision. Pure.

Not the running (that is `agent.hooks.process`) and not the carrying out (that is `agent.hooks.asking`).

Invariants
 1. Whatever was printed, there is an answer; what cannot be understood is `trouble`, never a yes.
 2. There is no word by which a hook allows anything: at best it does not object.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.hooks.process import MOST_OUTPUT, Ran
from agent.sanitise import clean
from agent.settings.hooks import Event, Hook
from compaction.shorten import shorten

# The exit status that blocks, with the reason on standard error.
BLOCKS = 2

# A reason is a sentence or two, and what joins the conversation is paid for in every later request; characters.
MOST_REASON = 2_000
MOST_CONTEXT = 16_000

# Where a context may join the conversation.
WITH_CONTEXT: tuple[Event, ...] = ("prompt", "after_tool", "session_start")

# Where there is something to block.
BLOCKABLE: tuple[Event, ...] = ("before_tool", "after_tool", "prompt", "before_compaction")


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision. `blocked` is the reason of a no; `trouble` why there is no answer; `ignored` what was not taken."""

    blocked: str = ""
    trouble: str = ""
    arguments: Mapping[str, Any] | None = None
    context: str = ""
    summary: str = ""
    ignored: str = ""

    @property
    def words(self) -> str:
        """The answer in a few words, for the page of hooks."""
        if self.trouble:
            return self.trouble
        if self.blocked:
            return f"blocked: {self.blocked}"
        said = [name for name in ("arguments", "context", "summary") if getattr(self, name)]
        return f"gave {' and '.join(said)}" if said else "went on"


@dataclass(slots=True)
class Hooked:
    """What a session remembers of its hooks while it is open: the last answer of each, and what waits to be said."""

    last: dict[Hook, str] = field(default_factory=dict)
    begun: bool = False
    waiting: list[str] = field(default_factory=list)


def answer_of(event: Event, ran: Ran) -> Answer:
    """The decision behind an end."""
    if ran.stopped:
        return Answer(trouble=ran.stopped)
    if ran.status == BLOCKS:
        reason = _reason(ran.err) or "it gave no reason"
        return Answer(blocked=reason) if event in BLOCKABLE else Answer(trouble=f"it said no: {reason}")
    if ran.status != 0:
        how = f"it failed with exit status {ran.status}" if (ran.status or 0) > 0 else f"signal {-(ran.status or 0)}"
        said = _reason(ran.err) or _reason(ran.out)
        return Answer(trouble=f"{how}{': ' + said if said else ''}")
    text = ran.out.strip()
    if not text.startswith("{"):
        # A formatter's chatter is no answer.
        return Answer()
    if len(ran.out.encode("utf-8", "replace")) > MOST_OUTPUT:
        return Answer(trouble=f"its answer is longer than {MOST_OUTPUT // 1024} KiB")
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return Answer(trouble="its answer begins like a JSON object and is none")
    return _understood(event, said) if isinstance(said, dict) else Answer(trouble="its answer is no JSON object")


def _understood(event: Event, said: dict[str, Any]) -> Answer:
    decision = said.get("decision")
    if decision == "block":
        reason = _reason(str(said.get("reason") or "")) or "it gave no reason"
        return Answer(blocked=reason) if event in BLOCKABLE else Answer(trouble=f"it said no: {reason}")
    # "allow" is heard as silence: the rules and the user decide. Any other word was meant to do something.
    if decision not in (None, "allow"):
        return Answer(trouble=f"its decision {str(decision)[:40]!r} is not known; there is only block")
    arguments, context, summary = said.get("arguments"), said.get("context"), said.get("summary")
    ignored = [name for name, value, wanted in (
        ("arguments", arguments, event == "before_tool"),
        ("context", context, event in WITH_CONTEXT),
        ("summary", summary, event == "before_compaction"),
    ) if value is not None and not wanted]  # fmt: skip
    if event == "before_tool" and arguments is not None and not isinstance(arguments, dict):
        return Answer(trouble="its arguments are no JSON object")
    for name, value in (("context", context), ("summary", summary)):
        if value is not None and name not in ignored and not isinstance(value, str):
            return Answer(trouble=f"its {name} is no text")
    return Answer(
        arguments=arguments if event == "before_tool" else None,
        context=_context(context) if isinstance(context, str) and event in WITH_CONTEXT else "",
        summary=clean(summary) if isinstance(summary, str) and event == "before_compaction" else "",
        ignored=f"{' and '.join(ignored)} mean nothing at {event}" if ignored else "",
    )


def _reason(text: str) -> str:
    text = clean(text).strip()
    return text if len(text) <= MOST_REASON else f"{text[:MOST_REASON]}…"


def _context(text: str) -> str:
    text = clean(text).strip()
    return text if len(text) <= MOST_CONTEXT else shorten(text, MOST_CONTEXT, "a hook may add no more than this")
