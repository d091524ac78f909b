"""Whether a refusal means that the request was too long. Pure.

Not a classifier of other errors (that is `errors_from`), nor the reader of its numbers (`lengths`). Written from what
providers send, because every client library misses some of it.

Invariants
 1. A rate limit, an account's limit, a limit on one string, on images, files, tools or on the answer alone is never
    an overflow.
 2. A rate is known by its words, whatever the status; and so is a length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agent.models.lengths import LEAST_WINDOW, MOST_TOKENS, numbers_in
from agent.models.plain_words import plain
from agent.models.refusal_words import RATED
from agent.models.wording import Words, words_of


@dataclass(frozen=True, slots=True)
class Overflow:
    """`window`: the stated maximum, tokens. `asked`: the input as the provider counted it, tokens (input and wished
    output together where it states no parts). `bytes`: refused for its size in bytes; then both are None."""

    window: int | None = None
    asked: int | None = None
    bytes: bool = False


# Statuses that mean something else whatever the text says: keys, money, countries, time, rates.
_OTHER_STATUSES = frozenset({401, 402, 403, 408, 429})

_CODES = frozenset(
    {
        "context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "context_length_error",
        "model_context_window_exceeded", "context_window_exceeded_error", "max_context_length_exceeded",
        "tokens_limit_reached", "prompt_too_long", "input_too_long", "context_too_long", "tokens_too_long",
        "request_too_long", "context_overflow", "max_prompt_tokens_exceeded", "model_max_prompt_tokens_exceeded",
    }
)  # fmt: skip
_SPELLED = frozenset(code.replace("_", "") for code in _CODES)
# Fields that state a number beside the words.
_WINDOW_FIELDS = (
    "n_ctx",
    "context_window",
    "max_context_length",
    "context_length",
    "max_model_len",
    "max_input_tokens",
)
_ASKED_FIELDS = ("n_prompt_tokens", "input_tokens", "prompt_tokens", "requested_tokens", "requested")
_BYTE_CODES = frozenset({"request_too_large", "payload_too_large", "request_entity_too_large"})

# How much may be asked in a time, or at all: whatever it counts, it is no window. Words too vague to be a verdict of
# their own are enough to say that.
_RATE = re.compile(
    rf"{RATED.pattern}"
    r"|(?:tokens?|requests?|calls?|inputs?|messages?)(?: (?:per|a|each|every) | ?/ ?)(?:min|minute|day|hour|second"
    r"|month|week)"
    r"|per[- ]month\b|\bquota\b|please wait|try again (?:in|after) \d|(?:in|over|within) the (?:last|past) \d+ "
    r"|credits?\b.{0,40}\b(?:afford|left|remain|balance)|can only afford|insufficient|high (?:demand|traffic|load)"
    r"|peak load|queue"
)
# One string, one file, a list, a name: limits of parts of a request …
_ELSEWHERE = re.compile(
    r"string too long|string[_ ](?:above[_ ]max|too[_ ]long)|a string with length|string should have at most"
    r"|array too long|array_above_max"
    r"|too many (?:images?|tools?|files?|functions?|documents?|messages|requests|stop|pages|attachments?|parts|cache)"
    r"|\b(?:image|file|document|pdf|audio|video|attachment)s?\b.{0,60}"
    r"\b(?:too (?:large|big|long|many)|exceed\w*|maximum)"
    r"|(?:maximum|exceed\w*|max).{0,30}\b(?:image|file|pdf|audio|video)\b"
    r"|\b(?:description|name|title|schema|tool_call_id|user_id|metadata)\b.{0,60}\b(?:too long|exceeds?|at most|max)"
)
# … and whatever is counted in something else, unless the maximum is said to be the context's.
_COUNTED = re.compile(
    r"\d\s*(?:characters|chars|pixels|px|images|pages|files|items|elements|documents|tools|functions)\b"
    r"|number of (?:messages|tools?|functions?|images?|files?|documents?|calls?|turns?|stop|blocks?|items|parts)\b"
)
_OF_CONTEXT = re.compile(r"context[ -](?:length|window|size)(?: is| of|:)? \(?\d")
_BYTES = re.compile(
    r"message larger than max|request contains [^.]{0,40}too large|(?:request|payload|body|content"
    r"|entity)(?: (?:entity|body|payload|size))?"
    r"(?: is| was)? (?:too (?:large|big)"
    r"|exceeds? (?:the )?(?:max\w*|limit|allowed|size|\d))"
    r"|(?:maximum|max) (?:request|payload|body)(?: body)? size|request size limit|length limit exceeded"
)
# A length in bytes is none in tokens, however it is worded.
_IN_BYTES = re.compile(r"\d ?(?:bytes|[kmg]i?b)\b")
_SIZED = re.compile(
    r"\b(?:request|payload|body|content|input|prompt|messages?|result)\b.{0,60}"
    r"(?:exceed|(?:larger|bigger|more|greater) than|too (?:large|big|long)|\bover\b)"
)

# About the wished answer alone …
_ANSWER = re.compile(
    r"max_?(?:completion_?|output_?|new_?)?tokens\b|max_tokens_to_sample|maximum tokens you requested"
    r"|completion tokens|\boutput\b.{0,20}(?:tokens|length)|budget_tokens|thinking budget|max tokens must"
    r"|maximum output"
)
# … unless the context is spoken of as well.
_CONTEXT = re.compile(
    r"context[ -](?:length|limit|window|size)|\bmodel(?:'s)? (?:length|context)|inputs? (?:length|tokens?)"
    r"|`inputs`|\bprompt\b|\bmessages\b|\binput (?:\+|plus|and)"
)
# A negative wish, or none, is what is left of a window already full: nobody asks for that.
_NOTHING_LEFT = re.compile(r"max_tokens must be at least 1, got (?:-|0\b)")

# Says that the input is too long, without any number being needed.
_INPUT = r"(?:prompt|inputs?|conversation|history|context|messages?)"
_TOO_LONG = re.compile(
    r"context[ -](?:length|window|size|limit)[^.\n]{0,60}(?:exceed|overflow|reached|too (?:small|short))"
    r"|context overflow"
    r"|(?:not|n't) (?:fit|enough)\b[^.\n]{0,30}\bcontext|\bout of context\b|token capacity|maximum tokens exceeded"
    r"|(?:exceed\w*|larger than|longer than|greater than|beyond|over|outside|reached)[^.\n]{0,60}"
    r"context[ -]?(?:length|window|size|limit)"
    r"|maximum (?:supported )?(?:context|prompt|model|input|sequence)[ -](?:token )?(?:length|window|size)"
    r"|context the overflows|context (?:length|window) (?:of|is) only|(?:model|context) window (?:is )?full"
    rf"|\b{_INPUT}\b(?: text| tokens?| length| content)*(?: (?:of|with|has) [\d,._']+k?(?: tokens?)?)?"
    r"(?: [(+][^.\n]{0,60})?"
    r"(?: is| are| was)?(?: way| far)? too (?:long|large|big|many)|(?:request|query) (?:is )?too long"
    rf"|\b(?:{_INPUT}|tokens?)\b[^.\n]{{0,50}}\bexceeds? (?:the )?(?:model(?:'s)? )?(?:max|limit|length|token limit"
    rf"|allowed)"
    r"|exceed\w* (?:the )?(?:model(?:'s)? )?(?:max\w* )?(?:input |prompt )?tokens? (?:limit|length|count)"
    r"|(?:prompt|input) is longer than|longer than the model|cannot truncate prompt"
    rf"|\b(?:{_INPUT}|tokens?)\b[^.\n]{{0,40}}(?:limit|maximum)[^.\n]{{0,30}}exceed"
    r"|exceed\w* (?:the |its )?[\d,._' ]+k?[ -]tokens? (?:limit|context|window)|\d tokens? too (?:long|many)"
    r"|token (?:count|length)[^.\n]{0,40}exceed|exceeds? the maximum number of (?:input )?tokens"
    r"|(?:exceed|above|over)\w* (?:the )?(?:maximum|max|allowed) (?:input |prompt |total )?(?:token|sequence)"
    r"|too[ _]many[ _](?:input |prompt |total )?tokens|input tokens exceeded|range of input length"
    r"|reduce (?:the )?(?:length|size) of (?:the |your )?(?:messages?|prompts?|inputs?|conversation|context)"
    r"|tokens? to keep from the initial prompt|model_context_window_exceeded|tokens_limit_reached"
    r"|`?inputs`? (?:tokens? )?(?:\+|must have)|exceed context limit|max tokens of \d+ exceeded"
    r"|(?:token count|input tokens?)[^.\n]{0,60}only supports|request body too large for \S+ model"
    rf"|\b(?:{_INPUT}|tokens?)\b[^.\n]{{0,30}}(?:cannot|must not|should not"
    rf"|may not) exceed [^.\n]{{0,40}}\d ?k?\)? ?tokens?"
    r"|cannot exceed the total tokens|length of (?:the )?(?:prompt|input|messages)[^.\n]{0,40}exceed"
    r"|\d tokens?\b[^.\n]{0,30}(?:exceed|(?:more|larger|greater|longer) than|>)[^.\n]{0,50}(?:max|limit|context|window)"
    r"|total (?:message )?tokens?[^.\n]{0,50}exceed|current length is \S+ while limit"
    r"|tokens? in (?:the |your )?(?:request|prompt|input)[^.\n]{0,20}(?:exceed|more than|over)"
)
# The answer's own limit, named.
_ANSWER_LIMIT = re.compile(r"(?:max(?:imum)?|limit|at most|up to)[^.;]{0,40}(?:output|completion) tokens?")
# What a comparison of two numbers has to be about, and what it must not: an account is no window.
_SUBJECT = re.compile(r"\b(?:tokens?|prompt|context|sequence|conversation)\b")
_ACCOUNT = re.compile(r"\b(?:account|plan|subscription|allowance|budget|cached content|organi[sz]ation)\b")


def recognise(status: int | None, body: Any, text: str = "") -> Overflow | None:
    """What the refusal says about length, or None when it is about something else."""
    words = words_of(body, text)
    said = plain(words.text)
    if status in _OTHER_STATUSES or _rate(words, said):
        return None
    by_code = _coded(words) or "n_ctx" in words.numbers
    if not by_code and _elsewhere(words, said):
        return None
    in_bytes = bool(_IN_BYTES.search(said)) and "token" not in said
    too_long = bool(_TOO_LONG.search(said)) or bool(_NOTHING_LEFT.search(said)) or _compared(said)
    if not by_code and (in_bytes or not too_long):
        return Overflow(bytes=True) if _sized(status, words, said, in_bytes=in_bytes, too_long=too_long) else None
    if not by_code and answer_alone(said):
        return None
    window, asked = numbers_in(said)
    return Overflow(_field(words, _WINDOW_FIELDS) or window or _field(words, ("limit",)),
                    _field(words, _ASKED_FIELDS) or asked)  # fmt: skip


def of_rates(body: Any, text: str = "") -> bool:
    """Whether the refusal is about how much may be asked in a time, whatever its status: some say so with a 413."""
    words = words_of(body, text)
    return _rate(words, plain(words.text))


def of_something_else(body: Any, text: str = "") -> bool:
    """Whether the refusal is about a limit that is not the window's, whatever a library took it for."""
    words = words_of(body, text)
    said = plain(words.text)
    return _rate(words, said) or _elsewhere(words, said) or answer_alone(said)


