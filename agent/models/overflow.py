"""Whether a refusal means that the request was too long, and which numbers it states. Pure.

Not a classifier of other errors (that is `errors_from`). Written from what providers send, because every client
library misses some of it.

Invariants
 1. A rate limit, an account's limit, a limit on one string, on images, files, tools or on the answer alone is never
    an overflow.
 2. `window` is a number the provider called its maximum. A wish for output, an overshoot ("by 12 tokens") or an error
    code is none. No number is made up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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

# A smaller "window" is a code, a count of messages or an overshoot.
_LEAST_WINDOW = 256

_CODES = frozenset(
    {
        "context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "context_length_error",
        "model_context_window_exceeded", "context_window_exceeded_error", "max_context_length_exceeded",
        "tokens_limit_reached", "prompt_too_long", "input_too_long", "context_too_long",
    }
)  # fmt: skip
_SPELLED = frozenset(code.replace("_", "") for code in _CODES)
_BYTE_CODES = frozenset({"request_too_large", "payload_too_large", "request_entity_too_large"})

_RATE = re.compile(
    r"(?:tokens?|requests?|calls?|inputs?|messages?)(?: (?:per|a) | ?/ ?)(?:min|minute|day|hour|second|month|week)"
    r"|per[- ](?:minute|day|hour|second|month)\b|\b(?:tpm|tpd|rpm|rpd|itpm)\b|rate[- _]?limit|\bquota\b"
    r"|throttl|please wait|try again (?:in|after) \d|daily limit|credits?\b.{0,40}\b(?:afford|left|remain|balance)"
    r"|can only afford|insufficient"
)
_ELSEWHERE = re.compile(
    r"string too long|string[_ ](?:above[_ ]max|too[_ ]long)|a string with length|string should have at most"
    r"|array too long|array_above_max"
    r"|too many (?:images?|tools?|files?|functions?|documents?|messages|requests|stop|pages|attachments?|parts|cache)"
    r"|\d\s*(?:characters|chars|pixels|px|images|pages|files|items|elements|documents|tools|functions)\b"
    r"|\b(?:image|file|document|pdf|audio|video|attachment)s?\b.{0,60}"
    r"\b(?:too (?:large|big|long|many)|exceed\w*|maximum)"
    r"|(?:maximum|exceed\w*|max).{0,30}\b(?:image|file|pdf|audio|video)\b"
    r"|\b(?:description|name|title|schema|tool_call_id|user_id|metadata)\b.{0,60}\b(?:too long|exceeds?|at most|max)"
)
_BYTES = re.compile(
    r"(?:request|payload|body|content|entity)(?: (?:entity|body|payload|size))?(?: is| was)? (?:too (?:large|big)"
    r"|exceeds? (?:the )?(?:max\w*|limit|allowed|size|\d))"
    r"|(?:maximum|max) (?:request|payload|body)(?: body)? size|request size limit|length limit exceeded"
)
# A length in bytes is none in tokens, however it is worded.
_IN_BYTES = re.compile(r"\d ?(?:bytes|[kmg]i?b)\b")
_SIZED = re.compile(
    r"\b(?:request|payload|body|content|input|prompt|messages)\b.{0,60}"
    r"(?:exceed|(?:larger|bigger|more|greater) than|too (?:large|big|long)|\bover\b)"
)

# About the wished answer alone …
_ANSWER = re.compile(
    r"max_?(?:completion_?|output_?|new_?)?tokens\b|max_tokens_to_sample|maximum tokens you requested"
    r"|completion tokens|output tokens|budget_tokens|thinking budget"
)
# … unless the context is spoken of as well.
_CONTEXT = re.compile(
    r"context[ -](?:length|limit|window|size)|\bmodel(?:'s)? (?:length|context)|max_model_len|input (?:length|tokens?)"
    r"|`inputs`|\bprompt\b|\bmessages\b"
)

_N = r"(\d{1,3}(?:[,_.'’ \u00a0\u202f]\d{3})+(?!\d)|\d+(?:\.\d+(?= ?[km]i?\b))?)(?: ?([km]i?)\b)?"
_UNITS = {None: 1, "k": 1_000, "m": 1_000_000, "ki": 1_024, "mi": 1_048_576}
_OF = r"(?: of| is| to| at|:| =|=|\()? ?\(?(?:only |about |approximately )?"

# Says that the input is too long, without any number being needed.
_TOO_LONG = re.compile(
    r"context[ -](?:length|window|size|limit)[^.\n]{0,60}(?:exceed|overflow|too (?:small|short))"
    r"|(?:exceed\w*|larger than|longer than|greater than|beyond|over|outside)[^.\n]{0,60}"
    r"context[ -]?(?:length|window|size|limit)"
    r"|maximum (?:context|prompt|model|input|sequence)[ -](?:token )?(?:length|window|size)|max_model_len"
    r"|context the overflows|context (?:length|window) (?:of|is) only|(?:model|context) window (?:is )?full"
    r"|(?:prompt|input|inputs|conversation|history|context|messages?)\b(?: text| tokens?| length)*"
    r"(?: is| are| was)?(?: way| far)? too (?:long|large|big|many)"
    r"|(?:prompt|input|inputs|messages?|conversation|tokens?)\b[^.\n]{0,50}\bexceeds? (?:the )?(?:model(?:'s)? )?"
    r"(?:max|limit|token limit|allowed)"
    r"|exceed\w* (?:the )?(?:model(?:'s)? )?(?:max\w* )?(?:input |prompt )?tokens? (?:limit|length|count)"
    r"|(?:request|query) (?:is )?too long|(?:prompt|input) is longer than|longer than the model"
    r"|token (?:count|length)[^.\n]{0,40}exceed|exceeds? the maximum number of (?:input )?tokens"
    r"|(?:exceed|above|over)\w* (?:the )?(?:maximum|max|allowed) (?:input |prompt |total )?(?:token|sequence)"
    r"|too many (?:input |prompt |total )?tokens|input tokens exceeded|range of input length"
    r"|reduce (?:the )?(?:length|size) of (?:the |your )?(?:messages?|prompts?|inputs?|conversation|context)"
    r"|tokens? to keep from the initial prompt|model_context_window_exceeded|tokens_limit_reached"
    r"|max_tokens must be at least 1, got -|`?inputs`? (?:tokens? )?(?:\+|must have)|exceed context limit"
    r"|(?:token count|input tokens?)[^.\n]{0,60}only supports|request body too large for \S+ model"
    r"|cannot exceed the total tokens|length of (?:the )?(?:prompt|input|messages)[^.\n]{0,40}exceed"
    r"|\d\)? tokens?\b[^.\n]{0,30}(?:exceed|(?:more|larger|greater|longer) than|>)[^.\n]{0,50}"
    r"(?:max|limit|context|window)"
    r"|total (?:message )?tokens?[^.\n]{0,50}exceed|current length is \S+ while limit"
)

# Input and wished answer against the window.
_SUM = re.compile(rf"{_N} \+ {_N} > {_N}")
# One number beyond another: the first is what was asked, the second the window. Not an overshoot ("by 12 tokens").
_BEYOND = tuple(
    re.compile(p)
    for p in (
        rf"{_N}\)?(?: (?:input |prompt |total )?tokens?)?\)?,? (?:which |that )?"
        rf"(?:exceed(?:s|ed|ing)?|cannot exceed|goes over|is (?:larger|greater|longer|more) than|is above)"
        rf"[^.\d]{{0,80}}(?<!by )(?<!by about ){_N}",
        rf"{_N}(?: tokens?)? ?(?:>=?|/|vs\.?|(?:out )?of) ?(?:n_ctx: ?)?{_N}",
    )
)
_WINDOW = tuple(
    re.compile(p)
    for p in (
        rf"range of input length should be \[\d+, ?{_N}\]",
        rf"max_model_len(?:gth)?{_OF}{_N}",
        rf"(?:(?:context|model|sequence)[ -](?:token )?(?:length|window|size|limit|capacity)s?"
        rf"|(?:max(?:imum)?|model) context)(?: limit| allowed| supported)?{_OF}{_N}",
        # A bare "prompt length is N" is the prompt's own.
        rf"(?:max(?:imum)?|allowed|supported|longest) (?:prompt|input)[ -](?:token )?(?:length|size|limit)s?{_OF}{_N}",
        rf"context (?:length|window|size|limit) (?:of|for) \S+ is {_N}",
        rf"{_N}[ -]?(?:tokens?)? (?:maximum context|max(?:imum)?\b|context (?:length|window|limit|size))",
        rf"tokens? (?:limit|allowed|maximum)(?: for this model)?{_OF}{_N}",
        rf"maximum number of (?:input |prompt )?tokens(?: allowed| supported)?{_OF}{_N}",
        rf"(?:max(?:imum)?|allowed) (?:input |prompt |total |request )?(?:tokens?|size|allowed){_OF}{_N}",
        rf"(?:limit|maximum)(?: for (?:this|the) model)?(?: is|:| of|=) ?(?:only )?{_N}",
        rf"\((?:the )?(?:limit|max(?:imum)?):? {_N}(?: tokens?)?\)",
        rf"(?:cannot|must not|can't|may not|should not) exceed {_N}",
        rf"must (?:be|have) (?:<=?|less than|at most|no more than|under) ?{_N}",
        rf"(?:supports?|accepts?|allows?|handles?)(?: only| input)?(?: of)? (?:up to|at most|a maximum of|only) {_N}",
        rf"(?:at most|up to|no more than|more than) {_N} (?:input |prompt |total |context )?tokens?",
        rf"(?:limit|maximum|max)(?: \w+)? \({_N} tokens?\)",
        rf"{_N} tokens? (?:are )?available",
        rf"\bmax(?:imum)?:? {_N} tokens?",
    )
)
_ASKED = tuple(
    re.compile(p)
    for p in (
        rf"messages resulted in {_N}",
        rf"(?<![\d,.]){_N}(?: tokens?)? "
        r"(?:in (?:the|your) (?:messages|prompt|input)|from the input)",
        rf"{_N} (?:input|prompt) tokens?\b",
        rf"{_N} `inputs` tokens?",
        rf"{_N} tokens? (?:requested|long|were requested)\b",
        rf"(?<!_)tokens \({_N}\) exceed",
        rf"(?:input|prompt) tokens? count(?: is| of|:)? ?\(?{_N}",
        rf"(?:number of input tokens|(?:input|prompt|total) length|current length is|input token count:?) ?\(?{_N}",
        rf"(?:input|prompt)(?: tokens?)?(?:: ?| ?= ?){_N}",
        rf"(?:request|input|prompt)s? ?\((?:length |of )?{_N}(?: tokens?)?\)",
        rf"(?:prompt|input|conversation)(?: is)? too (?:long|large): ?{_N}",
        rf"(?:contains?|has|have|received|given:?|got:?|requested:?|sent|will take|resulted in|token count (?:of|is)"
        rf"|a total of|keep the first|used|uses|provided)(?: about| approximately| a total of)? {_N}"
        r"(?! ?in the completion)",
    )
)
# The input in parts, each named: "4999 of text input, 33863 of tool input".
_PARTS = re.compile(rf"{_N}(?: tokens?)? of (?!the\b|your\b)\w+ input\b")
# "context window exceeds limit (2013)": a code in brackets, no number of tokens.
_CODE_IN_BRACKETS = re.compile(r"exceeds limit \(\d{4}\)")
# What is said of the answer's own limit is no window.
_ANSWER_NUMBER = re.compile(rf"{_N} (?:output|completion|generated|new) tokens?")
_ANSWER_LIMIT = re.compile(r"(?:max(?:imum)?|limit|at most|up to)[^.;]{0,40}(?:output|completion) tokens?")


def recognise(status: int | None, body: Any, text: str = "") -> Overflow | None:
    """What the refusal says about length, or None when it is about something else."""
    words = words_of(body, text)
    said = " ".join(words.text.lower().split())
    if status in _OTHER_STATUSES or _rate(words, said):
        return None
    by_code = _coded(words, said) or "n_ctx" in words.numbers
    if not by_code and _elsewhere(words, said):
        return None
    in_bytes = bool(_IN_BYTES.search(said)) and "token" not in said
    too_long = bool(_TOO_LONG.search(said)) or _compared(said)
    if not by_code and (in_bytes or not too_long):
        sized = status == 413 or bool(_BYTE_CODES & set(words.codes)) or bool(_BYTES.search(said))
        sized = sized or (in_bytes and (too_long or bool(_SIZED.search(said))))
        return Overflow(bytes=True) if sized else None
    if not by_code and _answer_alone(said):
        return None
    return _numbers(words, _CODE_IN_BRACKETS.sub("exceeds limit", said))


def of_rates(body: Any, text: str = "") -> bool:
    """Whether the refusal is about how much may be asked in a time, whatever its status: some say so with a 413."""
    words = words_of(body, text)
    return _rate(words, " ".join(words.text.lower().split()))


def of_something_else(body: Any, text: str = "") -> bool:
    """Whether the refusal is about a limit that is not the window's, whatever a library took it for."""
    words = words_of(body, text)
    said = " ".join(words.text.lower().split())
    return _rate(words, said) or _elsewhere(words, said) or _answer_alone(said)


