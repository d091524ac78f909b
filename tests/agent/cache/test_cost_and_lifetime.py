"""Money, and the time a cache lasts: what the meter says live is what the timeline says from the log."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from agent.forecast import COLD, keeps_answers
from agent.metering import inspected
from agent.models.scripted import Say, ScriptedModel
from agent.reading import Reading, RequestRow
from agent.wire import Appended, Command, Compact, Metered, Plan, Planned, Prune, Rewind, Undo
from agent.wire.figures import Meter
from compaction.cache import Prices, price_of_next, request_cost
from compaction.records import AssistantSaid, Compacted, Gate, Pruned, ToolReturned, Usage, UserSaid
from tests.agent.loop.harness import Story, calls, output, scripted, summary

TABLE = "prices.input = 3.0\nprices.output = 15.0\nprices.cached = 0.3\nprices.cache_write = 3.75\n"
PRICES = Prices(3.0, 15.0, 0.3, 3.75)

LIFETIME = 300.0


def rows(story: Story) -> list[RequestRow]:
    return list(Reading(story.kit(), story.folder).timeline(story.session.log.path))


def said_live(story: Story) -> list[Meter]:
    """The meter that followed each reply."""
    found: list[Meter] = []
    for n, event in enumerate(story.events):
        if isinstance(event, Appended) and not event.replay and isinstance(event.record.body, AssistantSaid):
            found.append(next(e.meter for e in story.events[n:] if isinstance(e, Metered)))
    return found


@pytest.mark.parametrize("seed", range(3))
async def test_the_timeline_from_the_log_alone_says_what_the_meter_said_live(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    steps = [calls(output(chance.randint(100, 4_000), n), text=f"step {n}") for n in range(4)]
    turns = [s for step in steps for s in (step, "answer " * chance.randint(1, 200))]
    story = Story(tmp_path, scripted(turns * 5, [summary()] * 20), more=TABLE)
    live: list[Meter] = []
    for _ in range(3):
        async with story:
            for _ in range(5):
                await story.say("go")
                users = [r.id for r in story.session.view.records if isinstance(r.body, UserSaid)]
                wishes: list[Command] = [Prune(every=True, force=True), Compact(), Undo(), Rewind(users[-1])]
                await story.wish(chance.choice(wishes))
                story.clock.now += chance.choice([5, 299, 301])
            live += said_live(story)
            told = rows(story)
        story = story.again()
    assert len(live) == len(told)
    assert [(m.cache.predicted, m.cache.reported, m.cache.broken) for m in live] == [
        (row.predicted, row.cache_read, row.breaks) for row in told
    ]
    assert {COLD, None} < {row.breaks for row in told}
    assert live[-1].cost is not None


async def test_each_request_is_priced_by_disjoint_buckets_and_the_session_is_their_sum(tmp_path: Path) -> None:
    usages = [Usage(1_000, 0, 9_000, 200, 50), Usage(10, 10_000, 300, 100, 0), Usage(0, 0, 0, 7, 0)]
    story = Story(tmp_path, [Say(f"answer {n}", usage=u) for n, u in enumerate(usages)], more=TABLE)
    async with story:
        for _ in usages:
            await story.say("go")
        costs = [row.cost for row in rows(story)]
        assert costs == [pytest.approx(request_cost(u, PRICES)) for u in usages]
        assert costs[0] == pytest.approx((1_000 * 3.0 + 9_000 * 3.75 + 250 * 15.0) / 1e6)
        assert story.meter.cost == pytest.approx(sum(c for c in costs if c is not None), abs=1e-6)


async def test_what_was_rewound_was_paid_all_the_same(tmp_path: Path) -> None:
    async with Story(tmp_path, more=TABLE) as story:
        await story.say("one")
        await story.say("two")
        before = story.meter.cost
        users = [r.id for r in story.records if isinstance(r.body, UserSaid)]
        await story.wish(Rewind(users[1]))
        assert story.meter.cost == before
        assert before is not None


async def test_summaries_are_part_of_what_the_session_cost(tmp_path: Path) -> None:
    async with Story(tmp_path, ScriptedModel(default=_answer), more=TABLE) as story:
        for _ in range(4):
            await story.say("go")
        before = story.meter.cost
        assert (await story.wish(Compact())).committed
        body = story.bodies(Compacted)[-1]
        assert body.usage is not None
        assert body.cost == pytest.approx(request_cost(body.usage, PRICES))
        assert before is not None
        assert story.meter.cost == pytest.approx(before + (body.cost or 0), abs=2e-6)


def _answer(request: object) -> str:
    return "answer " * 300 if getattr(request, "tools", ()) else summary()


async def test_without_a_price_everything_is_said_in_tokens(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(output(9_000), output(9_000))])) as story:
        for _ in range(4):
            await story.say("go")
        assert story.meter.cost is None
        assert story.meter.next_cost is None
        plan = await planned(story, Prune(every=True, force=True, dry_run=True))
        assert (plan.price.keep, plan.price.rewrite, plan.price.breakeven_turns) == (None, None, None)
        assert plan.freed > 0
        assert plan.breaks_at is not None
        assert rows(story)[-1].cost is None


async def planned(story: Story, command: Command) -> Plan:
    await story.wish(command)
    return story.said(Planned)[-1].plan


async def test_the_next_turn_is_priced_as_it_is_after_a_prune_and_after_a_compaction(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(output(20_000), output(20_000))]), more=TABLE) as story:
        for _ in range(4):
            await story.say("go")
        size, meter = story.session.size().total, story.meter
        prune = await planned(story, Prune(every=True, force=True, dry_run=True))
        compact = await planned(story, Compact(preview=True))
    keep = price_of_next(size, meter.cache.next_cached, 500, PRICES)
    assert meter.next_cost == pytest.approx(keep, abs=1e-6)
    for plan in (prune, compact):
        assert plan.price.keep == pytest.approx(keep, abs=1e-6)
        assert plan.price.rewrite is not None
        assert plan.reread > 0
    read = prune.after - prune.reread
    assert prune.price.rewrite == pytest.approx(price_of_next(prune.after, read, 500, PRICES), abs=1e-5)


async def test_the_cache_counts_down_and_is_cold_after_its_lifetime(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([calls(output(20_000))]), more=TABLE) as story:
        await story.say("go")
        await story.say("go on")
        warm = story.meter
        assert (warm.cache.warm_s, warm.cache.broken) == (LIFETIME, None)
        assert warm.cache.next_cached > 0.9 * warm.used
        assert any(row.cached for row in inspected(story.session).rows)
        story.clock.now += 120
        story.session.metered()
        assert story.meter.cache.warm_s == LIFETIME - 120
        assert story.meter.cache.next_cached == warm.cache.next_cached
        story.clock.now += 181
        story.session.metered()
        cold = story.meter
        assert (cold.cache.warm_s, cold.cache.next_cached) == (0.0, 0)
        assert cold.next_cost is not None
        assert warm.next_cost is not None
        assert cold.next_cost > 3 * warm.next_cost
        assert not any(row.cached for row in inspected(story.session).rows)
        await story.say("after the pause")
        assert (story.meter.cache.predicted, story.meter.cache.broken) == (0, COLD)
        assert (rows(story)[-1].predicted, rows(story)[-1].breaks) == (0, COLD)
        await story.say("warm again")
        assert story.meter.cache.predicted > 0
        assert story.meter.cache.broken is None


async def test_the_lifetime_is_a_setting_of_the_model(tmp_path: Path) -> None:
    async with Story(tmp_path, more="cache_ttl = 3600\n") as story:
        await story.say("go")
        story.clock.now += 3_000
        await story.say("still warm")
        assert story.meter.cache.broken is None
        assert story.meter.cache.predicted > 0


async def test_a_long_turn_keeps_its_own_cache_warm(tmp_path: Path) -> None:
    """Each step of a turn is a request: the countdown runs from the newest one, not from the turn's beginning."""
    story: Story

    def slow(request: object) -> Say:
        story.clock.now += 200
        return calls(output(100, len(story.requests)))

    story = Story(tmp_path, [slow, slow, slow, "Done."])
    async with story:
        await story.say("go")
        assert len(story.bodies(ToolReturned)) == 3
        assert [row.breaks for row in rows(story)] == [None] * 4


