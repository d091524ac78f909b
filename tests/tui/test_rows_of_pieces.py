from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.tui import scenes
from tui.block import Block, Fold
from tui.full import markdown
from tui.full.palette import Palette
from tui.full.rows import Rows
from tui.full.strips import Piece, draw
from tui.present import Presenter


def piece(lines: int, key: str = "k") -> Piece:
    return Piece(Block(key, "notice", body="x"), "\n".join(f"{key} line {n}" for n in range(lines)), gap=0)


def rows_of(*heights: int) -> Rows:
    rows = Rows(80, Palette())
    rows.extend(piece(height, f"p{n}") for n, height in enumerate(heights))
    return rows


def text(rows: Rows, line: int) -> str:
    strip = rows.line(line)
    assert strip is not None
    return strip.text.strip("· ").rstrip()


@settings(deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_drawn_from_the_top_each_line_belongs_to_its_piece(heights: list[int]) -> None:
    rows = rows_of(*heights)
    expected = [f"p{n} line {line}" for n, height in enumerate(heights) for line in range(height)]
    rows.settle(0, sum(heights) * 2)
    assert [text(rows, line) for line in range(rows.height)] == expected


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), min_size=3, max_size=30), st.data())
def test_settling_keeps_what_is_read_where_it_is(heights: list[int], data: st.DataObject) -> None:
    """A long line makes the guess wrong; the piece after it must be found at the line plus what `settle` says."""
    rows = Rows(20, Palette())
    rows.extend(Piece(Block(f"p{n}", "notice", body="x"), "word " * height, gap=0) for n, height in enumerate(heights))
    index = data.draw(st.integers(1, len(heights) - 1))
    top = rows.start(index) - 1
    at_its_first_line = rows.start(index - 1) == top
    moved = rows.settle(top, top + 10)
    assert moved == 0 if at_its_first_line else rows.start(index) == top + 1 + moved


def test_only_what_is_looked_at_is_drawn() -> None:
    rows = rows_of(*[3] * 1_000)
    rows.settle(1_500, 1_520)
    assert 0 < len(rows._drawn) < 20


def test_replacing_a_piece_moves_the_ones_after_it() -> None:
    rows = rows_of(2, 2, 2)
    rows.settle(0, 100)
    rows.splice(1, 2, [piece(5, "new")])
    rows.settle(0, 100)
    assert rows.height == 9
    assert [text(rows, 2), text(rows, 7)] == ["new line 0", "p2 line 0"]


def test_another_width_makes_every_height_a_guess_again() -> None:
    rows = Rows(80, Palette())
    rows.extend([Piece(Block("k", "notice", body="x"), "word " * 30, gap=0)])
    rows.settle(0, 50)
    before = rows.height
    rows.resize(20, Palette())
    rows.settle(0, 50)
    assert rows.height > before


@settings(deadline=None)
@given(st.integers(8, 130), st.booleans())
def test_no_strip_is_wider_than_the_screen(width: int, open: bool) -> None:
    presenter = Presenter()
    for event in [*scenes.working(), *scenes.rewritten()]:
        for block in presenter.show(event):
            for strip in draw(Piece(block, block.body, open=open), width, Palette()):
                assert strip.cell_length <= width


def test_wide_characters_fit_in_every_role() -> None:
    body = "漢字かな交じり文 " * 20
    for role in ("user", "agent", "tool", "shell", "notice", "warning", "error", "quiet"):
        block = Block("k", role, title="漢字 " * 30, body=body, meta=("漢字",))
        for width in (9, 20, 41, 80):
            for strip in draw(Piece(block, body), width, Palette()):
                assert strip.cell_length <= width
                assert cell_len(strip.text) == strip.cell_length


def drawn(text: str, width: int = 60) -> str:
    return "\n".join(
        "".join(segment.text for segment in line).rstrip() for line in markdown.lines(text, width, Palette())
    )


def test_markdown_is_drawn_and_nothing_else_is_interpreted() -> None:
    assert drawn("# Title\n\nsome **bold** [red]x[/red] <b>tag</b> [/]").split("\n") == [
        "Title", "", "some bold [red]x[/red] <b>tag</b> [/]",
    ]  # fmt: skip


def test_character_references_smuggle_nothing_in() -> None:
    assert "\u202e" not in drawn("a&#x202e;b")
    assert "\x1b" not in drawn("a&#27;[31mb")
    assert "\x9b" not in drawn("a&#x9b;31mb")


def test_folded_output_says_how_much_is_hidden() -> None:
    block = Block("k", "tool", "bash ls", "\n".join(map(str, range(50))), "output", fold=Fold(2, 2), state="done")
    closed = [strip.text.strip() for strip in draw(Piece(block, block.body, gap=0), 80, Palette())]
    assert closed == ["✓ bash ls", "│ 0", "│ 1", "│ … 46 more lines (ctrl+o)", "│ 48", "│ 49"]
    assert len(draw(Piece(block, block.body, open=True, gap=0), 80, Palette())) == 51


def test_at_the_end_only_the_pieces_that_are_seen_are_drawn() -> None:
    rows = Rows(80, Palette())
    rows.extend(Piece(Block(f"{n}", "agent", body="x"), "\n\n".join("word " * 40 for _ in range(6))) for n in range(50))
    rows.settle_end(20)
    drawn = [n for n in range(50) if n in rows._drawn]
    seen = sum(len(rows.strips(n)) for n in drawn)
    assert seen >= 20
    assert seen - len(rows.strips(drawn[0])) < 20
    assert drawn == list(range(drawn[0], 50))
