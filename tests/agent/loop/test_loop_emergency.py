"""The rungs below a summary: a window that would overflow is made to fit without a model, or refused honestly."""

from __future__ import annotations

from pathlib import Path

from agent.model import ContextOverflow, Overloaded
from agent.models.scripted import Say
from agent.wire import Compact, Gated, SetModel
from compaction.records import AssistantSaid, Compacted, CompactionFailed, ToolReturned, UserSaid
from tests.agent.loop.harness import Story, last_text, output, pairs_are_valid, scripted, spoken, summary

SMALL = '[models."openai/small"]\nwindow = 8000\nmax_output = 500'


def talk(count: int, characters: int = 3_000) -> list[Say | str]:
    return ["word " * (characters // 5) for _ in range(count)]


async def test_after_a_failed_pre_flight_summary_the_emergency_makes_room_and_the_turn_goes_on(tmp_path: Path) -> None:
    model = scripted(talk(30), [Overloaded("theirs")] * 9)
    async with Story(tmp_path, model, more=SMALL) as story:
        for n in range(12):
            await story.say(f"question {n} on src/part{n}.py")
        await story.wish(SetModel("openai/small"))
        assert (await story.say("and now")).stop == "done"
        assert story.tags == ["pre-flight.provider_failed.no_prior", "emergency.compacted"]
        (body,) = story.bodies(Compacted)
        assert body.gate == "emergency"
        assert body.after < 7_000
        sent = story.turns[-1]
        assert pairs_are_valid(sent)
        assert last_text(sent) == "and now"
        assert "question 0" in spoken(sent)
        assert "recall" in spoken(sent)


async def test_the_compaction_after_an_emergency_covers_what_that_one_dropped(tmp_path: Path) -> None:
    model = scripted(talk(30), [Overloaded("theirs"), summary("all of it")])
    async with Story(tmp_path, model, more=SMALL) as story:
        for n in range(12):
            await story.say(f"question {n}")
        await story.wish(SetModel("openai/small"))
        await story.say("and now")
        assert story.tags[-1] == "emergency.compacted"
        assert (await story.wish(Compact())).committed
        asked = last_text(story.summaries[-1])
        assert "question 11" in asked or "left out to fit" in asked
        first, second = story.bodies(Compacted)
        assert second.prefix_from == first.prefix_from


async def test_a_refusal_for_length_whose_summary_fails_too_ends_in_the_emergency_and_an_answer(tmp_path: Path) -> None:
    steps = [Say("note " * 500, calls=(output(10, n),)) for n in range(6)]
    refusal = ContextOverflow("too long", window=5_000, asked=6_000)
    async with Story(tmp_path, scripted([*steps, refusal, "fits now"], [Overloaded("theirs")] * 5)) as story:
        idle = await story.say("go")
        assert (idle.stop, story.answers[-1]) == ("done", "fits now")
        assert story.tags == ["reactive.provider_failed.no_prior", "emergency.compacted"]
        assert len(story.bodies(UserSaid)) == 1


async def test_out_of_steps_at_the_limit_the_force_stop_makes_room_first(tmp_path: Path) -> None:
    steps = [Say("note " * 545, calls=(output(10, n),)) for n in range(9)]
    async with Story(
        tmp_path, scripted(steps), window=8_000, budget="100%", max_output=300, max_steps=10, context="reserve = 1"
    ) as story:
        idle = await story.say("go")
        assert idle.stop == "done"
        assert story.bodies(Compacted)
        assert story.tags == ["force-stop.compacted"]
        assert "no steps are left" in spoken(story.turns[-1])
        assert all(map(pairs_are_valid, story.requests))


async def test_the_same_result_asked_for_after_every_summary_is_spilled_and_stops_the_automatic(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "big.txt").write_text("line of text\n" * 900)
    read = Say("note " * 300, calls=(("bash", '{"command":"cat big.txt"}'),))
    async with Story(
        tmp_path, scripted([read] * 40), window=9_000, budget="100%", max_output=300, max_steps=30
    ) as story:
        idle = await story.say("go")
        assert idle.stop in ("done", "refused")
        assert len(story.summaries) <= 8
        assert max(b.usage.input for b in story.bodies(AssistantSaid) if b.usage) < 9_000
        assert all(len(b.text) < 6_000 for b in story.bodies(ToolReturned))


async def test_five_turns_with_a_failing_summariser_ask_it_three_times(tmp_path: Path) -> None:
    model = scripted(talk(40), [Overloaded("theirs")] * 40)
    async with Story(tmp_path, model, window=8_000, budget="100%", max_output=300) as story:
        for n in range(24):
            assert (await story.say(f"question {n}")).stop == "done"
        assert len(story.summaries) == 3
        assert len(story.bodies(CompactionFailed)) == 3
        assert story.tags.count("emergency.compacted") > 1
        assert "summaries off after 3 failures" in story.meter.automatic
        story.model.default = scripted([*talk(3, 100)]).default
        assert (await story.wish(Compact())).committed
        assert story.meter.automatic == "on"
        assert story.said(Gated)


async def test_the_fixed_part_alone_is_too_large_so_the_three_largest_are_named(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(["never"]), window=700) as story:
        idle = await story.say("hi")
        assert (idle.stop, idle.code) == ("refused", 3)
        assert "system prompt" in str(idle.error) and "tool schemas" in str(idle.error)
        assert story.requests == []
        assert await story.wish(Compact())
        assert story.requests == []
