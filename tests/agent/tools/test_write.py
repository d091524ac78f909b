"""The `write` tool: whole files, atomically, never over what was not seen."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.tools import Refused
from agent.tools.text_files import replace_file
from tests.agent.tools.bench import Bench, bench_in


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


async def test_a_new_file_is_created_with_its_folders(bench: Bench) -> None:
    result = await bench.call("write", path="a/b/c.txt", content="one\ntwo\n")
    assert (bench.folder / "a/b/c.txt").read_bytes() == b"one\ntwo\n"
    assert result.text == "Created a/b/c.txt: 2 lines, 8 bytes."
    assert (result.paths, result.changed) == (("a/b/c.txt",), True)


async def test_a_new_file_has_the_mode_of_the_umask(bench: Bench) -> None:
    mask = os.umask(0o027)
    try:
        await bench.call("write", path="a", content="x")
    finally:
        os.umask(mask)
    assert (bench.folder / "a").stat().st_mode & 0o777 == 0o640


async def test_a_file_that_was_never_read_is_not_overwritten(bench: Bench) -> None:
    path = bench.write("a", "old")
    result = await bench.call("write", path="a", content="new")
    assert result.failed
    assert "was not read in this session" in result.text
    assert path.read_text() == "old"


async def test_a_file_that_was_read_is_overwritten_and_keeps_mode_and_line_ends(bench: Bench) -> None:
    path = bench.write("run.sh", b"\xef\xbb\xbfone\r\ntwo\r\n")
    path.chmod(0o755)
    await bench.call("read", path="run.sh")
    result = await bench.call("write", path="run.sh", content="three\nfour\n")
    assert path.read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert result.text == "Overwrote run.sh: 2 lines, 16 bytes."


async def test_a_file_changed_on_disk_since_it_was_read_is_refused(bench: Bench) -> None:
    path = bench.write("a", "old")
    await bench.call("read", path="a")
    path.write_text("by somebody else")
    result = await bench.call("write", path="a", content="new")
    assert result.failed
    assert "changed on disk since it was read" in result.text
    assert path.read_text() == "by somebody else"


async def test_a_file_changed_back_or_only_touched_is_the_same_file(bench: Bench) -> None:
    path = bench.write("a", "old")
    await bench.call("read", path="a")
    path.write_text("old")
    os.utime(path, (1, 1))
    assert not (await bench.call("write", path="a", content="new")).failed


async def test_our_own_writing_counts_as_having_read(bench: Bench) -> None:
    await bench.call("write", path="a", content="one")
    assert not (await bench.call("write", path="a", content="two")).failed
    assert (bench.folder / "a").read_text() == "two"


async def test_writing_the_same_again_changes_nothing(bench: Bench) -> None:
    await bench.call("write", path="a", content="one")
    before = (bench.folder / "a").stat().st_ino
    result = await bench.call("write", path="a", content="one")
    assert (result.changed, result.failed) == (False, False)
    assert (bench.folder / "a").stat().st_ino == before


async def test_a_link_is_kept_and_its_target_written(bench: Bench) -> None:
    bench.write("real", "old")
    (bench.folder / "link").symlink_to("real")
    await bench.call("read", path="link")
    await bench.call("write", path="link", content="new")
    assert (bench.folder / "link").is_symlink()
    assert (bench.folder / "real").read_text() == "new"


async def test_a_read_only_file_is_left_alone(bench: Bench) -> None:
    path = bench.write("a", "old")
    path.chmod(0o444)
    await bench.call("read", path="a")
    result = await bench.call("write", path="a", content="new")
    assert result.failed
    assert "permission denied" in result.text
    assert path.read_text() == "old"


async def test_lone_surrogates_are_written_as_replacement_characters(bench: Bench) -> None:
    await bench.call("write", path="a", content="x\ud800")
    assert (bench.folder / "a").read_text() == "x\ufffd"


async def test_the_need_shows_the_diff_and_writes_nothing(bench: Bench) -> None:
    path = bench.write("a", "one\ntwo\n")
    await bench.call("read", path="a")
    need = bench.need("write", path="a", content="one\n2\x1b[31m\n")
    assert need.diff == "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\\x1b[31m"
    assert (need.kind, need.paths) == ("write", (path,))
    assert path.read_text() == "one\ntwo\n"
    assert not bench.need("write", path="new/b", content="x").diff.startswith("error")
    assert not (bench.folder / "new").exists()


async def test_nothing_is_told_of_a_file_outside_before_it_is_allowed(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text("password = hunter2\n")
    for name, args in (
        ("edit", {"path": str(secret), "edits": [{"old": "password = x", "new": "y"}]}),
        ("write", {"path": str(secret), "content": "y"}),
        ("edit", {"path": str(secret.parent / "nothing"), "edits": [{"old": "x", "new": "y"}]}),
    ):
        need = bench.need(name, **args)
        assert (need.kind, need.diff, need.paths[0].parent) == ("write", "", secret.parent)
        assert (await bench.call(name, **args)).failed
    bench.ws.hidden = lambda path: path.name == "hidden"
    bench.write("hidden", "password = hunter2\n")
    assert bench.need("edit", path="hidden", edits=[{"old": "password = x", "new": "y"}]).diff == ""
    with pytest.raises(Refused):
        bench.need("edit", path="missing", edits=[{"old": "x", "new": "y"}])


def test_a_file_is_on_disk_before_it_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    seen: list[tuple[int, str]] = []

    def fsync(file: int) -> None:
        seen.append((os.fstat(file).st_mode & 0o170000, path.read_text()))

    replace_file(path, b"new", fsync)
    assert seen == [(0o100000, "old"), (0o040000, "new")]


def too_large_for_us(path: Path) -> None:
    """The kernel refuses in the middle of the write: the file is larger than this process may make one."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    try:
        replace_file(path, b"x" * 5_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(
    "fail",
    [
        too_large_for_us,
        lambda path: replace_file(path.parent, b"x"),  # a folder in the place of the file
        lambda path: replace_file(path / "below", b"x"),  # a file in the place of a folder
        lambda path: replace_file(path.parent / ("n" * 300), b"x"),  # a name too long
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_no_other(fail: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(OSError, match=r".*"):
        fail(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
