"""What can be chosen from: the likely models first, with what is known of each; and servers of this machine."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agent.endpoints import Endpoints
from agent.models.probe import Probed
from agent.models.scripted import Say
from agent.reading.at_hand import SENSIBLE
from agent.reading.model_rows import KNOWN, ModelRow, Switch, model_rows
from agent.reading.servers import PORTS, Served, fetched, servers
from agent.session import Kit
from compaction.records import Usage
from tests.agent.loop.harness import Story

SERVED = Served("openai/qwen", 8080, "http://127.0.0.1:8080/v1", "a server on port 8080", Probed(32_768, None))


def kit_of(story: Story, environ: Mapping[str, str] = {}) -> Kit:
    kit = story.kit()
    return replace(kit, endpoints=Endpoints(kit.settings, environ))


def groups(rows: object) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows))  # type: ignore[attr-defined]


async def test_the_likely_models_stand_first_and_each_stands_once(tmp_path: Path) -> None:
    async with Story(tmp_path, [Say("Hello.", usage=Usage(10, 0, 0, 2))], more='[models."openai/mine"]') as story:
        await story.say("hi")
    kit = kit_of(story, {"ANTHROPIC_API_KEY": "sk-1"})
    rows = list(model_rows(kit, "deepseek/deepseek-chat", embedded=True, look=lambda: [SERVED]))
    names = [row.name for row in rows]
    assert len(names) == len(set(names)) > 3_000
    assert groups(rows) == ["current", "recent", "settings", "server", "embedded", "key", "known", "other"]
    assert names[:5] == ["deepseek/deepseek-chat", "openai/scripted", "openai/mine", "openai/qwen", "embedded/smollm2"]
    assert {row.ready for row in rows if row.group == "key"} == {True}
    assert True not in {row.ready for row in rows if row.group in ("known", "other")}


def test_well_known_models_stand_before_the_alphabet(tmp_path: Path) -> None:
    rows = list(model_rows(kit_of(Story(tmp_path), {"OPENAI_API_KEY": "sk-1"}), "", embedded=True, look=list))
    of = {group: [row.name for row in rows if row.group == group] for group in ("key", "known", "other")}
    assert of["key"][:KNOWN] == [name for name in SENSIBLE["openai"] if name in of["key"]][:KNOWN]
    assert of["key"][KNOWN:] == sorted(of["key"][KNOWN:])
    assert of["known"][0] in SENSIBLE["anthropic"]
    assert len(of["known"]) > 20 and set(of["known"]) <= {name for names in SENSIBLE.values() for name in names}
    assert of["other"] == sorted(of["other"])


async def test_a_slow_server_holds_no_other_row_up_and_a_served_model_takes_its_own_row_over(tmp_path: Path) -> None:
    late = threading.Event()

    def look() -> list[Served]:
        late.wait(30)
        return [replace(SERVED, model="openai/scripted")]

    rows = model_rows(kit_of(Story(tmp_path)), "claude-sonnet-4-5", embedded=True, look=look)
    first = [next(rows) for _ in range(3)]
    assert [row.name for row in first] == ["claude-sonnet-4-5", "openai/scripted", "embedded/smollm2"]
    late.set()
    assert [row for row in rows if row.name == "openai/scripted"] == [
        replace(first[1], group="server", ready=True, way="a server on port 8080", api_base="http://127.0.0.1:8080/v1")
    ]


def test_a_row_says_what_is_known_and_nothing_else(tmp_path: Path) -> None:
    rows = {row.name: row for row in model_rows(kit_of(Story(tmp_path)), "", embedded=False, look=lambda: [SERVED])}
    assert rows["openai/scripted"].source == "user" and rows["openai/scripted"].window == 100_000
    assert rows["openai/scripted"].way == "needs OPENAI_API_KEY" and rows["openai/scripted"].ready is False
    assert rows["openai/qwen"] == ModelRow(
        "openai/qwen", "server", 32_768, "probed", None, None, None, None, 28_672, True, "a server on port 8080",
        "http://127.0.0.1:8080/v1",
    )  # fmt: skip
    claude = rows["claude-sonnet-4-5"]
    assert (claude.source, claude.input, claude.output) == ("catalogue", 3.0, 15.0)


def test_switching_costs_what_no_cache_holds_and_tells_what_does_not_fit(tmp_path: Path) -> None:
    rows = {row.name: row for row in model_rows(kit_of(Story(tmp_path)), "", embedded=False, look=lambda: [SERVED])}
    assert rows["claude-sonnet-4-5"].switch(100_000) == Switch(100_000, pytest.approx(0.375), 190_000)
    assert rows["claude-sonnet-4-5"].switch(100_000).fits
    small = rows["openai/qwen"].switch(30_000)
    assert (small.dollars, small.fits) == (None, False)


def test_servers_are_asked_on_loopback_only_and_say_what_they_run_with() -> None:
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        if ":8080/v1/models" in url:
            return b'{"data": [{"id": "qwen"}, {"id": 7}, {"id": "text-embedding"}]}'
        if ":8080/props" in url:
            return b'{"default_generation_settings": {"n_ctx": 32768}}'
        if ":8000" in url:
            return b'{"data": "none"}'
        raise OSError("refused")

    assert servers(fetch) == [replace(SERVED, found="a server on port 8080, where llama.cpp listens")]
    assert all(url.startswith("http://127.0.0.1:") for url in asked)
    assert {int(url.split(":")[2].split("/")[0]) for url in asked} == set(PORTS)


def test_a_server_that_never_answers_holds_nothing_up() -> None:
    stuck = threading.Event()

    def fetch(url: str) -> bytes:
        if ":8080" in url:
            return b'{"data": [{"id": "qwen"}]}'
        stuck.wait()
        return b""

    try:
        assert [one.model for one in servers(fetch)] == ["openai/qwen"]
    finally:
        stuck.set()


@contextmanager
def listening(answer: Callable[[http.server.BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_no_answer_sends_the_question_elsewhere() -> None:
    heard: list[str] = []

    def away(handler: http.server.BaseHTTPRequestHandler) -> None:
        heard.append(handler.path)
        if handler.path == "/there":
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(json.dumps({"data": []}).encode())
            return
        handler.send_response(302)
        handler.send_header("location", "/there")
        handler.end_headers()

    with listening(away) as base, pytest.raises(OSError, match="302"):
        fetched(f"{base}/v1/models")
    assert heard == ["/v1/models"]


def test_a_model_that_the_settings_have_elsewhere_is_not_taken_over_by_a_server_here(tmp_path: Path) -> None:
    far = '[models."openai/qwen"]\napi_base = "https://gpu.example/v1"\n'
    near = '[models."openai/qwen"]\napi_base = "http://127.0.0.1:8080/v1/"\n'
    for n, (more, base) in enumerate(((far, None), (near, SERVED.api_base))):
        kit = kit_of(Story(tmp_path / str(n), more=more))
        rows = [r for r in model_rows(kit, "", embedded=False, look=lambda: [SERVED]) if r.name == "openai/qwen"]
        assert rows[-1].api_base == base
        assert rows[0].way == ("at https://gpu.example/v1" if base is None else "at http://127.0.0.1:8080/v1/")
