"""A model provider that follows a script, on a port of this machine: for tests, demonstrations, and trying things out.

Not a model and not for any network: it listens on the loopback address only.

    python -m agent.models.stub_server script.json [--port 8080] [--window 8000]

It speaks the OpenAI chat API (`/v1/chat/completions`) and the Anthropic one (`/v1/messages`), both streaming, and
answers `/v1/models` and `/props`. A script is a list of steps, or `{"steps": […], "window": …, …}` with the options of
`StubServer`. A step is an object; all keys are optional:

    text, chunk          the answer, and how many characters go into one event (16)
    calls                [{"name", "arguments": object or text, "id": text or null (sent without)}]
    thinking, signature, redacted      reasoning before the answer; the last two in the Anthropic spelling only
    finish               the finish reason; null: the stream ends without one
    usage                the counts to report as they are; null: none. Left out: counted (`stub_tokens`)
    when                 answers every request whose body contains this text, in whatever order; never used up
    delay, pause         seconds before the headers, and between events
    hang                 "before" the headers, "first" (headers only) or "middle": then nothing, until the client leaves
    drop                 "before" the headers, "middle" (connection closed) or "reset"
    error                {"status", "body", "headers"}; "text" first and then "error_event": body sent inside the stream
    html, json           true: a web page, or a whole completion, instead of a stream
    empty                true: a stream without any event; "done": with nothing but its end

Steps are used in order; when they run out, `default` is repeated. In Python a step may be a function from `Received`
to a step. Every request is recorded (`received`), raw.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from agent.models.stub_speech import CREATED, anthropic_events, calls_of, openai_events
from agent.models.stub_tokens import MarkedCache, PrefixCache, anthropic_blocks, request_text, tokens

Step: TypeAlias = Mapping[str, Any]

# Wordings of a refusal for length; the first is what most servers copied.
REFUSALS = {
    "openai": "This model's maximum context length is {window} tokens. However, you requested {total} tokens "
    "({input} in the messages, {output} in the completion). Please reduce the length of the messages or completion.",
    "llama.cpp": "request ({input} tokens) exceeds the available context size ({window} tokens), try increasing it",
    "anthropic": "prompt is too long: {input} tokens > {window} maximum",
    "mute": "Your input exceeds the context window of this model. Please adjust your input and try again.",
}

# What llama.cpp says for a chat template that stops at two messages of one role in a row, the template's text included.
TURNS = (
    "Conversation roles must alternate user/assistant/user/assistant/... at row 19, column 27:\n"
    "{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}\n    {{ raise_exception(\"Conversation roles "
    'must alternate user/assistant/user/assistant/...") }}\n  ^'
)

ANSWERING = ("/chat/completions", "/messages")

PAGE = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>"


@dataclass(slots=True)
class Received:
    """One request: its path, headers, raw bytes and JSON. `left` is set when the client closes before the end."""

    path: str
    headers: Mapping[str, str]
    raw: bytes
    body: Any
    left: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    sent: int = 0

    @property
    def messages(self) -> list[Any]:
        """The messages of the request."""
        return list(self.body.get("messages") or ())


class StubServer:
    """`async with StubServer(steps) as server:` listens on `server.base`. Sizes are tokens, as `count` counts.

    `window`: requests whose input plus `max_tokens` exceed it are refused, in the wording `refusal` names.
    `max_output`: a larger `max_tokens` is refused. `max_bytes`: a larger body is refused with 413. `truncates`: instead
    of refusing, the server silently reads only the last `window` tokens. `alternates`: requests in which user and
    assistant do not take turns are refused as llama.cpp does with a template that wants it. `props` and `models` are
    what those pages answer; None is 404.
    """

    def __init__(
        self, steps: Sequence[Step | Callable[[Received], Step]] = (), *, window: int | None = None,
        max_output: int | None = None, max_bytes: int | None = None, refusal: str = "openai", truncates: bool = False,
        default: Step | None = None, props: Any = None, models: Any = None, count: Callable[[str], int] = tokens,
        usage: bool = True, port: int = 0, alternates: bool = False,
    ) -> None:  # fmt: skip
        self.steps = list(steps)
        self.window, self.max_output, self.max_bytes = window, max_output, max_bytes
        self.refusal, self.truncates, self.reports_usage = refusal, truncates, usage
        self.default: Step = default or {"text": "Done."}
        self.props, self.models = props, models
        self.alternates = alternates
        self.received: list[Received] = []
        self._count = count
        self._prefixes, self._marks = PrefixCache(count), MarkedCache(count)
        self._port = port
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    @property
    def base(self) -> str:
        """The address to use as `api_base` of an `openai/…` model."""
        return f"{self.origin}/v1"

    @property
    def origin(self) -> str:
        """The address to use as `api_base` of an `anthropic/…` model."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def asked(self) -> list[Received]:
        """The requests for an answer, without `/props` and whatever else a server is asked about itself."""
        return [r for r in self.received if r.path.endswith(ANSWERING)]

    async def __aenter__(self) -> StubServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def wait_for(self, number: int) -> Received:
        """Waits until `number` requests for an answer have come; the last of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked) >= number)
        return self.asked[number - 1]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client left, or the server is being closed
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        path = head[0].split(" ")[1].partition("?")[0]
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        request = Received(path, headers, raw, json.loads(raw) if raw else None)
        async with self._arrived:
            self.received.append(request)
            self._arrived.notify_all()
        answer = _Answer(writer)
        leaving = asyncio.create_task(_leaves(reader, request))
        try:
            if path.endswith(ANSWERING):
                await self._follow(request, answer)
            else:
                page = self.props if path == "/props" else self.models if path.endswith("/models") else None
                body = {"error": {"message": "not found"}} if page is None else page
                await answer.whole(404 if page is None else 200, body)
        except ConnectionError:
            # Writing may be the first to find that nobody is there.
            request.left.set()
            raise
        finally:
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving

    def _step(self, request: Received) -> Step:
        text = request.raw.decode("utf-8", "replace")
        for step in self.steps:
            if not callable(step) and "when" in step and step["when"] in text:
                return step
        for i, step in enumerate(self.steps):
            if callable(step) or "when" not in step:
                del self.steps[i]
                return step(request) if callable(step) else step
        return self.default

    async def _follow(self, request: Received, answer: _Answer) -> None:
        if refused := self._refused(request):
            await answer.whole(*refused)
            return
        step = self._step(request)
        await asyncio.sleep(step.get("delay", 0))
        if step.get("hang") == "before":
            request.started.set()
            await request.left.wait()
        elif step.get("drop") == "before":
            answer.abort()
        elif error := step.get("error"):
            await answer.whole(error.get("status", 500), error.get("body", ""), error.get("headers"))
        elif step.get("html"):
            await answer.whole(200, PAGE)
        elif step.get("json"):
            await answer.whole(200, self._completion(request, step))
        else:
            await self._stream(request, step, answer)

    async def _stream(self, request: Received, step: Step, answer: _Answer) -> None:
        await answer.begin()
        request.started.set()
        if step.get("empty"):
            await answer.event("data: [DONE]\n\n" if step["empty"] == "done" else "")
            await answer.end()
            return
        number, model = len(self.asked), str(request.body.get("model"))
        speak = anthropic_events if request.path.endswith("/messages") else openai_events
        events = list(speak(step, number, model, self._usage(request, step)))
        if step.get("hang") == "first":
            events = []
        stop = max(1, len(events) // 2) if {"hang", "drop", "error_event"} & step.keys() else len(events)
        for event in events[:stop]:
            if request.left.is_set():
                return
            await answer.event(event)
            request.sent += 1
            await asyncio.sleep(step.get("pause", 0))
        if step.get("hang"):
            await request.left.wait()
        elif drop := step.get("drop"):
            answer.abort() if drop == "reset" else None
        elif "error_event" in step:
            await answer.event(f"event: error\ndata: {json.dumps(step['error_event'])}\n\n")
            await answer.end()
        else:
            await answer.end()

    def _size(self, request: Received) -> int:
        if request.path.endswith("/messages"):
            return sum(self._count(text) for text, _ in anthropic_blocks(request.body))
        return self._count(request_text(request.messages, request.body.get("tools") or ()))

    def _refused(self, request: Received) -> tuple[int, Any] | None:
        if self.max_bytes is not None and len(request.raw) > self.max_bytes:
            return 413, "Request Entity Too Large"
        output = int(request.body.get("max_tokens") or request.body.get("max_completion_tokens") or 0)
        if self.max_output is not None and output > self.max_output:
            text = (
                f"max_tokens is too large: {output}. This model supports at most {self.max_output} completion tokens."
            )
            return 400, {"error": {"message": text, "type": "invalid_request_error", "param": "max_tokens"}}
        if self.alternates and not _in_turns(request.messages):
            return 500, {"error": {"code": 500, "message": TURNS, "type": "server_error"}}
        size = self._size(request)
        if self.window is None or self.truncates or size + output <= self.window:
            return None
        text = REFUSALS[self.refusal].format(window=self.window, input=size, output=output, total=size + output)
        error: dict[str, Any] = {"message": text, "type": "invalid_request_error"}
        if self.refusal in ("openai", "mute"):
            error["code"] = "context_length_exceeded"
        if self.refusal == "llama.cpp":
            error |= {"type": "exceed_context_size_error", "n_prompt_tokens": size, "n_ctx": self.window}
        return 400, {"type": "error", "error": error} if self.refusal == "anthropic" else {"error": error}

    def _usage(self, request: Received, step: Step) -> Mapping[str, Any] | None:
        if "usage" in step:
            return step["usage"]  # type: ignore[no-any-return]
        if not self.reports_usage:
            return None
        said = [step.get("text") or "", *(name + args for _, name, args in calls_of(step, 0))]
        output, thought = sum(map(self._count, said)), self._count(step.get("thinking") or "")
        if request.path.endswith("/messages"):
            uncached, read, written = self._marks.measure(anthropic_blocks(request.body))
            return {
                "input_tokens": uncached, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
                "output_tokens": output + thought,
            }  # fmt: skip
        total, cached = self._prefixes.measure(request_text(request.messages, request.body.get("tools") or ()))
        if self.truncates and self.window is not None and total > self.window:
            total = cached = self.window
        return {
            "prompt_tokens": total, "completion_tokens": output + thought, "total_tokens": total + output + thought,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }  # fmt: skip

    def _completion(self, request: Received, step: Step) -> Mapping[str, Any]:
        message = {"role": "assistant", "content": step.get("text", "")}
        return {
            "id": "chatcmpl-0", "object": "chat.completion", "created": CREATED, "model": request.body.get("model"),
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": self._usage(request, step),
        }  # fmt: skip


def _in_turns(messages: Sequence[Any]) -> bool:
    """Whether user and assistant alternate, calls and their results left out, as templates that know tools count."""
    spoken = [m["role"] for m in messages if m["role"] in ("user", "assistant") and not m.get("tool_calls")]
    return all(role == ("user", "assistant")[n % 2] for n, role in enumerate(spoken))


class _Answer:
    """One HTTP answer: whole, or in chunks."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        page = isinstance(body, str)
        data = (body if page else json.dumps(body)).encode()
        kind = "application/json" if not page else "text/html" if data.startswith(b"<") else "text/plain"
        lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {kind}", f"content-length: {len(data)}"]
        lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
        self._writer.write("\r\n".join([*lines, "connection: close", "", ""]).encode() + data)
        await self._writer.drain()

    async def begin(self) -> None:
        lines = [
            "HTTP/1.1 200 OK",
            "content-type: text/event-stream",
            "transfer-encoding: chunked",
            "connection: close",
        ]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())
        await self._writer.drain()

    async def event(self, text: str) -> None:
        if text:
            data = text.encode()
            self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await self._writer.drain()

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def abort(self) -> None:
        self._writer.transport.abort()


