"""The `recall` tool: the session log as the model can ask it, by record or by words, a page at a time.

Not a view: what was pruned, spilled or compacted is found whole. The ranking and the paging are pure functions over
records; `LogRecaller` joins them to a log.

Invariants
 1. No page is longer than the characters given (at least `LEAST`), and the pages of a record together are its text.
 2. A search never finds what a recall returned or asked for, a notice, or the text that stands for a missing result.
 3. The same records and query give the same pages.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from agent.sanitise import one_line
from agent.tools.contract import Args, Need, Refused, Result, Schema, attempt
from agent.tools.workspace import Workspace
from compaction.records import AssistantSaid, Compacted, Record, ToolReturned, UserSaid
from compaction.shorten import head_end
from compaction.view import NO_RESULT

# Less than this holds no line beside the page's frame; characters.
LEAST = 300

# The lines around a page say record, kind, page and how to go on; characters.
FRAME = 180

# What a hit shows around the best match; two terminal lines. Characters.
AROUND = 160

# Words beyond this add no precision.
MOST_TERMS = 16

ReadSpill = Callable[[str], str]


def text_of(record: Record, read_spill: ReadSpill) -> str | None:
    """All the text a record holds, spilled results whole; None for records without text of their own.

    A spill file that is gone leaves its preview.
    """
    match record.body:
        case UserSaid(text=text):
            return text
        case AssistantSaid(text=text, calls=calls):
            return "\n".join([text, *(f"{c.name} {c.arguments}" for c in calls)]).strip()
        case ToolReturned(spilled=str(path)) as returned:
            try:
                return read_spill(path)
            except OSError:
                return returned.text
        case ToolReturned(text=text):
            return text
        case Compacted(summary=summary, fact_sheet=facts):
            return f"{summary}\n\n{facts}".strip()
        case _:
            return None


def _searched(record: Record, read_spill: ReadSpill) -> str | None:
    """What a search looks at; None for what it skips. Summaries repeat what the records say better."""
    match record.body:
        case AssistantSaid(text=text, calls=calls):
            return "\n".join([text, *(f"{c.name} {c.arguments}" for c in calls if c.name != "recall")]).strip() or None
        case ToolReturned(tool="recall") | Compacted():
            return None
        case ToolReturned(text=text) if text == NO_RESULT:
            return None
        case _:
            return text_of(record, read_spill)


def label(record: Record) -> str:
    """Whose words a record holds: `user`, `assistant`, the call it answers, `summary`."""
    match record.body:
        case ToolReturned(title=title):
            return one_line(title)
        case UserSaid(how=how):
            return "user" if how == "typed" else f"user ({how})"
        case AssistantSaid():
            return "assistant"
        case Compacted():
            return "summary"
        case _:
            return type(record.body).__name__


def cut_pages(text: str, room: int) -> Iterator[str]:
    """`text` in pieces of at most `room` characters, cut at line ends where one lies in the last half of the piece."""
    at = 0
    while at < len(text):
        end = min(len(text), at + room)
        if end < len(text):
            line_end = text.rfind("\n", at + room // 2, end)
            end = line_end + 1 if line_end >= 0 else head_end(text, end)
            if end <= at:
                end = at + room
        yield text[at:end]
        at = end


def record_page(records: Sequence[Record], record: int, page: int, characters: int, read_spill: ReadSpill) -> str:
    """Page `page` (from 1) of one record's text. Raises `Refused`."""
    found = next((r for r in records if r.id == record), None)
    if found is None:
        last = records[-1].id if records else 0
        raise Refused(f"There is no record {record}; the log has records 1 to {last}.")
    text = text_of(found, read_spill)
    if text is None:
        raise Refused(f"Record {record} ({label(found)}) holds no text.")
    pages = list(cut_pages(text, max(LEAST, characters) - FRAME)) or [""]
    if not 1 <= page <= len(pages):
        raise Refused(
            f"Record {record} has {len(pages)} {'page' if len(pages) == 1 else 'pages'}; there is no page {page}."
        )
    head = f"[record {record}, {label(found)}, page {page} of {len(pages)}, {len(text):,} characters in all]"
    more = f'\n[next: recall {{"record": {record}, "page": {page + 1}}}]' if page < len(pages) else ""
    return f"{head}\n{pages[page - 1]}{more}"


def terms_of(query: str) -> list[str]:
    """The words searched for: by blanks, without the quotes and commas around them, case folded, each once."""
    words = (word.strip("\"'`,;()[]").casefold() for word in query.split())
    return list(dict.fromkeys(w for w in words if w))[:MOST_TERMS]


