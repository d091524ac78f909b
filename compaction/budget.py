"""A window (fact) and a policy (choice) give a budget: limit, trigger and landing.

Not a measurement of anything (that is `tokens`) and not a decision (that is `gates`).

Invariants
 1. `0 < landing < trigger < limit < window` for every window from 4,096 to 2,097,152 tokens and every legal
    policy whose trigger is at least 2.
 2. Nothing here invents a window: unknown stays None, and then there is no limit.
All sizes are tokens; k is 1,000.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from compaction.errors import BadBudget
from compaction.records import WindowSource

# The default rule. Quality falls as the input grows, and several providers charge more per token above 200k of input;
# the 80 % leaves room on smaller windows for the estimate's error and the answer.
DEFAULT_RULE = "min(200k, 80%)"

# A budget below this cannot hold a system prompt and one question; refused when it is set.
LEAST_BUDGET = 1_024

# What is assumed where the rule has no absolute part and the window is unknown: the default rule's own.
UNKNOWN_BUDGET = 200_000

# An answer of 8,192 tokens is a large file written in full; on small windows an eighth. A shorter answer is no turn.
LEAST_OUTPUT = 8_192

# The estimate errs by about 5 %; what it misses the provider refuses, and the reactive gate catches.
LIMIT_MARGIN = 20

# What stays free for the next prompt and answer. A fixed reserve makes small windows negative; a quarter never does.
RESERVE = 16_384

# A size of more characters than this is a slip of the keyboard; far longer ones are no number a float can hold.
MOST_DIGITS = 15

# A longer single answer is asked for by nobody, and providers reserve rate limit for what is asked.
MOST_OUTPUT = 32_000

# Where the answer takes nothing from a known window, or had room in it, the one wished for after a refusal that names
# no window is a quarter of the usual one.
WISH_SHARE = 4

# A refusal without a number says only "less than this"; a quarter below it is where the next try goes.
CEILING_NUMERATOR, CEILING_DENOMINATOR = 3, 4


@dataclass(frozen=True, slots=True)
class Window:
    """What the model accepts in one request: a fact, with its source. `tokens` None is unknown.

    `output_apart`: the answer is not taken from the window. `ceiling`: a size (tokens) that was refused without a
    number; it bounds a window that is unknown or was claimed too large.
    """

    tokens: int | None
    max_output: int | None = None
    source: WindowSource = WindowSource.UNKNOWN
    output_apart: bool = False
    ceiling: int | None = None

    @property
    def guessed(self) -> bool:
        """Whether the size to do arithmetic with is no more than what a refusal without a number lets one guess."""
        return self.ceiling is not None and self.effective != self.tokens

    @property
    def effective(self) -> int | None:
        """The size to do arithmetic with, tokens: the lesser of window and three quarters of the ceiling; or None."""
        if self.ceiling is None:
            return self.tokens
        below = self.ceiling * CEILING_NUMERATOR // CEILING_DENOMINATOR
        return below if self.tokens is None else min(self.tokens, below)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user chose. `rule` is the budget as written; `reserve` None is the default arithmetic."""

    rule: str = DEFAULT_RULE
    reserve: int | None = None
    automatic: bool = True
    keep_recent: int = 20_000
    prune_protect: int = 40_000
    prune_minimum: int = 20_000


