"""The numbers in a refusal for length: the stated maximum and the input as the provider counted it. Pure.

Not the verdict that it is one (that is `overflow`). Reads `plain_words.plain`.

Invariants
 1. `window` is a number the provider called its maximum; a wish for output, an overshoot ("by 12 tokens"), a count of
    characters or an error code is none. No number is made up.
 2. Where parts are stated, `asked` is the input alone; else it is input and wished output together.
"""

from __future__ import annotations

import re

# A smaller "window" is a code, a count of messages or an overshoot.
LEAST_WINDOW = 256
# Fifty times the largest window there is: beyond it a number is an account's, an id or noise.
MOST_TOKENS = 100_000_000

# A number: grouped by threes in any style, or plain, or short with a unit.
_N = r"(\d{1,3}(?:[,_.' ]\d{3})+(?!\d)|\d+(?:\.\d+(?= ?[km]i?\b))?(?!\d))(?: ?([km]i?)\b)?"
_UNITS = {None: 1, "k": 1_000, "m": 1_000_000, "ki": 1_024, "mi": 1_048_576}
_OF = r"(?: of the model)?(?: of| is| to| at|:| =|=|\()? ?\(?(?:only |just |about |approximately |von |de |di )?"

# One number is too much for another: "exceeds", "is longer than", "must be less than", "cannot be greater than", ">" …
_MORE = r"(?:greater|larger|longer|more|higher|bigger)"
_TOO_MUCH = (
    rf"(?:(?:cannot|can't|must not|may not|should not|shouldn't) (?:exceed|be {_MORE} than)|exceed(?:s|ed|ing)?"
    rf"|goes over|(?:is|are|was|were) (?:above|over|out of|beyond|not (?:less|smaller|shorter) than|{_MORE} than)"
    r"|(?:must|should|has to|have to) be (?:(?:strictly )?(?:less|smaller|shorter|lower) than(?: or equal to)?|at most"
    r"|no more than|below|within|under|<=?)|(?:(?:does|do|will|would) not|doesn't|don't|won't|cannot"
    r"|can't) fit(?: in\w*)?|>=?)"
)

