"""The `grep` and `glob` tools: the same answers from ripgrep and from the plain search."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.plain_search import alternatives, matcher
from tests.agent.tools.bench import Bench, bench_in

RIPGREP = shutil.which("rg")
both = pytest.mark.parametrize(
    "ripgrep", [pytest.param(RIPGREP, marks=pytest.mark.skipif(not RIPGREP, reason="no rg")), None]
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = bench_in(tmp_path)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name, text in {
        "src/b.py": "import os\n\ndef needle():\n    return 1\n",
        "src/a.py": "needle = 1\nother\nneedle = 2\n",
        "src-x/c.py": "needle\n",
        "docs/read me.md": "a Needle\n",
        ".github/ci.yml": "needle: ci\n",
        "ignored/d.py": "needle\n",
        ".gitignore": "ignored/\n*.log\n",
        "x.log": "needle\n",
        "long.js": "x" * 3_000 + "needle" + "\n",
    }.items():
        bench.write(name, text)
    bench.write("bin.dat", b"needle\0\n")
    bench.write("latin.txt", b"caf\xe9 needle\r\n")
    (bench.folder / "loop").symlink_to(".")
    (bench.folder / "out").symlink_to("/etc")
    return bench


def use(bench: Bench, ripgrep: str | None) -> Bench:
    bench.ws.ripgrep = ripgrep
    return bench


@both
async def test_matches_are_grouped_by_file_in_stable_order(ripgrep: str | None, bench: Bench) -> None:
    result = await use(bench, ripgrep).call("grep", pattern=r"needle\b", glob="*.{py,yml}")
    assert result.text == (
        ".github/ci.yml\n1: needle: ci\n\nsrc/a.py\n1: needle = 1\n3: needle = 2\n\nsrc/b.py\n3: def needle():\n\n"
        "src-x/c.py\n1: needle\n[5 matches in 4 files]"
    )


@both
async def test_context_lines_are_marked(ripgrep: str | None, bench: Bench) -> None:
    bench.write("n.txt", "".join(f"{n}\n" for n in range(1, 21)))
    result = await use(bench, ripgrep).call("grep", pattern="^(3|15)$", path="n.txt", context=1)
    assert result.text == "n.txt\n2- 2\n3: 3\n4- 4\n…\n14- 14\n15: 15\n16- 16\n[2 matches in 1 file]"


@both
async def test_what_passes_the_limit_is_counted(ripgrep: str | None, bench: Bench) -> None:
    bench.write("many.txt", "hit\n" * 3_000)
    result = await use(bench, ripgrep).call("grep", pattern="^hit$", limit=2)
    assert result.text == (
        "many.txt\n1: hit\n2: hit\n[2 of 3,000 matches shown; narrow the pattern, path or glob, or raise limit.]"
    )
    bench.write("more.txt", "hit\n" * 30_000)
    assert "[100 of more than 10,000 matches shown" in (await use(bench, ripgrep).call("grep", pattern="^hit$")).text


@both
async def test_a_page_is_never_longer_than_allowed(ripgrep: str | None, bench: Bench) -> None:
    bench.ws.page_characters = 1_000
    for n in range(200):
        bench.write(f"deep/{'d' * 50}{n}.txt", "hit " * 200 + "\n")
    for name, args in (("grep", {"pattern": "hit"}), ("glob", {"pattern": "*.txt"})):
        assert len((await use(bench, ripgrep).call(name, **args)).text) <= 1_000


@both
async def test_odd_lines_are_shown_clean(ripgrep: str | None, bench: Bench) -> None:
    bench.write("odd.txt", b"odd \x1b[31m\xff\r\n")
    assert (await use(bench, ripgrep).call("grep", pattern="odd", path="odd.txt")).text == (
        "odd.txt\n1: odd \\x1b[31m\ufffd\n[1 match in 1 file]"
    )
    long = await use(bench, ripgrep).call("grep", pattern="needle", path="long.js")
    assert len(long.text) < 600
    assert "omitted" in long.text or "more match" in long.text


@both
async def test_a_file_name_with_a_line_end_stays_on_its_line(ripgrep: str | None, bench: Bench) -> None:
    bench.write("new\nline.txt", "zebra\n")
    assert (
        await use(bench, ripgrep).call("grep", pattern="zebra")
    ).text == "new\\nline.txt\n1: zebra\n[1 match in 1 file]"
    assert (await use(bench, ripgrep).call("glob", pattern="new*")).text == "new\\nline.txt"


@both
async def test_a_pattern_that_cannot_be_read_is_a_sentence(ripgrep: str | None, bench: Bench) -> None:
    result = await use(bench, ripgrep).call("grep", pattern="(unclosed")
    assert result.failed
    assert result.text.startswith("The search could not be done: ")
    assert "\n" not in result.text


@both
async def test_look_around_works_with_either(ripgrep: str | None, bench: Bench) -> None:
    result = await use(bench, ripgrep).call("grep", pattern=r"(?<=def )needle")
    assert result.text == "src/b.py\n3: def needle():\n[1 match in 1 file]"


@both
async def test_nothing_found_is_no_failure(ripgrep: str | None, bench: Bench) -> None:
    result = await use(bench, ripgrep).call("grep", pattern="nowhere to be found", glob="*.py")
    assert (result.text, result.failed) == (
        "No match for nowhere to be found in this folder in files like *.py.",
        False,
    )
    assert (await use(bench, ripgrep).call("glob", pattern="*.zig")).text == "No file like *.zig in this folder."


@both
async def test_hidden_paths_are_left_out(ripgrep: str | None, bench: Bench) -> None:
    bench.ws.hidden = lambda path: "src" in path.parts
    assert "src/" not in (await use(bench, ripgrep).call("grep", pattern="needle")).text
    assert "src/" not in (await use(bench, ripgrep).call("glob", pattern="*")).text
    assert "src/" not in (await use(bench, ripgrep).call("read", path=".")).text


@both
@pytest.mark.parametrize(
    ("pattern", "path", "found"),
    [
        ("*.py", "", "src/a.py src/b.py src-x/c.py"),
        ("src/*.py", "", "src/a.py src/b.py"),
        ("**/c.py", "", "src-x/c.py"),
        ("src*/**/[bc].py", "", "src/b.py src-x/c.py"),
        ("*.py", "src", "src/a.py src/b.py"),
        ("./src/a.py", "", "src/a.py"),
    ],
)
async def test_files_are_found_by_pattern(
    pattern: str, path: str, found: str, ripgrep: str | None, bench: Bench
) -> None:
    result = await use(bench, ripgrep).call("glob", pattern=pattern, path=path)
    assert result.text.split("\n") == found.split(" ")


@both
async def test_an_absolute_pattern_inside_is_taken(ripgrep: str | None, bench: Bench) -> None:
    result = await use(bench, ripgrep).call("glob", pattern=f"{bench.folder}/src/*.py")
    assert result.text == "src/a.py\nsrc/b.py"


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "a/../../b", "~/x", "", " ", "a\0b"])
async def test_a_pattern_that_would_leave_the_folder_is_refused(pattern: str, bench: Bench) -> None:
    for name, args in (("glob", {"pattern": pattern}), ("grep", {"pattern": "x", "glob": pattern})):
        result = await bench.call(name, **args)
        assert result.failed or (name == "grep" and not pattern.strip())


async def test_without_git_the_usual_folders_are_skipped(tmp_path: Path) -> None:
    bench = use(bench_in(tmp_path), None)
    for name in ("a.py", "node_modules/x.py", ".git/y.py", "sub/__pycache__/z.py", "sub/b.py"):
        bench.write(name, "x")
    assert (await bench.call("glob", pattern="*.py")).text == "a.py\nsub/b.py"


async def test_a_cancelled_search_leaves_no_process(bench: Bench) -> None:
    bench.write("slow.txt", "a" * 40 + "\n")
    searching = asyncio.ensure_future(use(bench, None).call("grep", pattern="(a+a+)+$b", path="slow.txt"))
    async with asyncio.timeout(60):
        while not _searching(bench.folder):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    assert not _searching(bench.folder)


def _searching(folder: Path) -> list[Path]:
    """Searches in this folder: other tests have theirs at the same time."""
    found = (p for p in Path("/proc").glob("[0-9]*/cmdline") if b"plain_search.py" in _read(p))
    return [p for p in found if _place(p.with_name("cwd")) == str(folder)]


def _place(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b.py", True), ("a/*.py", "a/b.py", True), ("a/*.py", "a/b/c.py", False), ("**", "a/b", True),
        ("a/**", "a/b/c", True), ("**/b", "b", True), ("a/**/b", "a/b", True), ("a/**/b", "a/x/y/b", True),
        ("{a,b}.{c,d}", "b.d", True), ("{a,b{c,d}}", "bd", True), ("a?c", "abc", True), ("a?c", "a/c", False),
        ("[!a]b", "cb", True), ("/a", "a", True), ("/a", "b/a", False), ("A", "a", False), ("{a}", "{a}", True),
    ],
)  # fmt: skip
def test_a_file_pattern_means_what_it_says(pattern: str, path: str, fits: bool) -> None:
    assert matcher(pattern)(path) == fits


@given(st.text(st.sampled_from("ab*?[]{},/!-"), max_size=30), st.text(st.sampled_from("ab/-"), min_size=1, max_size=20))
def test_no_file_pattern_takes_forever_or_fails(pattern: str, path: str) -> None:
    assert matcher(pattern)(path) in (True, False)
    assert len(alternatives(pattern)) <= 128


def test_patterns_made_to_hang_do_not() -> None:
    matcher("*a" * 40 + "b")("a" * 250)
    matcher("**/" * 60 + "b")("/".join("a" * 120))
    matcher("{a,b}" * 40)("ab" * 20)


async def test_a_folder_of_many_names_is_bounded(bench: Bench) -> None:
    for n in range(1_000):
        (bench.folder / f"f{n:05}.zz").touch()
    text = (await bench.call("glob", pattern="*.zz")).text
    assert text.endswith("f00499.zz\n[500 of 1,000 files shown; narrow the pattern or path.]")
    assert os.linesep not in text.split("\n")[0]
