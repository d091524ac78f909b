"""A model that gives shorter answers than the list or the settings say is asked for shorter ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.model import AnswerTooLong
from agent.wire import Compact
from compaction.records import CompactionFailed
from tests.agent.loop.harness import Story, last_text, scripted


def refused(most: int | None) -> AnswerTooLong:
    return AnswerTooLong("The model gives no answer as long as was asked for. The conversation is kept.", most=most)


def wishes(story: Story) -> list[int | None]:
    return [request.max_tokens for request in story.requests]


async def test_the_stated_limit_is_asked_for_from_then_on_and_told_once(tmp_path: Path) -> None:
    async with Story(tmp_path, [refused(1_000), "one", "two"], max_output=4_000) as story:
        assert (await story.say("hi")).stop == "done"
        assert (await story.say("on")).stop == "done"
        assert story.answers == ["one", "two"]
        assert wishes(story) == [4_000, 1_000, 1_000]
        assert story.told.count("no answer of 4k tokens") == 1


async def test_without_a_number_half_is_asked_for(tmp_path: Path) -> None:
    async with Story(tmp_path, [refused(None), "one"], max_output=4_000) as story:
        assert (await story.say("hi")).stop == "done"
        assert wishes(story) == [4_000, 2_000]


@pytest.mark.parametrize("most", [None, 4_000, 9_000])
async def test_a_server_that_refuses_every_length_ends_the_turn_with_its_own_words(
    tmp_path: Path, most: int | None
) -> None:
    async with Story(tmp_path, [refused(most)] * 9, max_output=4_000) as story:
        idle = await story.say("hi")
        assert idle.stop == "failed" and "no answer as long" in str(idle.error)
        assert wishes(story) == [4_000, 2_000, 1_000]


async def test_a_summary_is_asked_for_again_in_as_few_words_as_the_model_gives(tmp_path: Path) -> None:
    # A model that no list knows: turns leave the limit out, and a summary names one.
    talk = ["answer " * 600] * 4
    async with Story(tmp_path, scripted(talk, [refused(2_000)]), window=200_000, max_output=None) as story:
        for turn in range(4):
            assert (await story.say(f"question {turn}")).stop == "done"
        assert (await story.wish(Compact())).committed
        assert [request.max_tokens for request in story.summaries] == [8_192, 2_000]
        assert "Stay under 1,500 words." in last_text(story.summaries[-1])
        assert story.bodies(CompactionFailed) == []
        assert (await story.say("on")).stop == "done"
        assert story.turns[-1].max_tokens == 2_000


@pytest.mark.parametrize("most", [None, 20_000])
async def test_a_summary_that_is_too_long_at_every_length_is_a_failure(tmp_path: Path, most: int | None) -> None:
    async with Story(tmp_path, scripted(["answer " * 600] * 4, [refused(most)] * 9), window=200_000) as story:
        for turn in range(4):
            await story.say(f"question {turn}")
        assert (await story.wish(Compact())).code == 1
        assert [request.max_tokens for request in story.summaries] == [4_000, 2_000, 1_000]
