"""What the tests of the remote model share: the model over its real child process, and a server to script."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agent.model import Endpoint, ModelError, Part, Reply, Request, Text
from agent.models.remote import RemoteModel
from agent.models.stub_server import Step, StubServer

KEY = "sk-never-to-be-seen"

TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Reads a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
THINK = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}


class Bench:
    """The model with its waits written down instead of waited, and a server to script."""

    def __init__(self, model: RemoteModel, server: StubServer, log: Path, waits: list[float]) -> None:
        self.model, self.server, self.log, self.waits = model, server, log, waits

    @property
    def openai(self) -> Endpoint:
        return Endpoint("mine", "openai/scripted", self.server.base, KEY)

    @property
    def anthropic(self) -> Endpoint:
        return Endpoint("claude", "anthropic/claude-sonnet-4-5", self.server.origin, KEY)

    def script(self, *steps: Step) -> None:
        self.server.steps[:] = steps
        self.server.received.clear()
        self.waits.clear()

    async def ask(self, endpoint: Endpoint, request: Request) -> list[Part]:
        parts: list[Part] = []
        async with aclosing(self.model.stream(endpoint, request)) as stream:
            async for part in stream:
                parts.append(part)
        return parts

    async def reply(self, endpoint: Endpoint, request: Request) -> Reply:
        last = (await self.ask(endpoint, request))[-1]
        assert isinstance(last, Reply)
        return last

    async def error(self, endpoint: Endpoint, request: Request) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await self.ask(endpoint, request)
        return caught.value


def asking(text: str = "hello", **more: Any) -> Request:
    given = {"max_tokens": 100, "deadline": 20.0} | more
    return Request(({"role": "user", "content": text},), **given)


def texts(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
