"""What no rewrite can shrink, what is left beside it, and the sentences that say so.

Not a decision (that is `gates`) and not the arithmetic of a budget (that is `budget`). All sizes are tokens; calibrated
unless a docstring says otherwise.

Invariants
 1. No sentence here calls the budget the window.
 2. `unshrinkable` is a lower bound: no prune, spill or compaction ends below it.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor

from compaction.budget import CEILING_DENOMINATOR, CEILING_NUMERATOR, Budget
from compaction.cut import results_by_record
from compaction.records import Noted, WindowLearned
from compaction.tokens import MESSAGE, Ruler, calibration, fixed, fixed_parts
from compaction.view import NESTED, Item, View, preview

# What a first message may keep of the landing: a quarter leaves the rest for pins, the summary and the work in hand.
PRIMER_SHARE = 4

# How many parts a refusal names: the three largest are what somebody would have to cut.
NAMED = 3

# What the layout adds around a summary, tokens: the line above it, the frame of the pins' notice, messages' own cost.
FRAME = 16 * MESSAGE


# What is said of a request that was refused whatever its tokens.
BYTES_REFUSED = "the provider refused the request for its size in bytes"


def k(tokens: int) -> str:
    """Tokens for people: 160k, 61.4k, 900."""
    if tokens < 1_000:
        return str(tokens)
    text = f"{tokens / 1_000:.1f}"
    return text.removesuffix(".0") + "k"


def over_budget(budget: Budget) -> str:
    """The sentence for a size over the chosen budget."""
    window = "an unknown window" if budget.window.tokens is None else f"a {k(budget.window.tokens)} window"
    return f"working budget reached ({k(budget.budget)} of {window})"


def window_full(size: int, budget: Budget) -> str:
    """The sentence for a size over what the model accepts."""
    if budget.limit is None:
        return f"the model's window is full ({size:,} tokens were refused; its size is unknown)"
    if budget.window.guessed:
        # A refusal without a number: what is computed from it is no fact, and is not said as one.
        return f"the model's window is full ({size:,} tokens; its size is unknown, {budget.limit:,} are taken to fit)"
    return f"the model's window is full ({size:,} tokens, at most {budget.limit:,} can be sent)"


def too_bulky(size: int) -> str:
    """The sentence for a body of about so many bytes that no rewrite makes small enough: pictures, mostly."""
    return (
        f"{BYTES_REFUSED} (about {-(-size // 1_000):,} kB), and what must stay "
        "of it cannot be made smaller; nothing was lost: go back before its largest pictures or texts"
    )


def primer_cap(view: View, budget: Budget) -> int:
    """The most tokens of a first message a compaction keeps, uncalibrated.

    A quarter of the landing: of the one the session started with, or of today's where a smaller model has come since,
    which could otherwise never be made to fit. Decided at a rewrite and kept in its record, so it moves no boundary.
    """
    landing = view.started.landing if view.started else budget.landing
    return max(1, min(landing, budget.landing) // PRIMER_SHARE)


def primer_shown(view: View, ruler: Ruler, budget: Budget) -> int | None:
    """How many characters of the first message a compaction shows; None for all of it.

    Characters, so that views need no counting; in proportion, for this text's own characters per token.
    """
    primer, cap = view.primer, primer_cap(view, budget)
    if primer is None or ruler.item(primer) <= cap:
        return None
    return max(1, len(primer.text) * cap // ruler.item(primer))


def _kept(view: View, ruler: Ruler, cap: int) -> list[tuple[str, int, int]]:
    """What every compaction keeps: its name, its tokens now, and its tokens as a compaction shows it; uncalibrated.

    `cap` is the primer's.
    """
    nested = {r.id for r in view.records if isinstance(r.body, Noted) and r.body.topic == NESTED}
    kept: list[tuple[str, int, int]] = []
    for item in view.conversation:
        tokens = ruler.item(item)
        # A call without its result bears its reply's number: a pin of the reply is none of it.
        if item.record in view.pins and (item.call is None or item.state == "pinned"):
            kept.append((f"pin #{item.record}", tokens, tokens))
        elif item is view.primer:
            kept.append(("first user message", tokens, min(tokens, cap)))
        elif item.record in nested:
            kept.append((item.title or "instructions", tokens, tokens))
    return kept


def largest_fixed(view: View, ruler: Ruler) -> tuple[tuple[str, int], ...]:
    """The three largest parts no rewrite can shrink, by name, calibrated tokens: fixed part, primer, pins."""
    factor = calibration(view)
    named = [*fixed_parts(view, ruler), *((name, tokens) for name, tokens, _ in _kept(view, ruler, 0))]
    return tuple((name, round(tokens * factor)) for name, tokens in sorted(named, key=lambda n: -n[1])[:NAMED])


def unshrinkable(view: View, ruler: Ruler, budget: Budget) -> int:
    """Fixed part, primer (as a compaction would show it), nested instructions and pins."""
    kept = sum(least for _, _, least in _kept(view, ruler, primer_cap(view, budget)))
    return round((fixed(view, ruler) + kept) * calibration(view))


def refuse_fixed(view: View, ruler: Ruler, budget: Budget, under: int | None = None) -> str:
    """The sentence for a fixed part that leaves no room: names the three largest with their sizes.

    `under` is what the rewrite would have to end at; None is the landing.
    """
    names = ", ".join(f"{name} {tokens:,}" for name, tokens in largest_fixed(view, ruler))
    need = unshrinkable(view, ruler, budget)
    most = budget.landing if under is None else under
    return (
        f"what no compaction can shrink takes {need:,} tokens, more than the {most:,} a rewrite may end at; "
        f"the largest: {names}"
    )


def aside(budget: Budget, summary: int | None = None) -> int:
    """What a compaction's own texts may take, uncalibrated tokens. `summary` None is the longest one."""
    return (budget.summary_cap if summary is None else summary) + budget.fact_cap + FRAME


def left_beside(view: View, ruler: Ruler, budget: Budget, under: int, summary: int | None = None) -> int:
    """What a tail may hold so that the view ends under `under`, uncalibrated tokens; negative when nothing fits."""
    left = floor((under - unshrinkable(view, ruler, budget)) / calibration(view))
    return left - aside(budget, summary)


def last_step(view: View, ruler: Ruler) -> int:
    """The least the newest step can take: its results as previews. A tail never holds less than it."""
    results = results_by_record(view)
    newest = max((item.step for item in view.conversation), default=0)
    least = 0
    for item in view.conversation:
        if item.step != newest or item.role not in ("assistant", "tool") or item.record in view.pins:
            continue
        least += _as_preview(item, results.get(item.record), ruler)
    return round(least * calibration(view))


def _as_preview(item: Item, body: object, ruler: Ruler) -> int:
    if item.role != "tool" or item.state != "live" or body is None:
        return ruler.item(item)
    after = replace(item, text=preview(item.record, getattr(body, "text", "")), state="spilled", images=())
    return min(ruler.item(item), ruler.item(after))


def reactive_target(body: WindowLearned, budget: Budget) -> int:
    """Below how many tokens a retry has a chance: the limit if a number was learned, else clearly less than refused."""
    if body.window is not None and budget.limit is not None:
        return budget.limit
    below = body.refused * CEILING_NUMERATOR // CEILING_DENOMINATOR
    return below if budget.limit is None else min(below, budget.limit)


__all__ = [
    "BYTES_REFUSED", "aside", "k", "largest_fixed", "last_step", "left_beside", "over_budget", "primer_cap",
    "primer_shown", "reactive_target", "refuse_fixed", "too_bulky", "unshrinkable", "window_full",
]  # fmt: skip
