"""The scripted model keeps the contract of `Model` and records what it was asked."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from agent.model import (
    CallGrowing,
    ContextOverflow,
    CutOff,
    EmptyReply,
    Endpoint,
    Model,
    ModelError,
    Overloaded,
    Part,
    Reply,
    Request,
    Text,
    Thinking,
)
from agent.models.scripted import Say, ScriptedModel
from compaction.records import ToolCall, Usage

HERE = Endpoint("scripted", "scripted")


def asking(*texts: str, max_tokens: int | None = None) -> Request:
    return Request(tuple({"role": "user", "content": text} for text in texts), max_tokens=max_tokens)


async def ask(model: Model, request: Request) -> list[Part]:
    async with aclosing(model.stream(HERE, request)) as stream:  # type: ignore[type-var]
        return [part async for part in stream]


async def reply(model: Model, request: Request) -> Reply:
    last = (await ask(model, request))[-1]
    assert isinstance(last, Reply)
    return last


async def test_a_reply_streams_in_pieces_and_ends_whole() -> None:
    said = Say("One two.", (("read", '{"path":"a"}'),), reasoning="Hm.", thinking='{"x":1}', pieces=4)
    assert await ask(ScriptedModel([said]), asking("hello")) == [
        Thinking("Hm."),
        Text("One "),
        Text("two."),
        CallGrowing(0, "read", 12),
        Reply("One two.", (ToolCall("call_1_0", "read", '{"path":"a"}'),), Usage(9, 0, 0, 6, 1), "calls", '{"x":1}'),
    ]


async def test_replies_come_in_order_then_the_default_and_all_requests_are_kept() -> None:
    model = ScriptedModel(["one", lambda request: str(len(request.messages))])
    assert [(await reply(model, asking("a", "b"))).text for _ in range(4)] == ["one", "2", "Done.", "Done."]
    assert [len(request.messages) for request in model.requests] == [2, 2, 2, 2]
    assert model.asked[0].endpoint is HERE


async def test_counted_usage_caches_what_requests_have_in_common() -> None:
    model = ScriptedModel()
    first = (await reply(model, asking("a" * 400))).usage
    second = (await reply(model, asking("a" * 400, "more"))).usage
    assert first is not None
    assert second is not None
    assert (first.cache_read, second.cache_read) == (0, first.input)


async def test_usage_may_be_stated_or_missing() -> None:
    model = ScriptedModel([Say("x", usage=Usage(1, 2, 3, 4, 5)), Say("x", usage=None)])
    assert (await reply(model, asking("a"))).usage == Usage(1, 2, 3, 4, 5)
    assert (await reply(model, asking("a"))).usage is None


async def test_a_request_beyond_the_window_is_refused_and_uses_up_no_reply() -> None:
    model = ScriptedModel(["first"], window=100)
    with pytest.raises(ContextOverflow) as caught:
        await ask(model, asking("x" * 1_000))
    assert caught.value.window == 100
    assert caught.value.asked is not None
    assert caught.value.asked > 100
    assert (await reply(model, asking("x"))).text == "first"


async def test_a_refusal_may_be_without_numbers() -> None:
    with pytest.raises(ContextOverflow) as caught:
        await ask(ScriptedModel(window=100, states_window=False), asking("x", max_tokens=200))
    assert (caught.value.window, caught.value.asked) == (None, None)


@pytest.mark.parametrize("scripted", [Overloaded("busy"), Say(error=Overloaded("busy"))])
async def test_an_error_is_raised(scripted: Say | ModelError) -> None:
    with pytest.raises(Overloaded):
        await ask(ScriptedModel([scripted]), asking("a"))


async def test_an_error_after_text_keeps_the_text() -> None:
    with pytest.raises(CutOff) as caught:
        await ask(ScriptedModel([Say("half of it", error=CutOff("broke"))]), asking("a"))
    assert caught.value.kept == "half of it"


async def test_an_empty_answer_is_an_error_unless_it_was_cut_or_is_wanted() -> None:
    with pytest.raises(EmptyReply):
        await ask(ScriptedModel([Say("")]), asking("a"))
    assert (await reply(ScriptedModel([Say("", stop="length")]), asking("a"))).stop == "length"
    assert (await reply(ScriptedModel([Say("", empty=True)]), asking("a"))).text == ""


async def test_a_reply_can_be_held_and_cancelled() -> None:
    started, never = asyncio.Event(), asyncio.Event()
    model = ScriptedModel([Say("never", started=started, wait=never)])
    task = asyncio.create_task(ask(model, asking("a")))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.cancelled == 1


async def test_the_last_piece_can_be_held_back() -> None:
    hold = asyncio.Event()
    model = ScriptedModel([Say("abcdef", pieces=2, hold=hold)])
    async with aclosing(model.stream(HERE, asking("a"))) as stream:
        assert [await anext(stream), await anext(stream)] == [Text("ab"), Text("cd")]
        hold.set()
        assert await anext(stream) == Text("ef")


async def test_closing_is_noted() -> None:
    model = ScriptedModel()
    await model.aclose()
    assert model.closed
