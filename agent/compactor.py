"""Carrying out a rewrite: spill, prune, compact, emergency; asks, retries, commits or writes the failure.

No decision (that is `compaction.gates`) and no judgement of a summary's text (that is `compaction.judge`).

Invariants
 1. A rejected or failed attempt changes nothing but the log, by one `CompactionFailed`.
 2. A `Compacted` is on disk before memory or screen know of it.
 3. Cancelling at any await leaves the view as it was; a `CompactionFailed(interrupted)` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from agent.hooks import asking as hooks
from agent.model import (
    Reply,
)
from agent.session import Session
from agent.summarising import Draft, Rejected, Spent, ask, judged
from compaction.cut import Cut
from compaction.emergency import previous_summary as previous_summary
from compaction.facts import fact_sheet
from compaction.gates import Compact, Emergency, Prune, Spill
from compaction.judge import Rejected as Judged
from compaction.records import (
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    Record,
)
from compaction.room import primer_shown
from compaction.tokens import calibrated
from compaction.view import View, step

Review = Callable[[Compacted], Awaitable[str | None]]


async def prune(session: Session, decision: Prune | Spill) -> Record:
    """Replaces exactly the results the decision names."""
    view = session.view
    ids = decision.plan.records if isinstance(decision, Prune) else decision.records
    how: str = "pruned" if isinstance(decision, Prune) else "spilled"
    body = Pruned(tuple(ids), "pruned" if how == "pruned" else "spilled", decision.gate, 0, 0)
    before, after = sizes(session, view, body)
    (record,) = await session.append(replace(body, before=before, after=after))
    return record


def sizes(session: Session, view: View, body: Pruned | Compacted) -> tuple[int, int]:
    """Calibrated sizes of the view without and with a rewrite, tokens."""
    after = step(view, Record(session.log.next_id, 0.0, body))
    return calibrated(view, session.ruler), calibrated(after, session.ruler)


async def compact(session: Session, decision: Compact, focus: str = "", review: Review | None = None) -> Record:
    """Asks for a summary and commits it, or writes down why not. Returns the record of either."""
    view = session.view
    prior = bool(previous_summary(view))
    size = session.size().total
    deadline = session.kit.summary_deadline
    spent = Spent()
    try:
        async with asyncio.timeout(deadline):
            heard = await hooks.before_compaction(session, decision, focus, size)
            if heard.blocked:
                raise Rejected(Outcome.INTERRUPTED, f"a hook objects: {heard.blocked}", asked=False)
            if heard.summary is not None:
                draft = _theirs(session, heard.summary)
            else:
                draft = await ask(session, decision, focus, spent)
        body = _body(session, view, decision, draft, focus, spent.cost)
        _accept(session, decision, body)
        if review is not None:
            edited = await review(body)
            if edited is None:
                raise Rejected(Outcome.INTERRUPTED, "the summary was dropped in review")
            body = _edited(session, view, decision, body, edited)
    except asyncio.CancelledError:
        await _failed(session, decision.gate, Rejected(Outcome.INTERRUPTED, "stopped by the user"), size, prior, spent)
        raise
    except TimeoutError:
        failure = Rejected(Outcome.TIMED_OUT, f"the summary took longer than {deadline:.0f} seconds")
        return await _failed(session, decision.gate, failure, size, prior, spent)
    except Rejected as failure:
        return await _failed(session, decision.gate, failure, size, prior, spent)
    (record,) = await session.append(body)
    await hooks.after_compaction(session, record)
    return record


def _theirs(session: Session, text: str) -> Draft:
    """A hook's summary, judged like a model's. Raises `Rejected`."""
    reply = Reply(text, (), None, "done")
    verdict = judged(session, reply, session.budget.summary_cap, previous_summary(session.view))
    if isinstance(verdict, Judged):
        raise Rejected(verdict.outcome, f"of a hook's summary: {verdict.detail}")
    return Draft(verdict.summary, verdict.learnings, None, 0, session.summariser().endpoint.name)


async def _failed(session: Session, gate: Gate, failure: Rejected, size: int, prior: bool, spent: Spent) -> Record:
    body = CompactionFailed(gate, failure.outcome, failure.detail, size, prior, failure.asked, spent.usage, spent.cost)
    (record,) = await session.append(body)
    return record


async def emergency(session: Session, decision: Emergency) -> Record:
    """The rung without a model: writes what the gates made of previous summary, fact sheet and tail."""
    (record,) = await session.append(decision.body)
    await hooks.after_compaction(session, record)
    return record


def _compacted(session: Session, view: View, cut: Cut, gate: Gate, summary: str, facts: str) -> Compacted:
    shown = primer_shown(view, session.ruler, session.budget)
    previous = view.compaction.id if view.compaction else None
    return Compacted(
        summary, facts, cut.first_kept, cut.prefix_from, previous, "", gate, 0, 0, "", primer=shown
    )  # fmt: skip


def _body(session: Session, view: View, decision: Compact, draft: Draft, focus: str, cost: float | None) -> Compacted:
    facts = fact_sheet(view, decision.cut, draft.summary, session.ruler, session.budget.fact_cap)
    body = _compacted(session, view, decision.cut, decision.gate, draft.summary, facts)
    body = replace(
        body, focus=focus, summariser=draft.summariser, usage=draft.usage, learnings=draft.learnings,
        cost=cost, requests=draft.requests,
    )  # fmt: skip
    before, after = sizes(session, view, body)
    return replace(body, before=before, after=after)


def _edited(session: Session, view: View, decision: Compact, body: Compacted, text: str) -> Compacted:
    if text == body.summary:
        return body
    edited = replace(body, summary=text)
    before, after = sizes(session, view, edited)
    edited = replace(edited, before=before, after=after)
    _accept(session, decision, edited)
    return edited


def _accept(session: Session, decision: Compact, body: Compacted) -> None:
    if body.after >= body.before:
        text = f"the view would be {body.after:,} tokens, not smaller than {body.before:,}"
        raise Rejected(Outcome.NOT_SMALLER, text)
    if decision.gate is Gate.PROACTIVE and body.after > decision.target:
        text = f"the view would be {body.after:,} tokens, above the landing of {decision.target:,}"
        raise Rejected(Outcome.ABOVE_LANDING, text)
    if decision.gate not in (Gate.ASKED, Gate.PROACTIVE) and body.after >= decision.target:
        text = f"the view would be {body.after:,} tokens, still not below {decision.target:,}"
        raise Rejected(Outcome.NOT_SMALLER, text)
