"""Shortening: pure, idempotent, exact about what is missing, and never between a character and what belongs to it."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compaction.shorten import head_end, marker, shorten, tail_start

_PIECES = st.sampled_from(
    ["a", "é", "e\u0301", "e\u0301\u0323", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "क\u094d\u200dष", "ن\u200cن",
     "한", "\r\n", "\n", " ", "漢", "1\ufe0f\u20e3"]
)  # fmt: skip
# Lists are drawn short: a few pieces again and again make texts worth cutting.
_LONG = st.tuples(st.lists(_PIECES, min_size=1, max_size=12), st.integers(1, 40)).map(lambda t: "".join(t[0]) * t[1])
_TEXT = _LONG | st.text(max_size=300)


@given(text=_TEXT, most=st.integers(0, 320), note=st.sampled_from(["", "page it", "record 12"]))
@example(text="x" * 1_000, most=31, note="")
@example(text="x" * 1_000, most=10, note="")
def test_shortening_twice_is_shortening_once(text: str, most: int, note: str) -> None:
    once = shorten(text, most, note)
    assert shorten(once, most, note) == once
    assert len(once) <= max(most, min(len(text), len(marker(len(text), note))))


@given(text=_TEXT.filter(lambda t: "…" not in t), most=st.integers(60, 320))
def test_the_marker_counts_exactly_what_is_missing_and_the_rest_is_untouched(text: str, most: int) -> None:
    short = shorten(text, most)
    if short == text:
        return
    found = re.search(r"\n\[… ([\d,]+) characters removed …\]\n", short)
    assert found is not None
    head, tail = short[: found.start()], short[found.end() :]
    assert head_end(text, len(head)) == len(head)
    assert tail_start(text, len(text) - len(tail)) == len(text) - len(tail)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(found[1].replace(",", "")) + len(tail) == len(text)


@given(text=_TEXT, at=st.integers(0, 300))
def test_no_cut_parts_a_character_from_what_belongs_to_it(text: str, at: int) -> None:
    for cut in (head_end(text, min(at, len(text))), tail_start(text, min(at, len(text)))):
        if 0 < cut < len(text):
            first, last = text[cut], text[cut - 1]
            assert unicodedata.category(first) not in ("Mn", "Me", "Mc")
            assert first not in "\u200c\u200d\ufe0f"
            assert last not in "\u200c\u200d"
            assert (last, first) != ("\r", "\n")
            assert not 0x1F3FB <= ord(first) <= 0x1F3FF


@pytest.mark.parametrize("piece", ["e\u0301", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "1\ufe0f\u20e3", "ن\u200cن"])
def test_a_cluster_is_kept_or_dropped_whole(piece: str) -> None:
    text = "a" * 20 + piece + "b" * 20
    for at in range(20, 20 + len(piece) + 1):
        assert head_end(text, at) in (20, 20 + len(piece))
        assert tail_start(text, at) in (20, 20 + len(piece))


def test_three_quarters_are_head_and_one_quarter_is_tail() -> None:
    short = shorten("a" * 5_000 + "b" * 5_000, 2_000)
    assert 1_990 <= len(short) <= 2_000
    assert abs(short.count("a") - 3 * short.count("b")) < 20


def test_a_text_that_fits_is_returned_as_it_is() -> None:
    assert shorten("x" * 10, 10) == "x" * 10


@pytest.mark.parametrize(
    ("first", "last"), [(0xFE00, 0xFE0F), (0xE0100, 0xE01EF), (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F)]
)
def test_all_that_names_or_colours_a_character_stays_with_it(first: int, last: int) -> None:
    for code in (first, last):
        assert head_end(f"☝{chr(code)}", 1) == 0
    for code in (first - 1, last + 1):
        assert unicodedata.category(chr(code)).startswith("M") or head_end(f"☝{chr(code)}", 1) == 1
