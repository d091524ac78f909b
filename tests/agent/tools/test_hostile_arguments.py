"""Every tool against paths and files made to hurt: a sentence each, no hang, nothing half written."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.tools import Result
from tests.agent.tools.bench import BY_NAME, Bench, bench_in

# No call below may take longer; what hangs fails here and not in the whole run's patience. Seconds.
PATIENCE = 120

PLACES = [
    "", " ", ".", "..", "../..", "/", "~", "~root/x", "~nobodyatall/x", "a\nb", "a\0b", "\0", "\ud800", "\u202eevil",
    "\x1b[31m",
    "fifo", "socket", "loop1", "loop2", "self/self/self/x", "dangling", "sparse", "binary", "invalid", "crlf", "bom",
    "readonly",
    "folder", "folder/", "closed/x", "plain/below", "x" * 300, "x/" * 3_000, "-rf", "--help", "$(id)", "`id`", "'",
    '"', "*", "[", "plain",
    "/dev/null", "/dev/zero", "/dev/stdin", "/dev/tty", "/dev/full", "/proc/self/mem", "/proc/self/environ",
    "/proc/kmsg", "/proc/1/fd/0",
    "/proc/self/fd/0", "/sys/kernel/notes", "surrogate\udcff", "é", "e\u0301", "CON", "a" * 255, "./././plain",
    "folder/../plain",
]  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "project"
    folder.mkdir()
    bench = bench_in(folder)
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(".", os.O_RDONLY)
        # The path of a socket is short; pytest's are not.
        os.chdir(folder)
        made.bind("socket")
        os.fchdir(here)
        os.close(here)
    (folder / "loop1").symlink_to("loop2")
    (folder / "loop2").symlink_to("loop1")
    (folder / "self").symlink_to(".")
    (folder / "dangling").symlink_to("nowhere/at/all")
    bench.write("plain", "one\ntwo\n")
    bench.write("binary", b"\0\1\2" * 100)
    bench.write("invalid", b"\xff\xfe\xfd\xc3(")
    bench.write("crlf", b"a\r\nb\r\n")
    bench.write("bom", b"\xef\xbb\xbfa\n")
    bench.write("readonly", "a\n").chmod(0o444)
    bench.write("folder/inner", "a\n")
    (folder / "closed").mkdir(mode=0o000)
    os.truncate(bench.write("sparse", "one\n"), 2 * 1024**3)
    return bench


def calls(place: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("read", {"path": place}),
        ("read", {"path": place, "offset": 10**12, "limit": -1}),
        ("write", {"path": place, "content": "new\n"}),
        ("edit", {"path": place, "old": "one", "new": "1"}),
        ("grep", {"pattern": "zzz", "path": place}),
        ("glob", {"pattern": "*.none", "path": place}),
        ("grep", {"pattern": "zzz", "glob": place}),
        ("glob", {"pattern": place}),
    ]


def state(folder: Path) -> dict[str, object]:
    """Everything below a folder, by name: kind, mode, and the content of what is small."""
    found: dict[str, object] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            status = path.lstat()
            small = path.is_file() and not path.is_symlink() and status.st_size < 10_000
            found[str(path.relative_to(folder))] = (status.st_mode, status.st_size, path.read_bytes() if small else b"")
    return found


def sound(result: Result) -> bool:
    """Whether a result is text that a terminal and a model can take."""
    result.text.encode("utf-8")
    return bool(result.text) and len(result.text) < 100_000 and "\x1b" not in result.text and "\0" not in result.text


# Outside the folder nothing is written in this test: permissions are not part of it.
OUTSIDE = ("/", "~", "..")


@pytest.mark.parametrize("place", PLACES)
async def test_every_tool_answers_a_hostile_path(place: str, bench: Bench) -> None:
    outside = place.startswith(OUTSIDE)
    for name, args in calls(place):
        if outside and (name == "write" or (name in ("grep", "glob") and args.get("path") == place)):
            continue
        before = state(bench.folder)
        result = await asyncio.wait_for(bench.call(name, **args), PATIENCE)
        assert sound(result), (name, result.text[:200])
        if not result.changed:
            assert state(bench.folder) == before, name
        if result.failed:
            assert "\n" not in result.text.split(" The nearest text is:")[0], result.text
            assert not result.changed
        assert not [n for n in os.listdir(bench.folder) if n.startswith(".ullage-")]


@pytest.mark.parametrize(
    "place",
    ["fifo", "socket", "/dev/zero", "/dev/tty", "/dev/full", "binary", "loop1", "closed/x", "plain/below", "a\0b", ""],
)
async def test_what_cannot_be_read_or_edited_is_a_sentence(place: str, bench: Bench) -> None:
    if place == "closed/x" and os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    for name in ("read", "edit"):
        result = await bench.call(name, path=place, **({} if name == "read" else {"old": "x", "new": "y"}))
        assert result.failed
        assert result.text.endswith(".")
        assert place != "socket" or "is a socket" in result.text
        assert len(result.text) < 300


async def test_a_file_that_vanishes_between_the_question_and_the_deed_is_a_sentence(bench: Bench) -> None:
    tool = BY_NAME["edit"]
    args = bench.args("edit", {"path": "plain", "old": "one", "new": "1"})
    tool.need(args, bench.ws)
    (bench.folder / "plain").unlink()
    result = await tool.run(args, bench.ws, "c1")
    assert (result.failed, result.text) == (True, "plain: there is no such file or folder.")
    assert not (bench.folder / "plain").exists()


async def test_a_file_exchanged_for_a_pipe_between_the_question_and_the_deed_does_not_hang(bench: Bench) -> None:
    await bench.call("read", path="plain")
    args = bench.args("write", {"path": "plain", "content": "x"})
    BY_NAME["write"].need(args, bench.ws)
    (bench.folder / "plain").unlink()
    os.mkfifo(bench.folder / "plain")
    result = await asyncio.wait_for(BY_NAME["write"].run(args, bench.ws, "c1"), PATIENCE)
    assert result.failed
    assert "named pipe" in result.text


async def test_a_new_file_that_appeared_meanwhile_is_not_overwritten(bench: Bench) -> None:
    args = bench.args("write", {"path": "fresh", "content": "x"})
    BY_NAME["write"].need(args, bench.ws)
    bench.write("fresh", "by somebody else")
    assert (await BY_NAME["write"].run(args, bench.ws, "c1")).failed
    assert (bench.folder / "fresh").read_text() == "by somebody else"


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    name=st.sampled_from(["read", "write", "edit", "grep", "glob", "recall"]),
    values=st.dictionaries(
        st.sampled_from(
            [
                "path",
                "content",
                "old",
                "new",
                "pattern",
                "glob",
                "offset",
                "limit",
                "context",
                "record",
                "page",
                "query",
            ]
        ),
        st.one_of(
            st.text(st.sampled_from("ab/.*[](){}\\\n\t\r\0\x1b~$`'\"é\ud800-"), max_size=12),
            st.integers(-(2**40), 2**40),
            st.none(),
            st.booleans(),
        ),
        max_size=5,
    ),
)
async def test_no_arguments_make_a_tool_raise(name: str, values: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "fuzzed"
    folder.mkdir(exist_ok=True)
    bench = bench_in(folder)
    bench.ws.ripgrep = None if values.get("limit") else bench.ws.ripgrep
    bench.write("plain", "a\nb\n")
    known = BY_NAME[name].schema(False)["function"]["parameters"]["properties"]
    args = {k: v for k, v in values.items() if k in known or k in ("old", "new")}
    path = args.get("path")
    if isinstance(path, str) and (path.startswith(OUTSIDE) or ".." in path):
        return
    result = await asyncio.wait_for(bench.call(name, **args), PATIENCE)
    assert sound(result)
