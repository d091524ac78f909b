"""What a turn writes down of a request that was too long, whether its server said so or only let it be seen.

Not the reading of a refusal (`models.overflow`) and not what follows from it (`compaction.gates`).
"""

from __future__ import annotations

from dataclasses import replace

from agent.model import ContextOverflow, ModelError, Reply, RequestTooLarge
from agent.session import Session
from agent.wire import Restreamed
from compaction.records import WindowLearned
from compaction.tokens import Size, dropped_silently
from compaction.view import View


async def learn(session: Session, error: ModelError, size: int, estimated: int) -> None:
    """Writes the refusal down, with what it says of the window; the gates read the rest from there."""
    endpoint = session.target.endpoint
    window = error.window if isinstance(error, ContextOverflow) else None
    asked = error.asked if isinstance(error, ContextOverflow) else None
    too_large = isinstance(error, RequestTooLarge)
    ceiling = None if window is not None or too_large else size
    session.remember_window(endpoint, window)
    apart = session.target.window.output_apart
    await session.append(
        WindowLearned(
            endpoint.name, endpoint.label, window, ceiling, size, asked, estimated, str(error), bytes=too_large
        )
    )
    session.refresh()
    if apart and not session.target.window.output_apart and session.kit.settings.entry_for(endpoint.name).output_apart:
        session.tell(
            f'{endpoint.name} takes the answer from its window: models."{endpoint.name}".output_apart is wrong'
        )
    session.metered()


def unsaid(view: View, reply: Reply, size: Size, estimated: int) -> str:
    """How a server told that the request was too long, when it did not say so; nothing where it did not tell."""
    usage = reply.usage
    if usage is None:
        return ""
    if dropped_silently(view, usage, size, estimated):
        return f"read {usage.input:,} tokens of about {size.total:,}: it dropped the beginning without saying so"
    nothing = not (reply.text.strip() or reply.calls or reply.thinking or usage.output or usage.reasoning)
    if reply.stop == "length" and nothing and usage.input:
        return f"read {usage.input:,} tokens and had no room left for a word of an answer"
    return ""


async def learn_silently(session: Session, reply: Reply, size: int, estimated: int, why: str) -> None:
    """A server that did not say that the request was too long: an overflow, and no measurement."""
    text = f"the server {why}"
    session.emit(Restreamed())
    session.tell(text, "warning")
    endpoint = session.target.endpoint
    # It was answered all the same, so it is to be paid for.
    cost = session.price_of(session.view.model, reply.usage)
    body = WindowLearned(endpoint.name, endpoint.label, None, size, size, estimated=estimated, detail=text, silent=True)
    await session.append(replace(body, usage=reply.usage, cost=cost))
    session.refresh()
    session.metered()
