"""The rung without a model: how much of the fact sheet it keeps, and when it makes nothing at all."""

from __future__ import annotations

from compaction.cut import choose_cut
from compaction.emergency import emergency
from compaction.facts import fact_sheet
from compaction.records import Compacted, Gate
from compaction.view import View
from tests.compaction.build_log import budget, compacted, ruler, says, step_of, user, view_of

BUDGET = budget(40_000)


def made(view: View, under: int) -> Compacted | None:
    cut = choose_cut(view, ruler(), BUDGET, Gate.EMERGENCY, room=30_000)
    assert cut is not None
    return emergency(view, ruler(), BUDGET, cut, under)


def conversation() -> View:
    """Forty steps whose paths are more than a quarter of a fact sheet holds."""
    steps = [step_of(f"c{n}", "w " * 900, paths=tuple(f"src/part{n}/{m}.py" for m in range(30))) for n in range(40)]
    return view_of(user("go"), *steps)


def test_it_ends_below_the_size_asked_for_never_at_it_and_gives_up_facts_for_that() -> None:
    view = conversation()
    body = made(view, 10**6)
    assert body is not None and "Files read" in body.fact_sheet
    seen = [body]
    while (body := made(view, seen[-1].after)) is not None:
        assert body.after < seen[-1].after
        seen.append(body)
        assert made(view, body.after + 1) == body
    cut = choose_cut(view, ruler(), BUDGET, Gate.EMERGENCY, room=30_000)
    assert cut is not None
    sheets = [fact_sheet(view, cut, "", ruler(), BUDGET.fact_cap // share) for share in (1, 4)]
    said = seen[-1].fact_sheet
    assert said.startswith("[dropped without a summary") and "\n" not in said
    assert [body.fact_sheet for body in seen] == [*(f"{said}\n\n{sheet}" for sheet in sheets), said]


def test_what_would_be_no_smaller_is_not_made() -> None:
    """Answers of 0 to 39 words: what is said of what was dropped is longer first, then as long, then shorter."""
    answers = [[says("w " * words + end) for end in "abcd"] for words in range(40)]
    bodies = [made(view_of(user("go"), *four), 10**6) for four in answers]
    assert bodies[0] is None and bodies[-1] is not None
    assert all(body is None or body.after < body.before for body in bodies)


def test_the_line_says_how_many_messages_went() -> None:
    talk = [says(f"{n} " + "w " * 900) for n in range(4)]
    for view, said in (
        (view_of(user("go"), *talk), "4 messages;"),
        (view_of(user("go"), *talk, compacted(5)), "1 message;"),
    ):
        cut = choose_cut(view, ruler(), BUDGET, Gate.EMERGENCY, room=1_000)
        assert cut is not None
        body = emergency(view, ruler(), BUDGET, cut, 10**6)
        assert body is not None and said in body.fact_sheet
