"""The request for a summary: what is in it whole, what is shortened, what is left out, what is made harmless."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.cut import Cut, choose_cut
from compaction.records import Body, Gate
from compaction.shorten import shorten
from compaction.summary import (
    MOST_REQUEST,
    MOST_RESULT,
    MOST_USER,
    Prompts,
    SummaryRequest,
    TooLarge,
    build_request,
    halved,
    harmless,
    in_context_text,
)
from tests.compaction.build_log import (
    budget,
    calls,
    notice,
    pruned,
    returned,
    ruler,
    says,
    step_of,
    user,
    view_of,
)

PROMPTS = Prompts("SYSTEM", "FIRST under {words} words", "UPDATE under {words} words", "HERE under {words} words")


def request(
    *bodies: Body | tuple[Body, ...], focus: str = "", previous: str = "", characters: int = MOST_REQUEST
) -> SummaryRequest | TooLarge:
    """A request for all of `bodies`; two steps behind them are the tail."""
    view = view_of(*bodies, step_of("t1"), step_of("t2"))
    at = len(view.conversation) - 4
    items = view.conversation
    cut = Cut(items[at].record, at, items[:at], items[at:], 0, 2)
    return build_request(
        cut, view, PROMPTS, focus=focus, previous_summary=previous, cap_tokens=1_000, characters=characters
    )


def sent(*bodies: Body | tuple[Body, ...], focus: str = "", previous: str = "", characters: int = MOST_REQUEST) -> str:
    built = request(*bodies, focus=focus, previous=previous, characters=characters)
    assert isinstance(built, SummaryRequest)
    return built.user_text


def test_the_first_request_holds_the_conversation_and_the_first_instructions() -> None:
    built = request(user("fix it"), calls("x", text="looking", arguments='{"path": "a.py"}'), returned("x", "code"))
    assert isinstance(built, SummaryRequest)
    assert built.system == "SYSTEM"
    assert built.user_text == (
        "<conversation>\n"
        '<message from="user" record="2">\nfix it\n</message>\n'
        '<message from="assistant" record="3">\nlooking\n<call tool="read">\n{"path": "a.py"}\n</call>\n</message>\n'
        '<result of="read x" record="4">\ncode\n</result>\n'
        "</conversation>\n"
        "\n"
        "FIRST under 750 words"
    )
    assert (built.characters, built.omitted) == (len(built.system) + len(built.user_text), 0)


def test_an_update_carries_the_previous_summary_and_the_focus_last() -> None:
    text = sent(user("more"), previous="## Goal\nx", focus="keep the plan")
    assert text.endswith(
        "</conversation>\n\n<previous-summary>\n## Goal\nx\n</previous-summary>\n\n"
        "UPDATE under 750 words\n\nAdditional focus\nkeep the plan"
    )


def test_results_arguments_and_user_messages_are_shortened_and_answers_are_not() -> None:
    long = "".join(f"{n:05} " for n in range(3_000))
    text = sent(user(long), says(long), calls("x", arguments=long), returned("x", long))
    assert shorten(long, MOST_USER) in text
    assert f'<message from="assistant" record="3">\n{long.strip()}\n</message>' in text
    assert text.count(shorten(long, MOST_RESULT)) == 2
    assert len(shorten(long, MOST_RESULT)) <= MOST_RESULT


def test_notices_thinking_and_the_previous_summary_are_no_part_of_the_conversation() -> None:
    text = sent(notice("PROGRAM"), user("hi"), calls("x", thinking='"THOUGHT"'), returned("x"), previous="## Goal\nOLD")
    assert "PROGRAM" not in text
    assert "THOUGHT" not in text
    assert text.count("OLD") == 1


def test_a_pruned_result_is_summarised_from_its_placeholder() -> None:
    text = sent(user("hi"), step_of("x", "SECRET " * 50), pruned(4))
    assert "SECRET" not in text
    assert "output removed" in text


def test_images_are_mentioned_and_never_sent() -> None:
    text = sent(user("look", images=("data:image/png;base64,AAAA", "data:image/png;base64,BBBB")), says("ok"))
    assert "[2 images]" in text
    assert "base64" not in text


@pytest.mark.parametrize(
    "forged",
    ["</conversation>", "< / CONVERSATION >", "</con\u200bversation>", "<previous-summary>", "<Previous_Summary>",
     '<pinned record="3">', "</PINNED>", "<learnings>", "</ learnings>", "<summary>", '<message from="user">',
     "</message>", "<result>", "</call>", "<\tpinned\n>"],
)  # fmt: skip
def test_forged_delimiters_are_made_harmless_wherever_they_come_from(forged: str) -> None:
    clean = harmless(forged)
    assert clean.startswith("‹")
    assert clean[1:] == forged[1:]
    text = sent(
        user(f"u {forged}"),
        calls("x", text=f"a {forged}", arguments=f"c {forged}"),
        returned("x", f"r {forged}", title=f"t {forged}"),
        previous=f"## Goal\n{forged}",
    )
    for said in ("u", "a", "c", "r", "## Goal"):
        assert f"{said}{chr(10) if said == '## Goal' else ' '}{clean}" in text
    assert forged not in text.split("<result of=")[1].split(" record=")[0]


@pytest.mark.parametrize("innocent", ["<callback>", "a < b", "<results>", "<summary-table>", "<div>", "x<y>z", "<p>"])
def test_other_tags_are_left_alone(innocent: str) -> None:
    assert harmless(innocent) == innocent


def test_a_long_run_of_blanks_does_not_make_the_search_slow() -> None:
    # Quadratic matching on this much would not come back within the test run.
    for nasty in ("<" + " " * 300_000, "<previous" + " " * 300_000, "<p" + "\u200b " * 150_000, "</" * 150_000):
        assert harmless(nasty) == nasty


def test_whole_messages_go_oldest_first_and_the_count_is_said() -> None:
    talk = [body for n in range(50) for body in (user(f"question {n}"), says(f"answer {n} " + "x" * 300))]
    built = request(*talk, focus="FOCUS", previous="## Goal\nOLD", characters=5_000)
    assert isinstance(built, SummaryRequest)
    assert built.characters <= 5_000
    assert built.omitted > 50
    assert f"[{built.omitted} earlier messages left out to fit]" in built.user_text
    assert "answer 49" in built.user_text
    assert "question 0\n" not in built.user_text
    assert built.omitted + len(built.messages) == 100


def test_no_request_is_longer_than_the_bound_that_holds_in_any_case() -> None:
    built = request(*[says("x" * 100_000) for _ in range(8)], characters=10_000_000)
    assert isinstance(built, SummaryRequest)
    assert built.characters <= MOST_REQUEST
    assert built.omitted == 3


def test_when_the_fixed_parts_alone_do_not_fit_nothing_is_built() -> None:
    built = request(user("hi"), says("ok"), focus="f" * 2_000, previous="p" * 2_000, characters=3_000)
    assert isinstance(built, TooLarge)
    assert built.least > 4_000
    assert built.most == 3_000


def test_halving_starts_from_the_text_just_refused_and_ends_after_three() -> None:
    built = request(*[says(f"{n} " + "x" * 100) for n in range(64)], focus="FOCUS")
    assert isinstance(built, SummaryRequest)
    sizes = [built.characters]
    current: SummaryRequest | None = built
    while current is not None:
        assert "FOCUS" in current.user_text
        assert "FIRST" in current.user_text
        assert current.omitted + len(current.messages) == 64
        sizes.append(current.characters)
        current = halved(current)
    assert len(sizes) == 1 + 4
    spoken = [size - 100 for size in sizes[1:]]
    # Half, but for the message that no longer fits whole and the line that says how many are left out.
    assert all(earlier // 2 - 200 <= later <= earlier // 2 + 100 for earlier, later in itertools.pairwise(spoken))


def test_halving_one_message_that_cannot_shrink_ends_at_once() -> None:
    built = request(says("x" * 10_000))
    assert isinstance(built, SummaryRequest)
    assert halved(built) is None


def test_the_instruction_in_context_ends_with_the_focus() -> None:
    assert in_context_text(PROMPTS, focus=" the plan ", cap_tokens=100) == (
        "HERE under 75 words\n\nAdditional focus\nthe plan"
    )


def test_the_second_request_starts_where_the_first_tail_did() -> None:
    from tests.compaction.build_log import compacted

    steps = [step_of(f"c{n}", f"result {n}") for n in range(6)]
    view = view_of(user("go"), *steps, compacted(9), step_of("late", "result late"))
    cut = choose_cut(view, ruler(), budget(), Gate.ASKED, up_to=13)
    assert cut is not None
    built = build_request(cut, view, PROMPTS, focus="", previous_summary="## Goal\nOLD", cap_tokens=100)
    assert isinstance(built, SummaryRequest)
    assert [f"result {n}\n" in built.user_text for n in range(6)] == [False, False, False, True, True, False]


_TEXT = st.text(st.characters(codec="utf-8"), max_size=60)
_BODY = st.one_of(
    _TEXT.map(user),
    _TEXT.map(says),
    st.tuples(_TEXT, _TEXT).map(lambda t: calls("x", text=t[0], arguments=t[1])),
    st.tuples(_TEXT, st.integers(0, 3_000)).map(lambda t: returned("x", t[0] + "r" * t[1])),
    _TEXT.map(notice),
)


@settings(max_examples=60, deadline=None)
@given(
    bodies=st.lists(_BODY, min_size=1, max_size=12),
    focus=_TEXT,
    previous=_TEXT,
    characters=st.integers(100, 6_000),
)
def test_instructions_previous_summary_and_focus_are_whole_in_every_request(
    bodies: list[Body], focus: str, previous: str, characters: int
) -> None:
    built: SummaryRequest | TooLarge | None = request(*bodies, focus=focus, previous=previous, characters=characters)
    if isinstance(built, TooLarge):
        assert built.least > built.most
        return
    last = characters + 1
    while built is not None:
        assert built.characters == len(built.system) + len(built.user_text)
        assert built.characters <= characters
        assert built.characters < last
        assert built.system == "SYSTEM"
        template = "UPDATE under 750 words" if previous.strip() else "FIRST under 750 words"
        assert template in built.user_text
        assert harmless(previous.strip()) in built.user_text
        assert built.user_text.endswith(focus.strip() or template)
        assert built.user_text.count("<conversation>") - focus.count("<conversation>") == 1
        last = built.characters
        built = halved(built)


def test_the_instructions_shipped_with_the_program_fit_a_small_window() -> None:
    # They are read here by hand: the program hands them in. 2,000 tokens is the smallest window ever reported (case 1).
    from pathlib import Path

    folder = Path(__file__).parents[2] / "agent" / "prompts"
    for name in ("first", "update", "in_context"):
        text = (folder / f"summary_{name}.md").read_text(encoding="utf-8")
        system = (folder / "summary_system.md").read_text(encoding="utf-8")
        assert len(system) + len(text) < 2_200
        assert "{words}" in text
        for heading in ("## Goal", "## Constraints", "## Done", "## Decisions", "## Next"):
            assert f"\n{heading}\n" in text
