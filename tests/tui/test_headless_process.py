"""The real command as a process, against a scripted provider: what scripts meet, signals and broken pipes included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.tree import ROOT

# Longer than any of these runs takes on a busy machine; only a run that hangs meets it. Seconds.
HANGING = 120

STEPS = [
    {"when": "hangs", "text": "It goes on", "chunk": 4, "hang": "middle"},
    {"when": "sleeps", "calls": [{"name": "bash", "arguments": {"command": "sleep 600"}}]},
    {"when": "answers", "text": "Here it is."},
]

MAIN = "from tui.cli import main; raise SystemExit(main())"


@dataclass
class Machine:
    """A folder to work in, with homes of its own, and the address of a provider."""

    home: Path
    base: str

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts `ullage`; nothing is on its standard input."""
        homes = {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        work = self.home / "work"
        work.mkdir(exist_ok=True)
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, *arguments],
            cwd=work,
            env={**os.environ, **homes, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def exec(self, *arguments: str) -> subprocess.Popen[str]:
        """Starts `ullage exec --json`."""
        model = ("--model", "openai/stub", "--api-base", self.base, "--window", "16000", "--mode", "auto")
        return self.start("exec", "--json", *model, *arguments)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """Runs `ullage` to its end: status, standard output, standard error."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=HANGING)
        return process.returncode, out, err


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": STEPS}))
    command = [sys.executable, "-m", "agent.models.stub_server", str(script), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield Machine(tmp_path, server.stdout.readline().split()[-1])
        server.terminate()


def read_until(process: subprocess.Popen[str], word: str) -> list[str]:
    """Lines of standard output up to one that holds `word`."""
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f"no line with {word}: {lines}, {process.stderr and process.stderr.read()}")


def finish(process: subprocess.Popen[str], lines: list[str]) -> tuple[list[dict[str, Any]], str]:
    """All events of a run, and its standard error."""
    out, err = process.communicate(timeout=HANGING)
    return [json.loads(line) for line in [*lines, *out.splitlines()]], err


def log_of(events: list[dict[str, Any]]) -> list[Any]:
    """What the session's log holds."""
    return [json.loads(line) for line in Path(events[-1]["path"]).read_text(encoding="utf-8").splitlines()]


def records(events: list[dict[str, Any]]) -> list[Any]:
    return [event["record"] for event in events if event["event"] == "appended"]


def test_an_answer_then_every_command_that_reads(machine: Machine) -> None:
    process = machine.exec("answers", "please")
    events, err = finish(process, [])
    assert (process.returncode, err) == (0, "")
    assert records(events) == log_of(events)
    assert [record["kind"] for record in records(events)] == ["started", "user_said", "assistant_said"]
    assert "".join(event["text"] for event in events if event["event"] == "streaming") == "Here it is."
    sizes = [event for event in events if event["event"] == "metered"]
    assert all(sum(size["parts"].values()) == size["used"] for size in sizes)

    before = Path(events[-1]["path"]).read_bytes()
    session = events[-1]["session"]
    context = json.loads(machine.run("context", session[:6], "--json")[1])
    assert sum(item["tokens"] for item in context["items"]) == context["meter"]["used"]
    plan = machine.run("compact", "last", "--preview", "--json")
    assert json.loads(plan[1]).keys() >= {"plan", "committed", "tag"}
    assert machine.run("verify", session, "--json")[0] == 0
    assert "Here it is." in machine.run("export", "last")[1]
    assert Path(events[-1]["path"]).read_bytes() == before


def test_a_signal_in_the_middle_of_an_answer_keeps_what_arrived(machine: Machine) -> None:
    process = machine.exec("hangs")
    lines = read_until(process, '"streaming"')
    process.send_signal(signal.SIGINT)
    events, _ = finish(process, lines)
    assert process.returncode == 130
    assert events[-1]["stop"] == "interrupted"
    assert records(events) == log_of(events)
    assert (records(events)[-1]["kind"], records(events)[-1]["stop"]) == ("assistant_said", "aborted")
    assert machine.run("verify", "last")[0] == 0


def test_a_signal_in_the_middle_of_a_tool_closes_its_call(machine: Machine) -> None:
    process = machine.exec("sleeps")
    lines = read_until(process, '"kind": "assistant_said"')
    process.send_signal(signal.SIGTERM)
    events, _ = finish(process, lines)
    assert process.returncode == 143
    assert [record["kind"] for record in log_of(events)][-1] == "tool_returned"


def test_when_nobody_reads_any_more_it_ends_without_a_word_of_python(machine: Machine) -> None:
    process = machine.exec("hangs")
    read_until(process, '"user_said"')
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(HANGING) == 141
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    process.stderr.close()


def test_closed_streams_and_a_state_folder_that_cannot_be_made_cost_no_answer(machine: Machine) -> None:
    (machine.home / "state").write_text("a file, where a folder should be made")
    process = machine.exec("answers", "please")
    events, err = finish(process, [])
    assert (process.returncode, events[-1]["stop"], err) == (0, "done", "")

    script = """
import os, sys
from tui.cli import fill_streams
os.closerange(0, 2)
fill_streams()
sys.exit(not os.path.samestat(os.fstat(1), os.stat(os.devnull)))
"""
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
