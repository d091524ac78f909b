"""From the prefix of a cut to the request for its summary.

Not the asking (that is `agent.compactor`) and not the verdict on the reply (that is `judge`). The texts of the
instructions are handed in.

Invariants
 1. Instructions, previous summary and focus are in every request, whole; if they alone do not fit, the answer is
    `TooLarge` before anything is sent.
 2. Only this text is shortened; the conversation is not. What a message loses, its marker counts exactly.
 3. Nothing inside a foreign text looks like one of our own delimiters. Taking the look away changes no length.
 4. A halved request is shorter than the one refused, or there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from compaction.cut import Cut
from compaction.shorten import shorten
from compaction.view import Item, Kind, View

# A result's first and last screenful tell what it showed; arguments are longer only when they carry a file.
# Characters.
MOST_RESULT = 2_000

# A user's message is the task itself: four times that, about four pages. Characters.
MOST_USER = 8_000

# Bodies of a megabyte are refused by gateways, and JSON escapes may nearly double a text. Characters; binds on windows
# from about 135k up, below which the summariser's own window does.
MOST_REQUEST = 540_000

# Three halvings leave an eighth; a summariser that refuses that has some other trouble.
HALVINGS = 3

# English prose runs at about three words for four tokens; models keep to words better than to tokens.
WORDS_NUMERATOR, WORDS_DENOMINATOR = 3, 4

# Every tag this program writes around texts for a model: in this request, in a view, and in a reply it reads.
TAGS = ("conversation", "previous-summary", "summary", "message", "call", "result", "pinned", "learnings")

# Blanks and invisible characters (joiners, marks of direction, byte-order mark) that a forged tag may hide behind.
# One class a place and never two side by side, so that no text can make the search slow.
_GAP = "\\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"


def _loosely(tag: str) -> str:
    """A pattern for a tag's name with blanks between its letters, or for its hyphen."""
    return f"[{_GAP}_-]*".join(f"[{_GAP}]*".join(word) for word in tag.split("-"))


@cache
def _forged() -> re.Pattern[str]:
    """Compiled for the first text that needs it: that takes 10 ms, which every start would pay."""
    return re.compile(f"<(?=[{_GAP}/]*(?:{'|'.join(map(_loosely, TAGS))})(?![\\w-]))", re.IGNORECASE)


# What `<` becomes in front of a forged tag: it reads the same and is no tag. One character for one.
HARMLESS = "‹"