async def _leaves(reader: asyncio.StreamReader, request: Received) -> None:
    """Notes when the client closes its side."""
    with suppress(ConnectionError):
        await reader.read()
    request.left.set()


def server_from(script: Any, **options: Any) -> StubServer:
    """A server for a script read from JSON; `options` that are not None win over the script's."""
    given = {"steps": script} if isinstance(script, list) else dict(script)
    steps = given.pop("steps", ())
    return StubServer(steps, **(given | {k: v for k, v in options.items() if v is not None}))


async def _run(server: StubServer) -> None:
    async with server:
        print(f"listening on {server.base}", flush=True)
        await asyncio.get_running_loop().create_future()


def main(arguments: Sequence[str]) -> None:
    """The command line; runs until interrupted."""
    parser = argparse.ArgumentParser(prog="stub_server", description="A scripted model provider on this machine.")
    parser.add_argument("script", type=Path, help="a JSON file with steps")
    parser.add_argument("--port", type=int, default=None)
    parser.add_argument("--window", type=int, default=None, help="refuse longer requests, tokens")
    chosen = parser.parse_args(arguments)
    script = json.loads(chosen.script.read_text(encoding="utf-8"))
    with suppress(KeyboardInterrupt):
        asyncio.run(_run(server_from(script, port=chosen.port, window=chosen.window)))


if __name__ == "__main__":
    main(sys.argv[1:])
