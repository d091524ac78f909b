from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.flow import Flow, columns, wrap
from tui.full import pieces

words = st.text(st.sampled_from("ab é漢字😀  \n-"), max_size=120)


def test_words_are_kept_whole_where_they_fit() -> None:
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_a_long_word_is_cut_and_its_indentation_stays() -> None:
    assert wrap("    abcdefghij", 6) == ["    ab", "cdefgh", "ij"]


def test_a_wide_character_does_not_straddle_the_edge() -> None:
    assert wrap("漢字漢字", 5) == ["漢字", "漢字"]


@given(words, st.integers(1, 30))
def test_no_line_is_wider_than_asked(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in wrap(text, width))


@given(words, st.integers(2, 30))
def test_nothing_but_blanks_is_lost(text: str, width: int) -> None:
    assert "".join(wrap(text, width)).replace(" ", "") == text.replace(" ", "").replace("\n", "")


@given(st.lists(words, max_size=8), st.integers(2, 30))
def test_text_that_arrives_in_parts_loses_nothing_either(parts: list[str], width: int) -> None:
    flow = Flow(width)
    for part in parts:
        flow.feed(part)
    assert all(cell_len(line) <= width for line in flow.lines)
    assert "".join(flow.lines).replace(" ", "") == "".join(parts).replace(" ", "").replace("\n", "")


def test_feeding_changes_only_the_last_line() -> None:
    flow = Flow(20)
    flow.feed("a line that is long enough to be broken")
    before = list(flow.lines)
    first = flow.feed(" and goes on")
    assert first == len(before) - 1
    assert flow.lines[:first] == before[:first]


def test_resizing_lays_the_whole_text_out_anew() -> None:
    flow = Flow(10)
    for word in ("one ", "two ", "three ", "four"):
        flow.feed(word)
    flow.resize(40)
    assert flow.lines == ["one two three four"]


def test_a_cut_fence_is_closed_and_opened_again() -> None:
    text = "before\n\n```python\n" + "x = 1\n" * 1_600 + "```\n\nafter"
    cut = pieces.markdown(text, most=1_000)
    assert len(cut) > 1
    assert all(piece.count("```") % 2 == 0 for piece in cut)
    assert sum(piece.count("x = 1") for piece in cut) == 1_600


def test_pieces_of_prose_end_between_paragraphs() -> None:
    text = "\n\n".join(f"paragraph {n} " + "word " * 30 for n in range(50))
    cut = pieces.markdown(text, most=1_000)
    assert len(cut) > 5
    assert "\n".join(cut).split() == text.split()
    assert all(piece.startswith("paragraph") for piece in cut)


def test_what_belongs_to_a_list_stays_with_it() -> None:
    items = "".join(f"- item {n} {'word ' * 20}\n\n  more of it\n\n      code\n\n" for n in range(12))
    text = f"{'before ' * 200}\n\n{items}after {'word ' * 900}\n\nend"
    cut = pieces.markdown(text, most=1_000)
    assert any(items.strip() in piece for piece in cut)
    assert len(cut) > 1


def test_a_single_enormous_line_is_cut_too() -> None:
    cut = pieces.markdown("x" * 100_000)
    assert all(len(piece) <= pieces.LONGEST_LINE * 2 for piece in cut)
    assert "".join(cut).replace("\n", "") == "x" * 100_000


def test_output_pieces_hold_every_line() -> None:
    text = "\n".join(map(str, range(1_001)))
    assert "\n".join(pieces.output(text)) == text


def test_what_names_mean_stands_in_a_column_of_its_own() -> None:
    rows = [("a", "one two three"), ("a long name", "four"), ("b", "five")]
    assert columns(rows, 4, 14) == ["a     one two", "      three", "a long name", "      four", "b     five"]
