"""What counting promises: exact offline, safe on any text, cheap until asked, and honest when it only guesses."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent import counting
from agent.counting import SLICE, Counter, count, rule_of_thumb, shipped_folder

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # surrogates included


def test_the_vocabulary_is_o200k_and_counts_match_its_known_values() -> None:
    # 24912 and 2375 are the ids of "hello" and " world" in o200k_base; cl100k would cut the Chinese into 5.
    assert counting.counter.name == "o200k_base"
    assert counting.counter.exact
    assert counting.counter.why == ""
    assert [count(text) for text in ("", "hello world", "你好，世界")] == [0, 2, 3]


def test_text_that_looks_like_a_special_token_is_ordinary_text() -> None:
    assert count("<|endoftext|>") > 1


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_no_text_raises_and_every_text_but_the_empty_one_counts(text: str) -> None:
    assert (count(text) > 0) == bool(text)
    assert (rule_of_thumb(text) > 0) == bool(text)


@pytest.mark.parametrize("blank", [" ", "\t", "\n"])
def test_a_million_blanks_do_not_reach_the_native_code_in_one_piece(blank: str) -> None:
    assert 0 < count(blank * 1_200_000) < 1_200_000


def test_slices_change_the_count_of_a_long_text_by_at_most_one_a_slice() -> None:
    text = "The session log is append-only; nothing else is state.\n" * 6_000
    folder = shipped_folder()
    assert folder is not None
    whole = counting._load(folder)(text)
    assert abs(count(text) - len(whole)) <= len(text) // SLICE + 1


def test_without_the_files_the_rule_of_thumb_counts_and_says_so(tmp_path: Path) -> None:
    for folder, why in ((None, "not installed"), (tmp_path, "FileNotFoundError")):
        guess = Counter(lambda folder=folder: folder)  # type: ignore[misc]
        assert guess("x" * 300) == 100
        assert guess.name == "heuristic"
        assert not guess.exact
        assert why in guess.why


def test_a_changed_vocabulary_is_refused_and_left_where_it_is(tmp_path: Path) -> None:
    shipped = shipped_folder()
    assert shipped is not None
    for file in shipped.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(b"aGVsbG8= 0\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    guess = Counter(lambda: tmp_path)
    assert guess.name == "heuristic"
    assert "another vocabulary" in guess.why
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_many_threads_load_it_once() -> None:
    asked: list[int] = []
    all_started = threading.Event()

    def folder() -> Path | None:
        asked.append(1)
        all_started.wait()
        return None

    shared = Counter(folder)
    threads = [shared.warm() for _ in range(8)]
    all_started.set()
    for thread in threads:
        thread.join()
    assert shared("abc") == 1
    assert asked == [1]


def test_importing_loads_neither_tiktoken_nor_litellm_and_counting_opens_no_socket_nor_sets_a_variable() -> None:
    script = """
import os, sys
import agent.counting as c
heavy = {"tiktoken", "litellm", "textual"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
before = dict(os.environ)
opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event.startswith("socket.") else None)
assert c.count("hello world") == 2 and c.counter.exact
assert "litellm" not in sys.modules
assert dict(os.environ) == before
assert opened == [], opened
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
