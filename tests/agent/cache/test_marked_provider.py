"""A provider that caches up to marks, through the real loop and client: what one request wrote the next one reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.models.stub_tokens import LOOK_BACK
from agent.reading import Reading, RequestRow
from agent.wire import Compact, Prune, SetMode, Shell, Undo
from compaction.cache import MOST_MARKS
from compaction.records import Compacted, Usage
from tests.agent.cache.provider import Provider, calling, usages
from tests.agent.loop.harness import Story, summary

pytestmark = pytest.mark.asyncio(loop_scope="module")


def timeline(story: Story) -> list[RequestRow]:
    return list(Reading(story.kit(), story.folder).timeline(story.session.log.path))


def unbroken(found: list[Usage]) -> None:
    """Each request read all that the one before read and wrote."""
    assert [u.cache_read for u in found[1:]] == [u.cache_read + u.cache_write for u in found[:-1]]


async def test_over_thirty_turns_a_resume_and_a_moving_clock_each_request_reads_what_was_read_and_written(
    provider: Provider, tmp_path: Path
) -> None:
    steps = []
    for turn in range(30):
        # Every third turn calls tools side by side; one batch is longer than the provider looks back.
        count = 24 if turn == 13 else 1 + turn % 8
        if turn % 3 == 1:
            steps.append(calling(*(f"echo {turn} {n}" for n in range(count)), text="I look." if turn % 2 else ""))
        steps.append({"text": f"Answer {turn}. " + "It is so. " * (turn % 5)})
    story = provider.story(tmp_path, *steps)
    async with story:
        for turn in range(15):
            await story.say(f"question {turn}")
            story.clock.now += 61
            if turn == 7:
                await story.do(Shell("echo out of turn"))
                story.send(SetMode("plan"), SetMode("auto"))
    story.clock.now += 200
    async with story.again() as later:
        for turn in range(15, 30):
            await later.say(f"question {turn}")
            later.clock.now += 61
        found = usages(later.records)
        told = timeline(later)
    assert len(found) == 40
    assert len(provider.blocks) == 40
    assert found[0].cache_read == 0
    unbroken(found)
    # All of each request is written or read: its last block carries a mark. And that was what the meter expected.
    assert all(u.uncached == 0 for u in found)
    assert [(row.predicted, row.breaks) for row in told] == [(u.cache_read, None) for u in found]


async def test_case_34_eight_parallel_calls_then_text_read_all_that_was_written(
    provider: Provider, tmp_path: Path
) -> None:
    async with provider.story(tmp_path, calling(*(f"echo {n}" for n in range(8))), {"text": "Eight."}) as story:
        await story.say("go")
        await story.say("and now?")
        found = usages(story.records)
    assert len(found) == 3
    unbroken(found)


async def test_marks_are_four_at_most_and_the_last_block_carries_one(provider: Provider, tmp_path: Path) -> None:
    steps = [calling(*(f"echo {n} {m}" for n in range(1 + 11 * m))) for m in range(3)]
    async with provider.story(tmp_path, *steps) as story:
        await story.say("go")
    for blocks in provider.blocks:
        marked = [n for n, (_, mark) in enumerate(blocks) if mark]
        assert 1 <= len(marked) <= MOST_MARKS
        assert marked[-1] == len(blocks) - 1


async def test_a_batch_longer_than_the_look_back_has_a_mark_where_the_request_before_ended(
    provider: Provider, tmp_path: Path
) -> None:
    async with provider.story(tmp_path, calling(*(f"echo {n}" for n in range(2 * LOOK_BACK)))) as story:
        await story.say("go")
        first, second = usages(story.records)
    assert second.cache_read == first.cache_read + first.cache_write
    ends = [len(blocks) - 1 for blocks in provider.blocks]
    assert ends[1] - ends[0] > LOOK_BACK
    assert provider.blocks[1][ends[0]][1]


async def test_many_messages_between_two_requests_break_nothing(provider: Provider, tmp_path: Path) -> None:
    async with provider.story(tmp_path) as story:
        await story.say("go")
        for n in range(LOOK_BACK + 5):
            await story.do(Shell(f"echo {n}"))
        await story.say("and now?")
        unbroken(usages(story.records))


async def test_after_a_prune_deep_in_the_conversation_all_before_it_is_still_read(
    provider: Provider, tmp_path: Path
) -> None:
    steps = [calling(f"seq {n} {n + 400}", text=f"step {n}") for n in range(30)]
    async with provider.story(tmp_path, *steps) as story:
        await story.say("go")
        # Further back than the provider looks from the request's end.
        victim = [i.record for i in story.session.view.items if i.role == "tool"][17]
        plan = await story.wish(Prune((victim,), force=True))
        assert plan.committed
        before = usages(story.records)
        await story.say("and now?")
        after, row = usages(story.records)[-1], timeline(story)[-1]
    # Step n's request ended just before step n's reply: the prune at result 17 leaves all up to request 17's end.
    kept = before[17].cache_read + before[17].cache_write
    assert after.cache_read == kept
    assert row.breaks == f"pruned at #{victim}"
    assert abs(row.predicted - after.cache_read) < after.cache_read / 20


async def test_a_compaction_and_its_undo_read_what_was_expected(provider: Provider, tmp_path: Path) -> None:
    steps = [{"text": f"answer {n} " + "word " * 300} for n in range(6)]
    story = provider.story(tmp_path, *steps, {"text": summary()}, {"text": "after"}, {"text": "back"})
    async with story:
        for n in range(6):
            await story.say(f"question {n}")
        assert (await story.wish(Compact())).committed
        await story.say("go on")
        assert (await story.wish(Undo())).committed
        await story.say("and now?")
        told = timeline(story)
    assert [row.breaks for row in told[-2:]] == ["compacted", "undone"]
    for row in told[1:]:
        # An undo brings back what the provider still has: it may read more than the last request shares.
        assert row.cache_read >= row.predicted * 0.95 > 0
    assert told[-2].cache_read == pytest.approx(told[-2].predicted, rel=0.05)


async def test_a_summary_in_context_reads_all_of_the_last_request_and_changes_nothing_but_messages(
    provider: Provider, tmp_path: Path
) -> None:
    steps = [calling("echo 1", "echo 2"), *({"text": f"answer {n} " + "word " * 300} for n in range(4))]
    story = provider.story(tmp_path, *steps, {"text": summary()}, context='summary_mode = "in_context"')
    async with story:
        for n in range(4):
            await story.say(f"question {n}")
        before = usages(story.records)[-1]
        assert (await story.wish(Compact())).committed
        used = story.bodies(Compacted)[-1].usage
    assert used is not None
    assert used.cache_read == before.cache_read + before.cache_write
    last, asked = (r.body for r in provider.server.asked[-2:])
    changing = ("messages", "max_tokens")
    assert {k: v for k, v in asked.items() if k not in changing} == {k: v for k, v in last.items() if k not in changing}
    assert "tool_choice" not in asked
    # The instruction, which nothing will continue, carries no mark.
    assert not provider.blocks[-1][-1][1]
