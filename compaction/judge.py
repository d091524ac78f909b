"""The verdict on a summariser's reply: a summary, or the reason it is none.

Not the sizes of the views (whether the summary makes anything smaller is the compactor's to measure) and no retry.

Invariants
 1. A rejected reply yields nothing that could be committed.
 2. What is accepted is no longer than the cap, and has one of `HEADINGS`, and words under it.
 3. A section of the previous summary that the reply leaves out, or leaves blank, is in the accepted one word for word;
    a code fence that a section leaves open is closed, or it would swallow the next heading at the next update.
 4. Learnings are split off; losing or garbling them never loses the summary.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from compaction.records import Outcome, Stop

# The shape every summary has, in order. Fixed: the update carries sections over by these names.
HEADINGS: Final = ("## Goal", "## Constraints", "## Done", "## Decisions", "## Next")

_CANONICAL = {heading[3:].lower(): heading for heading in HEADINGS}
# A line of code set in three backticks from end to end opens nothing.
_FENCE = re.compile(r" {0,3}(```+(?=[^`]*\Z)|~~~+)(.*)")

# What models wrap an answer in, and what reasoning models think in when it is not kept apart.
_THOUGHT = re.compile(r"\A\s*<(think|thinking|analysis|reasoning)>.*?</\1>", re.I | re.S)
_WRAPPED = re.compile(r"\A<([\w-]+)>(.*)</\1>\Z", re.I | re.S)
_FENCED = re.compile(r"\A(```|~~~)[\w-]*\n(.*)\n\1\Z", re.S)
_TAG = re.compile(r"</?[\w-]+[^<>]*>")
_LEARNINGS = re.compile(r"^[ \t]*<learnings>[ \t]*(.*)", re.I)
_LEARNINGS_END = re.compile(r"</learnings>", re.I)

# Tags a view or a later request gives a meaning to: an accepted summary must not forge them.
_OURS = re.compile(r"<(?=\s*/?\s*(?:conversation|previous-summary|pinned|learnings)\b)", re.I)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A summary fit to be committed. `carried` names the headings taken over from the previous one."""

    summary: str
    learnings: str
    carried: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply that is no summary. `detail` is a sentence for people."""

    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class _Section:
    """One fixed heading and all up to the next; `heading` None is what comes before the first."""

    heading: str | None
    text: str


def judge(
    reply_text: str,
    stop: Stop,
    has_calls: bool,
    *,
    cap_tokens: int,
    count: Callable[[str], int],
    previous_summary: str = "",
) -> Accepted | Rejected:
    """The summary and learnings in a reply, or why there are none.

    `count` gives tokens for a text; `cap_tokens` is the most a summary may have, what was carried over included.
    """
    if has_calls or stop == "calls":
        return Rejected(Outcome.SUMMARY_CALLED_TOOL, "the summariser called a tool instead of writing")
    if stop == "filtered":
        return Rejected(Outcome.SUMMARY_FILTERED, "the provider's filter stopped the summary")
    if stop == "length":
        return Rejected(Outcome.SUMMARY_TRUNCATED, "the summary was cut at its output limit")
    if stop in ("aborted", "failed"):
        return Rejected(Outcome.PROVIDER_FAILED, "the summary's stream ended before its end")
    text, learnings = _split(unwrapped(reply_text))
    text = unwrapped(text)
    if not _TAG.sub("", text).strip("`~ \t\r\n"):
        return Rejected(Outcome.SUMMARY_EMPTY, "the summariser wrote nothing")
    sections = _sections(_OURS.sub("‹", text))
    if all(section.heading is None for section in sections):
        return Rejected(Outcome.SUMMARY_SHAPELESS, f"the summary has none of the headings {', '.join(HEADINGS)}")
    if not any(_has_words(section) for section in sections):
        return Rejected(Outcome.SUMMARY_EMPTY, "the summary has headings and nothing under them")
    whole, carried = _carry_over(sections, _sections(previous_summary.strip()))
    summary = "\n\n".join(_closed(s.text) for s in whole if s.text)
    tokens = count(summary)
    if tokens > cap_tokens:
        note = f", with {', '.join(carried)} carried over" if carried else ""
        return Rejected(Outcome.SUMMARY_OVERSIZE, f"the summary has {tokens:,} tokens{note}; at most {cap_tokens:,}")
    return Accepted(summary, learnings, carried)


def unwrapped(text: str) -> str:
    """A reply without the thoughts before it and the tags or code fences around it."""
    text = text.strip()
    while True:
        bare = _THOUGHT.sub("", text).strip()
        fenced = _FENCED.match(bare)
        wrapped = _WRAPPED.match(bare)
        # A reply may begin and end with code blocks of its own: only one that holds the notes is a wrapping.
        if fenced and fenced[2].lstrip().startswith(("#", "<")):
            bare = fenced[2].strip()
        elif wrapped and wrapped[1].lower() != "learnings" and f"<{wrapped[1]}>" not in wrapped[2]:
            bare = wrapped[2].strip()
        if bare == text:
            return text
        text = bare


def _split(text: str) -> tuple[str, str]:
    """The reply without its learnings, and those. A block that is never closed ends at the next heading."""
    kept: list[str] = []
    learned: list[str] = []
    inside = False
    for line in text.split("\n"):
        opened = _LEARNINGS.match(line)
        if opened:
            inside = True
            line = opened[1]
        elif inside and _heading(line):
            inside = False
        if not inside:
            kept.append(line)
            continue
        closed = _LEARNINGS_END.search(line)
        learned.append(line[: closed.start()] if closed else line)
        if closed:
            inside = False
            kept.append(line[closed.end() :])
    return "\n".join(kept).strip(), "\n".join(line.rstrip() for line in learned).strip()


def _sections(text: str) -> tuple[_Section, ...]:
    """A summary in sections, headings in their fixed spelling. A heading inside a code fence is no heading."""
    found: list[tuple[str | None, list[str]]] = [(None, [])]
    lines = text.split("\n")
    fence_end = -1
    unclosed: set[str] = set()
    for number, line in enumerate(lines):
        opened = _FENCE.match(line) if number > fence_end else None
        if opened and opened[1] not in unclosed:
            closes = _fence_end(lines, number, opened[1])
            if closes is None:
                unclosed.add(opened[1])
            else:
                fence_end = closes
        name = _heading(line) if number > fence_end else None
        if name:
            found.append((name, [name]))
        else:
            found[-1][1].append(line)
    return tuple(_Section(name, "\n".join(kept).strip()) for name, kept in found)


def _closed(text: str) -> str:
    """A section's text with its code fence closed, should its last one be open."""
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        closes = _fence_end(lines, number, opened[1]) if opened else number
        if opened and closes is None:
            return f"{text}\n{opened[1]}"
        number = (closes or number) + 1
    return text


