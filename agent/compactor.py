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
from dataclasses import dataclass, replace

from agent.hooks import asking as hooks
from agent.in_place import request_in_place
from agent.model import (
    ContextOverflow,
    EmptyReply,
    ModelError,
    Reply,
    Request,
    RequestTooLarge,
    Restarted,
    Retrying,
    Text,
    TimedOut,
    UnknownModel,
)
from agent.session import Session, Target
from agent.streaming import retrying, streaming
from agent.wire import Progress
from compaction.budget import least_output
from compaction.cut import Cut
from compaction.emergency import previous_summary as previous_summary
from compaction.facts import fact_sheet
from compaction.gates import Compact, Emergency, Prune, Spill
from compaction.judge import Accepted, judge
from compaction.judge import Rejected as Judged
from compaction.records import (
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pruned,
    Record,
    Usage,
    WindowLearned,
)
from compaction.room import primer_shown
from compaction.summary import SummaryRequest, TooLarge, build_request, halved
from compaction.tokens import calibrated
from compaction.view import View, step

# A summary is refused for length at most this often before the emergency rung: three halvings leave an eighth.
HALVINGS = 3

# The request in any case, characters: providers refuse bodies of about a megabyte, and JSON may double a text.
MOST_CHARACTERS = 540_000

# What thinking may add to a summary's output where it cannot be turned off, tokens.
THINKING_ALLOWANCE = 2_000

# A summariser smaller than the session writes at most this part (1/4) of its own window: the rest is for reading. With
# the session's own model the budget's eighth binds before.
CAP_SHARE = 4