def _elsewhere(words: Words, said: str) -> bool:
    found = _ELSEWHERE.search(" ".join([said, *words.codes]))
    return bool(found) and not re.search(r"tokens? of image and text", said)


def _rate(words: Words, said: str) -> bool:
    named = any(code in ("rate_limit_exceeded", "rate_limit_error", "insufficient_quota") for code in words.codes)
    return named or bool(_RATE.search(said))


def _coded(words: Words, said: str) -> bool:
    """Whether a code says it, however it is spelled; some servers send nothing but the code, as their message."""
    return any(re.sub(r"[^a-z]", "", code) in _SPELLED for code in (*words.codes, *said.split()))


def _compared(said: str) -> bool:
    """Whether a maximum is named and a larger input, without a word that the one exceeds the other."""
    window, asked = _first(_WINDOW, _ANSWER_NUMBER.sub("", said)), _first(_ASKED, said)
    return window is not None and asked is not None and asked > window >= _LEAST_WINDOW


def _answer_alone(said: str) -> bool:
    """Whether only the wished answer is too long. A negative wish is what is left of a window already overfull."""
    if not _ANSWER.search(said) or "at least 1, got -" in said:
        return False
    return not _CONTEXT.search(said) or bool(_ANSWER_LIMIT.search(said) and _first(_ASKED, said) is None)


