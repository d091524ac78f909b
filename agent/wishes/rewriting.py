"""The rewrites a user asks for: compact, prune, undo, pin, and the probe of a plan.

Not a gate's own doing (that is `loop` with `compactor`), and no other wishes. Each ends in one `Finished` with the exit
status headless gives, and changes the world only by a record.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from agent import compactor, metering
from agent.session import Session
from agent.wire import (
    Compact,
    Finished,
    Plan,
    Planned,
    Prune,
    Reviewing,
)
from compaction import gates
from compaction.cut import choose_cut
from compaction.errors import BadTarget
from compaction.prune import PrunePlan, plan_prune
from compaction.records import (
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pinned,
    Record,
    Reverted,
    tag,
    tag_of,
)
from compaction.tokens import calibrated, calibration, fixed
from compaction.view import step


async def compact(session: Session, command: Compact) -> Finished:
    view, budget = session.view, session.budget
    if command.preview:
        plan = metering.compact_plan(session, command.up_to)
        session.emit(Planned(replace(plan, focus=command.focus, up_to=command.up_to)))
        return Finished("compact", False, 0, None, "a preview: nothing was changed")
    size = session.size().total
    if gates.unshrinkable(view, session.ruler, budget) > budget.landing:
        body = CompactionFailed(
            Gate.ASKED, Outcome.REFUSED_FIXED, gates.refuse_fixed(view, session.ruler, budget), size
        )
        (record,) = await session.append(body)
        return _finished(session, record)
    cut = choose_cut(view, session.ruler, budget, Gate.ASKED, up_to=command.up_to)
    if cut is None:
        name = tag(Gate.ASKED, Outcome.NOTHING_TO_DO)
        text = "nothing to compact: the conversation has nothing before its last step that is not kept anyway"
        session.tell_gate(Gate.ASKED, Outcome.NOTHING_TO_DO, name, size, size, text)
        return Finished("compact", False, 4, name, text, size, size)
    decision = gates.Compact(Gate.ASKED, cut, size)
    since = session.log.next_id
    try:
        review = _review(session) if command.review else None
        record = await compactor.compact(session, decision, command.focus, review)
    except asyncio.CancelledError:
        # Stopped while its record was written: what is on disk is in force.
        done = next((r for r in session.view.records if r.id >= since and isinstance(r.body, Compacted)), None)
        if done is not None:
            return _finished(session, done)
        return Finished("compact", False, 130, _last_tag(session), "stopped; nothing was changed", size, size)
    return _finished(session, record)


def _review(session: Session) -> compactor.Review:
    async def review(body: Compacted) -> str | None:
        return await session.answers.review(Reviewing(body.summary, body.fact_sheet, body.before, body.after))

    return review


def _last_tag(session: Session) -> str | None:
    body = session.view.records[-1].body
    return tag_of(body) if isinstance(body, CompactionFailed) else None


def _finished(session: Session, record: Record) -> Finished:
    body = record.body
    if isinstance(body, Compacted):
        text = f"compacted: {body.before:,} to {body.after:,} tokens"
        return Finished("compact", True, 0, tag_of(body), text, body.before, body.after, body.first_kept)
    assert isinstance(body, CompactionFailed)
    text = f"not compacted, nothing was changed: {body.detail}"
    return Finished("compact", False, 1, tag_of(body), text, body.size, body.size)


async def prune(session: Session, command: Prune) -> Finished:
    plan = plan_prune(
        session.view, session.ruler, session.budget, inside_turn=False, asked=True, every=command.every,
        records=command.records, force=command.force,
    )  # fmt: skip
    session.emit(Planned(metering.prune_plan(session, plan), offered=command.dry_run))
    if command.dry_run:
        return Finished("prune", False, 0 if plan.records else 4, None, "a plan: nothing was changed")
    if not plan.records:
        name = tag(Gate.ASKED, Outcome.NOTHING_TO_DO)
        size = session.size().total
        return Finished("prune", False, 4, name, f"nothing to prune: {plan.why_nothing}", size, size)
    record = await compactor.prune(session, gates.Prune(Gate.ASKED, plan))
    body = record.body
    before, after = getattr(body, "before", 0), getattr(body, "after", 0)
    what = "1 result" if len(plan.records) == 1 else f"{len(plan.records):,} results"
    text = f"pruned {what}: {before:,} to {after:,} tokens"
    return Finished("prune", True, 0, tag(Gate.ASKED, Outcome.PRUNED), text, before, after)


def probed(session: Session, records: tuple[int, ...]) -> Plan:
    """What pruning those of the records that can go would come to, however little; `refused` says why others cannot."""
    wanted = list(dict.fromkeys(records))
    refused: list[tuple[int, str]] = []
    while True:
        try:
            plan = plan_prune(
                session.view, session.ruler, session.budget, inside_turn=False, asked=True, records=wanted, force=True
            )
        except BadTarget as error:
            wanted.remove(error.record)
            refused.append((error.record, error.why))
            if wanted:
                continue
            plan = PrunePlan((), (), 0, "none of these can go")
        return replace(metering.prune_plan(session, plan), refused=tuple(refused))


async def undo(session: Session) -> Finished:
    view, budget = session.view, session.budget
    if not view.rewrites:
        return Finished("undo", False, 4, None, "nothing to undo: no prune or compaction is in force")
    target = view.rewrites[-1].id
    body = Reverted(target, 0, 0)
    after = calibrated(step(view, Record(session.log.next_id, 0.0, body)), session.ruler)
    before = calibrated(view, session.ruler)
    if budget.limit is not None and after > budget.limit:
        text = f"undoing would need {after:,} tokens, but at most {budget.limit:,} can be sent; nothing was changed"
        return Finished("undo", False, 3, None, text, before, after)
    await session.append(replace(body, before=before, after=after))
    text = f"record {target} taken back: {before:,} to {after:,} tokens; no automatic rewrite until it has grown again"
    return Finished("undo", True, 0, None, text, before, after)


async def pin(session: Session, target: int, on: bool) -> Finished:
    view, budget = session.view, session.budget
    item = next((i for i in view.conversation if i.record == target), None)
    if item is None:
        raise BadTarget(target, "no message or result of this session has that number")
    if (target in view.pins) is on:
        text = f"record {target} is {'already' if on else 'not'} pinned"
        return Finished("pin", False, 4, None, text)
    if on:
        after = step(view, Record(session.log.next_id, 0.0, Pinned(target)))
        pinned = sum(session.ruler.item(i) for i in after.conversation if i.record in after.pins)
        need = round((fixed(view, session.ruler) + pinned) * calibration(view))
        if need > budget.landing // 2:
            text = (
                f"pins and fixed part would need {need:,} tokens, more than the {budget.landing // 2:,} they may take; "
                "nothing was changed"
            )
            return Finished("pin", False, 3, None, text, need, budget.landing // 2)
    before = session.size().total
    await session.append(Pinned(target, on))
    text = f"record {target} is {'pinned' if on else 'no longer pinned'}"
    return Finished("pin", True, 0, None, text, before, session.size().total)
