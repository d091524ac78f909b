"""One turn: gate, request, stream, tools, append; again, until the model has nothing to call.

Not the thread (that is `worker`), not a tool (that is `toolbox`), not a rewrite (that is `compactor`).

Invariants
 1. A prompt is logged before anything is asked, and refused before it is logged.
 2. Whatever ends a turn (an error, Esc, a refusal), the log afterwards holds no open call and all text that arrived.
 3. Every request has passed its gate on the view it is made from.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from agent import compactor, job_news, late
from agent.ending import End
from agent.hooks import asking as hooks
from agent.incoming import taking_in
from agent.incoming.admission import prompt_tokens
from agent.lessons import alternating, answer_cap
from agent.lessons.too_long import learn, learn_silently, unsaid
from agent.model import (
    CallGrowing,
    ContextOverflow,
    ModelError,
    Part,
    Reply,
    RequestTooLarge,
    Restarted,
    Retrying,
    Text,
    Thinking,
)
from agent.outgoing import next_request
from agent.session import Session
from agent.streaming import retrying, streaming
from agent.toolbox import close_calls, not_run, run_calls
from agent.wire import Restreamed, Returned, Streaming
from agent.wishes import dispatch
from agent.wishes.switching import Detour
from compaction.gates import (
    Compact,
    Decision,
    Emergency,
    Fail,
    Place,
    Proceed,
    Prune,
    Refuse,
    Spill,
    check_prompt,
    decide,
    over_budget,
)
from compaction.records import (
    AssistantSaid,
    Compacted,
    CompactionFailed,
    Noted,
    Stop,
    ToolCall,
    tag,
)
from compaction.tokens import estimate

OUT_OF_STEPS = "[no steps are left in this turn: answer now in text, with what is known, and call no tools]"

# What people are told of an answer that is whole for the log and not for them.
ENDED_EARLY: dict[Stop, str] = {
    "length": "the answer was cut at its output limit, not for lack of context; say 'go on' to continue",
    "filtered": "the provider's filter stopped the answer",
}
CUT_BY_WINDOW = "the answer was cut because the model's window is full; what arrived is kept"


class _Refused(Exception):
    def __init__(self, refusal: Refuse) -> None:
        super().__init__(refusal.text)
        self.refusal = refusal


async def turn(session: Session, text: str, images: tuple[str, ...] = ()) -> End:
    """One user turn, from the prompt to the last answer, and the hooks around it."""
    with taking_in.returned(session, text):
        await hooks.begin(session)
    before = session.log.next_id
    end = await _turn(session, text, images)
    if session.log.next_id > before and end.stop != "interrupted":
        await hooks.turn_end(session, end.stop, end.error)
    return end


async def _turn(session: Session, text: str, images: tuple[str, ...]) -> End:
    with taking_in.returned(session, text):
        message = await taking_in.begun(session, text, images)
    if isinstance(message, End):
        return message
    said = message.said
    refusal = check_prompt(session.view, session.ruler, session.budget, prompt_tokens(session, said))
    if refusal is not None:
        session.emit(Returned(text, refusal.text, 3))
        _tell(session, refusal)
        return End("refused", refusal.text, 3)
    news = job_news.notes(session)
    detour = Detour(session)
    try:
        await taking_in.logged(session, message, *news)
        if said.admitted is not None:
            session.tell(
                f"the message is kept whole; the model is shown {said.admitted:,} of its {len(said.text):,} characters"
            )
        return await _steps(session, detour)
    except asyncio.CancelledError:
        await close_calls(session)
        return End("interrupted", None, 130)
    except _Refused as refused:
        await session.append(Noted(str(refused), "refused"))
        return End("refused", str(refused), 3)
    except ModelError as error:
        await session.append(Noted(str(error), "error"))
        return End("failed", str(error), 1)
    finally:
        await detour.back()


async def _steps(session: Session, detour: Detour) -> End:
    most = max(1, session.kit.settings.max_steps)
    steps, told = 0, False
    while True:
        last = steps + 1 >= most
        if last and steps and not told:
            told = True
            await session.append(Noted(OUT_OF_STEPS, "steps", to_model=True))
        try:
            reply = await _answered(session, Place(inside_turn=steps > 0, last=last))
        except ModelError as error:
            adapted = await alternating.taken(session, error) or answer_cap.taken(session, error)
            if not (adapted or await detour.taken(error)):
                raise
            continue
        if reply is None:
            continue
        steps += 1
        if reply.calls:
            await (not_run(session, reply.calls) if last else run_calls(session, reply.calls))
            if news := job_news.notes(session):
                await session.append(*news)
        if reply.stop in ENDED_EARLY and not reply.calls:
            session.tell(CUT_BY_WINDOW if _filled(session, reply) else ENDED_EARLY[reply.stop], "warning")
        await dispatch.run_waiting(session)
        if last:
            if reply.calls:
                session.tell(f"the turn ended after its {most} steps; say 'go on' to continue", "warning")
            return End()
        if not (await _steered(session) or reply.calls):
            return End()


def _filled(session: Session, reply: Reply) -> bool:
    """Whether an answer cut for length ended where the window does: some servers stop there without an error."""
    window, usage = session.budget.window.tokens, reply.usage
    if reply.stop != "length" or window is None or usage is None:
        return False
    return usage.context + usage.reasoning >= window


async def _steered(session: Session) -> bool:
    """Takes in what the user steered with: it joins the running turn. Whether there was anything."""
    any_joined = False
    while session.steered:
        message = await taking_in.steered(session)
        if message is not None:
            await taking_in.logged(session, message)
            any_joined = True
    return any_joined


async def _answered(session: Session, place: Place) -> Reply | None:
    """Passes the gates, asks, logs the reply. None: the request was refused for length, and the refusal logged."""
    answer = await pass_gates(session, place)
    seen, estimated, size = session.view.last, estimate(session.view, session.ruler), session.size()
    request = next_request(session, answer.max_tokens)
    partial = _Partial()
    try:
        async with streaming(session.kit.model, session.target.endpoint, request) as parts:
            async for part in parts:
                partial.take(session, part)
    except (ContextOverflow, RequestTooLarge) as error:
        partial.forget(session)
        await learn(session, error, size.total, estimated)
        return None
    except (ModelError, asyncio.CancelledError) as error:
        stop: Stop = "failed" if isinstance(error, ModelError) else "aborted"
        if partial.text.strip():
            await session.append(AssistantSaid(partial.text, (), None, stop, session.view.model, seen))
        else:
            partial.forget(session)
        raise
    reply = partial.reply
    assert reply is not None, "a stream ends in a Reply or an error"
    why = unsaid(session.view, reply, size, estimated)
    if why:
        await learn_silently(session, reply, size.total, estimated, why)
        return None
    cost = session.price_of(session.view.model, reply.usage)
    reply = replace(reply, calls=_unique(session, reply.calls))
    await session.append(
        AssistantSaid(
            reply.text, reply.calls, reply.usage, reply.stop, session.view.model, seen, reply.thinking, estimated, cost
        )
    )
    return reply


@dataclass
class _Partial:
    """What has arrived of an answer."""

    text: str = ""
    reply: Reply | None = None
    shown: bool = False
    why: str = ""

    def forget(self, session: Session) -> None:
        """Takes what was streamed off the screen: no record will replace it."""
        self.text = ""
        if self.shown:
            self.shown = False
            session.emit(Restreamed())

    def take(self, session: Session, part: Part) -> None:
        self.shown = self.shown or isinstance(part, (Text, Thinking, CallGrowing))
        match part:
            case Text(text):
                self.text += text
                session.emit(Streaming(text))
            case Thinking(text):
                session.emit(Streaming(text, "thinking"))
            case CallGrowing(_, name, _):
                session.emit(Streaming(name, "call"))
            case Retrying(why=why):
                session.tell(retrying(part, self.why), "warning")
                self.why = why
            case Restarted():
                self.forget(session)
            case Reply():
                self.reply = part


def _unique(session: Session, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Calls with ids no earlier call has: some local servers count from zero in every reply."""
    used = {c.id for r in session.view.records if isinstance(r.body, AssistantSaid) for c in r.body.calls}
    fresh: list[ToolCall] = []
    for index, call in enumerate(calls):
        name = call.id or f"call_{session.log.next_id}_{index}"
        if name in used:
            name = f"{name}_{session.log.next_id}_{index}"
        used.add(name)
        fresh.append(ToolCall(name, call.name, call.arguments))
    return tuple(fresh)


