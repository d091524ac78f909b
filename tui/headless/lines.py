"""Tables and lines for people who use commands instead of a screen.

Not JSON (`objects`) and not where it goes (`pipes`). Text in, text out; no colour anywhere, so that a
log, a pipe and a screen reader get the same.

Invariants
 1. Columns line up by the cells a terminal draws, not by characters.
 2. Everything foreign passes `plain.safe` on its way into a cell, so no cell breaks a line.
 3. Numbers are whole and have thousands separators; a number that nobody knows is `?`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime

from agent.wire import Gated, Inspected, Meter, Plan
from compaction.records import Outcome, ToolReturned
from tui.plain import dollars, one_line, percent, safe, seconds
from tui.wording import FAILURES, GATES

# A title wider than this pushes the numbers off an 80-column terminal, cells.
TITLE = 48

# The last second that a date can be written for, in any time zone: two days before the end of the year 9999.
LAST_SECOND = 253_402_128_000


def width(text: str) -> int:
    """Cells a terminal takes for `text`: two for wide characters, none for marks that sit on the one before."""
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, most: int) -> str:
    """`text` on one line of at most `most` cells."""
    text = one_line(text, len(text) + 1)
    if width(text) <= most:
        return text
    kept, taken = "", 0
    for char in text:
        if taken + _cells(char) > most - 1:
            break
        kept, taken = kept + char, taken + _cells(char)
    return kept.rstrip() + "…"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Columns under their names. `right`: the columns of numbers, which end together."""
    numbers = set(right)
    lines = [list(head), *([one_line(cell, len(cell) + 1) for cell in row] for row in rows)]
    widths = [max(width(line[n]) for line in lines) for n in range(len(head))]
    return "\n".join(
        "  ".join(_padded(cell, widths[n], n in numbers) for n, cell in enumerate(line)).rstrip() for line in lines
    )


def _padded(cell: str, wide: int, right: bool) -> str:
    space = " " * (wide - width(cell))
    return space + cell if right else cell + space


def when(at: float) -> str:
    """Seconds since the epoch as local date and time; empty for none."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M") if 0 < at < LAST_SECOND else ""


def count(number: int | None) -> str:
    """`61,400`, or `?` for what is not known."""
    return "?" if number is None else f"{number:,}"


def money(amount: float | None) -> str:
    """`$0.42`, or nothing where no price is known."""
    return "" if amount is None else dollars(amount)


def size(count: int) -> str:
    """Bytes."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:,.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


def meter(meter: Meter) -> str:
    """The numbers of the meter in lines."""
    about = "" if meter.exact else "~"
    share = f"{percent(meter.used, meter.budget)} of the budget"
    window = "unknown" if meter.window is None else f"{count(meter.window)} ({meter.window_source})"
    lines = [
        f"context  {about}{meter.used:,} of {meter.budget:,} tokens ({share}; budget {meter.budget_rule})",
        f"         {meter.known:,} counted by the provider, {meter.estimated:,} estimated; "
        f"trigger {meter.trigger:,}, landing {meter.landing:,}",
        f"window   {window}, limit {count(meter.limit)}",
        "parts    " + ", ".join(f"{name} {tokens:,}" for name, tokens in meter.parts if tokens),
    ]
    if meter.reasoning:
        lines[1] += f"; {meter.reasoning:,} were reasoning, which is not sent again"
    if meter.ceiling is not None:
        lines[2] += f", refused at {meter.ceiling:,}"
    cache = meter.cache
    if cache.reported is not None or cache.predicted:
        warm = f"warm for {seconds(cache.warm_s)}" if cache.warm_s else "cold"
        lines.append(f"cache    {warm}; expected {cache.predicted:,}, read {count(cache.reported)} tokens")
        if cache.broken:
            lines[-1] += f"; broken: {cache.broken}"
    if meter.cost is not None:
        lines.append(f"cost     {dollars(meter.cost)} so far")
    if meter.automatic != "on":
        lines.append(f"note     {meter.automatic}")
    return "\n".join(map(safe, lines))


