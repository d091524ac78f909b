"""The meter: two marks, one bar, as spans of text with a role each.

Not a widget (that is `meter_bar`) and not a measurement: the worker sends finished numbers, this spells them. Both
front ends draw what `meter_lines` returns.

Invariants
 1. The whole bar is the context window; the budget is a mark on it. Neither is ever called the other.
 2. Nothing is clamped: above 100 % the percentage says so, and the bar ends in an arrow.
 3. No line is wider than `width`, and nothing waits, counts or asks.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from rich.cells import cell_len

from agent.wire import CacheState, Meter
from tui.bar import ASCII, UNICODE, Marks, Role, Span, bar
from tui.plain import clock, dollars, percent, safe, tokens

# Under this the bar and its words do not fit side by side: five cells of frame, a bar that still shows the two marks
# apart, and the shortest words (about 30).
SHORT_BELOW = 60

# The least bar that shows five kinds and two marks apart, cells.
LEAST_BAR = 16

# A wider bar tells no more and pulls the words away from the eye, cells.
MOST_BAR = 72

# The provider counts cache in blocks of up to 1,024 tokens and predictions err by a few per cent: a smaller gap
# between predicted and reported is no disagreement.
DISAGREE_TOKENS, DISAGREE_SHARE = 2_048, 0.1

Line: TypeAlias = tuple[Span, ...]


def meter_lines(meter: Meter, width: int, *, ascii: bool = False, age: float = 0.0) -> tuple[Line, ...]:
    """The meter in `width` cells: two lines, or one short line under `SHORT_BELOW`.

    `age` is how long ago the numbers came, seconds: the cache's countdown runs on between two of them.
    """
    marks = ASCII if ascii else UNICODE
    if width < SHORT_BELOW:
        return (_short(meter, width, marks, age),)
    return _context(meter, width, marks), _cache(meter, width, marks, age)


def plain(line: Line) -> str:
    """The line's text alone."""
    return "".join(span.text for span in line)


def state(meter: Meter) -> Literal["calm", "warning", "alarm", "full"]:
    """Which mark the size of the next request has passed: reasoning that is not sent again passes none."""
    size = meter.used - meter.reasoning
    if meter.limit is not None and size > meter.limit:
        return "full"
    if meter.budget > 0 and size > meter.budget:
        return "alarm"
    if meter.trigger > 0 and size > meter.trigger:
        return "warning"
    return "calm"


# ── the words ──


def _window(meter: Meter) -> str:
    if meter.window is not None:
        return tokens(meter.window)
    return "?" if meter.ceiling is None else f"? (under {tokens(meter.ceiling)})"


def _size(meter: Meter) -> str:
    return f"{'' if meter.exact else '~'}{tokens(meter.used)}"


def _thought(meter: Meter) -> str:
    return f" with {tokens(meter.reasoning)} of reasoning" if meter.reasoning else ""


def _tone(meter: Meter) -> Role:
    return {"calm": "text", "warning": "warning", "alarm": "alarm", "full": "alarm"}[state(meter)]  # type: ignore[return-value]


def _wordings(meter: Meter) -> list[str]:
    """What to say of the size, the whole first, then ever shorter."""
    size, budget, window = _size(meter), tokens(meter.budget), _window(meter)
    thought = _thought(meter)
    share = percent(meter.used, meter.budget)
    of_window = "" if meter.window is None else f" ({percent(meter.used, meter.window)})"
    match state(meter):
        case "calm":
            whole = f"{size} of {budget} budget ({share})"
            return [
                *([f"{whole}{thought} · window {window}{of_window}"] if thought else []),
                f"{whole} · window {window}",
                whole,
                f"{share} of {budget}/{window}",
            ]
        case "warning":
            whole = f"{size} of {budget} budget ({share})"
            return [
                f"{whole}{thought} · over the trigger · window {window}{of_window}",
                f"{whole} · over the trigger · window {window}{of_window}",
                f"{whole} · window {window}{of_window}",
                f"{whole} · window {window}",
                f"{share} of {budget}/{window}",
            ]
        case "alarm":
            whole = f"{size} of {budget} budget ({share})"
            return [
                f"{whole}{thought} · working budget reached · window {window}{of_window}",
                f"{whole} · working budget reached · window {window}{of_window}",
                f"{whole} · budget reached · window {window}",
                f"{whole} · window {window}",
                f"{share} of {budget}/{window}",
            ]
        case "full":
            return [
                f"the model's window is full: {size} of {window}{of_window} · budget {budget} ({share})",
                f"the model's window is full: {size} of {window}{of_window}",
                f"window full: {size} of {window}{of_window}",
            ]


