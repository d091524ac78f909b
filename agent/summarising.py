"""Asking for a summary: of which model, in how many tries, in place or in a request of its own, and what it cost.

Not what becomes of it (that is `compactor`) and no judgement of its text (that is `compaction.judge`).

Invariants
 1. A reply that was judged bad is no reason to ask another model; one that cannot be had is.
 2. What was asked is paid, whatever came of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.in_place import request_in_place
from agent.lessons import answer_cap
from agent.lessons.unavailable import unavailable
from agent.model import (
    AnswerTooLong,
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
from compaction.emergency import previous_summary as previous_summary
from compaction.gates import Compact
from compaction.judge import Accepted, judge
from compaction.judge import Rejected as Judged
from compaction.records import (
    Outcome,
    Usage,
    WindowLearned,
)
from compaction.summary import SummaryRequest, TooLarge, build_request, halved

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
    summariser: str


class Rejected(Exception):
    """An attempt that ended in `outcome`; `detail` is a sentence for people."""

    def __init__(self, outcome: Outcome, detail: str, *, asked: bool = True, unavailable: bool = False) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.asked = asked
        self.unavailable = unavailable


@dataclass
class Spent:
    """What the requests of one attempt used so far, and its price in dollars: it is paid however the attempt ends."""

    usage: Usage | None = None
    requests: int = 0
    cost: float | None = None

    def add(self, usage: Usage | None, cost: float | None = None) -> None:
        """Counts one reply; each bucket apart."""
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost
        if self.usage is None or usage is None:
            self.usage = self.usage or usage
        else:
            self.usage = Usage(*(getattr(self.usage, n) + getattr(usage, n) for n in Usage.__slots__))


async def ask(session: Session, decision: Compact, focus: str, spent: Spent) -> Draft:
    """The summariser's judged reply; of the session's model where another one cannot be had. Raises `Rejected`."""
    summariser = await _summariser(session)
    try:
        return await _asked_of(session, summariser, decision, focus, spent)
    except Rejected as failure:
        own = session.target
        if not failure.unavailable or summariser.endpoint.name == own.endpoint.name:
            raise
        session.tell(f"{failure.detail} The summary is asked of {own.endpoint.name} instead.", "warning")
    return await _asked_of(session, own, decision, focus, spent)


async def _asked_of(session: Session, summariser: Target, decision: Compact, focus: str, spent: Spent) -> Draft:
    name = summariser.endpoint.name
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
            return Draft(verdict.summary, verdict.learnings, spent.usage, spent.requests, name)
    request = _fitting(session, decision, focus, previous, wanted, None if total is None else total - output)
    while True:
        spent.requests += 1
        try:
            reply = await _stream(session, summariser, _apart(session, summariser, request, output))
        except (ContextOverflow, RequestTooLarge) as error:
            smaller = halved(request) if halvings < HALVINGS else None
            halvings += 1
            if isinstance(error, ContextOverflow) and error.window is not None:
                await _learn(session, summariser, error, session.ruler.count(request.user_text))
            if smaller is None:
                raise Rejected(_overflow(error), str(error)) from error
            request = smaller
            continue
        except AnswerTooLong as error:
            if not answer_cap.lowered(session, summariser.endpoint, error, output):
                raise Rejected(Outcome.PROVIDER_FAILED, str(error)) from error
            return await _asked_of(session, session.target_for(name), decision, focus, spent)
        except TimedOut as error:
            raise Rejected(Outcome.TIMED_OUT, str(error), unavailable=_gone(error)) from error
        except EmptyReply as error:
            raise Rejected(Outcome.SUMMARY_EMPTY, str(error)) from error
        except ModelError as error:
            raise Rejected(Outcome.PROVIDER_FAILED, str(error), unavailable=_gone(error)) from error
        spent.add(reply.usage, session.price_of(name, reply.usage))
        verdict = judged(session, reply, cap, previous)
        if isinstance(verdict, Accepted):
            return Draft(verdict.summary, verdict.learnings, spent.usage, spent.requests, name)
        if verdict.outcome is Outcome.SUMMARY_SHAPELESS and shapeless < SHAPELESS_RETRIES:
            shapeless += 1
            continue
        raise Rejected(verdict.outcome, verdict.detail)


def _gone(error: ModelError) -> bool:
    """Whether another model may well answer; text that had come was shown to nobody."""
    return bool(unavailable(error, after_text=True))


def judged(session: Session, reply: Reply, cap: int, previous: str) -> Accepted | Judged:
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
            await _learn(session, session.target, error, session.size().total)
        return None
    spent.add(reply.usage, session.price_of(session.view.model, reply.usage))
    verdict = judged(session, reply, cap, previous)
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


async def _learn(session: Session, summariser: Target, error: ContextOverflow, refused: int) -> None:
    """Writes down what a refusal of a summary's request, of `refused` tokens, said of the window."""
    endpoint = summariser.endpoint
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


def _apart(session: Session, summariser: Target, request: SummaryRequest, output: int) -> Request:
    """The request of its own: a system prompt and one user message, no tools."""
    messages = (
        {"role": "system", "content": request.system},
        {"role": "user", "content": request.user_text},
    )
    grammar = session.kit.endpoints.summary_grammar(summariser.endpoint)
    return Request(
        messages, max_tokens=output, restartable=True, grammar=grammar, thinking_off=True,
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