async def pass_gates(session: Session, place: Place) -> Proceed:
    """Carries out what the gates decide until they let the request go. Raises `_Refused`."""
    while True:
        decision = decide(session.view, session.ruler, session.budget, place)
        if isinstance(decision, Proceed):
            return decision
        await _carry_out(session, decision)


def _tell(session: Session, refusal: Refuse) -> None:
    name = tag(refusal.gate, refusal.outcome)
    session.tell_gate(refusal.gate, refusal.outcome, name, refusal.size, refusal.size, refusal.text)


async def _carry_out(session: Session, decision: Decision) -> None:
    match decision:
        case Proceed():
            return
        case Spill() | Prune():
            await compactor.prune(session, decision)
            await late.join(session)
        case Compact():
            session.tell(over_budget(session.budget) if decision.gate == "proactive" else "making room in the window")
            if isinstance((await compactor.compact(session, decision)).body, Compacted):
                await late.join(session)
        case Emergency():
            await compactor.emergency(session, decision)
            await late.join(session)
        case Fail(gate, outcome, detail, size):
            prior = bool(compactor.previous_summary(session.view))
            await session.append(CompactionFailed(gate, outcome, detail, size, prior))
        case Refuse():
            _tell(session, decision)
            raise _Refused(decision)


__all__ = ["pass_gates", "turn"]
