"""Huge results on arrival: what is spilled, where, and what is shown instead."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.spill import FOLDER, Admitted, Arrivals, Bounds, file_name, load, store
from compaction.view import PREVIEW, preview


def words(text: str) -> int:
    return len(text.split())


def arrivals(folder: Path, budget: int = 1_000_000) -> Arrivals:
    return Arrivals(Bounds(budget), folder, words)


def test_a_small_result_is_admitted_as_it_is(tmp_path: Path) -> None:
    assert arrivals(tmp_path).admit("small", "c1", "bash", 7) == Admitted("small", None, 5)
    assert not (tmp_path / FOLDER).exists()


@pytest.mark.parametrize(
    ("text", "budget", "spilled"),
    [
        ("x" * 51_200, 1_000_000, False),
        ("x" * 51_201, 1_000_000, True),
        ("é" * 25_601, 1_000_000, True),
        ("abc\n" * 2_000, 1_000_000, False),
        ("abc\n" * 2_001, 1_000_000, True),
        ("abc\n" * 2_000 + "d", 1_000_000, True),
        ("word " * 1_000, 8_000, False),
        ("word " * 1_001, 8_000, True),
    ],
)
def test_the_least_of_the_three_bounds_decides(text: str, budget: int, spilled: bool, tmp_path: Path) -> None:
    admitted = arrivals(tmp_path, budget).admit(text, "c1", "bash", 7)
    assert (admitted.spilled is not None) == spilled
    assert admitted.characters == len(text)


def test_a_spilled_result_is_whole_on_disk_private_and_shown_as_a_preview(tmp_path: Path) -> None:
    text = "head\n" + "é\n" * 30_000 + "tail\n"
    admitted = arrivals(tmp_path).admit(text, "call_1", "bash", 7)
    assert admitted == Admitted(preview(7, text), "spill/call_1.txt", len(text))
    assert len(admitted.text) <= PREVIEW
    assert load(tmp_path, "spill/call_1.txt") == text
    file = tmp_path / "spill/call_1.txt"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(p.name for p in file.parent.iterdir()) == ["call_1.txt"]


def test_a_step_of_many_results_spills_those_that_pass_its_total(tmp_path: Path) -> None:
    step = arrivals(tmp_path)
    spilled = [step.admit("x" * 50_000, f"c{i}", "bash", i).spilled for i in range(6)]
    assert [s is not None for s in spilled] == [False, False, False, False, True, True]
    step.new_step()
    assert step.admit("x" * 50_000, "c9", "bash", 9).spilled is None


def test_a_step_is_bounded_in_tokens_too(tmp_path: Path) -> None:
    step = arrivals(tmp_path, 8_000)
    spilled = [step.admit("word " * 900, f"c{i}", "bash", i).spilled for i in range(6)]
    assert [s is not None for s in spilled] == [False, False, False, False, True, True]


@pytest.mark.parametrize("tool", ["read", "recall"])
def test_what_pages_is_never_spilled_but_counts(tool: str, tmp_path: Path) -> None:
    step = arrivals(tmp_path)
    assert step.admit("x" * 199_999, "c1", tool, 1).spilled is None
    assert step.admit("y" * 3_000, "c2", "bash", 2).spilled is not None


def test_lone_surrogates_become_replacement_characters(tmp_path: Path) -> None:
    assert arrivals(tmp_path).admit("a\ud800", "c", "bash", 1).text == "a\ufffd"
    huge = arrivals(tmp_path).admit("\ud800" * 60_000, "c", "bash", 1)
    assert huge.spilled is not None
    assert load(tmp_path, huge.spilled) == "\ufffd" * 60_000


@given(st.text(max_size=200))
def test_a_file_name_is_plain_whatever_the_call_is_named(call_id: str) -> None:
    name = file_name(call_id)
    assert os.path.basename(name) == name
    assert not name.startswith(".")
    assert name.endswith(".txt")
    assert name.isascii()
    assert len(name) <= 100


@pytest.mark.parametrize(
    "call_id", ["", ".", "..", "../x", "a/b", "a\0b", "\ud800", "x" * 5_000, "CON", "-rf", "a.txt"]
)
def test_hostile_call_ids_stay_in_the_folder(call_id: str, tmp_path: Path) -> None:
    admitted = arrivals(tmp_path).admit("x" * 60_000, call_id, "bash", 1)
    assert admitted.spilled is not None
    assert (tmp_path / admitted.spilled).resolve().parent == (tmp_path / FOLDER).resolve()
    assert load(tmp_path, admitted.spilled) == "x" * 60_000


@example("Call_A", "call_a")
@example("CALL_A", "call_a.0123456789ab")
@given(st.text(max_size=20), st.text(max_size=20))
def test_no_two_calls_share_a_file_even_where_case_is_ignored(one: str, two: str) -> None:
    assert (file_name(one).lower() == file_name(two).lower()) == (one == two)


@pytest.mark.parametrize(
    "relative", ["../secret", "/etc/hostname", "spill/../../secret", "spill", "", "spill/link", "a\0b"]
)
def test_a_log_cannot_make_us_read_another_file(relative: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    session = tmp_path / "session"
    (session / FOLDER).mkdir(parents=True)
    (session / FOLDER / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match=r".*"):
        load(session, relative)


def test_a_spill_file_is_on_disk_before_it_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / FOLDER / "a.txt"
    seen: list[tuple[int, bool]] = []

    def fsync(file: int) -> None:
        seen.append((os.fstat(file).st_mode & 0o170000, path.exists()))

    store(path, "text", fsync)
    assert seen == [(0o100000, False), (0o040000, True)]


def test_a_disk_that_refuses_is_told_and_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    with pytest.raises(OSError, match=r".*"):
        arrivals(tmp_path).admit("x" * 60_000, "c", "bash", 1)
