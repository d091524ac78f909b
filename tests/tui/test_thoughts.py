"""Reasoning on both screens: live, then one line with what is known, and the text behind a key."""

from __future__ import annotations

import json

from agent.wire import Appended, Busy, Event, Restreamed, Streaming
from compaction.records import AssistantSaid, Usage
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui.block import Block, Fold
from tui.present import Presenter
from tui.thoughts import Thoughts

TEXT = "First the lexer.\nThen the parser."
OPEN = json.dumps({"provider": "deepseek", "model": "deepseek/x", "reasoning": TEXT})
SIGNED = json.dumps(
    {"blocks": [{"type": "thinking", "thinking": TEXT, "signature": "s"}, {"type": "redacted_thinking"}]}
)
CLOSED = json.dumps({"blocks": [{"type": "redacted_thinking", "data": "x"}]})


def said(thinking: str | None, reasoning: int = 0) -> AssistantSaid:
    return AssistantSaid("Done.", (), Usage(10, 0, 0, 5, reasoning), "done", "m", 1, thinking)


def lines(*events: Event, took: float = 12.0) -> list[Block]:
    """The blocks about reasoning, with a clock that stands but for `took` seconds before the first word of text."""
    clock = iter([100.0, 100.0 + took])
    presenter = Presenter(thoughts=Thoughts(lambda: next(clock)))
    return [block for event in events for block in presenter.show(event) if block.role == "thinking"]


def test_the_line_stands_when_the_answer_begins_and_is_completed_by_its_record() -> None:
    tape = Tape()
    tape.number = 5
    first, second = lines(
        Busy("turn"), Streaming("hm", "thinking"), Streaming("so", "thinking"), Streaming("Do"), Streaming("ne."),
        tape.said(said(OPEN, 1_200)),
    )  # fmt: skip
    assert (first.title, first.body) == ("thought for 12 s", "")
    assert second == Block(first.key, "thinking", "thought for 12 s · 1.2k tokens", TEXT, fold=Fold())


def test_only_what_is_known_is_said() -> None:
    tape = Tape()
    titles = [
        [(block.title, block.body) for block in lines(tape.said(body, replay=True))]
        for body in (said(SIGNED), said(CLOSED, 300), said(CLOSED), said(None, 40), said(None), said("no json"))
    ]
    assert titles == [
        [("thought", TEXT)], [("thought · 300 tokens", "")], [], [("thought · 40 tokens", "")], [], [],
    ]  # fmt: skip


def test_each_reply_has_a_line_of_its_own_and_one_that_starts_over_has_one() -> None:
    tape = Tape()
    events: list[Event] = [
        Streaming("a", "thinking"), Restreamed(), Streaming("write", "call"), tape.said(said(OPEN)),
        tape.said(said(OPEN)), Busy("turn"), tape.said(said(OPEN)),
    ]  # fmt: skip
    keys = [block.key for block in lines(*events)]
    assert len(keys) == len(set(keys)) == 3


def test_what_a_model_thought_is_made_safe() -> None:
    evil = json.dumps({"reasoning": "\x1b[31mred[/]\x07"})
    (block,) = lines(Tape().said(said(evil)))
    assert "\x1b" not in block.body and "\x07" not in block.body


async def test_the_full_screen_folds_the_reasoning_and_ctrl_o_unfolds_it() -> None:
    tape = Tape()
    async with stage((80, 24)) as s:
        await s.play(*tape.opened(), Busy("turn"), *(Streaming(f"step {n}\n", "thinking") for n in range(30)))
        await s.settle(lambda: "step 29" in s.text("#transcript"))
        assert "step 20" not in s.text("#transcript")
        await s.play(Streaming("Done."), tape.said(said(OPEN, 1_200)), tape.idle())
        shown = s.text("#transcript")
        assert "· 1.2k tokens (ctrl+o)" in shown and "Then the parser." not in shown and "step 29" not in shown
        await s.press("ctrl+o")
        assert "Then the parser." in s.text("#transcript") and "[/]" not in s.text("#transcript")


def test_the_inline_screen_prints_the_line_before_the_answer_and_ctrl_o_prints_the_text() -> None:
    tape, play = Tape(), Play()
    play.take(*tape.opened(), Busy("turn"), Streaming("hm", "thinking"))
    play.time += 12
    play.take(Streaming("Done."), tape.said(said(OPEN, 1_200)), tape.idle())
    assert play.text.index("thought for 12 s") < play.text.index("Done.")
    assert play.text.count("thought for 12 s") == 1 and "Then the parser." not in play.text
    from tui.actions import ToggleFolds

    play.talk.wish(ToggleFolds())
    assert "Then the parser." in play.text


def test_the_inline_screen_shows_the_reasoning_of_an_answer_that_was_not_streamed() -> None:
    tape, play = Tape(), Play()
    event = tape.said(said(OPEN, 70))
    play.take(*tape.opened(), Appended(event.record))
    assert "thought · 70 tokens (ctrl+o)" in play.text


def test_until_the_provider_counts_a_guess_from_the_text_is_marked_as_one() -> None:
    tape = Tape()
    first, second = lines(Streaming("x" * 800, "thinking"), Streaming("Do"), tape.said(said(OPEN, 180)))
    assert (first.title, second.title) == ("thought for 12 s · ~200 tokens", "thought for 12 s · 180 tokens")


def test_inline_a_guess_that_was_far_off_is_put_right_and_a_near_one_is_not() -> None:
    said_ = []
    for counted in (180, 2_000):
        tape, play = Tape(), Play()
        play.take(*tape.opened(), Busy("turn"), Streaming("x" * 800, "thinking"), Streaming("Done."))
        play.take(tape.said(said(OPEN, counted)), tape.idle())
        said_.append("says the provider" in play.text)
        assert "~200 tokens" in play.text
    assert said_ == [False, True] and "2k tokens of reasoning, says the provider" in play.text
