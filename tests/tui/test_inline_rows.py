"""Rows of the inline screen on terminals of any width: broken at words, in their styles, behind their blanks."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from prompt_toolkit.data_structures import Size

from agent.wire import Opened
from compaction.records import ToolReturned
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tui.inline.print import Growing, Row, fitted, prose, text_of
from tui.inline.prompt import Lines

OUTPUT = "E   AssertionError: expected 2 but the function returned something else altogether Asse..."


@pytest.mark.parametrize("width", [8, 40, 50, 200])
def test_a_row_that_does_not_fit_is_broken_at_words_and_loses_none(width: int) -> None:
    one: Row = (
        ("class:quiet", "    one two"),
        ("class:strong", "three four five six "),
        ("", "漢字漢字漢字 seven eight"),
    )
    found = fitted(one, width)
    assert " ".join(text_of(part).strip() for part in found).replace(" ", "") == text_of(one).replace(" ", "")
    assert all(text_of(part).startswith("    ") for part in found)
    assert width == 200 or len(found) > 1
    strong = "".join(text for part in found for style, text in part if style == "class:strong")
    assert strong.replace(" ", "") == "threefourfivesix"


def test_output_of_a_tool_is_broken_between_its_words() -> None:
    play, tape = Play(columns=79), Tape()
    play.take(tape.said(ToolReturned("c", "bash", "bash pytest", OUTPUT, failed=True)))
    words = set(OUTPUT.split())
    shown = [line for line in play.paper.lines if line.startswith("  ")]
    assert len(shown) == 2 and max(map(len, shown)) <= 79
    assert all(set(line.split()) <= words for line in shown)


def test_the_opening_lines_fit_a_narrow_terminal() -> None:
    play = Play(columns=39)
    folder = "/home/somebody/projects/a client's/a repository with a name"
    play.take(
        Opened("2026-swift-otter", "/s/session.jsonl", folder, "anthropic/claude-sonnet-4-5-20250929", "ask", False)
    )
    assert max(map(len, play.paper.lines)) <= 39
    assert "a repository with a name" in " ".join(line.strip() for line in play.paper.lines)


def test_prose_leaves_room_for_what_stands_before_its_later_rows() -> None:
    text = "sandbox · commands run in a sandbox: this folder and /tmp writable, the rest read-only, network off"
    assert max(len(text_of(one)) for one in prose(text, 39, "", "", "    ")) <= 39


class Written(io.StringIO):
    """A terminal's file."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_erasing_never_begins_with_the_whole_screen() -> None:
    out = Written()
    lines = Lines(out, lambda: Size(24, 80))
    lines.erase_down()
    lines.flush()
    steps = out.getvalue().split("\x1b")
    assert ("[C", "[J") in list(pairwise(steps)) and steps[1] == "7" and steps[-1] == "8"


ITEMS = """\
1. one two three four five six seven
10. one two three four five six
   - one two three four five six
one two three four five six seven
```
1. one two three four five six
```
"""


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
def test_the_rows_of_an_item_stand_below_its_first_word_however_it_arrives(size: int) -> None:
    growing = Growing(20)
    found = [one for at in range(0, len(ITEMS), size) for one in growing.feed(ITEMS[at : at + size])]
    assert [text_of(one) for one in (*found, *growing.end())] == [
        "1. one two three",
        "   four five six",
        "   seven",
        "10. one two three",
        "    four five six",
        "   - one two three",
        "     four five six",
        "one two three four",
        "five six seven",
        "```",
        "1. one two three",
        "four five six",
        "```",
    ]


def test_what_is_not_yet_a_row_stands_where_it_will_stand() -> None:
    growing = Growing(20)
    growing.feed("1. one two three four five")
    assert growing.tail == "   four five"
