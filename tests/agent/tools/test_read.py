"""The `read` tool: pages, kinds of file, images, folders."""

from __future__ import annotations

import base64
import os
import struct
import tracemalloc
from pathlib import Path

import pytest

from agent.tools.paging import LONGEST_LINE
from tests.agent.tools.bench import PNG, Bench, bench_in


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


async def test_a_file_comes_with_line_numbers_and_says_which_lines(bench: Bench) -> None:
    bench.write("src/a.py", "one\n\n  three\n")
    result = await bench.call("read", path="src/a.py")
    assert result.text == "[src/a.py, lines 1-3 of 3]\n1\tone\n2\t\n3\t  three"
    assert result.paths == ("src/a.py",)
    assert not result.failed
    assert not result.changed


async def test_pages_join_to_the_whole_file(bench: Bench) -> None:
    lines = [f"line {n} " + "x" * (n % 90) for n in range(1, 6_001)]
    bench.write("big.txt", "\n".join(lines))
    seen: list[str] = []
    offset = 1
    while True:
        text = (await bench.call("read", path="big.txt", offset=offset)).text
        assert len(text.encode()) <= 50 * 1024
        body = [line for line in text.split("\n") if "\t" in line]
        assert len(body) <= 2_000
        seen += [line.split("\t", 1)[1] for line in body]
        if "[more follows" not in text:
            break
        assert f"offset {len(seen) + 1}]" in text
        offset = len(seen) + 1
    assert seen == lines


async def test_an_offset_and_a_limit_are_lines(bench: Bench) -> None:
    bench.write("a", "".join(f"{n}\n" for n in range(1, 101)))
    result = await bench.call("read", path="a", offset=50, limit=2)
    assert result.text == "[a, lines 50-51 of 100]\n50\t50\n51\t51\n[more follows: read again with offset 52]"
    last = await bench.call("read", path="a", offset=100)
    assert last.text == "[a, lines 100-100 of 100]\n100\t100"
    past = await bench.call("read", path="a", offset=101)
    assert past.failed
    assert past.text == "Line 101 is past the end: the file has 100 lines."
    assert "lines 1-1 of 100" in (await bench.call("read", path="a", offset=-5, limit=0)).text


async def test_an_empty_file_is_said_to_be_empty(bench: Bench) -> None:
    bench.write("empty", "")
    assert (await bench.call("read", path="empty")).text == "empty is empty."


@pytest.mark.parametrize("characters", [300, 500, 3_000])
async def test_a_page_never_passes_the_characters_it_is_given(characters: int, tmp_path: Path) -> None:
    bench = bench_in(tmp_path, characters)
    bench.write("a" * 200, "word " * 2_000 + "\n" + "x\n" * 3_000)
    offset = 1
    for _ in range(5):
        result = await bench.call("read", path="a" * 200, offset=offset)
        assert len(result.text) <= characters
        offset = int(result.text.rsplit("offset ", 1)[1].rstrip("]"))


async def test_a_long_line_is_cut_with_the_exact_number(bench: Bench) -> None:
    bench.write("long", "x" * 5_000 + "\n" + "é" * 3_000 + "\nshort\n")
    first, second, third = (await bench.call("read", path="long")).text.split("\n")[1:]
    for line, total in ((first, 5_000), (second, 3_000)):
        shown = line.split("\t")[1].split(" […")[0]
        assert f"[… {total - len(shown):,} characters more on this line]" in line
        assert len(line) <= LONGEST_LINE + 4
    assert third == "3\tshort"


async def test_a_line_of_megabytes_is_cut_in_bytes(bench: Bench) -> None:
    bench.write("min.js", "y" * 3_000_000 + "\nafter\n")
    first, second = (await bench.call("read", path="min.js")).text.split("\n")[1:]
    shown = first.split("\t")[1].split(" […")[0]
    assert f"[… {3_000_000 - len(shown):,} bytes more on this line]" in first
    assert second == "2\tafter"


async def test_odd_bytes_are_shown_and_said(bench: Bench) -> None:
    bench.write("odd", b"\xef\xbb\xbfa\xff\xfeb\r\nc\x1b[31m\r\n")
    assert (await bench.call("read", path="odd")).text == (
        "[odd, lines 1-2 of 2; CRLF line ends; byte order mark; 2 invalid UTF-8 shown as \ufffd; "
        "control characters spelled out]\n1\ta\ufffd\ufffdb\n2\tc\\x1b[31m"
    )