def rank(text: str, terms: Sequence[str]) -> float:
    """How well a text answers: first by how many terms it holds, then whole words, then how often. 0 for none."""
    folded = text.casefold()
    score = 0.0
    for term in terms:
        count = folded.count(term)
        if count:
            whole = re.search(rf"(?<!\w){re.escape(term)}(?!\w)", folded) is not None
            score += 100 + 30 * whole + math.log1p(count)
    return score


def ranked(records: Sequence[Record], terms: Sequence[str], read_spill: ReadSpill) -> list[tuple[Record, str]]:
    """The records that hold any of the terms, with what was searched: best first, the newer first among equals."""
    found: list[tuple[float, int, Record, str]] = []
    for record in records:
        text = _searched(record, read_spill)
        if text and (score := rank(f"{label(record)}\n{text}", terms)):
            found.append((-score, -record.id, record, text))
    return [(record, text) for *_, record, text in sorted(found, key=lambda one: one[:2])]


def words_page(records: Sequence[Record], query: str, page: int, characters: int, read_spill: ReadSpill) -> str:
    """Page `page` (from 1) of the records that hold words of `query`, best first, the newer first among equals."""
    terms = terms_of(query)
    if not terms:
        raise Refused("The query holds no words.")
    found = ranked(records, terms, read_spill)
    if not found:
        return f"No record holds {one_line(query)}."
    room = max(LEAST, characters) - FRAME
    pages: list[list[str]] = [[]]
    left = room
    for record, text in found:
        hit = f"#{record.id} {label(record)} ({len(text):,} characters)\n{excerpt(text, terms)}"
        hit = hit if len(hit) <= room else hit[: head_end(hit, room - 1)] + "…"
        if len(hit) + 2 > left and pages[-1]:
            pages.append([])
            left = room
        pages[-1].append(hit)
        left -= len(hit) + 2
    if not 1 <= page <= len(pages):
        raise Refused(f"The search has {len(pages)} {'page' if len(pages) == 1 else 'pages'}; there is no page {page}.")
    many = f"{len(found):,} {'record' if len(found) == 1 else 'records'}"
    head = f'[{many} found, page {page} of {len(pages)}; recall {{"record": N}} shows one whole]'
    return "\n\n".join([head, *pages[page - 1]])


def excerpt(text: str, terms: Sequence[str]) -> str:
    """The text around the rarest of the terms in it, on one line."""
    # Case folding may change lengths (ß, İ); lower() of each character alone keeps offsets right.
    folded = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    present = sorted((folded.count(t), folded.find(t)) for t in terms if t in folded)
    at = present[0][1] if present else 0
    start = head_end(text, max(0, at - AROUND // 4))
    end = head_end(text, min(len(text), start + AROUND))
    around = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{around}{'…' if end < len(text) else ''}"


@dataclass(frozen=True, slots=True)
class LogRecaller:
    """A `Recaller` over a log: `records` gives it whole, `read_spill` a spilled text (raises `OSError`).

    `characters` bounds a page.
    """

    records: Callable[[], Sequence[Record]]
    read_spill: ReadSpill
    characters: int

    def by_record(self, record: int, page: int) -> str:
        """One page of one record. Raises `Refused`."""
        return record_page(self.records(), record, page, self.characters, self.read_spill)

    def by_words(self, query: str, page: int) -> str:
        """One page of what a search finds. Raises `Refused`."""
        return words_page(self.records(), query, page, self.characters, self.read_spill)


@dataclass(frozen=True, slots=True)
class Recall:
    """`recall(record | query, page?)`."""

    name: str = "recall"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Get back earlier conversation by record number or words."
        if not short:
            about += " Use it for output that was removed, shortened or summarised."
        properties: Schema = {
            "record": {"type": "integer"},
            "query": {"type": "string"},
            "page": {"type": "integer"},
        }
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": about,
                "parameters": {"type": "object", "properties": properties},
            },
        }

    def title(self, args: Args) -> str:
        """`recall #57` or `recall WORDS`."""
        what = f"#{args['record']}" if "record" in args else json.dumps(args.get("query", ""), ensure_ascii=False)
        return one_line(f"recall {what}" + (f" page {args['page']}" if args.get("page", 1) != 1 else ""))

    def need(self, args: Args, ws: Workspace) -> Need:
        """The session's own log: nothing to ask for."""
        return Need("recall")

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Look it up."""

        def work(stop: object) -> Result:
            if ws.recaller is None:
                raise Refused("There is no session log to recall from.")
            if ("record" in args) == ("query" in args):
                raise Refused("Give either record or query.")
            page = max(1, args.get("page", 1))
            if "record" in args:
                return Result(ws.recaller.by_record(args["record"], page))
            return Result(ws.recaller.by_words(args["query"], page))

        return await attempt(work)