def _short(meter: Meter, width: int, marks: Marks, age: float) -> Line:
    """`38% of 160k/200k ● 4:12`; over the limit `window full 103% of 200k`."""
    if state(meter) == "full":
        words = f"window full {percent(meter.used, meter.window or 0)} of {_window(meter)}"
    else:
        about = "" if meter.exact else "~"
        words = f"{about}{percent(meter.used, meter.budget)} of {tokens(meter.budget)}/{_window(meter)}"
    left = _warm_left(meter.cache, age)
    spans = [Span(words, _tone(meter)), Span(" ", "text")]
    spans += [Span(f"{marks.warm} {clock(left)}", "warm")] if left > 0 else [Span(f"{marks.cold} cold", "cold")]
    if meter.cost is not None and width >= 46:
        spans.append(Span(f" {dollars(meter.cost)}", "quiet"))
    return _fit(spans, width, marks)


def _context(meter: Meter, width: int, marks: Marks) -> Line:
    head, frame = "ctx ", 3  # two caps and the blank after the bar
    words = ""
    for words in _wordings(meter):
        if width - len(head) - frame - cell_len(words) >= LEAST_BAR:
            break
    if marks is ASCII:
        words = words.replace(" · ", " - ")
    cells = min(MOST_BAR, max(LEAST_BAR, width - len(head) - frame - cell_len(words)))
    extent = meter.window or 0
    over = meter.used > extent > 0
    spans = [Span(head, "quiet"), Span(marks.left, "frame"), *bar(meter, cells, marks)]
    spans += [Span(marks.over, "alarm") if over else Span(marks.right, "frame"), Span(" ", "text")]
    return _fit([*spans, *_dim_tail(words, _tone(meter), marks)], width, marks)


def _dim_tail(words: str, tone: Role, marks: Marks) -> list[Span]:
    """The fact stands out, what follows the first dot is quiet while all is calm."""
    if tone != "text":
        return [Span(words, tone)]
    head, dot, tail = words.partition(f" {marks.dot} ")
    return [Span(head, "text"), Span(dot + tail, "quiet")] if dot else [Span(words, "text")]


def _warm_left(cache: CacheState, age: float) -> float:
    return 0.0 if cache.warm_s is None else cache.warm_s - age


def _cache(meter: Meter, width: int, marks: Marks, age: float) -> Line:
    cache, left = meter.cache, _warm_left(meter.cache, age)
    parts: list[Span] = []
    if cache.broken:
        parts.append(Span(_broken(cache.broken), "warning"))
    elif left > 0:
        parts.append(Span(f"{marks.warm} warm {clock(left)}", "warm"))
    else:
        parts.append(Span(f"{marks.cold} cold", "cold"))
    if (gap := _disagreement(cache)) is not None:
        parts.append(Span(gap, "warning"))
    elif cache.reported is not None:
        of = cache.read_of or meter.known
        share = f" ({cache.reported * 100 // of}%)" if of > 0 else ""
        parts.append(Span(f"{tokens(cache.reported)} read{share}", "quiet"))
    if meter.cost is not None:
        parts.append(Span(dollars(meter.cost), "quiet"))
    if meter.next_cost is not None:
        parts.append(Span(f"next turn {marks.about} {dollars(meter.next_cost)}", "quiet"))
    if meter.automatic != "on":
        parts.append(Span(_automatic(meter.automatic), "warning"))
    spans: list[Span] = [Span("cache ", "quiet")]
    for index, part in enumerate(parts):
        spans += [Span(f" {marks.dot} ", "quiet"), part] if index else [part]
    return _fit(spans, width, marks)


def _automatic(said: str) -> str:
    said = safe(said)
    return said if said.startswith("automatic") else f"automatic {said}"


def _broken(cause: str) -> str:
    """`pruned at #14` is said as `broken at #14: pruned`; other causes as they are."""
    cause = safe(cause)
    if found := re.fullmatch(r"(.+) at (#\d+)", cause):
        return f"broken at {found[2]}: {found[1]}"
    return f"broken: {cause}"


def _disagreement(cache: CacheState) -> str | None:
    if cache.reported is None or cache.predicted <= 0:
        return None
    gap = cache.predicted - cache.reported
    if gap <= max(DISAGREE_TOKENS, cache.predicted * DISAGREE_SHARE):
        return None
    return f"provider read {tokens(cache.reported)} of {_rough(cache.predicted)} expected"


def _rough(count: int) -> str:
    return f"{count / 1_000:.0f}k" if count >= 10_000 else tokens(count)


def _fit(spans: list[Span], width: int, marks: Marks) -> Line:
    """The spans that fit, the first that does not cut with an ellipsis; neighbours of one role joined."""
    line: list[Span] = []
    room = width
    for span in spans:
        text, size = span.text, cell_len(span.text)
        if size > room:
            ellipsis = "~" if marks is ASCII else "…"
            text, size = (text[: max(0, room - 1)] + ellipsis if room > 0 else ""), room
        if text and line and line[-1].role == span.role:
            line[-1] = Span(line[-1].text + text, span.role)
        elif text:
            line.append(Span(text, span.role))
        room -= size
        if room <= 0:
            break
    return tuple(line)
