from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui import plain
from tui.full.ascii_only import ascii_text


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]52;c;aGk=\x07b", "ab"),
        ("a\x1b]0;title\x1b\\b", "ab"),
        ("a\x9b31mb", "ab"),
        ("nul\x00 bell\x07", "nul bell"),
        ("abc\u202edcba", "abcdcba"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\tb", "a    b"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("[red]x[/] [/]", "[red]x[/] [/]"),
    ],
)
def test_foreign_text_is_made_harmless(foreign: str, shown: str) -> None:
    assert plain.safe(foreign) == shown


@given(st.text(st.characters(), max_size=200))
def test_safe_text_holds_no_control_but_newline_and_can_be_written(text: str) -> None:
    shown = plain.safe(text)
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cs") for c in shown)
    shown.encode("utf-8")
    assert plain.safe(shown) == shown


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0"), (999, "999"), (1_000, "1k"), (61_400, "61.4k"), (99_949, "99.9k"), (99_950, "100k"),
        (160_000, "160k"), (999_499, "999k"), (999_500, "1M"), (1_048_576, "1.05M"), (-1_500, "-1.5k"),
    ],
)  # fmt: skip
def test_token_counts_are_short_and_never_clamped(count: int, said: str) -> None:
    assert plain.tokens(count) == said


@pytest.mark.parametrize(("amount", "said"), [(0.42, "$0.42"), (0.004, "$0.004"), (0.0001, "<$0.001"), (0, "$0.00")])
def test_a_cheap_turn_is_not_shown_as_free(amount: float, said: str) -> None:
    assert plain.dollars(amount) == said


@pytest.mark.parametrize(
    ("environ", "ascii"),
    [
        ({}, False),
        ({"LANG": "en_US.UTF-8"}, False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "en_US.ISO-8859-1"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "C.utf8"}, False),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"PYTHONIOENCODING": "ascii:replace", "LANG": "en_US.UTF-8"}, True),
        ({"PYTHONIOENCODING": "utf-8", "LC_ALL": "C"}, False),
    ],
)
def test_what_the_user_said_of_the_terminal_decides_about_ascii(environ: dict[str, str], ascii: bool) -> None:
    assert plain.only_ascii(environ) is ascii


def test_ascii_text_keeps_its_width() -> None:
    assert ascii_text("a → “b” … 漢") == 'a > "b" ~ ??'


def test_two_amounts_have_as_many_places_as_it_takes_to_tell_them_apart() -> None:
    assert plain.dollars_apart(0.03, 0.01) == ("$0.03", "$0.01")
    assert plain.dollars_apart(0.0141, 0.0119) == ("$0.014", "$0.012")
    assert plain.dollars_apart(0.01412, 0.01408) == ("$0.0141", "$0.0141")
    assert plain.dollars_apart(0.01, 0.01) == ("$0.01", "$0.01")


def test_several_lines_are_told_on_one_with_their_number() -> None:
    assert plain.in_one("fix\x1b[31m it\n\n  then test\n") == "(2 lines) fix it / then test"
    assert plain.in_one("fix it\n") == "fix it"
    assert plain.in_one("") == ""
    assert plain.in_one("a" * 300, 10) == "aaaaaaaaa…"
