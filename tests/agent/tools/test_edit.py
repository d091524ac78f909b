"""The `edit` tool: where a text is found, what becomes of the rest, and what is said when it is not found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import Refused
from agent.tools.matching import Edit, splice
from tests.agent.tools.bench import Bench, bench_in


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


def spliced(raw: str, *edits: tuple[str, str], newline: str = "\n") -> str:
    return splice(raw, newline, [Edit(old, new) for old, new in edits], "a").raw


def refusal(raw: str, *edits: Edit) -> str:
    with pytest.raises(Refused) as caught:
        splice(raw, "\n", edits, "a")
    return str(caught.value)


async def test_several_edits_are_made_at_once_and_summed_up(bench: Bench) -> None:
    path = bench.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    result = await bench.call(
        "edit", path="a.py", edits=[{"old": "return 2", "new": "return 20\n    # done"}, {"old": "f()", "new": "h()"}]
    )
    assert path.read_text() == "def h():\n    return 1\n\n\ndef g():\n    return 20\n    # done\n"
    assert result.text == "Edited a.py: 2 places (line 1, 6), 3 lines added, 2 removed."
    assert (result.paths, result.changed, result.failed) == (("a.py",), True, False)


async def test_if_one_edit_fails_none_is_made(bench: Bench) -> None:
    path = bench.write("a", "one\ntwo\n")
    result = await bench.call("edit", path="a", edits=[{"old": "one", "new": "1"}, {"old": "three", "new": "3"}])
    assert result.failed
    assert result.text.startswith("Edit 2 was not found in a. Nothing was written.")
    assert path.read_text() == "one\ntwo\n"


async def test_a_file_changed_on_disk_since_it_was_read_is_refused(bench: Bench) -> None:
    path = bench.write("a", "one\n")
    await bench.call("read", path="a")
    path.write_text("one\nmore\n")
    result = await bench.call("edit", path="a", old="one", new="1")
    assert result.failed
    assert "changed on disk since it was read" in result.text
    await bench.call("read", path="a")
    assert not (await bench.call("edit", path="a", old="one", new="1")).failed
    assert not (await bench.call("edit", path="a", old="more", new="less")).failed


async def test_untouched_bytes_mode_and_line_ends_stay(bench: Bench) -> None:
    path = bench.write("a", b"\xef\xbb\xbfa\xff\r\nb\nc\r\nd\r\n")
    path.chmod(0o750)
    await bench.call("edit", path="a", old="c\nd", new="C\nX\nD")
    assert path.read_bytes() == b"\xef\xbb\xbfa\xff\r\nb\nC\r\nX\r\nD\r\n"
    assert path.stat().st_mode & 0o777 == 0o750


async def test_the_need_shows_all_edits_as_one_diff(bench: Bench) -> None:
    bench.write("a", "one\ntwo\nthree\n")
    need = bench.need("edit", path="a", edits=[{"old": "one", "new": "1"}, {"old": "three", "new": "3"}])
    assert need.diff == "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3"


def test_a_text_in_several_places_needs_more_of_it_or_all() -> None:
    text = "x = 1\ny = 1\nz = 1\n"
    assert refusal(text, Edit("= 1", "= 2")).startswith("The edit matches 3 places in a (lines 1, 2, 3).")
    assert splice(text, "\n", [Edit("= 1", "= 2", every=True)], "a").raw == text.replace("1", "2")
    assert "(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 90 more)" in refusal("x\n" * 100, Edit("x", "y"))


def test_edits_refer_to_the_file_as_it_was() -> None:
    assert spliced("a b", ("a", "b"), ("b", "c")) == "b c"


def test_edits_that_overlap_are_refused() -> None:
    assert "Edits 1 and 2 overlap at line 1" in refusal("abc", Edit("ab", "x"), Edit("bc", "y"))
    assert spliced("abcd", ("ab", "x"), ("cd", "y")) == "xy"


@pytest.mark.parametrize(
    ("raw", "old", "new", "after"),
    [
        # blanks at line ends
        ("a  \nb\t\n", "a\nb", "c\nd", "c\nd\n"),
        ("a\nb\n", "a  \nb  ", "c", "c\n"),
        # one indentation more or less, and the new text shifted alike
        (
            "if x:\n    if y:\n        z\n",
            "if y:\n    z",
            "if q:\n    w\n\n    v",
            "if x:\n    if q:\n        w\n\n        v\n",
        ),
        ("if y:\n    z\n", "        if y:\n            z", "        if q:\n            w", "if q:\n    w\n"),
        ("\tif y:\n\t\tz\n", "if y:\n\tz\n", "if q:\n\tw\n", "\tif q:\n\t\tw\n"),
        # line numbers copied along
        ("one\ntwo\nthree\n", "2\ttwo\n3\tthree", "2\tTWO\n3\tTHREE", "one\nTWO\nTHREE\n"),
        ("one\ntwo\n", "1\tone\n", "ONE\n", "ONE\ntwo\n"),
        # the last line without a newline
        ("a\n  b", "b\n", "c\n", "a\n  c\n"),
        # CRLF written as LF
        ("a\r\nb\r\n", "a\nb", "c\nd", "c\r\nd\r\n"),
    ],
)
def test_what_is_meant_is_found_by_a_stated_rule(raw: str, old: str, new: str, after: str) -> None:
    newline = "\r\n" if "\r\n" in raw else "\n"
    assert spliced(raw, (old, new), newline=newline) == after


@pytest.mark.parametrize(
    ("raw", "old", "new"),
    [
        ("    a\n        b\n", "a\nb", "c\nd"),  # two different shifts
        ("\ta\n", "    a\n    b", "c"),
        ("    a\n", "        a", "b"),  # the new text has not the blanks to take away
        ("a b\n", "a  b", "c"),  # blanks inside a line
        ("a\n\nb\n", "a\nb", "c"),  # a blank line missing
        ("A\n", "a", "b"),
        ("x\n", "\n\n", "y"),
    ],
)
def test_nothing_else_is_guessed(raw: str, old: str, new: str) -> None:
    assert "was not found" in refusal(raw, Edit(old, new))


def test_a_loose_match_in_two_places_is_ambiguous_too() -> None:
    assert "matches 2 places" in refusal("  a\n    a\n", Edit("a ", "b"))


def test_a_text_not_found_shows_the_nearest_with_its_line_numbers() -> None:
    text = "import os\n\ndef compute_total(items):\n    total = 0\n    return total\n"
    said = refusal(text, Edit("def compute_totals(items):\n    total = 1\n", "x"))
    assert said.endswith("The nearest text is:\n3\tdef compute_total(items):\n4\t    total = 0")


def test_an_edit_already_made_is_said() -> None:
    assert "already there, at line 2" in refusal("a\nnew text\n", Edit("old text", "new text"))


def test_an_empty_or_idle_edit_is_refused() -> None:
    assert "empty old text" in refusal("a", Edit("", "b"))
    assert "changes nothing" in refusal("a", Edit("a", "a"))
    assert "changes nothing" in refusal("a\n", Edit("a\r\n", "a\n"))


def test_looking_for_the_nearest_of_a_huge_text_ends() -> None:
    refusal("lorem ipsum dolor sit amet\n" * 100_000 + "x" * 1_000_000, Edit("lorem ipsum dolor sit amex " * 2, "y"))


@given(
    st.lists(st.sampled_from(["a", "b", " ", "\t", "\n", "\r\n", "xy"]), max_size=14).map("".join),
    st.lists(st.sampled_from(["a", "b", " ", "\n", "xy"]), min_size=1, max_size=4).map("".join),
    st.sampled_from(["\n", "\r\n"]),
)
def test_what_lies_outside_the_place_found_is_never_touched(raw: str, old: str, newline: str) -> None:
    try:
        after = splice(raw, newline, [Edit(old, "NEW")], "a").raw
    except Refused:
        return
    before, _, behind = after.partition("NEW")
    head = before.rstrip(" \t")
    assert raw.startswith(head)
    assert raw.endswith(behind)
    removed = raw[len(head) : len(raw) - len(behind)]
    assert removed.replace("\r\n", "\n").split() == old.split()
