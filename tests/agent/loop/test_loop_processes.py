"""The program as processes against a provider on this machine: what must hold from one run to the next."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent.models.stub_server import Received, StubServer
from agent.models.stub_tokens import canonical
from tests.agent.loop.harness import summary
from tests.architecture.tree import ROOT

# Only a run that hangs meets it, seconds.
HANGING = 120

MAIN = "from tui.cli import main; raise SystemExit(main())"


@dataclass
class Ran:
    """What a process left."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [e for e in self.events if e["event"] == event]


@dataclass
class User:
    """One user's homes and folder."""

    root: Path
    server: StubServer

    @property
    def folder(self) -> Path:
        return self.root / "work"

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        self.folder.mkdir(exist_ok=True)
        names = ("DATA", "CONFIG", "STATE", "CACHE")
        env = os.environ | {f"XDG_{name}_HOME": str(self.root / name.lower()) for name in names}
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", MAIN, *arguments, cwd=self.folder, env={**env, "PYTHONPATH": str(ROOT)},
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

    def asking(self, *arguments: str, window: int = 200_000) -> tuple[str, ...]:
        model = ("--model", "openai/stub", "--api-base", self.server.base, "--window", str(window), "--mode", "auto")
        return ("exec", "--json", *model, *arguments)

    async def run(self, *arguments: str) -> Ran:
        process = await self.start(*arguments)
        out, err = await asyncio.wait_for(process.communicate(), HANGING)
        assert process.returncode is not None
        return Ran(process.returncode, out.decode(), err.decode())


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def turns(server: StubServer) -> list[Received]:
    return [r for r in server.asked if r.body.get("tools")]


def prefix(received: Received) -> str:
    return canonical([received.body["tools"], *received.messages])[:-1]


def brings(characters: int) -> dict[str, Any]:
    return {"calls": [{"name": "bash", "arguments": {"command": f"head -c {characters} /dev/zero | tr '\\0' x"}}]}


async def test_a_window_is_learned_by_one_process_and_known_to_the_next(tmp_path: Path) -> None:
    steps = [{"when": "<conversation>", "text": summary()}, *[brings(6_000)] * 9, {"text": "done"}]
    async with StubServer(steps, window=14_000) as server:
        user = User(tmp_path, server)
        first = await user.run(*user.asking("look at everything"))
        assert first.code == 0, first.err
        assert "its window is 14,000 tokens" in first.err
        assert len([e for e in first.of("gate") if e["gate"] == "reactive"]) <= 1
        learned = [e["record"] for e in first.of("appended") if e["record"]["kind"] == "window_learned"]
        assert [r["window"] for r in learned] == [14_000]
        second = await user.run(*user.asking("again"))
        assert second.code == 0, second.err
        assert {(e["window"], e["window_source"]) for e in second.of("metered")} == {(14_000, "learned")}
        rows = await user.run(
            "models", "--json", "--model", "openai/stub", "--api-base", server.base, "--window", "200000"
        )
        listed = json.loads(rows.out)
        assert {"model": "openai/stub", "window": 14_000, "source": "learned"}.items() <= listed[0].items()


async def test_requests_of_three_processes_continue_one_another_byte_for_byte(tmp_path: Path) -> None:
    async with StubServer([brings(100), {"text": "one"}, {"text": "two"}, brings(50), {"text": "three"}]) as server:
        user = User(tmp_path, server)
        user.folder.mkdir()
        (user.folder / "AGENTS.md").write_text("Be brief.")
        assert (await user.run(*user.asking("first"))).code == 0
        (user.folder / "AGENTS.md").write_text("Be long.")
        assert (await user.run(*user.asking("--continue", "second"))).code == 0
        assert (await user.run("exec", "--json", "--continue", "--mode", "plan", "third")).code == 0
        sent = turns(server)
        assert len(sent) == 5
        for before, after in pairwise(sent):
            assert prefix(after).startswith(prefix(before))


async def test_a_prompt_that_cannot_fit_is_refused_before_anything_is_sent_or_logged(tmp_path: Path) -> None:
    async with StubServer([{"text": "never"}]) as server:
        user = User(tmp_path, server)
        ran = await user.run(*user.asking("word " * 12_000, window=8_000))
        assert ran.code == 3
        assert "at most 7,000" in ran.err + ran.out
        assert turns(server) == []
        assert [e["record"]["kind"] for e in ran.of("appended")] == ["started"]
        assert ran.of("idle")[-1]["stop"] == "refused"


async def test_an_answer_that_breaks_off_is_kept_and_the_next_run_goes_on(tmp_path: Path) -> None:
    text = "This answer is long enough to be cut in its middle. " * 4
    async with StubServer([{"text": text, "drop": "middle"}, {"text": "the rest"}]) as server:
        user = User(tmp_path, server)
        ran = await user.run(*user.asking("tell me"))
        assert ran.code == 1
        assert ran.of("idle")[-1]["stop"] == "failed"
        assert len(turns(server)) == 1
        partial = [e["record"] for e in ran.of("appended") if e["record"]["kind"] == "assistant_said"]
        assert [p["stop"] for p in partial] == ["failed"]
        assert text.startswith(partial[0]["text"])
        assert (await user.run(*user.asking("--continue", "go on"))).code == 0
        assert partial[0]["text"] in canonical(turns(server)[1].messages)


async def test_killed_while_a_hook_runs_nothing_of_the_hook_is_left(tmp_path: Path) -> None:
    async with StubServer([{"text": "never"}]) as server:
        user = User(tmp_path, server)
        (tmp_path / "config" / "ullage").mkdir(parents=True)
        hook = '[[hooks]]\nevent = "prompt"\ntimeout = "10m"\n'
        command = "setsid sleep 1000 & echo $$ $! > draft; mv draft pids; wait"
        (tmp_path / "config" / "ullage" / "config.toml").write_text(f'{hook}command = "{command}"\n')
        process = await user.start(*user.asking("hello"))
        while not (user.folder / "pids").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        for pid in (user.folder / "pids").read_text().split():
            while alive(int(pid)):  # noqa: ASYNC110 - another process ends it
                await asyncio.sleep(0.05)


async def test_killed_while_a_tool_runs_the_session_opens_with_its_calls_closed_and_compacts(tmp_path: Path) -> None:
    slow = {"calls": [{"name": "bash", "arguments": {"command": "touch begun; sleep 300"}}]}
    async with StubServer([{"when": "<conversation>", "text": summary()}, *[brings(3_000)] * 4, slow]) as server:
        user = User(tmp_path, server)
        process = await user.start(*user.asking("look, then sleep"))
        while not (user.folder / "begun").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        ran = await user.run("compact", "last", "--json")
        assert ran.code == 0, ran.out + ran.err
        assert json.loads(ran.out.splitlines()[-1])["tag"] == "asked.compacted"
        checked = await user.run("verify", "last", "--json")
        assert checked.code == 0, checked.out
