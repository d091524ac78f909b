"""The fact sheet under a summary: what the program knows of the dropped conversation without asking a model.

Not a summary and not read back: each sheet is made anew from the records, so nothing is lost from one to the next.

Invariants
 1. A sheet is at most its cap, counted as one text; what does not fit goes oldest first, and a count says how much.
 2. It covers everything from the session's start to the cut, whatever earlier compactions and prunes did.
 3. Foreign text in it stands on one line, without control characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compaction.cut import Cut
from compaction.records import AssistantSaid, Record, ToolReturned, UserSaid
from compaction.shorten import head_end
from compaction.tokens import Ruler
from compaction.view import View

TITLE = "[facts kept by the program]"

# An entry longer than this is a blob, not a name; characters.
MOST_ENTRY = 160

# How far back identifiers are looked for, characters: a sheet holds a hundred or two of them, a megabyte of text has
# thousands, and reading more would be felt (about half a second). Files and commands are known from all records.
MOST_SCANNED = 1_000_000

# How much of the room still left each part may take, in percent, in the order the parts are filled: changed files
# cannot be told from anything else, a failed command is soon repeated, and what was only read is cheaply read again.
SHARES = {"Files changed": 40, "Commands": 50, "Files read": 50, "Named, and not in the summary": 100}

# Texts whose identifiers are kept: every compaction reads most of what the one before read.
REMEMBERED = 4_096

# `app.py:120` is a line of a file, not a host and its port.
_FILES = (
    "py|pyi|js|ts|tsx|jsx|go|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|md|txt|json|ya?ml|toml|ini|cfg|sh|css|html"
    "|sql|log|lock"
)

_IDENTIFIER = re.compile(
    r"""
    (?P<url>\b[a-z][a-z0-9+.-]{1,15}://[^\s<>"'`|\\^{}\[\]]{3,})
  | (?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
  | (?P<path>(?<![\w./~@:-])
        (?:(?:~|\.{1,2})?/(?:[\w.@+-]{1,80}/){0,30}|(?:[\w.@+-]{1,80}/){1,30})[\w.@+-]{1,80}/?(?![\w/]))
  | (?P<host>(?<![\w.:/-])
        (?:(?:localhost|\[[0-9a-f:]{2,39}\]|(?:[a-z0-9-]{1,63}\.){1,8}[a-z0-9-]{1,63}):\d{2,5}|[a-z][a-z0-9-]{1,62}:\d{4,5})
        (?![\w.:]))
  | (?P<number>(?<![\w.,-])\d{6,30}(?![\w-]))
  | (?P<hash>(?<![\w.-])[0-9a-f]{7,64}(?![\w-]))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LINE_OF_FILE = re.compile(rf"\.(?:{_FILES}):\d+\Z", re.IGNORECASE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class _Part:
    """One kind of fact: its entries, oldest first, and how they are spelled."""

    name: str
    entries: tuple[str, ...]
    a_line_each: bool = False

    def spell(self, kept: int) -> str:
        """The part with its `kept` newest entries; empty when there are none at all."""
        if not self.entries:
            return ""
        left_out = len(self.entries) - kept
        if not kept:
            return f"{self.name}: {left_out:,} left out"
        note = f" ({left_out:,} older left out)" if left_out else ""
        shown = self.entries[left_out:]
        if self.a_line_each:
            return "\n".join([f"{self.name}{note}:", *(f"- {entry}" for entry in shown)])
        return f"{self.name}{note}: {', '.join(shown)}"


def fact_sheet(view: View, cut: Cut, summary: str, ruler: Ruler, cap_tokens: int) -> str:
    """The sheet for a compaction that cuts at `cut` and commits `summary`, in at most `cap_tokens` tokens.

    Empty when not even the line that says how to get the records back fits.
    """
    dropped = _dropped(view, cut)
    closing = _closing(dropped)
    if not dropped or ruler.count(_joined([closing])) > cap_tokens:
        return ""
    chosen: list[str] = []
    for part in _parts(dropped, summary):
        left = cap_tokens - ruler.count(_joined([*chosen, closing]))
        spelled = _fit(part, chosen, closing, cap_tokens - left + left * SHARES[part.name] // 100, ruler.count)
        if spelled:
            chosen.append(spelled)
    return _joined([*chosen, closing])


def _joined(parts: Sequence[str]) -> str:
    return "\n".join([TITLE, *parts])


def _fit(part: _Part, chosen: list[str], closing: str, most: int, count: Callable[[str], int]) -> str:
    """The part with as many newest entries as keep the whole sheet within `most` tokens; at the least its count."""
    low, high = 0, min(len(part.entries), max(0, most))
    while low < high:
        middle = (low + high + 1) // 2
        if count(_joined([*chosen, part.spell(middle), closing])) <= most:
            low = middle
        else:
            high = middle - 1
    # Counts of tokens are not quite monotone: what the search found is checked as it will be written.
    while low >= 0 and count(_joined([*chosen, part.spell(low), closing])) > most:
        low -= 1
    return part.spell(low) if low >= 0 else ""


def _dropped(view: View, cut: Cut) -> tuple[Record, ...]:
    """The records behind every item before the cut, since the session's start."""
    ids = {item.record for item in view.conversation[: cut.position]}
    return tuple(r for r in view.records if r.id in ids)


def _closing(dropped: Sequence[Record]) -> str:
    if not dropped:
        return ""
    first, last = dropped[0].id, max(r.id for r in dropped)
    return f"Records {first} to {last} are out of view, not lost: recall shows one by its id and finds them by words."


def _parts(dropped: Sequence[Record], summary: str) -> Iterable[_Part]:
    results = [r.body for r in dropped if isinstance(r.body, ToolReturned)]
    changed = _newest_last(p for body in results if body.changed and not body.failed for p in body.paths)
    read = _newest_last(p for body in results for p in body.paths)
    commands = _newest_last(
        (body.title, f"exit {body.exit_status}") for body in results if body.exit_status is not None
    )
    named = {*changed, *read}
    yield _Part("Files changed", tuple(map(_one_line, changed)))
    yield _Part("Commands", tuple(f"{_one_line(title)}: {status}" for title, status in commands.items()), True)
    yield _Part("Files read", tuple(_one_line(p) for p in read if p not in changed))
    found = _newest_last(i for text in _newest_texts(dropped) for i in identifiers(text))
    missing = tuple(i for i in found if i not in summary and i not in named)
    yield _Part("Named, and not in the summary", missing)


def _newest_last(entries: Iterable[str] | Iterable[tuple[str, str]]) -> dict[str, str]:
    """Each entry once, where it came last; a pair's second is its newest value."""
    ordered: dict[str, str] = {}
    for entry in entries:
        key, value = entry if isinstance(entry, tuple) else (entry, "")
        ordered.pop(key, None)
        ordered[key] = value
    return ordered


def _newest_texts(dropped: Sequence[Record]) -> Sequence[str]:
    """The newest texts that come to `MOST_SCANNED` characters, oldest first."""
    texts: list[str] = []
    left = MOST_SCANNED
    for record in reversed(dropped):
        for text in reversed(list(_texts(record))):
            if left <= 0:
                return texts[::-1]
            texts.append(text[-left:])
            left -= len(text)
    return texts[::-1]


def _texts(record: Record) -> Iterable[str]:
    match record.body:
        case UserSaid(text=text) | ToolReturned(text=text):
            yield text
        case AssistantSaid() as said:
            yield said.text
            yield from (call.arguments for call in said.calls)
        case _:
            pass


@lru_cache(maxsize=REMEMBERED)
def identifiers(text: str) -> tuple[str, ...]:
    """Paths, hashes, URLs, host:port and long numbers in a text, in order, without what merely looks like one."""
    found = ((match.lastgroup or "", match[0].rstrip(".,;:!?)-/")) for match in _IDENTIFIER.finditer(text))
    return tuple(name for kind, name in found if len(name) <= MOST_ENTRY and _is_one(kind, name))


def _is_one(kind: str, text: str) -> bool:
    match kind:
        case "hash":
            # `defaced` is a word, and a run of digits is a number, which has its own rule.
            return any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
        case "path":
            # `and/or`, `1/2` and `text/plain` are no paths; a root, a second slash or an extension makes one.
            last = text.rsplit("/", 1)[-1]
            rooted = text.startswith(("/", "./", "../", "~/"))
            return rooted or (text.count("/") >= 2 and not text.replace("/", "").isdigit()) or "." in last.strip(".")
        case "host":
            return _LINE_OF_FILE.search(text) is None
        case _:
            return True


def _one_line(text: str) -> str:
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= MOST_ENTRY else line[: head_end(line, MOST_ENTRY - 1)] + "…"