async def test_a_binary_file_is_said_not_shown(bench: Bench) -> None:
    bench.write("bin", b"\x7fELF\0\0\0" + bytes(1_000))
    result = await bench.call("read", path="bin")
    assert result.failed
    assert result.text == "bin is a binary file (1,007 bytes); it was not read."
    bench.write("utf16", "text".encode("utf-16"))
    assert "perhaps UTF-16" in (await bench.call("read", path="utf16")).text


async def test_a_folder_is_listed_in_order(bench: Bench) -> None:
    for name in ("b.txt", "a.txt", "dir/x", ".hidden"):
        bench.write(name, "x")
    (bench.folder / "link").symlink_to("a.txt")
    text = (await bench.call("read", path=".")).text
    assert text == "[. is a folder with 5 entries]\n.hidden\na.txt\nb.txt\ndir/\nlink -> a.txt"


async def test_a_huge_folder_is_listed_in_pages(bench: Bench) -> None:
    (bench.folder / "many").mkdir()
    for n in range(1_200):
        (bench.folder / "many" / f"{n:05}").touch()
    text = (await bench.call("read", path="many", offset=501)).text
    assert text.endswith("00999\n[entries 501-1,000 shown; read again with offset 1001]")


async def test_a_sparse_file_of_two_gigabytes_is_paged_without_being_read(bench: Bench) -> None:
    path = bench.write("sparse", "head\n" * 3_000)
    os.truncate(path, 2 * 1024**3)
    tracemalloc.start()
    text = (await bench.call("read", path="sparse")).text
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert text.startswith("[sparse, lines 1-2,000]\n1\thead\n")
    assert text.endswith("[more follows: read again with offset 2001]")
    assert peak < 8 * 1024**2
    far = await bench.call("read", path="sparse", offset=10**9)
    assert far.failed
    assert "use bash" in far.text


async def test_a_missing_file_names_its_nearest_neighbour(bench: Bench) -> None:
    bench.write("src/parser.py", "x")
    assert (await bench.call("read", path="src/parsr.py")).text == (
        "src/parsr.py: there is no such file or folder. Did you mean src/parser.py?"
    )


async def test_a_path_relative_to_the_shells_place_is_suggested(bench: Bench) -> None:
    bench.write("src/a.py", "x")
    await bench.call("bash", command="cd src")
    assert "did you mean src/a.py?" in (await bench.call("read", path="a.py")).text


async def test_an_image_becomes_a_data_url(bench: Bench) -> None:
    bench.write("a.png", PNG)
    result = await bench.call("read", path="a.png")
    assert result.images == ("data:image/png;base64," + base64.b64encode(PNG).decode(),)
    assert result.text == f"a.png: png image, {len(PNG)} bytes."


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00\x00\x00\x2c" + bytes(10) + b"\x3b"


def jpeg(width: int, height: int) -> bytes:
    app0 = b"\xff\xe0" + struct.pack(">H", 4) + b"ab"
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 8, 8, height, width, 1)
    return b"\xff\xd8" + app0 + frame + b"\xff\xda" + bytes(20) + b"\xff\xd9"


def webp(width: int, height: int) -> bytes:
    body = (
        b"WEBPVP8X"
        + struct.pack("<I", 10)
        + bytes(4)
        + (width - 1).to_bytes(3, "little")
        + (height - 1).to_bytes(3, "little")
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


@pytest.mark.parametrize("make", [gif, jpeg, webp])
async def test_other_kinds_of_image_are_known_by_their_bytes(make: object, bench: Bench) -> None:
    assert callable(make)
    bench.write("image", make(30, 20))
    result = await bench.call("read", path="image")
    assert result.images[0].startswith("data:image/")
    bench.write("sliver", make(30, 1))
    assert "is 30 x 1 pixels" in (await bench.call("read", path="sliver")).text


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (PNG[:30], "it ends too early"),
        (PNG[:-12], "it ends too early"),
        (PNG.replace(b"x\x9c", b"x\x9d", 1), "a checksum is wrong"),
        (b"\x89PNG\r\n\x1a\n", "it ends too early"),
        (b"\xff\xd8\xff", "broken"),
        (jpeg(30, 20)[:-2], "it ends too early"),
        (gif(30, 20)[:-1], "it ends too early"),
        (webp(30, 20)[:20], "shorter than it says"),
        (PNG + bytes(4_000_000), "at most"),
    ],
)
async def test_a_broken_image_is_refused_at_the_door(data: bytes, why: str, bench: Bench) -> None:
    bench.write("image", data)
    result = await bench.call("read", path="image")
    assert result.failed
    assert result.images == ()
    assert why in result.text


async def test_a_png_of_one_byte_is_no_image(bench: Bench) -> None:
    bench.write("one.png", b"\x89")
    result = await bench.call("read", path="one.png")
    assert result.images == ()
