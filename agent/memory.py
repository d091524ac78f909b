"""The project's memory: facts that summaries learned, kept for later sessions.

Not read here (that is `agent.instructions`, at a session's start) and never read in the session that wrote it.

Invariants
 1. At most `MEMORY_LINES` lines; the oldest go first; a fact learned again is kept once, as the newest.
 2. Two sessions that write at once lose neither's facts.
 3. A failure here is a sentence, and costs the session nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path

from agent.places import Places
from agent.sanitise import decode, one_line
from agent.whole_file import locked, write_whole

# At a sentence a line some 4,000 tokens at worst, 1,500 as a rule: read at every session's start.
MEMORY_LINES = 150

# A fact longer than this is an essay (characters).
FACT = 300

_TAG = re.compile(r"<(/?)(instructions|memory)\b", re.IGNORECASE)


def remember(places: Places, folder: Path, learnings: str) -> str | None:
    """Adds facts, one a line, to the memory of `folder`'s project. Returns why it failed, as a sentence, or None."""
    facts = {_same(fact): fact for line in learnings.splitlines() if (fact := _fact(line))}
    if not facts:
        return None
    file = places.memory(folder)
    try:
        with locked(file):
            lines = decode(file.read_bytes()).splitlines() if file.exists() else []
            kept = [line for line in lines if not line.strip() or _same(line) not in facts]
            write_whole(file, "\n".join([*kept, *facts.values()][-MEMORY_LINES:]) + "\n")
    except OSError as error:
        return f"what was learned about the project could not be kept in {file}: {error.strerror or error}"
    return None


def harmless(text: str) -> str:
    """The text with the tags that instructions and memory are wrapped in made unrecognisable."""
    return _TAG.sub(r"&lt;\1\2", text)


def _fact(line: str) -> str:
    """One line of learnings as a line of the file; empty for headings, tags and blank lines."""
    text = re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", line).strip()
    if not text or text.startswith(("#", "<", "```")) or text.lower().strip(".") in ("none", "nothing"):
        return ""
    return f"- {one_line(harmless(text), FACT)}"


def _same(line: str) -> str:
    """What two lines that say the same have in common."""
    return re.sub(r"[\W_]+", " ", line).strip().casefold()
