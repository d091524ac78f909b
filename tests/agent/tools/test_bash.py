"""The `bash` tool: output, place, environment, timeouts, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.tools.environment import Environment, secret
from tests.agent.tools.bench import RUN, Bench, bench_in


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    bench = bench_in(tmp_path)
    yield bench
    await bench.ws.close()


async def printed(bench: Bench) -> None:
    """Wait for the first live output."""
    seen = asyncio.Event()
    collect = bench.ws.on_output

    def tell(call: str, text: str) -> None:
        collect(call, text)
        seen.set()

    bench.ws.on_output = tell
    await seen.wait()


# Waits until the process just put into the background has become the program it is to be.
STARTED = 'until test "$(cat /proc/$!/comm)" = {}; do :; done'


def running(mark: str) -> list[str]:
    """Command lines of this run of the tests that hold a mark, zombies apart."""
    found: list[str] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            ours = f"{RUN}={os.getpid()}".encode() in entry.with_name("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and mark in line:
            found.append(line)
    return found


async def gone(mark: str) -> None:
    """Waits until nothing holds a mark any more: what was killed needs its turn to die."""
    async with asyncio.timeout(120):
        while running(mark):  # noqa: ASYNC110 - the kernel ends it
            await asyncio.sleep(0.02)


def own(result_text: str) -> list[str]:
    """The bracketed lines at the end."""
    return [line for line in result_text.split("\n") if line.startswith("[") and line.endswith("]")]


async def test_output_of_both_streams_and_the_status_come_back(bench: Bench) -> None:
    result = await bench.call("bash", command="echo out; echo err >&2; exit 3")
    assert result.text == "out\nerr\n[exit status 3]"
    assert (result.exit_status, result.failed) == (3, True)
    assert (await bench.call("bash", command="true")).text == "(no output)"
    killed = await bench.call("bash", command="kill -SEGV $$")
    assert (killed.text, killed.exit_status) == ("(no output)\n[killed by SIGSEGV]", 139)


async def test_output_is_clean_text(bench: Bench) -> None:
    result = await bench.call("bash", command=r"printf '\033[31mred\033[0m\r\n10%%\r100%%\n\377\000x\n'")
    assert result.text == "red\n100%\n\ufffdx"


async def test_the_working_directory_is_kept(bench: Bench) -> None:
    (bench.folder / "a b\n").mkdir()
    await bench.call("bash", command="cd 'a b\n'")
    assert bench.ws.cwd == bench.folder / "a b\n"
    assert (await bench.call("bash", command="pwd; exit 1")).text.startswith(str(bench.folder / "a b"))
    await bench.call("bash", command="cd ..; false")
    assert bench.ws.cwd == bench.folder


async def test_a_place_outside_is_left_again_and_said(bench: Bench) -> None:
    result = await bench.call("bash", command="cd /")
    assert own(result.text) == [f"[/ is outside {bench.folder}: the next command runs in {bench.folder} again]"]
    assert bench.ws.cwd == bench.folder


async def test_a_place_that_is_gone_is_said(bench: Bench) -> None:
    await bench.call("bash", command="mkdir sub && cd sub")
    os.rmdir(bench.folder / "sub")
    result = await bench.call("bash", command="pwd")
    assert result.text.startswith(f"{bench.folder}\n[the working directory")


@pytest.mark.parametrize(
    "command",
    [
        "cat <<E\nx\nE",
        "# only a comment",
        "echo a # b",
        "f() { echo a; }; f",
        "set -e; false; echo",
        "exec true",
        "echo 'a\nb'",
    ],
)
async def test_every_shape_of_command_runs_as_it_stands(command: str, bench: Bench) -> None:
    result = await bench.call("bash", command=command)
    assert "syntax error" not in result.text
    assert "trap" not in result.text


async def test_secrets_are_not_handed_over_and_that_is_said_once(bench: Bench) -> None:
    bench.ws.environ = {**bench.ws.environ, "OPENAI_API_KEY": "sk-1", "DB_URL": "pg://u:pw@h/d", "EDITOR": "vi"}
    first = await bench.call("bash", command="env")
    assert "sk-1" not in first.text
    assert "pw@h" not in first.text
    assert "EDITOR=vi" in first.text
    assert own(first.text) == ["[environment variables not handed to commands: DB_URL, OPENAI_API_KEY]"]
    assert own((await bench.call("bash", command="true")).text) == []
    bench.ws.environment = Environment(keep=("OPENAI_*",), drop=("EDITOR",))
    second = await bench.call("bash", command="env")
    assert "sk-1" in second.text
    assert "EDITOR=vi" not in second.text


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "aws_secret_access_key",
        "DbPassword",
        "PGPASSWORD",
        "MY_PAT",
        "NPM_AUTH",
        "SENTRY_DSN",
    ],
)
def test_names_that_say_secret_are_secrets(name: str) -> None:
    assert secret(name, "x")


@pytest.mark.parametrize(
    "name", ["PATH", "PWD", "OLDPWD", "HOME", "SSH_AUTH_SOCK", "LANG", "KEYBOARD", "XDG_SESSION_ID", "PATTERN"]
)
def test_names_that_say_nothing_of_the_kind_are_not(name: str) -> None:
    assert not secret(name, "x")


def test_a_proxy_with_a_password_is_kept_because_nothing_works_without() -> None:
    assert not secret("HTTPS_PROXY", "http://u:p@h")
    assert secret("REDIS", "redis://:p@h")


async def test_there_is_no_input_no_terminal_and_no_pager(bench: Bench) -> None:
    result = await bench.call(
        "bash", command="cat; test -t 0 || echo none; echo $PAGER $GIT_PAGER $TERM; (: < /dev/tty) || echo notty"
    )
    assert result.text.startswith("none\ncat cat dumb\n")
    assert result.text.endswith("notty")


async def test_live_output_arrives_while_the_command_runs(bench: Bench) -> None:
    running_call = asyncio.ensure_future(
        bench.call("bash", command="echo first; until test -e go; do sleep 0.02; done; echo last")
    )
    await printed(bench)
    assert bench.printed == [("c1", "first\n")]
    bench.write("go", "")
    assert (await running_call).text == "first\nlast"
    assert "".join(text for _, text in bench.printed) == "first\nlast\n"


async def test_a_background_process_neither_hangs_the_call_nor_is_forgotten(bench: Bench) -> None:
    result = await bench.call("bash", command=f"sleep 4001 & {STARTED.format('sleep')}; echo started")
    assert result.text.startswith("started\n[still running in the background: ")
    assert "(sleep)" in result.text
    assert running("sleep 4001")
    await bench.ws.close()
    await gone("sleep 4001")


async def test_a_timeout_ends_all_that_was_started(bench: Bench) -> None:
    command = "sleep 4002 & setsid sleep 4003 & (trap '' TERM; sleep 4004; sleep 4005) & echo partly; wait"
    result = await bench.call("bash", command=command, timeout=3)
    assert result.text.startswith("partly\n[stopped: it did not end within 3 seconds.")
    assert (result.failed, result.exit_status) == (True, None)
    await gone("sleep 400")


@pytest.mark.parametrize(
    "command", ["sleep 4011 & setsid sleep 4012 & sleep 4013", "trap '' TERM; sleep 4014; sleep 4015"]
)
async def test_a_cancellation_ends_all_that_was_started(command: str, bench: Bench) -> None:
    running_call = asyncio.ensure_future(bench.call("bash", command=f"echo on; {command}"))
    await printed(bench)
    running_call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_call
    await gone("sleep 401")


async def test_a_second_cancellation_kills_at_once(bench: Bench) -> None:
    running_call = asyncio.ensure_future(
        bench.call("bash", command="trap '' TERM; echo on; while :; do sleep 0.05; done # mark4021")
    )
    await printed(bench)
    running_call.cancel()
    await asyncio.sleep(0.05)
    running_call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running_call
    await gone("mark4021")


async def test_a_flood_is_stopped_and_shown_by_its_ends(bench: Bench) -> None:
    result = await bench.call("bash", command="echo begin; head -c 20000000 /dev/zero | tr '\\0' 'x'; echo; echo end")
    assert result.text.startswith("begin\nxxx")
    assert result.text.endswith("xxx\nend")
    size = 6 + 20_000_000 + 1 + 4
    assert f"[… {size - 8 * 1024 * 1024:,} bytes of output left out …]" in result.text


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("echo a\0b", "control characters"),
        ("echo \x1b[31m", "control characters"),
        ("echo \u202e", "control characters"),
        ("echo " + "x" * 200_000, "longer than"),
    ],
)
async def test_a_command_that_nobody_could_approve_is_refused(command: str, why: str, bench: Bench) -> None:
    result = await bench.call("bash", command=command)
    assert result.failed
    assert why in result.text


async def test_no_folder_of_ours_is_left_behind(bench: Bench) -> None:
    """The room is named by the shell itself: other processes make and remove rooms in the same place meanwhile."""
    result = await bench.call("bash", command="readlink /proc/self/fd/1")
    room = Path(result.text.strip().removesuffix(" (deleted)")).parent
    assert room.name.startswith("ullage-")
    assert not room.exists()
