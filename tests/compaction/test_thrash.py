"""When automatic compaction frees nothing that lasts, and when it only looks so."""

from __future__ import annotations

from dataclasses import replace

from compaction.attempts import thrash
from compaction.records import Body, Gate, Record, ToolReturned
from compaction.view import View, preview
from tests.compaction.build_log import calls, compacted, log, returned, says, user


def test_thrash_needs_three_in_a_row_on_large_windows_and_five_on_small_ones() -> None:
    one: tuple[Body, ...] = (user("u"), says("a"), compacted(2, gate=Gate.PROACTIVE))
    for count, large, small in ((2, False, False), (3, True, False), (4, True, False), (5, True, True)):
        view = View(log(*one * count))
        assert (thrash(view, 32_000) is not None, thrash(view, 31_999) is not None) == (large, small)
        assert (thrash(view, None) is not None) is large
    far = (*one, *[says("a")] * 4)
    assert thrash(View(log(*far * 5)), 200_000) is None
    assert thrash(View(log(*one * 5, compacted(2))), 200_000) is None
    # What follows the user's own compaction at once is counted with the rest.
    at_once = (compacted(2), compacted(2, gate=Gate.PROACTIVE), *one[1:], *one[1:])
    assert thrash(View(log(*at_once)), 200_000) is not None


def rereads(
    count: int, apart: int = 9, name: str = "read", texts: str = "same", more: ToolReturned | None = None,
    new: bool = True,
) -> View:  # fmt: skip
    """So many compactions, the same call after each of them; each result is the next letter of `texts`, or the last.

    `new`: behind it comes something that was not there before.
    """
    bodies: list[Body] = []
    for n in range(count):
        text = texts[n] if n < len(texts) and texts != "same" else texts
        bodies += [compacted(2, gate=Gate.PROACTIVE), calls(f"x{n}", tool=name, arguments='{"path":"a"}')]
        bodies += [returned(f"x{n}", text), *([more] if more else [])]
        bodies += [calls(f"y{n}", tool="bash", arguments=f'{{"command":"{n if new else ""}"}}'), returned(f"y{n}", "")]
        bodies += [says("w")] * (apart - 2)
    return View(log(*bodies[: len(bodies) - apart + 2]))


def test_a_read_again_after_each_of_two_compactions_is_thrash_within_nine_steps() -> None:
    assert "after each of 2 compactions" in (thrash(rereads(2), 200_000) or "")
    assert thrash(rereads(1), 200_000) is None
    assert thrash(rereads(2, apart=10), 200_000) is None
    assert thrash(rereads(2, name="bash"), 200_000) is None


def test_however_far_apart_and_small_a_row_that_brings_nothing_new_between_is_thrash_after_two() -> None:
    for window in (4_000, 8_000, 200_000):
        assert "after each of 2 compactions" in (thrash(rereads(2, apart=30, new=False), window) or "")
        assert thrash(rereads(1, new=False), window) is None
        assert thrash(rereads(2, apart=30), window) is None
    assert thrash(rereads(2, new=False, texts="ab"), 8_000) is None
    assert thrash(rereads(2, new=False, name="bash"), 8_000) is None
    changed = returned("z", tool="edit", changed=True)
    assert thrash(rereads(2, new=False, more=changed), 8_000) is None
    assert thrash(rereads(2, new=False, more=replace(changed, failed=True)), 8_000) is not None


def test_a_user_who_asks_about_the_same_file_again_is_no_thrash_where_much_is_said_between() -> None:
    quiet = rereads(2, apart=30, new=False)
    asked = View((*quiet.records, Record(quiet.last + 1, 0.0, user("and what of its end?"))))
    assert thrash(quiet, 200_000) is not None
    assert thrash(asked, 200_000) is None
    assert thrash(rereads(2, apart=5, new=False), 200_000) is not None


def test_a_read_whose_result_is_another_is_no_repetition() -> None:
    assert thrash(rereads(2, texts="ab"), 200_000) is None
    assert thrash(rereads(3, texts="abb"), 200_000) is not None
    spilled = [preview(n, "log " * 9_000) for n in (7, 8_000)]
    assert spilled[0] != spilled[1]
    one = (compacted(2, gate=Gate.PROACTIVE), calls("x", arguments="{}"))
    assert thrash(View(log(*one, returned("x", spilled[0]), *one, returned("x", spilled[1]))), 200_000) is not None


def test_on_a_small_window_the_same_read_counts_after_five_compactions_between_which_no_file_was_changed() -> None:
    changed = returned("y", tool="edit", changed=True)
    assert thrash(rereads(4), 8_000) is None
    assert "after each of 5 compactions" in (thrash(rereads(5), 8_000) or "")
    assert thrash(rereads(5, texts="abbbb"), 8_000) is None
    assert thrash(rereads(5, more=changed), 8_000) is None
    assert thrash(rereads(5, more=replace(changed, failed=True)), 8_000) is not None
    assert thrash(rereads(2, more=changed), 200_000) is not None