def context(inspected: Inspected) -> str:
    """`context`: the meter, every item, and what cannot be shrunk."""
    numbers = inspected.meter
    rows = [
        (
            str(row.record),
            row.kind,
            cut(row.title, TITLE),
            f"{row.tokens:,}",
            percent(row.tokens, numbers.budget),
            str(row.age),
            row.state,
            "cached" if row.cached else "",
        )
        for row in inspected.rows
    ]
    head = ("#", "KIND", "TITLE", "TOKENS", "BUDGET", "AGE", "STATE", "CACHE")
    parts = [meter(numbers), table(head, rows, right=(0, 3, 4, 5))]
    if inspected.largest_fixed:
        fixed = ((cut(name, TITLE), f"{tokens:,}") for name, tokens in inspected.largest_fixed)
        parts.append(table(("IN EVERY REQUEST", "TOKENS"), fixed, right=(1,)))
    return "\n\n".join(parts)


def plan(plan: Plan) -> str:
    """What a rewrite takes away, what it frees and what it costs."""
    if not plan.records:
        return f"nothing to {plan.what}: {safe(plan.why_nothing)}" if plan.why_nothing else f"nothing to {plan.what}"
    rows = ((str(record), cut(title, TITLE), f"{tokens:,}") for record, title, tokens in plan.rows)
    lines = [table(("#", "TITLE", "TOKENS"), rows, right=(0, 2))]
    if plan.kept_rows:
        kept = ((str(record), cut(title, TITLE), f"{tokens:,}") for record, title, tokens in plan.kept_rows)
        lines.append(f"\nkept word for word, from #{plan.first_kept} on:")
        lines.append(table(("#", "TITLE", "TOKENS"), kept, right=(0, 2)))
    lines.append(f"\nfrees {plan.freed:,} tokens: {plan.before:,} before, {plan.after:,} after")
    if plan.breaks_at is not None:
        where = plan.breaks_at if plan.breaks_record is None else plan.breaks_record
        lines.append(f"the cache breaks at #{where}; {plan.reread:,} tokens are read anew")
    price = plan.price
    if price.keep is None and price.rewrite is None:
        lines.append("no price is known for this model")
    else:
        turns = price.breakeven_turns
        pays = "it does not pay for itself" if turns is None else f"it pays for itself after {turns:,} turns"
        lines.append(f"next turn {money(price.keep) or '?'} as it is, {money(price.rewrite) or '?'} after; {pays}")
    if price.way is not None and price.flattened is not None:
        inside = "not possible" if price.in_context is None else money(price.in_context)
        chosen = "inside the conversation" if price.way == "in_context" else "in a request of its own"
        lines.append(
            f"of it for the summary: {money(price.flattened)} in a request of its own, "
            f"{inside} inside the conversation; it is asked for {chosen}"
        )
    return "\n".join(lines)


def gate(event: Gated) -> str:
    """A rewrite, or one that was refused or failed."""
    why = next((words for gate, words in GATES.items() if gate == event.gate), event.gate)
    told = f": {one_line(event.text, 300)}" if event.text else ""
    if event.outcome in (Outcome.SPILLED, Outcome.PRUNED, Outcome.COMPACTED):
        return f"context: {event.outcome}, {event.before:,} to {event.after:,} tokens ({why}){told}"
    failed = next((words for outcome, words in FAILURES.items() if outcome == event.outcome), event.outcome)
    return f"context: {failed[:1].lower()}{failed[1:].rstrip('.')} ({why}, at {event.before:,} tokens){told}"


def tool(result: ToolReturned) -> str:
    """A call that came back."""
    ended = "" if result.exit_status in (None, 0) else f" (exit {result.exit_status})"
    if result.failed and not ended:
        ended = f" (failed: {one_line(result.text, 160)})"
    return f"  {one_line(result.title) or safe(result.tool)}{ended}"