@dataclass(frozen=True, slots=True)
class Budget:
    """The marks of one window under one policy, tokens. `limit` is None while the window is unknown."""

    window: Window
    policy: Policy
    limit: int | None
    budget: int
    reserve: int
    trigger: int
    landing: int

    @property
    def automatic(self) -> bool:
        """Whether automatic rewrites are on: the user's switch, and a trigger that leaves room to act."""
        return self.policy.automatic and self.trigger >= 2

    @property
    def keep_recent(self) -> int:
        """What a tail holds, tokens: capped by B/8 so that a small budget still frees most of itself."""
        return min(self.policy.keep_recent, self.budget // 8)

    @property
    def prune_protect(self) -> int:
        """Tool results kept by a prune, tokens: capped by B/4, else small budgets would never prune."""
        return min(self.policy.prune_protect, self.budget // 4)

    @property
    def prune_minimum(self) -> int:
        """What a prune must free to be worth a broken cache, tokens: capped by B/8."""
        return min(self.policy.prune_minimum, self.budget // 8)

    @property
    def summary_cap(self) -> int:
        """The longest summary accepted, tokens: 8,192 is a page-long summary ten times over; B/8 on small budgets."""
        return min(8_192, self.budget // 8)

    @property
    def fact_cap(self) -> int:
        """The longest fact sheet, tokens."""
        return min(2_000, self.budget // 16)


def parse_size(text: str) -> int:
    """Tokens from `160k`, `1.5m` or `160000`; underscores are allowed. Raises `BadBudget`."""
    found = re.fullmatch(r"(\d[\d_]*(?:\.\d+)?)\s*([km]?)", text.strip().lower())
    if not found:
        raise BadBudget(text, "not a number of tokens")
    if len(found[1]) > MOST_DIGITS:
        raise BadBudget(text, "not a number of tokens any model has")
    number = float(found[1].replace("_", ""))
    # Rounded: 1.001k is 1,001, though 1.001 * 1,000 is a little less in binary.
    return round(number * {"": 1, "k": 1_000, "m": 1_000_000}[found[2]])


def _terms(rule: str) -> tuple[int | None, float | None]:
    """The absolute part (tokens) and the share (0 to 1) of a rule."""
    text = rule.strip().lower()
    inner = re.fullmatch(r"min\((.*)\)", text)
    parts = inner[1].split(",") if inner else [text]
    absolute: int | None = None
    share: float | None = None
    for part in (p.strip() for p in parts):
        if part.endswith("%"):
            try:
                value = float(part[:-1])
            except ValueError:
                raise BadBudget(rule, f"{part} is not a percentage") from None
            if not 0 < value <= 100:
                raise BadBudget(rule, f"{part} is not between 0% and 100%")
            share = value / 100 if share is None else min(share, value / 100)
        else:
            try:
                size = parse_size(part)
            except BadBudget:
                why = f"{part} is not a number of tokens" if part else "a number of tokens is missing"
                raise BadBudget(rule, why) from None
            if size < LEAST_BUDGET:
                raise BadBudget(rule, f"{part} is below the least budget of {LEAST_BUDGET:,} tokens")
            absolute = size if absolute is None else min(absolute, size)
    return absolute, share


def check_rule(rule: str) -> str:
    """The rule, trimmed, when it can be used. Raises `BadBudget` with the reason."""
    _terms(rule)
    return rule.strip()


def chosen(rule: str, window: int | None) -> int:
    """What the rule asks for on a window of this size, tokens, before the limit cuts it."""
    absolute, share = _terms(rule)
    if window is None:
        return absolute if absolute is not None else UNKNOWN_BUDGET
    # A share is rounded to a ten-thousandth first: 0.8 * 200,000 must be 160,000 on every machine.
    sized = [] if share is None else [window * round(share * 10_000) // 10_000]
    return max(1, min(sized + ([] if absolute is None else [absolute])))


def least_output(window: int) -> int:
    """The shortest answer worth a request, tokens."""
    return min(LEAST_OUTPUT, window // 8)


def limit_of(window: Window) -> int | None:
    """The largest request sent, tokens; None while nothing is known of the window."""
    size = window.effective
    if size is None:
        return None
    margin = size // LIMIT_MARGIN
    return size - (margin if window.output_apart else max(least_output(size), margin))


def budget_for(window: Window, policy: Policy) -> Budget:
    """The marks for this window and this choice. Raises `BadBudget` for a rule that cannot be read."""
    limit = limit_of(window)
    wish = chosen(policy.rule, window.effective)
    budget = wish if limit is None else min(wish, limit)
    # At least 1 in any case, or a share of a few tokens would put trigger and landing on the budget itself.
    reserve = max(1, min(RESERVE, budget // 4) if policy.reserve is None else policy.reserve)
    trigger = budget - reserve
    landing = trigger - min(reserve, trigger // 2)
    return Budget(window, policy, limit, budget, reserve, trigger, landing)


def answer_room(
    window: Window, size: int, estimated: int, *, required: bool = False, refused: bool = False
) -> int | None:
    """`max_tokens` for a request of `size` tokens of which `estimated` are not the provider's own count.

    None: leave it out, because the model's own maximum is unknown; `required` is for APIs that insist on a number.
    `refused`: the provider has counted more than was estimated before, and refused it. Then what is left free is a
    twentieth of the window, as in the request that was sent again: a second refusal in one turn would end it. Where the
    wish takes nothing from a known window, it is the wish that was refused.
    """
    if window.max_output is None and not required:
        return None
    most = MOST_OUTPUT if window.max_output is None else min(window.max_output, MOST_OUTPUT)
    total = window.effective
    if total is None or window.output_apart:
        # Here the wish is all that can be made smaller, and it stays so: each refusal costs a try.
        return max(1, most // WISH_SHARE) if refused else most
    margin = (total if refused else estimated) // LIMIT_MARGIN
    return max(1, min(most, max(least_output(total), total - size - margin)))


def smaller_wish(window: Window, size: int) -> int | None:
    """`max_tokens` for a request of `size` tokens that was refused without a number, when the answer may be to blame.

    None: it was not, for the input alone is too large, or no answer was asked for.
    """
    if window.max_output is None:
        return None
    most = min(window.max_output, MOST_OUTPUT)
    if window.tokens is None or window.output_apart:
        return max(1, most // WISH_SHARE)
    known = limit_of(replace(window, ceiling=None))
    if known is None or size >= known:
        return None
    room = window.tokens - size - window.tokens // LIMIT_MARGIN
    return max(1, most // WISH_SHARE if too_much_claimed(window, size) else min(most, room))


def too_much_claimed(window: Window, size: int) -> bool:
    """Whether a refusal of `size` tokens contradicts the window: the longest answer had room in it beside them."""
    if window.tokens is None or window.max_output is None:
        return False
    return size + min(window.max_output, MOST_OUTPUT) <= window.tokens - window.tokens // LIMIT_MARGIN


__all__ = [
    "DEFAULT_RULE",
    "LEAST_BUDGET",
    "Budget",
    "Policy",
    "Window",
    "answer_room",
    "budget_for",
    "check_rule",
    "chosen",
    "least_output",
    "limit_of",
    "parse_size",
    "smaller_wish",
    "too_much_claimed",
]
