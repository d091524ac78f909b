"""One child process for all tests of the remote model: its start takes seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agent.model import Endpoint
from agent.models.remote import RemoteModel
from agent.models.stub_server import StubServer
from tests.agent.models.bench import Bench


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    log = tmp_path_factory.mktemp("remote") / "host.log"
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    model = RemoteModel(log=log, sleep=sleep, chance=lambda: 0.5)
    model.start()
    async with StubServer() as server:
        yield Bench(model, server, log, waits)
    await model.aclose()


@pytest.fixture(params=["openai", "anthropic"])
def endpoint(request: pytest.FixtureRequest, shared: Bench) -> Endpoint:
    found: Endpoint = getattr(shared, request.param)
    return found
