"""What a plan frees, costs and pays back, and what the budget is: sentences from finished figures.

Not the figures (the worker made those) and not a screen.
"""

from __future__ import annotations

from agent.wire import Meter, Plan
from tui.plain import dollars, dollars_apart, plural, safe, tokens


def totals(plan: Plan) -> str:
    """What the plan frees, costs and pays back, in one or two sentences."""
    if plan.why_nothing:
        return safe(plan.why_nothing)
    said = [f"frees {tokens(plan.freed)} ({tokens(plan.before)} → {tokens(plan.after)})"]
    if plan.breaks_at is not None:
        said.append(f"the cache breaks at {break_of(plan)}")
    if plan.reread:
        said.append(f"{tokens(plan.reread)} to be read again")
    if plan.price.keep is not None and plan.price.rewrite is not None:
        then, now = dollars_apart(plan.price.rewrite, plan.price.keep)
        said.append(f"next turn {then} instead of {now}")
        if plan.price.flattened is not None and plan.price.in_context is not None:
            said.append(f"summary {dollars(plan.price.flattened)} apart, {dollars(plan.price.in_context)} in context")
    else:
        said.append("no price known for this model")
        return " · ".join(said)
    turns = plan.price.breakeven_turns
    said.append("does not pay for itself" if turns is None else f"pays for itself after {plural(turns, 'turn')}")
    return " · ".join(said)


def brief(plan: Plan) -> str:
    """The same where there is room for a line or two."""
    if plan.why_nothing:
        return safe(plan.why_nothing)
    said = [f"frees {tokens(plan.freed)}"]
    if plan.breaks_at is not None:
        said.append(f"break at #{plan.breaks_at if plan.breaks_record is None else plan.breaks_record}")
    if plan.price.keep is None or plan.price.rewrite is None:
        return " · ".join([*said, "no price"])
    pays = plan.price.breakeven_turns
    said.append(f"{dollars(plan.price.rewrite)} not {dollars(plan.price.keep)}")
    return " · ".join([*said, plural(pays, "turn") if pays is not None else "never pays"])


def break_of(plan: Plan) -> str:
    """Where the cache breaks: the record people can name, and its place among all that is sent."""
    if plan.breaks_record is None:
        return f"item {(plan.breaks_at or 0) + 1}"
    return f"#{plan.breaks_record} (item {(plan.breaks_at or 0) + 1})"


def budget_of(meter: Meter) -> str:
    """The working budget, where it comes from, and the model's window."""
    rule = f" by the rule {meter.budget_rule}" if meter.budget_rule else ""
    window = "unknown" if meter.window is None else f"{tokens(meter.window)} ({meter.window_source})"
    return (
        f"The working budget is {tokens(meter.budget)}{rule}; a rewrite starts at {tokens(meter.trigger)} and ends "
        f"at {tokens(meter.landing)}. The model's window is {window}."
    )
