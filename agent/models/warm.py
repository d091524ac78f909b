"""One throw-away answer in the child process, so that the first real one does not pay for late imports (0.35 s).

Nothing leaves the machine: a server on the loopback address answers, in this process, and is closed at once.
"""

from __future__ import annotations

import asyncio
from types import ModuleType

# The families whose client code is imported on first use; the rest builds on one of these.
MODELS = ("openai/warm", "anthropic/claude-sonnet-4-5")

# Seconds; on a machine too slow for it the real request comes first anyway.
PATIENCE = 10.0

_ANSWER = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    b'data: {"id":"w","object":"chat.completion.chunk","created":1,"model":"w","choices":[{"index":0,"delta":'
    b'{"role":"assistant","content":"w"},"finish_reason":null}]}\n\n'
    b'data: {"id":"w","object":"chat.completion.chunk","created":1,"model":"w","choices":[{"index":0,"delta":{},'
    b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(_ANSWER)
    await writer.drain()
    writer.close()


async def warm(library: ModuleType) -> None:
    """Asks once per family. What goes wrong is the caller's to ignore: the real request will say it."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    async with server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        for model in MODELS:
            stream = await library.acompletion(
                model=model, api_base=base, api_key="none", messages=[{"role": "user", "content": "w"}], stream=True,
                stream_options={"include_usage": True}, max_retries=0, timeout=PATIENCE,
            )  # fmt: skip
            async for _ in stream:
                pass
            await stream.aclose()
