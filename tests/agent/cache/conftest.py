"""One child process and one server for each module: the client's start takes seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from agent.models.remote import RemoteModel
from agent.models.stub_server import StubServer
from tests.agent.cache.provider import Provider


async def _no_wait(seconds: float) -> None:
    pass


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Provider]:
    model = RemoteModel(log=tmp_path_factory.mktemp("remote") / "host.log", sleep=_no_wait, chance=lambda: 0.5)
    model.start()
    async with StubServer() as server:
        yield Provider(model, server)
    await model.aclose()
