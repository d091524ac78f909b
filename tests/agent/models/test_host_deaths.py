"""What happens when our own model process dies, hangs or never comes up: told, killed, started again."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from agent.model import Endpoint, HostDied, Part, Reply, Request, Text
from agent.models.host_process import environment, package_root
from agent.models.remote import RemoteModel
from tests.agent.models.fake_host import installed

ASKING = Request(({"role": "user", "content": "hello"},))


def endpoint(what: str) -> Endpoint:
    return Endpoint("fake", f"openai/{what}", "http://127.0.0.1:1/v1")


async def ask(model: RemoteModel, what: str) -> list[Part]:
    parts: list[Part] = []
    async with aclosing(model.stream(endpoint(what), ASKING)) as stream:
        async for part in stream:
            parts.append(part)
    return parts


async def died(model: RemoteModel, what: str) -> HostDied:
    with pytest.raises(HostDied) as caught:
        await ask(model, what)
    return caught.value


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "host.log"


@pytest.fixture
async def model(tmp_path: Path, log: Path) -> AsyncIterator[RemoteModel]:
    model = RemoteModel(installed(tmp_path), log, beat=0.02, patience=150, cancel_patience=3)
    yield model
    await model.aclose()


async def test_a_death_in_mid_stream_is_told_and_the_next_request_works(model: RemoteModel, log: Path) -> None:
    error = await died(model, "dies")
    assert error.kept == "half of"
    assert "ended unexpectedly" in str(error)
    assert str(log) in str(error)
    assert (await ask(model, "hello"))[-1] == Reply("hello", (), None, "done")


async def test_every_open_stream_learns_of_the_death(model: RemoteModel) -> None:
    await ask(model, "hello")
    waiting = [asyncio.create_task(died(model, "waits")) for _ in range(3)]
    await asyncio.sleep(0)
    await died(model, "crashes")
    assert len(await asyncio.gather(*waiting)) == 3


async def test_a_second_death_in_a_row_is_said_to_be_one(model: RemoteModel) -> None:
    await died(model, "crashes")
    assert "ended again" in str(await died(model, "crashes"))
    await ask(model, "hello")
    assert "ended unexpectedly" in str(await died(model, "crashes"))


async def test_a_child_that_died_between_two_requests_is_started_again(model: RemoteModel) -> None:
    await ask(model, "hello")
    before = model.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    await model.ended()
    assert isinstance((await ask(model, "hello"))[-1], Reply)
    assert model.pid != before


async def test_a_child_that_stops_answering_is_killed(model: RemoteModel) -> None:
    error = await died(model, "stops")
    assert error.kept == "half of"
    assert "it stopped answering" in str(error)
    assert isinstance((await ask(model, "hello"))[-1], Reply)


async def test_a_child_that_does_not_answer_a_cancel_is_killed(tmp_path: Path) -> None:
    model = RemoteModel(installed(tmp_path), beat=60, cancel_patience=0.05)
    async with aclosing(model.stream(endpoint("stops"), ASKING)) as stream:
        assert await anext(stream) == Text("half of")
    await model.ended()
    assert isinstance((await ask(model, "hello"))[-1], Reply)
    await model.aclose()


async def test_stray_prints_are_no_messages(model: RemoteModel) -> None:
    assert (await ask(model, "prints"))[-1] == Reply("hello", (), None, "done")


@pytest.mark.parametrize("start", ["broken", "failed"])
async def test_a_child_that_never_comes_up_says_why(tmp_path: Path, log: Path, start: str) -> None:
    model = RemoteModel(installed(tmp_path, start), log)
    error = await died(model, "hello")
    assert "does not start: " in str(error)
    assert "No module named 'litellm'" in str(error)
    assert str(log) in str(error)
    await model.aclose()


async def test_a_child_that_fails_to_come_up_once_is_started_again(tmp_path: Path) -> None:
    model = RemoteModel(installed(tmp_path, "once"))
    assert isinstance((await ask(model, "hello"))[-1], Reply)
    await model.aclose()


async def test_an_interpreter_that_does_not_exist_is_a_clear_error(tmp_path: Path) -> None:
    model = RemoteModel(str(tmp_path / "no-such-python"))
    assert "no-such-python" in str(await died(model, "hello"))
    await model.aclose()


async def test_the_child_runs_apart_from_the_users_folder_and_terminal(model: RemoteModel) -> None:
    reply = (await ask(model, "where"))[-1]
    assert isinstance(reply, Reply)
    facts = json.loads(reply.text)
    assert (facts["cwd"], facts["session"]) == ("/", True)
    assert facts["argv"][:3] == ["-P", "-m", "agent.models.host"]


async def test_closing_ends_the_child_and_what_waits_for_it(model: RemoteModel) -> None:
    await ask(model, "hello")
    pid = model.pid
    assert pid is not None
    waiting = asyncio.create_task(died(model, "waits"))
    await asyncio.sleep(0)
    await model.aclose()
    await model.aclose()
    await waiting
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert "ending" in str(await died(model, "hello"))


def test_the_child_finds_the_package_and_only_absolute_paths() -> None:
    root = package_root()
    assert environment({"PYTHONPATH": f".{os.pathsep}/opt/x"}, root)["PYTHONPATH"] == f"{root}{os.pathsep}/opt/x"
    assert "PYTHONPATH" not in environment({"PYTHONPATH": "src"}, "/venv/lib/python3.11/site-packages")


def test_a_log_grown_large_is_emptied_and_only_its_owner_reads_it(tmp_path: Path, log: Path) -> None:
    log.parent.mkdir()
    log.write_bytes(b"x" * 1_100_000)
    log.chmod(0o600)
    model = RemoteModel(installed(tmp_path), log)
    model.start()
    assert log.stat().st_size < 1_000_000
    assert log.stat().st_mode & 0o077 == 0
    asyncio.run(model.aclose())


def test_the_real_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """Ready and idle: the end of its input is enough."""
    parent = (
        "import asyncio, sys, signal; sys.path.insert(0, sys.argv[1])\n"
        "from agent.models.remote import RemoteModel\n"
        "model = RemoteModel(); asyncio.run(model.ready()); print(model.pid, flush=True); signal.pause()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", parent, package_root()], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(6_000):
        if not Path(f"/proc/{child}").exists() or _state(child) == "Z":
            return
        asyncio.run(asyncio.sleep(0.01))
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child outlived its parent")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