# Input and wished answer against the window.
_SUM = re.compile(rf"{_N}\)?(?: tokens?)? ?(?:\+|plus|and)[^.\d]{{0,60}}{_N}\)?,? ?{_TOO_MUCH}[^.\d]{{0,60}}{_N}")
# One number beyond another: the first is what was asked, the second the window. Not an overshoot ("by 12 tokens").
_BEYOND = tuple(
    re.compile(p)
    for p in (
        rf"{_N}\)?(?: (?:input |prompt |total )?tokens?)?\)?,? (?:which |that )?{_TOO_MUCH}"
        rf"[^.\d]{{0,80}}(?<!by )(?<!by about )(?<!got ){_N}",
        rf"fit {_N}(?: tokens?)? in\w*[^.\d]{{0,60}}{_N}",
        rf"{_N}(?: tokens?)? ?(?:>=?|/|vs\.?|(?:out )?of) ?(?:maximum context length: ?)?{_N}",
    )
)
# The same said from the other side: the window is below what was asked.
_BELOW = re.compile(
    rf"{_N}\)?(?: tokens?)?\)? (?:<=?|(?:is|are) (?:less|smaller|shorter|lower) than|(?:is|are) not enough for)"
    rf"[^.\d]{{0,60}}{_N}"
)
# What is called a maximum comes before what is merely called a length: the prompt has one as well.
_WINDOW = tuple(
    re.compile(p)
    for p in (
        rf"range of input length should be \[\d+, ?{_N}\]",
        rf"(?:max(?:imum)?|longest)(?: supported| allowed| total)? (?:context|model|sequence)"
        rf"(?:[ -](?:token )?(?:length|window|size|limit|capacity))?s?(?: model| limit| allowed| supported)?{_OF}{_N}",
        rf"(?:context|model|sequence)[ -](?:token )?(?:length|window|size|limit|capacity)s?"
        rf"(?: limit| maximum| allowed| supported)?{_OF}{_N}",
        rf"(?:max(?:imum)?|model) context(?: limit| allowed| supported)?{_OF}{_N}",
        # A bare "prompt length is N" is the prompt's own.
        rf"(?:max(?:imum)?|allowed|supported|longest)(?: allowed)? (?:prompt|input)[ -](?:token )?"
        rf"(?:length|size|limit)s?{_OF}{_N}",
        rf"context (?:length|window|size|limit)(?: (?!is )[^ ,;:]+){{1,5}} is {_N}",
        rf"{_N}[ -]tokens? (?:context|limit|window|maximum)\b",
        rf"{_N}[ -]?(?:tokens?)? (?:maximum context|max(?:imum)?\b|context (?:length|window|limit|size))",
        rf"tokens? (?:limit|allowed|maximum)(?: for this model)?{_OF}{_N}",
        rf"maximum number of (?:input |prompt )?tokens(?: allowed| supported)?{_OF}{_N}",
        rf"(?:max(?:imum)?|allowed) (?:input |prompt |total |request )?(?:tokens?|size|allowed){_OF}{_N}",
        rf"(?:max(?:imum)?|allowed)(?: total| token| combined)? length(?: limit)?(?: of [a-z ]{{0,30}}?)?{_OF}{_N}",
        rf"(?:limit|maximum)(?: for (?:this|the) model)?(?: is|:| of|=| de) ?(?:only )?{_N}",
        rf"\((?:the )?(?:limit|max(?:imum)?):? {_N}(?: tokens?)?\)",
        rf"(?:cannot|must not|can't|may not|should not) exceed {_N}",
        rf"must (?:be|have) (?:<=?|less than|at most|no more than|under) ?{_N}",
        rf"(?:supports?|accepts?|allows?|handles?)(?: only| input)?(?: of)? (?:up to|at most|a maximum of|only) {_N}",
        rf"(?:at most|up to|no more than|more than) {_N} (?:input |prompt |total |context )?tokens?",
        rf"(?:limit|maximum|max)(?: \w+)? \({_N} tokens?\)",
        rf"max(?:imum)? tokens (?:of|per request is) {_N}",
        rf"(?:the most [^.\d]{{0,40}}(?:is|are)|only (?:has )?room for|max(?:imum)? supported) {_N}",
        rf"{_N} tokens? (?:are )?available",
        rf"\bmax(?:imum)?:? {_N} tokens?",
        rf"\d tokens?,? ?(?:while |and |but )?(?:the )?(?:limit|max(?:imum)?)(?: is|:)? {_N}",
        rf"exceed\w* limit,? ?(?:the )?{_N}",
        rf"\b(?:allowed|limit|maximum|max)(?::|=)? ?{_N}",
        rf"token capacity(?: of|:) {_N}",
    )
)
_ASKED = tuple(
    re.compile(p)
    for p in (
        rf"messages resulted in {_N}",
        rf"(?<![\d,.]){_N}(?: tokens?)? "
        r"(?:in (?:the|your) (?:messages|prompt|input)|from the input)",
        rf"(?<!bound for )(?<![\d,.]){_N} (?:input|prompt) tokens?\b",
        rf"{_N} `inputs` tokens?",
        rf"{_N}(?: tokens?)? (?:requested|long|were (?:requested|sent))\b",
        rf"(?<!_)tokens \({_N}\) exceed",
        rf"(?:input|prompt) tokens? count(?: is| of|:)? ?\(?{_N}",
        rf"(?:number of input tokens|(?<!maximum )(?:input|prompt|total|engine prompt) length|current length is"
        rf"|input token count:?):? ?\(?{_N}",
        rf"(?<!maximum )(?<!max )(?<!allowed )(?:input|prompt|request)(?: tokens?)?(?:: ?| ?= ?| is | ?\(){_N}"
        r"(?! tokens? (?:longer|too|over|above|more|beyond))",
        rf"(?<!maximum )(?<!max )(?<!allowed )(?:input|prompt|request) (?:of |has |had )?{_N} tokens?\b",
        rf"(?:request|input|prompt)s? ?\((?:length |of )?{_N}(?: tokens?)?\)",
        rf"(?:prompt|input|conversation|request)(?: is)? too (?:long|large)(?:: ?| ?\(){_N}",
        rf"(?:contains?|has|have|received|given:?|got:?|requested:?|sent|will take|resulted in|token count (?:of|is)"
        rf"|a total of|keep the first|used|uses|provided|required[:=]|grown to)(?: about| approximately"
        rf"| a total of)? ?{_N}"
        r"(?! ?(?:in the completion|output|characters|bytes))",
    )
)
# The input in parts, each named: "4999 of text input, 33863 of tool input".
_PARTS = re.compile(rf"{_N}(?: tokens?)? of (?!the\b|your\b)\w+ input\b")
# A number on its own: no part of a name, a date or a code, no overshoot, no characters.
_ALONE = re.compile(
    rf"(?<![\w.,\-/#'])(?<!by )(?<!code ){_N}(?![\w\-/])(?! ?(?:characters|bytes|%|ms|seconds|images"
    rf"|tokens? (?:longer|too|over|more|above)))"
)
_QUOTES = re.compile(r"<\d+>|['`\"\[\]=]")
# What is said before, or after, a number that is a maximum.
_LIMITING = re.compile(
    r"(?:\bmax|\blimit|allow|\bonly|room|up to|at most|than|exceed|\bfit|support|configured|window|capacity|available"
    r"|context|<=?|>=?)[^.\d;]{0,40}$"
)
_LIMITED = re.compile(r"^[^.\d;]{0,20}(?:\bmax|\blimit|allowed|available|context|window)")
# "context window exceeds limit (2013)": a code in brackets, no number of tokens.
_CODE_IN_BRACKETS = re.compile(r"exceeds limit \(\d{4}\)")
# What is said of the wished answer, or of its own limit, is no window and no input.
_ANSWER_NUMBER = re.compile(rf"{_N} (?:output|completion|generated|new) tokens?")
_NAME_OF_WISH = r"\bmax_?(?:completion_?|output_?|new_?)?tokens['\"`]?(?: is too large)?"
_WISH = re.compile(rf"({_NAME_OF_WISH})(?:: ?| ?= ?| ?\(| ){_N}\)?")
_WISH_NUMBER = re.compile(rf"{_NAME_OF_WISH}(?:: ?| ?= ?| ?\(| ){_N}")


