"""The numbers of the screen and of the JSON: meter, table, plans; all from the log and one `measure`.

No drawing and no decision. Everything here is finished when it is sent: a front end only shows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agent.equipment import served
from agent.forecast import COLD, forecast, forecast_next, replies
from agent.session import Session
from agent.summary_price import SUMMARY_SHARE, summary_price, way_of
from agent.wire import CacheState, Inspected, Meter, Plan, Price, Row
from compaction import cache
from compaction.attempts import backoff, said_stopped
from compaction.budget import Budget
from compaction.cut import choose_cut
from compaction.gates import largest_fixed
from compaction.prune import PrunePlan
from compaction.records import AssistantSaid, Compacted, Gate, Pruned, Record
from compaction.room import k
from compaction.tokens import (
    PART_OF,
    PARTS,
    calibrated,
    calibration,
    estimate_parts,
    measure,
    passing,
    scaled,
)
from compaction.view import View, step

# What an answer costs in the next turn's price, tokens: the middle of what coding agents' replies come to.
NEXT_OUTPUT = 500


def meter(session: Session) -> Meter:
    """The meter as it stands."""
    view, ruler, budget = session.view, session.ruler, session.budget
    size = measure(view, ruler)
    parts = scaled(estimate_parts(view, ruler), size.total)
    thought = passing(view)
    parts["assistant"] += thought
    state = cache_state(session)
    return Meter(
        used=size.total + thought,
        known=size.known + thought,
        estimated=size.estimated,
        exact=size.exact,
        budget=budget.budget,
        budget_rule=budget.policy.rule,
        trigger=budget.trigger,
        landing=budget.landing,
        window=budget.window.tokens,
        window_source=str(budget.window.source),
        limit=budget.limit,
        parts=tuple(parts.items()),
        cache=state,
        cost=session.spending.of(session.log.records),
        next_cost=next_price(session, size.total, state.next_cached),
        automatic=automatic(view, budget, size.total),
        model=view.model,
        ceiling=budget.window.ceiling,
        reasoning=thought,
    )


def automatic(view: View, budget: Budget, size: int) -> str:
    """Whether automatic rewrites happen, and what they wait for at this size (tokens), in words the meter shows."""
    if not budget.policy.automatic:
        return "automatic off"
    if not budget.automatic:
        return "automatic off: reserve exceeds budget"
    wait = backoff(view, budget)
    if wait.stopped:
        return f"automatic summaries off after {wait.failures} failures; /compact tries again"
    if said_stopped(view):
        return "automatic compaction stopped: it freed nothing that lasts; /compact still works"
    if budget.trigger <= size < wait.until:
        return f"automatic waits until {k(wait.until)} after {'an undo' if wait.undone else 'a failed try'}"
    return "on"


def next_price(session: Session, size: int, cached: int) -> float | None:
    """The next request's price, dollars, when `cached` of its `size` tokens are read from the cache."""
    prices = session.target.prices
    if prices is None:
        return None
    return cache.price_of_next(size, cached, NEXT_OUTPUT, prices)


def cache_state(session: Session) -> CacheState:
    """Predicted and reported cached tokens of the last request, its break or the next one's, the lifetime left."""
    records, ladders, now = session.log.records, session.ladders, session.kit.clock()
    last = next(replies(records), None)
    if last is None:
        return CacheState()
    assert isinstance(last.body, AssistantSaid)
    lifetime = session.warm_s()
    was = forecast(records, ladders, last, lifetime)
    then = forecast_next(records, ladders, session.view, lifetime, now)
    usage = last.body.usage
    return CacheState(
        predicted=was.tokens,
        reported=usage.cache_read if usage else None,
        warm_s=round(max(0.0, lifetime - (now - last.at)), 1),
        broken=(then.why if then.why != COLD else None) or was.why,
        read_of=usage.input if usage else 0,
        next_cached=then.tokens,
    )


