"""A call that tells of its progress is given more time, not for ever; the clock jumps where a loop would wait."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from agent.mcp.connection import MOST_PATIENCE, Connection
from agent.mcp.host import PACE, Paced
from agent.models.pipe import Message
from agent.tools.processes import Guard


class Jumping(selectors.SelectSelector):
    """Nothing is waited for: where a loop would wait, the time has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is not None:
            self.now += timeout
        return ready


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.clock = Jumping()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(work())


class Client:
    """A server that says `words` times that it works, `pause` seconds apart, and then answers."""

    def __init__(self, words: int, pause: float) -> None:
        self.words, self.pause = words, pause

    async def call_tool(self, tool: str, arguments: Any, progress_callback: Any) -> Any:
        for n in range(self.words):
            await asyncio.sleep(self.pause)
            await progress_callback(n + 1, None, "works")
        await asyncio.sleep(self.pause)
        return SimpleNamespace(content=[], structured_content=None, is_error=False)


def asked(client: Client) -> tuple[Coroutine[Any, Any, Message], list[Message]]:
    connection = Connection({"url": "", "headers": {}}, lambda lists: None, Guard())
    connection._client = client
    heard: list[Message] = []
    return connection.call({"tool": "t", "arguments": {}, "timeout": 10.0}, heard.append), heard


def test_each_word_of_progress_gives_a_call_its_whole_time_again() -> None:
    async def work() -> None:
        call, heard = asked(Client(words=8, pause=9.0))
        assert (await call)["failed"] is False
        assert heard[-1] == {"done": 8, "total": None, "said": "works"}
        assert asyncio.get_running_loop().time() == pytest.approx(81)

    run(work)


def test_silence_and_counting_for_ever_both_end_it() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(TimeoutError):
            await asked(Client(words=0, pause=11.0))[0]
        assert loop.time() == pytest.approx(10)
        with pytest.raises(TimeoutError):
            await asked(Client(words=10_000, pause=1.0))[0]
        assert loop.time() == pytest.approx(10 + MOST_PATIENCE * 10)

    run(work)


def test_a_flood_of_progress_becomes_a_few_words_and_the_last_is_among_them() -> None:
    async def work() -> None:
        sent: list[Message] = []
        paced = Paced(asyncio.get_running_loop(), sent.append)
        for n in range(1_000):
            paced({"done": n})
            await asyncio.sleep(PACE / 100)
        await asyncio.sleep(1)
        assert sent[0] == {"done": 0} and sent[-1] == {"done": 999}
        assert 9 <= len(sent) <= 13

    run(work)