# A shapeless reply is asked for once more: small models forget the headings now and then.
SHAPELESS_RETRIES = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary that passed the judge, with what it cost."""

    summary: str
    learnings: str
    usage: Usage | None
    requests: int


class Rejected(Exception):
    """An attempt that ended in `outcome`; `detail` is a sentence for people."""

    def __init__(self, outcome: Outcome, detail: str, *, asked: bool = True) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.asked = asked


@dataclass
class Spent:
    """What the requests of one attempt used so far: it is paid however the attempt ends."""

    usage: Usage | None = None
    requests: int = 0

    def add(self, usage: Usage | None) -> None:
        """Counts one reply; each bucket apart."""
        if self.usage is None or usage is None:
            self.usage = self.usage or usage
        else:
            self.usage = Usage(*(getattr(self.usage, n) + getattr(usage, n) for n in Usage.__slots__))


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
                draft = await _ask(session, decision, focus, spent)
        body = _body(session, view, decision, draft, focus)
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
    verdict = _judged(session, reply, session.budget.summary_cap, previous_summary(session.view))
    if isinstance(verdict, Judged):
        raise Rejected(verdict.outcome, f"of a hook's summary: {verdict.detail}")
    return Draft(verdict.summary, verdict.learnings, None, 0)


async def _failed(session: Session, gate: Gate, failure: Rejected, size: int, prior: bool, spent: Spent) -> Record:
    cost = session.price_of(session.summariser().endpoint.name, spent.usage)
    body = CompactionFailed(gate, failure.outcome, failure.detail, size, prior, failure.asked, spent.usage, cost)
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


def _body(session: Session, view: View, decision: Compact, draft: Draft, focus: str) -> Compacted:
    facts = fact_sheet(view, decision.cut, draft.summary, session.ruler, session.budget.fact_cap)
    body = _compacted(session, view, decision.cut, decision.gate, draft.summary, facts)
    summariser = session.summariser()
    body = replace(
        body, focus=focus, summariser=summariser.endpoint.name, usage=draft.usage, learnings=draft.learnings,
        cost=session.price_of(summariser.endpoint.name, draft.usage), requests=draft.requests,
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


async def _ask(session: Session, decision: Compact, focus: str, spent: Spent) -> Draft:
    """The summariser's judged reply. Raises `Rejected`."""
    summariser = await _summariser(session)
    previous = previous_summary(session.view)
    total = summariser.window.effective
    cap = session.budget.summary_cap if total is None else min(session.budget.summary_cap, total // CAP_SHARE)
    output = cap + THINKING_ALLOWANCE if total is None else min(cap + THINKING_ALLOWANCE, max(least_output(total), cap))
    wanted = cap
    if summariser.window.max_output is not None:
        output = min(output, summariser.window.max_output)
        # More than the model can say in one answer would end at its limit, and be rejected each time. What is carried
        # over comes on top, so the judge's cap stays.
        wanted = min(cap, output)
    halvings = shapeless = 0
    inside = request_in_place(session, decision, focus, wanted, output)
    if inside is not None:
        verdict = await _asked_in_place(session, inside, cap, previous, spent)
        if isinstance(verdict, Accepted):
            return Draft(verdict.summary, verdict.learnings, spent.usage, spent.requests)
    request = _fitting(session, decision, focus, previous, wanted, None if total is None else total - output)
    while True:
        spent.requests += 1
        try:
            reply = await _stream(session, summariser, _apart(session, request, output))
        except (ContextOverflow, RequestTooLarge) as error:
            smaller = halved(request) if halvings < HALVINGS else None
            halvings += 1
            if isinstance(error, ContextOverflow) and error.window is not None:
                await _learn(session, error, session.ruler.count(request.user_text))
            if smaller is None:
                raise Rejected(_overflow(error), str(error)) from error
            request = smaller
            continue
        except TimedOut as error:
            raise Rejected(Outcome.TIMED_OUT, str(error)) from error
        except EmptyReply as error:
            raise Rejected(Outcome.SUMMARY_EMPTY, str(error)) from error
        except ModelError as error:
            raise Rejected(Outcome.PROVIDER_FAILED, str(error)) from error
        spent.add(reply.usage)
        verdict = _judged(session, reply, cap, previous)
        if isinstance(verdict, Accepted):
            return Draft(verdict.summary, verdict.learnings, spent.usage, spent.requests)
        if verdict.outcome is Outcome.SUMMARY_SHAPELESS and shapeless < SHAPELESS_RETRIES:
            shapeless += 1
            continue
        raise Rejected(verdict.outcome, verdict.detail)


def _judged(session: Session, reply: Reply, cap: int, previous: str) -> Accepted | Judged:
    return judge(
        reply.text, reply.stop, bool(reply.calls), cap_tokens=cap, count=session.ruler.count, previous_summary=previous
    )


async def _asked_in_place(
    session: Session, request: Request, cap: int, previous: str, spent: Spent
) -> Accepted | Judged | None:
    """What came of asking inside the conversation. Whatever it was but a summary, the other way follows: a call in the
    reply is never run, and a provider that failed here may take the shorter request.
    """
    spent.requests += 1
    try:
        reply = await _stream(session, session.target, request)
    except ModelError as error:
        session.tell(f"{error} The summary is asked for in a request of its own.", "warning")
        if isinstance(error, ContextOverflow) and error.window is not None:
            await _learn(session, error, session.size().total)
        return None
    spent.add(reply.usage)
    verdict = _judged(session, reply, cap, previous)
    if isinstance(verdict, Judged):
        session.tell(f"{verdict.detail}; it is asked for in a request of its own", "warning")
    return verdict


async def _summariser(session: Session) -> Target:
    """Who summarises; one that the session has not asked yet is looked up first. Raises `Rejected`."""
    summariser = session.summariser()
    if summariser.endpoint.name != session.view.model:
        try:
            await session.kit.target(summariser.endpoint.name)
        except UnknownModel as error:
            raise Rejected(Outcome.PROVIDER_FAILED, str(error), asked=False) from error
    return session.summariser()


def _overflow(error: ModelError) -> Outcome:
    return Outcome.REQUEST_TOO_LARGE if isinstance(error, RequestTooLarge) else Outcome.OVERFLOWED


async def _learn(session: Session, error: ContextOverflow, refused: int) -> None:
    """Writes down what a refusal of a summary's request, of `refused` tokens, said of the window."""
    endpoint = session.summariser().endpoint
    session.remember_window(endpoint, error.window)
    await session.append(
        WindowLearned(
            endpoint.name, endpoint.label, error.window, None, refused, error.asked, detail=str(error), summary=True
        )
    )
    session.refresh()


def _fitting(
    session: Session, decision: Compact, focus: str, previous: str, cap: int, room: int | None
) -> SummaryRequest:
    """The request for a summary of `cap` tokens, cut to `room` tokens (None: only to the bound in characters).

    Raises `Rejected`.
    """
    characters = MOST_CHARACTERS
    prompts = session.kit.summary_prompts
    for _ in range(8):
        built = build_request(
            decision.cut, session.view, prompts, focus=focus, previous_summary=previous,
            cap_tokens=cap, characters=characters,
        )  # fmt: skip
        if isinstance(built, TooLarge):
            text = "instructions, previous summary and focus alone are larger than the summariser accepts"
            raise Rejected(Outcome.REQUEST_TOO_LARGE, text, asked=False)
        if room is None:
            return built
        # The estimate may be low by as much as the calibration says, and errs by 5 % beyond.
        tokens = session.estimate_text(built.system + built.user_text)
        if tokens <= room * 19 // 20:
            return built
        characters = min(characters - 1, max(1, len(built.user_text) * room * 18 // 20 // tokens))
    raise Rejected(Outcome.REQUEST_TOO_LARGE, "no part of the conversation fits the summariser's window", asked=False)


def _apart(session: Session, request: SummaryRequest, output: int) -> Request:
    """The request of its own: a system prompt and one user message, no tools."""
    messages = (
        {"role": "system", "content": request.system},
        {"role": "user", "content": request.user_text},
    )
    return Request(
        messages, max_tokens=output, restartable=True, grammar=session.summary_grammar(), thinking_off=True,
        deadline=session.kit.settings.deadline,
    )  # fmt: skip


async def _stream(session: Session, summariser: Target, asked: Request) -> Reply:
    began = session.kit.clock()
    characters, failed = 0, ""
    session.emit(Progress("summarising"))
    async with streaming(session.kit.model, summariser.endpoint, asked) as parts:
        async for part in parts:
            match part:
                case Text(text):
                    characters += len(text)
                    session.emit(Progress("summarising", characters // 4, session.kit.clock() - began))
                case Restarted():
                    characters = 0
                case Retrying(why=why):
                    session.tell(retrying(part, failed), "warning")
                    failed = why
                case Reply():
                    return part
                case _:
                    pass
    raise AssertionError("a stream ends in a Reply or an error")
