from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from agent.incoming.mentions import expand, mentioned, pictures
from agent.tools import Refused


def png(side: int = 16) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\x7f\x7f\x7f" * side for _ in range(side))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def warned(text: str) -> None:
    raise AssertionError(text)


def test_a_mentioned_file_joins_the_message(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    assert expand("look at @a.py.", tmp_path, warned) == 'look at @a.py.\n\n<file path="a.py">\nprint(1)\n\n</file>'


def test_an_address_and_a_name_without_a_file_are_no_mentions(tmp_path: Path) -> None:
    (tmp_path / "example.com").write_text("x")
    assert mentioned("mail me@example.com or @nobody", tmp_path) == ()


def test_a_folder_joins_as_its_names(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "b.py").write_text("")
    assert '<file path="src">\nb.py\n</file>' in expand("@src", tmp_path, warned)


def test_a_name_with_spaces_stands_in_quotes(tmp_path: Path) -> None:
    (tmp_path / "my notes.txt").write_text("hello")
    assert "hello" in expand('see @"my notes.txt"', tmp_path, warned)


def test_a_picture_is_attached_and_its_bytes_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(png())
    (url,) = pictures("what is on @shot.png", tmp_path)
    assert url.startswith("data:image/png;base64,")
    assert "[the picture, attached]" in expand("what is on @shot.png", tmp_path, warned)


@pytest.mark.parametrize("data", [b"\x89", b"", png()[:40], b"GIF89a"])
def test_case_45_a_picture_no_provider_would_take_is_refused_at_the_door(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(data)
    with pytest.raises(Refused, match=r"@shot\.png was not sent: "):
        pictures("what is on @shot.png", tmp_path)


def test_a_link_out_of_the_folder_joins_only_where_its_own_place_is_named(tmp_path: Path) -> None:
    folder, secret, shot = tmp_path / "project", tmp_path / "secret", tmp_path / "shot.png"
    (folder / "docs").mkdir(parents=True)
    secret.write_text("the key")
    shot.write_bytes(png())
    (folder / "notes.md").symlink_to(secret)
    (folder / "seen.png").symlink_to(shot)
    (folder / "docs" / "up").symlink_to(tmp_path)
    said: list[str] = []
    text = "@notes.md @docs/up/secret @seen.png"
    assert expand(text, folder, said.append) == text and pictures(text, folder) == ()
    assert [line.split(" is ")[0] for line in said] == ["@notes.md", "@docs/up/secret", "@seen.png"]
    assert "the key" in expand("@../secret", folder, warned) and "the key" in expand(f"@{secret}", folder, warned)
    (folder / "inside.md").symlink_to(folder / "docs")
    assert "up/" in expand("@inside.md", folder, warned)


@pytest.mark.parametrize("name", ["~nobody-of-this-name", "~nobody-of-this-name/a.py", "a\0b", "a" * 300])
def test_what_can_name_no_file_is_a_word(tmp_path: Path, name: str) -> None:
    assert mentioned(f"thanks, @{name}", tmp_path) == ()