@dataclass(frozen=True, slots=True)
class Prompts:
    """The instructions' texts: for the first summary, an update, and one asked for inside the conversation.

    `{words}` in them stands for the longest summary, in words.
    """

    system: str
    first: str
    update: str
    in_context: str


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What the summariser gets: a system prompt and one user message.

    `characters` is the length of both; `omitted` of the prefix's messages were left out, the oldest ones. `messages`
    are those given, as spelled, `before` and `after` what surrounds them.
    """

    system: str
    user_text: str
    characters: int
    omitted: int
    halvings: int
    messages: tuple[str, ...]
    after: str


@dataclass(frozen=True, slots=True)
class TooLarge:
    """No request fits: it would need at least `least` characters, and `most` were allowed."""

    least: int
    most: int


def harmless(text: str) -> str:
    """`text` with nothing in it that looks like one of our tags; the same length."""
    return _forged().sub(HARMLESS, text)


def build_request(
    cut: Cut,
    view: View,
    prompts: Prompts,
    *,
    focus: str,
    previous_summary: str,
    cap_tokens: int,
    characters: int = MOST_REQUEST,
) -> SummaryRequest | TooLarge:
    """The request for a summary of `cut.prefix` in at most `characters` characters, system prompt included.

    `cap_tokens` is the longest summary accepted. With a `previous_summary` the update's instructions are used.
    """
    messages = tuple(spelled for item in cut.prefix if (spelled := _spell(item)))
    template = filled(prompts.update if previous_summary.strip() else prompts.first, cap_tokens)
    after = "\n".join(_surroundings(template, focus, previous_summary))
    return _assemble(prompts.system, messages, after, min(characters, MOST_REQUEST), omitted=0, halvings=0)


def halved(request: SummaryRequest) -> SummaryRequest | None:
    """The request with half of the conversation's text just refused; None when that is not shorter, or tried enough."""
    if request.halvings >= HALVINGS:
        return None
    spoken = sum(map(len, request.messages))
    most = request.characters - (spoken - spoken // 2)
    smaller = _assemble(
        request.system, request.messages, request.after, most, omitted=request.omitted, halvings=request.halvings + 1
    )
    if isinstance(smaller, TooLarge) or smaller.characters >= request.characters:
        return None
    return smaller


def in_context_text(prompts: Prompts, *, focus: str, cap_tokens: int) -> str:
    """The one instruction put behind the last request's exact bytes, where the summary is asked for in place."""
    return "\n".join([filled(prompts.in_context, cap_tokens), *_focus(focus)])


def filled(template: str, cap_tokens: int) -> str:
    """The instructions with the longest summary written into them, in words."""
    return template.strip().replace("{words}", f"{cap_tokens * WORDS_NUMERATOR // WORDS_DENOMINATOR:,}")


def _assemble(
    system: str, messages: tuple[str, ...], after: str, most: int, *, omitted: int, halvings: int
) -> SummaryRequest | TooLarge:
    """The newest messages that fit into `most` characters. At least one must, if there is any."""
    sizes = list(accumulate((len(m) + 1 for m in reversed(messages)), initial=0))
    for kept in range(len(messages), min(1, len(messages)) - 1, -1):
        left_out = omitted + len(messages) - kept
        # A lower bound first, so that a long conversation is not spelled once for each message left out.
        if len(system) + len(after) + sizes[kept] > most:
            continue
        given = messages[len(messages) - kept :]
        text = _user_text(given, left_out, after)
        if len(system) + len(text) <= most:
            return SummaryRequest(system, text, len(system) + len(text), left_out, halvings, given, after)
    newest = messages[-1:]
    return TooLarge(len(system) + len(_user_text(newest, omitted + len(messages) - len(newest), after)), most)


def _user_text(messages: Iterable[str], omitted: int, after: str) -> str:
    note = [f"[{omitted:,} earlier message{'s' if omitted != 1 else ''} left out to fit]"] if omitted else []
    return "\n".join(["<conversation>", *note, *messages, "</conversation>", after])


def _surroundings(template: str, focus: str, previous_summary: str) -> Iterable[str]:
    """All that is never shortened, in the order it follows the conversation."""
    if previous_summary.strip():
        yield from ("", "<previous-summary>", harmless(previous_summary.strip()), "</previous-summary>")
    yield from ("", template)
    yield from _focus(focus)


def _focus(focus: str) -> Iterable[str]:
    return ("", "Additional focus", focus.strip()) if focus.strip() else ()


def _spell(item: Item) -> str | None:
    """One item as the summariser reads it; None for what is no part of the conversation (notices, summaries)."""
    match item.kind:
        case Kind.NOTICE | Kind.SUMMARY:
            return None
        case Kind.USER:
            return _message("user", item, _within(item.text, MOST_USER))
        case Kind.ASSISTANT:
            parts = [harmless(item.text.strip())] if item.text.strip() else []
            parts += [
                f'<call tool="{_attribute(c.name)}">\n{_within(c.arguments, MOST_RESULT)}\n</call>' for c in item.calls
            ]
            return _message("assistant", item, "\n".join(parts))
        case Kind.TOOL:
            failed = ' failed="yes"' if item.failed else ""
            open_tag = f'<result of="{_attribute(item.title)}" record="{item.record}"{failed}>'
            return f"{open_tag}\n{_within(item.text, MOST_RESULT)}{_images(item)}\n</result>"


def _message(who: str, item: Item, text: str) -> str:
    return f'<message from="{who}" record="{item.record}">\n{text}{_images(item)}\n</message>'


def _images(item: Item) -> str:
    count = len(item.images)
    return f"\n[{count} image{'s' if count != 1 else ''}]" if count else ""


def _within(text: str, most: int) -> str:
    return harmless(shorten(text, most))


def _attribute(text: str) -> str:
    """A foreign text between quotes on one line."""
    return " ".join(text.replace('"', "'").replace("<", HARMLESS).replace(">", "›").split())