def _field(words: Words, names: tuple[str, ...]) -> int | None:
    found = (words.numbers.get(name, 0) for name in names)
    return next((number for number in found if LEAST_WINDOW <= number <= MOST_TOKENS), None)


def _elsewhere(words: Words, said: str) -> bool:
    if "tokens of image and text" in said:
        return False
    counted = bool(_COUNTED.search(said)) and not _OF_CONTEXT.search(said)
    return counted or bool(_ELSEWHERE.search(" ".join([said, *words.codes])))


def _rate(words: Words, said: str) -> bool:
    named = any(code in ("rate_limit_exceeded", "rate_limit_error", "insufficient_quota") for code in words.codes)
    return named or bool(_RATE.search(said))


def _coded(words: Words) -> bool:
    """Whether a code says it, however it is spelled; some servers send nothing but the code, as their message."""
    return any(re.sub(r"[^a-z]", "", code) in _SPELLED for code in (*words.codes, *words.text.lower().split()))


def _compared(said: str) -> bool:
    """Whether a maximum of tokens is named and a larger input, in words that are none of the above."""
    window, asked = numbers_in(said)
    return window is not None and asked is not None and asked > window and _about_length(said)


def _about_length(said: str) -> bool:
    return bool(_SUBJECT.search(said)) and not _ACCOUNT.search(said)


def _sized(status: int | None, words: Words, said: str, *, in_bytes: bool, too_long: bool) -> bool:
    """Whether it is about the size of the request as it is sent."""
    if status == 413 or _BYTE_CODES & set(words.codes):
        return True
    return bool(_BYTES.search(said) and "token" not in said) or (in_bytes and (too_long or bool(_SIZED.search(said))))


def answer_alone(said: str) -> bool:
    """Whether only the wished answer is too long."""
    if not _ANSWER.search(said) or _NOTHING_LEFT.search(said):
        return False
    return not _CONTEXT.search(said) or bool(_ANSWER_LIMIT.search(said) and numbers_in(said)[1] is None)