def _numbers(words: Words, said: str) -> Overflow:
    """The window and the input. What stands beyond what is surest, for the window; a named count is, for the input."""
    window, asked = words.numbers.get("n_ctx"), words.numbers.get("n_prompt_tokens")
    if found := _SUM.search(said):
        numbers = _values(found)
        return Overflow(window or numbers[2], asked or numbers[0])
    asked = asked or sum(_values(part)[0] for part in _PARTS.finditer(said)) or _first(_ASKED, said)
    said = _ANSWER_NUMBER.sub("", said)
    for pattern in _BEYOND:
        if (found := pattern.search(said)) and _values(found)[1] < _values(found)[0]:
            beyond, within = _values(found)
            asked, window = asked or beyond, window or within
            break
    window = window or _first(_WINDOW, said)
    if window is not None and window < _LEAST_WINDOW:
        window = None
    return Overflow(window, asked)


def _first(patterns: tuple[re.Pattern[str], ...], said: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(said):
            return _values(found)[0]
    return None


def _values(found: re.Match[str]) -> list[int]:
    """The numbers of a match. `128k` is at least 128,000, which is all that may be concluded from it."""
    groups = found.groups()
    return [_value(groups[i], groups[i + 1]) for i in range(0, len(groups), 2)]


def _value(digits: str, unit: str | None) -> int:
    if re.fullmatch(r"\d+\.\d+", digits) and unit:
        whole, _, part = digits.partition(".")
        return int(whole + part) * _UNITS[unit] // int(10 ** len(part))
    return int(re.sub(r"\D", "", digits)) * _UNITS[unit]
