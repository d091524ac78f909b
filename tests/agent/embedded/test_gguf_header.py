"""A model file's header is read, and no broken file is more than a sentence."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.models.gguf import BadFile, Metadata, metadata


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def header(*pairs: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(pairs)) + b"".join(pairs)


WHOLE = header(
    pair("general.architecture", 8, text("llama")),
    pair("general.name", 8, text("Small One")),
    pair("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 2) + text("<s>") + text("</s>")),
    pair("tokenizer.ggml.scores", 9, struct.pack("<IQ", 6, 2) + struct.pack("<2f", 0.5, 1.5)),
    pair("llama.context_length", 4, struct.pack("<I", 4_096)),
    pair("tokenizer.ggml.add_bos_token", 7, b"\x01"),
    pair("tokenizer.chat_template", 8, text("{{ messages }}")),
)


def test_name_window_and_template_are_found_behind_arrays(tmp_path: Path) -> None:
    file = tmp_path / "a.gguf"
    file.write_bytes(WHOLE)
    assert metadata(file) == Metadata("Small One", "llama", 4_096, True)


def test_a_file_that_says_little_gives_its_own_name_and_no_window(tmp_path: Path) -> None:
    file = tmp_path / "plain.gguf"
    file.write_bytes(header())
    assert metadata(file) == Metadata("plain", "", None, False)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty"),
        (b"PK\x03\x04 not a model", "not a GGUF file"),
        (header(version=9), "version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**60), "larger than the file"),
        (header(pair("x", 9, struct.pack("<IQ", 8, 2**50))), "larger than the file"),
        (header(pair("x", 99, b"")), "unknown kind 99"),
        (WHOLE[:40], "larger than the file"),
        (WHOLE[:22], "middle of its header"),
    ],
)
def test_a_broken_file_says_what_is_wrong(tmp_path: Path, data: bytes, why: str) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(data)
    with pytest.raises(BadFile, match=why):
        metadata(file)


@given(at=st.integers(0, len(WHOLE) - 1), byte=st.integers(0, 255), cut=st.integers(0, len(WHOLE)))
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_damage_is_survived_or_named(tmp_path: Path, at: int, byte: int, cut: int) -> None:
    damaged = bytearray(WHOLE)
    damaged[at] = byte
    file = tmp_path / "damaged.gguf"
    file.write_bytes(bytes(damaged[:cut]))
    with contextlib.suppress(BadFile):
        metadata(file)
