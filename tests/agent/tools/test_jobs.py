"""Commands in the background: read, waited for, stopped, bounded, and never left behind."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agent.sanitise import clean
from agent.tools.output import Growing
from agent.tools.processes import Family, Guard
from tests.agent.tools.bench import Bench, bench_in
from tests.architecture.tree import ROOT
from tui.plain import overdrawn


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "work").mkdir()
    bench = bench_in(tmp_path / "work")
    bench.ws.jobs.folder = tmp_path / "session" / "jobs"
    yield bench
    await bench.ws.close()


async def until(test: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not test():  # noqa: ASYNC110 - other processes make it true
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


async def test_a_job_gives_its_number_at_once_and_brings_what_came_since(bench: Bench) -> None:
    waits = "echo one; until test -e go; do sleep 0.02; done; echo two"
    begun = await bench.call("bash", command=waits, background=True)
    assert not begun.failed
    assert begun.exit_status is None
    assert begun.text.endswith(" s]")
    assert "[job 1 runs for " in begun.text
    first = "" if "one" in begun.text else (await bench.call("bash", job=1)).text
    assert "one" in begun.text + first
    assert (await bench.call("bash", job=1)).text.startswith("(no new output)\n[job 1 runs for ")
    bench.write("go", "")
    ended = await bench.call("bash", job=1, timeout=60)
    assert ended.text.startswith("two\n[job 1 ended after ")
    assert ended.text.endswith(": exit status 0]")
    assert (ended.failed, ended.exit_status) == (False, 0)
    assert (await bench.call("bash", job=1)).text.startswith("(no output)\n[job 1 ended after ")


async def test_what_fails_at_once_says_so_in_the_same_call(bench: Bench) -> None:
    result = await bench.call("bash", command="echo no such server >&2; exit 7", background=True)
    if "runs for" in result.text:  # a machine under load may take longer than that
        result = await bench.call("bash", job=1, timeout=60)
    assert (result.failed, result.exit_status) == (True, 7)
    assert bench.ws.jobs.untold() == []


async def test_stop_ends_all_that_a_job_started_even_what_left_its_group(bench: Bench) -> None:
    await bench.call(
        "bash", command="setsid sleep 1000 & echo $! > away; sleep 1000 & echo $! > near; wait", background=True
    )
    await until(lambda: all((bench.folder / n).exists() and (bench.folder / n).read_text() for n in ("away", "near")))
    stopped = await bench.call("bash", job=1, stop=True)
    assert "[job 1 stopped after " in stopped.text
    assert (stopped.failed, stopped.exit_status) == (False, None)
    for name in ("away", "near"):
        pid = int((bench.folder / name).read_text())
        await until(lambda pid=pid: not alive(pid))  # killed, it still needs its turn to die


async def test_a_shell_that_ends_before_what_it_started_is_still_a_running_job(bench: Bench) -> None:
    await bench.call("bash", command="sleep 1000 & echo $! > pid", background=True)
    await until(lambda: bench.ws.jobs.all[1].process.returncode is not None)
    assert bench.ws.jobs.all[1].runs
    os.kill(int((bench.folder / "pid").read_text()), signal.SIGKILL)
    assert "ended after" in (await bench.call("bash", job=1, timeout=60)).text


async def test_closing_the_workspace_leaves_no_job(bench: Bench) -> None:
    await bench.call("bash", command="echo $$ > pid; exec sleep 1000", background=True)
    await until(lambda: (bench.folder / "pid").exists() and bool((bench.folder / "pid").read_text()))
    await bench.ws.close()
    await until(lambda: not alive(int((bench.folder / "pid").read_text())))
    assert not bench.ws.jobs.running()


async def test_the_output_lies_in_a_private_file_and_no_number_comes_twice(bench: Bench) -> None:
    await bench.call("bash", command="echo first", background=True)
    file = bench.ws.jobs.folder / "1.txt"  # type: ignore[operator]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    later = bench_in(bench.folder)
    later.ws.jobs.folder = bench.ws.jobs.folder
    assert (await later.call("bash", job=1)).text == "first\n[job 1 ended with the program that ran it]"
    await later.call("bash", command="echo second", background=True)
    assert list(later.ws.jobs.all) == [2]
    assert file.read_text() == "first\n"
    await later.ws.close()


async def test_a_job_that_floods_the_disk_is_stopped(bench: Bench) -> None:
    bench.ws.jobs.flood = 10_000
    await bench.call("bash", command="yes", background=True)
    await bench.ws.jobs.all[1].over.wait()
    assert bench.ws.jobs.all[1].standing().startswith("stopped, since it printed more than ")


async def test_a_cancelled_wait_leaves_the_job_running(bench: Bench) -> None:
    await bench.call("bash", command="sleep 1000", background=True)
    waiting = asyncio.ensure_future(bench.call("bash", job=1, timeout=600))
    await until(lambda: bench.ws.jobs.all[1].runs)
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert bench.ws.jobs.all[1].runs


async def test_what_cannot_be_asked_is_said(bench: Bench) -> None:
    assert (await bench.call("bash", job=3)).text == "There is no job 3; none was started."
    await bench.call("bash", command="sleep 1000", background=True)
    assert (await bench.call("bash", job=3)).text == "There is no job 3; the jobs are 1 (runs)."
    assert (await bench.call("bash")).text == "The command is empty. Give a command, or the number of a job."
    both = await bench.call("bash", command="ls", job=1)
    assert both.text == "Give a command or the number of a job, not both."


def test_reading_a_job_needs_no_permission_and_starting_one_needs_that_of_its_command(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    assert bench.need("bash", job=1).kind == "recall"
    need = bench.need("bash", command="rm -r x", background=True)
    assert (need.kind, need.command) == ("run", "rm -r x")


def test_a_process_killed_without_a_word_leaves_nothing_of_its_commands(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        "from agent.tools.processes import Family, Guard, MARK\n"
        "guard = Guard()\n"
        "for name in ('kept', 'gone'):\n"
        "    child = subprocess.Popen(['sleep', '1000'], env={MARK: name}, start_new_session=True)\n"
        "    guard.watch(Family(child.pid, name))\n"
        "    print(child.pid, flush=True)\n"
        "guard.forget(Family(child.pid, 'gone'))\n"
        "print('ready', flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    kept, gone, ready = (process.stdout.readline().strip() for _ in range(3))
    try:
        assert ready == "ready"
        process.kill()
        process.wait()
        while alive(int(kept)):
            pass
        assert alive(int(gone))
    finally:
        process.stdout.close()
        for pid in (kept, gone):
            if alive(int(pid)):
                os.kill(int(pid), signal.SIGKILL)


def test_a_guard_that_is_closed_ends_its_process() -> None:
    guard = Guard()
    guard.watch(Family(2**22 + 1, "nobody"))
    process = guard._process
    assert process is not None
    guard.close()
    assert process.returncode == 0


def test_live_output_put_together_reads_as_the_whole_cleaned_at_once(tmp_path: Path) -> None:
    chance = random.Random(1)
    pieces = ["\r", "\n", "\r\n", "ab", "10%", "\x1b[K", "x ", "é", "\x08", "\x1b]0;t\x07"]
    for number in range(500):
        text = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 15))) + "end"
        data, path, shown = text.encode(), tmp_path / str(number), ""
        with open(path, "wb+", buffering=0) as file:
            growing = Growing(file.fileno())
            while data:
                size = chance.randint(1, 6)
                file.write(data[:size])
                data = data[size:]
                shown = overdrawn(shown, growing.look())
        assert shown == clean(text), repr(text)