def _fence_end(lines: list[str], start: int, opened: str) -> int | None:
    """Where the code fence opened at `start` closes; None when it never does, and then it is no fence."""
    for number in range(start + 1, len(lines)):
        closed = _FENCE.match(lines[number])
        if closed and closed[1].startswith(opened) and not closed[2].strip():
            return number
    return None


def _heading(line: str) -> str | None:
    """The fixed heading a line is, however it is cased, spaced, set bold or ended with a colon."""
    bare = line.strip()
    if not bare.startswith("##") or bare.startswith("###") or line.startswith(("    ", "\t")):
        return None
    return _CANONICAL.get(bare[2:].strip(" \t*_:").lower())


def _has_words(section: _Section) -> bool:
    return section.heading is not None and section.text != section.heading


def _carry_over(
    reply: tuple[_Section, ...], previous: tuple[_Section, ...]
) -> tuple[tuple[_Section, ...], tuple[str, ...]]:
    """The reply's sections with the missing ones of the previous summary in their places, and the names of those."""
    present = {section.heading for section in reply if _has_words(section)}
    missing = [section for section in previous if _has_words(section) and section.heading not in present]
    named = {section.heading for section in missing}
    whole = [s for s in reply if s.heading not in named or _has_words(s)]
    for section in missing:
        place = _order(section)
        at = next((i for i, s in enumerate(whole) if s.heading is not None and _order(s) > place), len(whole))
        whole.insert(at, section)
    return tuple(whole), tuple(s.heading for s in missing if s.heading is not None)


def _order(section: _Section) -> int:
    return HEADINGS.index(section.heading) if section.heading in HEADINGS else -1
