"""One child process and one server for each module: the client's start takes seconds."""

from __future__ import annotations

from tests.agent.cache.conftest import provider

__all__ = ["provider"]
