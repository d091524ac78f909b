"""Foreign text before it reaches a terminal, a log or a title."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sanitise import clean, decode, one_line, scrub, visible

HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b[]()0;31mK\x07\\\r\n\t\x08\x00\x9b\x9d\x9c\x90\x85‮⁦‏\ud800\udfffPX^_"),
    ),
    max_size=60,
)
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def harmless(text: str) -> bool:
    text.encode("utf-8")
    return not any((unicodedata.category(c) == "Cc" and c not in "\n\t") or c in BIDI for c in text)


@given(HOSTILE)
def test_clean_text_holds_no_control_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    assert harmless(cleaned)
    assert clean(cleaned) == cleaned


@given(HOSTILE)
def test_visible_text_holds_no_control_and_keeps_every_other_character(text: str) -> None:
    shown = visible(text)
    assert harmless(shown)
    kept = [c for c in scrub(text) if harmless(c)]
    rest = iter(shown)
    assert all(c in rest for c in kept)


@given(HOSTILE)
def test_a_title_is_one_short_line(text: str) -> None:
    line = one_line(text)
    assert harmless(line)
    assert "\n" not in line
    assert len(line) <= 80


@given(st.text(st.characters(exclude_categories=("Cc", "Cs", "Cf")), max_size=40))
def test_harmless_text_is_left_alone(text: str) -> None:
    assert clean(text) == visible(text) == scrub(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[?25l\x1b[2J\x1b[1;1Hx", "x"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;aGk=\x07x", "x"),
        ("\x1bPq#0;2;0\x1b\\x", "x"),
        ("\x9b31mred", "red"),
        ("\x1b(Bx\x1b7\x1b8\x1b=", "x"),
        ("a\x1b", "a"),
        ("10%\r50%\r100%\n", "100%\n"),
        ("10%\r100%\r\n", "100%\n"),
        ("a\r\nb\rc", "a\nc"),
        ("abc\x08\x08xy", "axy"),
        ("b\x08bo\x08ol\x08ld\x08d", "bold"),
        ("\x08\x08a", "a"),
        ("a\x00b\x07c", "abc"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("a\ud800b", "a\ufffdb"),
        ("tab\tstays\n", "tab\tstays\n"),
        ("[brackets] <b>", "[brackets] <b>"),
    ],
)
def test_what_a_terminal_would_have_left_on_its_screen(text: str, left: str) -> None:
    assert clean(text) == left


def test_an_escape_that_never_ends_swallows_no_more_than_a_line() -> None:
    assert clean("\x1b]0;" + "x" * 10_000 + "\nnext").endswith("\nnext")
    assert "visible" in clean("\x1b]0;never ended\nvisible\x07")


def test_hostile_megabytes_take_no_longer_than_plain_ones() -> None:
    # Quadratic work on any of these would not end within the test's patience.
    for unit in ("\x1b]", "\x9d", "a\x08", "\x1b[", "\r", "\x1b", "\x08", "\x9d\x1b["):
        clean(unit * 500_000)


def test_spelled_out_controls_can_be_read() -> None:
    assert visible("a\x1b[31m\x00\u202e\r") == "a\\x1b[31m\\x00\\u202e\\x0d"


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    assert decode(b"a\xff\xc3\xa9\xe2\x82") == "a\ufffdé\ufffd"