def numbers_in(said: str) -> tuple[int | None, int | None]:
    """(window, asked), tokens, as far as they are counts of any."""
    window, asked = _numbers(said)
    return _window(window), asked if asked is not None and 0 < asked <= MOST_TOKENS else None


def _numbers(said: str) -> tuple[int | None, int | None]:
    """(window, asked) as stated. What stands beyond what is surest, for the window; a named count is, for the input."""
    said = _CODE_IN_BRACKETS.sub("exceeds limit", said)
    if (found := _SUM.search(said)) and sum((values := _values(found))[:2]) > values[2] >= LEAST_WINDOW:
        return values[2], values[0]
    wished = {_values(found)[0] for found in _WISH_NUMBER.finditer(said)}
    said = _WISH.sub(r"\1 ", said)
    asked, window = sum(_values(part)[0] for part in _PARTS.finditer(said)) or _first(_ASKED, said), None
    said = _ANSWER_NUMBER.sub("", said)
    pair = _pair(said)
    if pair is not None:
        asked, window = asked or pair[0], pair[1]
    window = window or _window(_first(_WINDOW, said))
    two = _two(said, wished) if window is None or asked is None else None
    if two is not None and asked in (None, two[0]) and window in (None, two[1]):
        asked, window = two
    return window, asked or None


def _two(said: str, wished: set[int]) -> tuple[int, int] | None:
    """(asked, window) of the only two numbers in it, when it speaks of tokens and calls the smaller one a limit."""
    found = {_values(match)[0]: match for match in _ALONE.finditer(said)}
    sizes = sorted(value for value in found if value >= LEAST_WINDOW and value not in wished)
    if len(sizes) != 2 or "token" not in said:
        return None
    least = found[sizes[0]]
    limit = _LIMITING.search(said[: least.start()]) or _LIMITED.search(said[least.end() :])
    return (sizes[1], sizes[0]) if limit else None


def sizes_in(said: str) -> list[int]:
    """Every number that stands on its own, in reading order."""
    return [_values(match)[0] for match in _ALONE.finditer(_QUOTES.sub(" ", said))]


def _pair(said: str) -> tuple[int, int] | None:
    """(asked, window) of two numbers that are compared; one that is merely reached only where none is exceeded."""
    found = [tuple(_values(match)) for pattern in _BEYOND if (match := pattern.search(said))]
    found += [tuple(reversed(_values(match))) for match in _BELOW.finditer(said)]
    sound = [(asked, window) for asked, window in found if asked >= window >= LEAST_WINDOW]
    return next((pair for pair in sound if pair[0] > pair[1]), sound[0] if sound else None)


def _window(value: int | None) -> int | None:
    return value if value is not None and LEAST_WINDOW <= value <= MOST_TOKENS else None


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
