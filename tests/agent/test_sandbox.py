"""Commands behind bubblewrap, where it works; and the sentence where it does not."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.sandbox import Policy, Sandbox, describe, probe
from agent.tools import Workspace
from agent.tools.bash import Bash

FOUND = probe(Policy())


def sandboxed(folder: Path, policy: Policy) -> Workspace:
    if not isinstance(FOUND, Sandbox):
        pytest.skip(FOUND)
    return Workspace(folder, sandbox=Sandbox(FOUND.program, policy))


async def run(ws: Workspace, command: str) -> tuple[str, int | None]:
    result = await Bash().run({"command": command, "timeout": 120}, ws, "c1")
    return result.text, result.exit_status


@pytest.fixture
def home() -> Path:
    """A folder that is neither the workspace nor below /tmp."""
    place = Path(__file__).resolve().parent / ".sandboxed"
    place.mkdir(exist_ok=True)
    yield place
    for child in place.iterdir():
        child.unlink()
    place.rmdir()


async def test_the_workspace_is_writable_and_the_rest_is_not(tmp_path: Path, home: Path) -> None:
    ws = sandboxed(tmp_path, Policy())
    assert await run(ws, "echo in > here && cat here") == ("in", 0)
    text, status = await run(ws, f"echo out > {home}/there")
    assert "Read-only file system" in text
    assert status == 1
    assert not (home / "there").exists()


async def test_further_folders_may_be_made_writable(tmp_path: Path, home: Path) -> None:
    ws = sandboxed(tmp_path, Policy(writable=(home,)))
    assert (await run(ws, f"echo out > {home}/there"))[1] == 0


async def test_the_working_directory_is_kept_in_the_sandbox_too(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    ws = sandboxed(tmp_path, Policy())
    await run(ws, "cd sub")
    assert await run(ws, "pwd") == (str(ws.folder / "sub"), 0)


@pytest.mark.parametrize("network", [True, False])
async def test_the_network_is_off_unless_allowed(network: bool, tmp_path: Path) -> None:
    ws = sandboxed(tmp_path, Policy(network=network))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        _, status = await run(ws, f"exec 3<>/dev/tcp/127.0.0.1/{port}")
    assert (status == 0) == network


async def test_hidden_places_are_empty(tmp_path: Path, home: Path) -> None:
    (home / "key").write_text("secret")
    assert "secret" not in (await run(sandboxed(tmp_path, Policy(hidden=(home,))), f"cat {home}/key"))[0]
    assert "secret" not in (await run(sandboxed(tmp_path, Policy(hidden=(home / "key",))), f"cat {home}/key"))[0]


async def test_hidden_places_are_empty_in_a_workspace_that_holds_them_too(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    for key in (tmp_path / "key", tmp_path / "kept" / "key"):
        key.write_text("secret")
    ws = sandboxed(tmp_path, Policy(hidden=(tmp_path / "key", tmp_path / "kept")))
    assert "secret" not in (await run(ws, "cat key kept/key"))[0]
    assert await run(ws, "echo in > here && cat here") == ("in", 0)


async def test_a_command_left_in_the_background_dies_with_its_sandbox(tmp_path: Path) -> None:
    ws = sandboxed(tmp_path, Policy())
    text, status = await run(ws, "sleep 300 & setsid sleep 301 & echo started")
    assert (text, status) == ("started", 0)
    assert ws.left_running == set()


async def test_a_timeout_ends_everything_in_the_sandbox(tmp_path: Path) -> None:
    ws = sandboxed(tmp_path, Policy())
    result = await Bash().run({"command": "setsid sleep 302 & sleep 303", "timeout": 1}, ws, "c1")
    assert result.failed
    async with asyncio.timeout(120):
        while _running(b"sleep\x00302") + _running(b"sleep\x00303"):  # noqa: ASYNC110 - the kernel ends them
            await asyncio.sleep(0.02)


def _running(command: bytes) -> list[Path]:
    return [p for p in Path("/proc").glob("[0-9]*/cmdline") if command in _read(p)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_missing_or_broken_bubblewrap_is_said() -> None:
    def refuses(argv: Sequence[str]) -> int | str:
        return "setting up uid map: Permission denied"

    missing = probe(Policy(), find=lambda name: None)
    broken = probe(Policy(), find=lambda name: "/usr/bin/bwrap", run=refuses)
    assert missing == "no sandbox: bubblewrap (bwrap) is not installed; commands run with your own rights"
    assert broken == (
        "no sandbox: bubblewrap does not work here (setting up uid map: Permission denied); "
        "commands run with your own rights"
    )
    assert describe(missing) == missing
    assert describe(None).startswith("no sandbox: switched off")


def test_a_working_sandbox_says_what_it_does() -> None:
    assert describe(Sandbox("/usr/bin/bwrap", Policy(network=True))) == (
        "commands run in a sandbox (bubblewrap): this folder and /tmp writable, the rest read-only, network on"
    )


async def test_kept_places_stay_as_they_are_though_the_workspace_holds_them(tmp_path: Path) -> None:
    kept = tmp_path / "state"
    kept.mkdir()
    ws = sandboxed(tmp_path, Policy(kept=(kept, tmp_path / "missing")))
    text, status = await run(ws, "echo in > here && echo out > state/trust.json")
    assert (status, "Read-only file system" in text) == (1, True)
    assert (tmp_path / "here").exists() and not list(kept.iterdir())
    inside = sandboxed(kept, Policy(kept=(kept,)))
    assert (await run(inside, "echo in > here"))[1] == 0
