"""Tokens in headers are a server's to know, and nobody's to read in a sentence."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from agent.mcp.connection import Connection, Failed
from agent.tools.processes import Guard


async def test_what_a_header_holds_is_in_no_sentence_though_the_server_repeats_it() -> None:
    class Repeating:
        async def call_tool(self, *_: object, **__: object) -> None:
            raise MCPError(-32_000, "the token sk-4711-abc of 'Bearer sk-4711-abc' is spent, 42")

    spec = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer sk-4711-abc", "X-Team": "42"}}
    connection = Connection(spec, lambda lists: None, Guard())
    connection._client = Repeating()
    said = "the token … of '…' is spent, 42"
    with pytest.raises(Failed) as failed:
        await connection.call({"tool": "t", "arguments": {}, "timeout": 10.0}, lambda said: None)
    assert str(failed.value) == said
    assert str(connection.failure(MCPError(0, "no sk-4711-abc"))) == "no …"
