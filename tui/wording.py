"""The sentences for people: what each outcome and gate is called on a screen.

Not the tags (those are `compaction.records`); a sentence says what happened, whose side it is on, and what was kept.
"""

from __future__ import annotations

from compaction.records import Gate, Outcome

GATES: dict[Gate, str] = {
    Gate.ASKED: "asked for",
    Gate.PROACTIVE: "over the trigger",
    Gate.PRE_FLIGHT: "before sending",
    Gate.REACTIVE: "after the provider refused",
    Gate.EMERGENCY: "as a last resort",
    Gate.FORCE_STOP: "to end a stuck turn",
}

FAILURES: dict[Outcome, str] = {
    Outcome.NOTHING_TO_DO: "There is nothing to compact yet.",
    Outcome.REFUSED_WINDOW: "The model's window is full and nothing more can go: start anew or rewind.",
    Outcome.REFUSED_FIXED: "The part that is in every request is larger than the budget; compacting cannot help.",
    Outcome.REQUEST_TOO_LARGE: "The request is larger than the provider takes, in bytes; nothing was sent.",
    Outcome.OVERFLOWED: "The summary request itself was too long for the model; the conversation is as it was.",
    Outcome.PROVIDER_FAILED: "The provider failed while summarising; the conversation is as it was.",
    Outcome.TIMED_OUT: "The summary took too long; the conversation is as it was.",
    Outcome.SUMMARY_EMPTY: "The model returned an empty summary; it was not used.",
    Outcome.SUMMARY_TRUNCATED: "The summary was cut at the output limit; it was not used.",
    Outcome.SUMMARY_FILTERED: "The provider's filter withheld the summary; the conversation is as it was.",
    Outcome.SUMMARY_OVERSIZE: "The summary came out longer than allowed; it was not used.",
    Outcome.SUMMARY_CALLED_TOOL: "The model called a tool instead of summarising; the call was not run.",
    Outcome.SUMMARY_SHAPELESS: "The summary lacked its headings; it was not used.",
    Outcome.NOT_SMALLER: "The summary would not have made the conversation smaller; it was not used.",
    Outcome.ABOVE_LANDING: "The summary would not have freed enough to be worth it; it was not used.",
    Outcome.INTERRUPTED: "Stopped; the conversation is as it was.",
    Outcome.STOPPED: "Compacting again and again frees nothing here; automatic compaction rests.",
    Outcome.LOG_FAILED: "The session log could not be written; the conversation is as it was.",
}

# These sentences say all that the judge of a summary says; its own words for them would be a second time.
COMPLETE = (Outcome.SUMMARY_TRUNCATED, Outcome.SUMMARY_FILTERED, Outcome.SUMMARY_CALLED_TOOL)

# What the worker calls its work, in words for people; the rest is over before it is read.
DOING = {
    "turn": "thinking",
    "shell": "running your command",
    "opening": "opening the session",
    "compact": "compacting",
    "prune": "pruning",
}

# Where a record stands, as `agent.reading` names it.
STANDING = {
    "live": "in the context",
    "pruned": "pruned",
    "spilled": "moved to disk",
    "pinned": "pinned",
    "summarised": "summarised",
    "rewound": "left behind by a rewind",
}


def as_lines(sheet: str) -> str:
    """A fact sheet as Markdown: its lines stay lines, where a paragraph would run on from one to the next."""
    first, *lines = sheet.strip().split("\n")
    return "\n".join([first, *(line if line.startswith("- ") else f"\n{line}" for line in lines)])