def inspected(session: Session) -> Inspected:
    """The view item by item; the rows of each part sum to the meter's, and with the fixed part all do."""
    view, ruler = session.view, session.ruler
    shown = meter(session)
    parts = dict(shown.parts)
    parts["assistant"] -= shown.reasoning
    sizes: dict[str, dict[str, int]] = {name: {} for name in PARTS}
    for n, item in enumerate(view.items):
        sizes[PART_OF[item.kind]][f"{n}"] = ruler.item(item)
    tokens = {n: size for name in PARTS for n, size in scaled(sizes[name], parts[name]).items()}
    if shown.reasoning:
        tokens[f"{len(view.items) - 1}"] += shown.reasoning
    last, cached = next(replies(session.log.records), None), 0
    if last is not None and (shown.cache.warm_s or 0) > 0:
        cached = cache.equal_segments(session.ladders.sent(session.log.records, last), session.ladders.now(view))
    newest = max((i.turn for i in view.items), default=0)
    rows = tuple(
        Row(
            i.record, str(i.kind), i.title, tokens[f"{n}"], newest - i.turn if i.turn else 0, i.state,
            n + cache.FIXED_SEGMENTS < cached,
        )
        for n, i in enumerate(view.items)
    )  # fmt: skip
    # In the order they are sent in; what a session begins with is in its first record.
    titles = (("tools", "tool schemas"), ("system", "system prompt and instructions"))
    fixed = tuple(Row(1, part, title, parts[part], 0, "live", n < cached) for n, (part, title) in enumerate(titles))
    home = f"{view.started.folder}/" if view.started else "/"
    largest = tuple((name.removeprefix(home), size) for name, size in largest_fixed(view, ruler))
    # Whoever brings tools is named, however small: it is the one part of these that can be switched off.
    return Inspected(shown, rows, tuple(dict([*largest, *served(session)]).items()), fixed=fixed)


def prune_plan(session: Session, plan: PrunePlan) -> Plan:
    """What a prune would do, with prices."""
    ids = plan.records
    before = measure(session.view, session.ruler).total
    rows = tuple((s.record, s.title, s.tokens) for s in plan.rows)
    if not ids:
        return Plan("prune", (), (), 0, before, before, None, 0, Price(), why_nothing=plan.why_nothing or "")
    after = step(session.view, Record(session.log.next_id, 0.0, Pruned(ids, "pruned", Gate.ASKED, 0, 0)))
    return _plan(session, "prune", ids, rows, after, before)


def compact_plan(session: Session, up_to: int | None = None) -> Plan:
    """What a compaction would do, with prices; the summary is taken to be a third of its cap."""
    view, ruler = session.view, session.ruler
    before = measure(view, ruler).total
    cut = choose_cut(view, ruler, session.budget, Gate.ASKED, up_to=up_to)
    if cut is None:
        why = "nothing lies before the last step that is not kept anyway"
        return Plan("compact", (), (), 0, before, before, None, 0, Price(), why_nothing=why)
    summary = "word " * (session.budget.summary_cap // SUMMARY_SHARE)
    body = Compacted(summary, "", cut.first_kept, cut.prefix_from, None, "", Gate.ASKED, 0, 0, "")
    after = step(view, Record(session.log.next_id, 0.0, body))
    rows = tuple((i.record, i.title, ruler.item(i)) for i in cut.prefix)
    costs = summary_price(session, cut)
    way = way_of(session, Gate.ASKED, costs)
    once = 0.0 if costs is None else (costs.in_context if way == "in_context" else None) or costs.flattened
    plan = _plan(session, "compact", tuple(dict.fromkeys(i.record for i in cut.prefix)), rows, after, before, once)
    price = replace(plan.price, way=way)
    if costs is not None:
        inside = None if costs.in_context is None else round(costs.in_context, 6)
        price = replace(price, flattened=round(costs.flattened, 6), in_context=inside)
    kept = tuple((i.record, i.title, ruler.item(i)) for i in cut.tail)
    return replace(plan, first_kept=cut.first_kept, kept_rows=kept, price=price)


def _plan(
    session: Session,
    what: Literal["prune", "compact"],
    ids: tuple[int, ...],
    rows: tuple[tuple[int, str, int], ...],
    after: View,
    before: int,
    once: float = 0.0,
) -> Plan:
    """What goes, what that frees, where the cache breaks, what is read again, and the price either way.

    `once` is what the rewrite itself costs, dollars.
    """
    view, ruler = session.view, session.ruler
    factor = calibration(view)
    left = calibrated(after, ruler)
    freed = calibrated(view, ruler) - left
    now, then = session.ladders.now(view), cache.ladder(after, ruler)
    broken = cache.cause(now, then, after.records)
    state = cache_state(session)
    common = min(round(cache.predicted(now, then) * factor), state.next_cached)
    price = Price()
    if session.target.prices is not None:
        back = cache.breakeven(
            size=before, after=left, cached_now=state.next_cached, cached_after=common, prices=session.target.prices,
            output=NEXT_OUTPUT, once=once,
        )  # fmt: skip
        price = Price(round(back.keep, 6), round(back.rewrite, 6), back.turns)
    at = None if broken is None else broken.position
    record = view.items[at].record if at is not None and 0 <= at < len(view.items) else None
    return Plan(what, ids, rows, freed, before, before - freed, at, max(0, left - common), price, breaks_record=record)
