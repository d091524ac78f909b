"""One record whole, and the records that hold certain words: what a person looks up in an open log.

Not the model's `recall` tool, whose ranking it shares: people get rows with the state of each, and no pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent import spill
from agent.session import Session
from agent.tools.recall import ReadSpill, excerpt, label, ranked, terms_of, text_of
from compaction.view import View

# More than anybody reads; a narrower query finds the rest.
MOST_HITS = 200

# Where a record stands: in what is sent, in what form; swallowed by a compaction; or left behind by a rewind.
Standing: TypeAlias = Literal["live", "pruned", "spilled", "pinned", "summarised", "rewound"]


@dataclass(frozen=True, slots=True)
class Whole:
    """All of one record's text. `sent`: what the model is sent in its place, None where that is the same or nothing."""

    record: int
    title: str
    text: str
    standing: Standing
    sent: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that holds words of a query: whose it is, its size in characters, and the text around the words."""

    record: int
    title: str
    characters: int
    excerpt: str
    standing: Standing


def whole(session: Session, id: int) -> Whole:
    """A record with all its text. Raises `LookupError` with a sentence."""
    record = session.log.record(id)
    if record is None:
        raise LookupError(f"there is no record {id} in this session")
    sent = "\n\n".join(item.text for item in session.view.items if item.record == id)
    text = text_of(record, _spill(session))
    if text is None and not sent:
        raise LookupError(f"record {id} holds no text")
    other = sent if text is not None and sent and sent != text else None
    return Whole(id, label(record), sent if text is None else text, standings(session.view).get(id, "rewound"), other)


def hits(session: Session, query: str) -> Sequence[Hit]:
    """The records that hold words of `query` or have that number, best first. Raises `LookupError` with a sentence."""
    number = query.strip().removeprefix("#")
    if number.isdecimal():
        found = whole(session, int(number))
        return (Hit(found.record, found.title, len(found.text), " ".join(found.text[:200].split()), found.standing),)
    terms = terms_of(query)
    if not terms:
        raise LookupError("write the words to look for")
    where = standings(session.view)
    return [
        Hit(record.id, label(record), len(text), excerpt(text, terms), where.get(record.id, "rewound"))
        for record, text in ranked(session.log.records, terms, _spill(session))[:MOST_HITS]
    ]


def standings(view: View) -> dict[int, Standing]:
    """Where each record of the conversation stands; what a rewind took out is not in it."""
    found: dict[int, Standing] = {item.record: "summarised" for item in view.conversation}
    found |= {item.record: item.state for item in view.items}
    return found | {record: "pinned" for record in view.pins if record in found}


def _spill(session: Session) -> ReadSpill:
    return lambda path: spill.load(session.log.folder, path)