async def test_a_slow_answer_does_not_make_its_own_request_cold(tmp_path: Path) -> None:
    story: Story

    def slow(request: object) -> Say:
        story.clock.now += 400
        return Say("at last")

    story = Story(tmp_path, ["quick", slow])
    async with story:
        await story.say("go")
        await story.say("go on")
        assert rows(story)[-1].breaks is None


async def test_a_server_seen_to_keep_its_own_answers_is_expected_to_go_on(tmp_path: Path) -> None:
    """Local servers hold what they wrote: the next request reads the last one and its answer."""
    usages = [Usage(1_000, 0, 0, 400), Usage(30, 1_390, 0, 300), Usage(30, 1_715, 0, 200), Usage(30, 1_940, 0, 10)]
    async with Story(tmp_path, [Say(f"answer {n}", usage=u) for n, u in enumerate(usages)]) as story:
        for _ in usages:
            await story.say("go")
        found = [row.predicted for row in rows(story)]
    # Unseen at the second request; from the third on known.
    assert found == [0, 1_000, 1_420 + 300, 1_745 + 200]


async def test_what_an_older_request_left_is_no_sign_of_kept_answers(tmp_path: Path) -> None:
    usages = [Usage(1_000, 0, 0, 400), Usage(10, 5_000, 0, 10)]
    async with Story(tmp_path, [Say(f"answer {n}", usage=u) for n, u in enumerate(usages)]) as story:
        await story.say("go")
        await story.session.append(Pruned((), "pruned", Gate.ASKED, 0, 0))
        await story.say("and")
        assert not keeps_answers(story.records, story.session.log.next_id)
