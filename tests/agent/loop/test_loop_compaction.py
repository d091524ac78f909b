"""Compactions: what is asked, how replies are judged, what a failure leaves, what the next session inherits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.model import ContextOverflow, EmptyReply, ModelError, Overloaded, RequestTooLarge, TimedOut, Unreachable
from agent.models.scripted import Say, Scripted
from agent.wire import Appended, Compact, Gated, Reviewed, Reviewing
from compaction.records import Compacted, CompactionFailed, Record
from compaction.records import Usage as Counted
from compaction.view import View
from tests.agent.loop.harness import (
    NAME,
    Story,
    calls,
    is_prefix,
    last_text,
    output,
    pairs_are_valid,
    scripted,
    spoken,
    summary,
)


def view(story: Story) -> View:
    return story.session.view


async def worked(story: Story, turns: int = 4) -> Story:
    """A conversation with something to compact in it."""
    for turn in range(turns):
        await story.say(f"question {turn} about src/part{turn}.py")
    return story


def talk(turns: int = 4, characters: int = 3_000) -> list[Say | str]:
    """Replies for `worked`."""
    return [Say(f"answer {n}: " + "word " * (characters // 5)) for n in range(turns)]


async def test_a_compaction_is_on_disk_before_memory_and_in_memory_before_the_screen(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk())) as story:
        await worked(story)
        seen: list[tuple[bool, bool]] = []

        def heard(record: Record) -> None:
            if isinstance(record.body, Compacted):
                on_disk = b'"kind":"compacted"' in story.session.log.path.read_bytes()
                told = any(isinstance(e, Appended) and e.record == record for e in story.events)
                seen.append((on_disk and view(story).compaction == record, told))

        story.session.log.on_append.insert(0, heard)
        finished = await story.wish(Compact())
        assert (finished.committed, finished.code, finished.tag) == (True, 0, "asked.compacted")
        assert seen == [(True, False)]
        (body,) = story.bodies(Compacted)
        assert (finished.before, finished.after, finished.first_kept) == (body.before, body.after, body.first_kept)
        assert body.after < body.before


async def test_the_summary_request_is_one_user_message_without_tools(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk())) as story:
        await worked(story)
        await story.wish(Compact("the parser"))
        (asked,) = story.summaries
        assert [m["role"] for m in asked.messages] == ["system", "user"]
        assert asked.tools == ()
        assert asked.restartable
        text = last_text(asked)
        assert text.index("<conversation>") < text.index("question 0") < text.index("</conversation>")
        assert text.endswith("Additional focus\nthe parser")
        assert "coding session" in asked.messages[0]["content"]


async def test_the_second_request_carries_the_first_summary_and_the_first_tail(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk(9), [summary("first goal"), summary("second goal")])) as story:
        await worked(story)
        await story.wish(Compact())
        first_tail = [i.text for i in view(story).tail]
        await worked(story)
        await story.wish(Compact())
        text = last_text(story.summaries[1])
        assert "<previous-summary>\n## Goal\n- first goal" in text
        assert all(t[:60] in text for t in first_tail if t.startswith("answer"))
        await story.say("on")
        assert "second goal" in spoken(story.turns[-1])
        assert "first goal" not in spoken(story.turns[-1])
        assert pairs_are_valid(story.turns[-1])


REJECTED = {
    "summary_empty": Say("<x></x>"),
    "summary_truncated": Say(summary(), stop="length"),
    "summary_filtered": Say(summary(), stop="filtered"),
    "summary_oversize": Say(summary("word " * 20_000)),
    "summary_called_tool": Say(summary(), calls=(("read", "{}"),)),
    "summary_shapeless": Say("I did this and that."),
    "provider_failed": Overloaded("theirs"),
    "overflowed": ContextOverflow("too long"),
    "request_too_large": RequestTooLarge("413"),
}


@pytest.mark.parametrize("outcome", REJECTED)
async def test_a_rejected_summary_changes_nothing_and_says_why(tmp_path: Path, outcome: str) -> None:
    model = scripted(talk(), [REJECTED[outcome]], forever=True)
    async with Story(tmp_path, model) as story:
        await worked(story)
        before, log = view(story).items, story.session.log.path.read_bytes()
        finished = await story.wish(Compact())
        assert (finished.committed, finished.code) == (False, 1)
        expected = f"asked.{outcome}" + ("" if outcome == "request_too_large" else ".no_prior")
        assert (finished.tag, story.tags) == (expected, [expected])
        assert view(story).items == before
        assert story.session.log.path.read_bytes().startswith(log)
        assert len(story.bodies(CompactionFailed)) == 1
        assert (await story.say("on")).stop == "done"
        assert is_prefix(story.turns[-2], story.turns[-1])


async def test_an_empty_reply_is_an_empty_summary(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk(), [EmptyReply("nothing")])) as story:
        await worked(story)
        assert (await story.wish(Compact())).tag == "asked.summary_empty.no_prior"


async def test_a_summary_without_headings_is_asked_for_once_more_and_both_are_paid(tmp_path: Path) -> None:
    said = [Say("no shape", usage=Counted(100, 0, 0, 10)), Say(summary(), usage=Counted(200, 5, 0, 20))]
    more = "prices = { input = 1.0, output = 10.0 }"
    async with Story(tmp_path, scripted(talk(), said), more=more) as story:
        await worked(story)
        spent = story.meter.cost or 0
        assert (await story.wish(Compact())).committed
        (body,) = story.bodies(Compacted)
        assert (body.usage, body.requests) == (Counted(300, 5, 0, 30), 2)
        assert story.meter.cost == pytest.approx(spent + (305 + 300) / 1_000_000)


async def test_a_summary_that_is_not_smaller_is_rejected(tmp_path: Path) -> None:
    model = scripted(["a", "b", "c"], [summary("word " * 600)])
    async with Story(tmp_path, model) as story:
        for n in range(3):
            await story.say(f"q{n}")
        before = view(story).items
        assert (await story.wish(Compact())).tag == "asked.not_smaller.no_prior"
        assert view(story).items == before


async def test_a_refused_summary_request_is_halved_at_most_three_times(tmp_path: Path) -> None:
    refusals = [ContextOverflow("too long")] * 2
    async with Story(tmp_path, scripted(talk(16, 600), refusals)) as story:
        await worked(story, 16)
        assert (await story.wish(Compact())).committed
        sizes = [len(last_text(r)) for r in story.summaries]
        assert len(sizes) == 3
        assert sizes == sorted(set(sizes), reverse=True)
        assert all("Write the notes" in last_text(r) for r in story.summaries)
    model = scripted(talk(24, 600), [ContextOverflow("too long")] * 9)
    async with Story(tmp_path, model) as story:
        await worked(story, 24)
        assert (await story.wish(Compact())).tag == "asked.overflowed.no_prior"
        assert len(story.summaries) == 4


async def test_a_summariser_that_never_answers_times_out(tmp_path: Path) -> None:
    model = scripted(talk(), [Say(summary(), wait=asyncio.Event())])
    async with Story(tmp_path, model, summary_deadline=0.01) as story:
        await worked(story)
        before = view(story).items
        finished = await story.wish(Compact())
        assert (finished.tag, finished.code) == ("asked.timed_out.no_prior", 1)
        assert view(story).items == before
        assert model.cancelled == 1
        assert (await story.say("on")).stop == "done"


async def test_the_silence_a_summary_may_keep_is_the_one_that_the_settings_name(tmp_path: Path) -> None:
    model = scripted(talk())
    async with Story(tmp_path, model, flags={"deadline": "7s"}) as story:
        await worked(story)
        assert (await story.wish(Compact())).committed
        assert {asked.request.deadline for asked in model.asked} == {7.0}


async def test_the_settings_name_a_summariser_with_its_own_window(tmp_path: Path) -> None:
    more = '[models."openai/tiny"]\nwindow = 4000\nprices = { input = 1.0, output = 1.0 }'
    model = scripted(talk(6, 8_000))
    async with Story(tmp_path, model, context='summariser = "openai/tiny"', more=more) as story:
        await worked(story, 6)
        assert (await story.wish(Compact())).committed
        (asked,) = [a for a in model.asked if not a.request.tools]
        assert asked.endpoint.name == "openai/tiny"
        assert asked.request.max_tokens is not None
        assert len(spoken(asked.request)) // 4 + asked.request.max_tokens < 4_000
        (body,) = story.bodies(Compacted)
        assert body.summariser == "openai/tiny"
        assert body.cost is not None


@pytest.mark.parametrize("error", [Overloaded("Busy.", status=529), Unreachable("Gone."), TimedOut("Silent.")])
async def test_the_session_s_model_writes_the_summary_that_another_cannot(tmp_path: Path, error: ModelError) -> None:
    more = 'prices = { input = 2.0, output = 8.0 }\n[models."openai/tiny"]\nwindow = 40000\n'
    model = scripted(talk(6, 8_000), [Say("## Go", error=error), summary()])
    async with Story(tmp_path, model, context='summariser = "openai/tiny"', more=more) as story:
        await worked(story, 6)
        assert (await story.wish(Compact())).committed
        assert [a.endpoint.name for a in model.asked if not a.request.tools] == ["openai/tiny", NAME]
        (body,) = story.bodies(Compacted)
        assert (body.summariser, body.requests) == (NAME, 2) and body.cost is not None
        assert f"{error} The summary is asked of {NAME} instead." in story.told


@pytest.mark.parametrize("own", [True, False])
async def test_a_summary_that_nobody_can_write_says_so_and_one_judged_bad_is_asked_of_nobody_else(
    tmp_path: Path, own: bool
) -> None:
    said: list[Scripted] = [Overloaded("Busy.", status=529)] if own else ["no shape", "no shape", summary()]
    model = scripted(talk(6, 8_000), said)
    context = "" if own else 'summariser = "openai/tiny"'
    more = '[models."openai/tiny"]\nwindow = 40000\n'
    async with Story(tmp_path, model, context=context, more=more) as story:
        await worked(story, 6)
        finished = await story.wish(Compact())
        assert not finished.committed
        (failed,) = story.bodies(CompactionFailed)
        assert failed.outcome == ("provider_failed" if own else "summary_shapeless")
        assert ("Busy." in story.told) == own and "instead" not in story.told


async def test_what_was_learned_of_the_project_is_read_by_the_next_session(tmp_path: Path) -> None:
    said = summary() + "\n<learnings>\n- tests run with make check\n</learnings>"
    async with Story(tmp_path, scripted(talk(), [said])) as story:
        await worked(story)
        assert (await story.wish(Compact())).committed
        assert "make check" not in spoken(story.turns[-1])
        (body,) = story.bodies(Compacted)
        assert "make check" not in body.summary
        assert "make check" in body.learnings
    async with story.again("hello", first=None) as later:
        await later.say("hi")
        assert "tests run with make check" in spoken(later.requests[0])


async def test_a_memory_that_cannot_be_written_loses_no_summary(tmp_path: Path) -> None:
    said = summary() + "\n<learnings>\n- a fact\n</learnings>"
    async with Story(tmp_path, scripted(talk(), [said])) as story:
        await worked(story)
        (story.places.data / "memory").write_text("a file where the folder should be")
        assert (await story.wish(Compact())).committed
        assert "memory" in story.told


async def test_review_accepts_edits_or_drops(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk(20))) as story:
        for answer, committed in (("same", True), ("edited", True), (None, False)):
            await worked(story)
            mark = story.mark()
            story.send(Compact(review=True))
            shown = await story.until(Reviewing, after=mark)
            before = view(story)
            text = shown.summary if answer == "same" else f"## Goal\n- {answer}" if answer else None
            finished = await story.wish(Reviewed(text))
            assert finished.committed is committed
            if committed:
                assert story.bodies(Compacted)[-1].summary == text
            else:
                assert view(story).items == before.items
                assert finished.tag == "asked.interrupted.with_prior"


async def test_nothing_to_compact_is_said_with_its_own_exit_status(tmp_path: Path) -> None:
    async with Story(tmp_path, "ok") as story:
        finished = await story.wish(Compact())
        assert (finished.code, finished.tag) == (4, "asked.nothing_to_do")
        await story.say("hi")
        assert (await story.wish(Compact())).code == 4
        assert story.summaries == []


async def test_a_fixed_part_above_the_landing_is_said_and_no_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "AGENTS.md").write_text("rule\n" * 1_500)
    async with Story(tmp_path, scripted(talk(6, 200)), window=16_000, budget="4k") as story:
        await worked(story, 3)
        finished = await story.wish(Compact())
        assert (finished.code, finished.tag) == (1, "asked.refused_fixed")
        assert "AGENTS.md" in finished.text
        assert story.summaries == []


async def test_rules_of_the_project_are_word_for_word_in_the_request_after(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "AGENTS.md").write_text("Always write tests first, in the folder tests/.")
    async with Story(tmp_path, scripted(talk(5))) as story:
        await worked(story)
        await story.wish(Compact())
        await story.say("on")
        assert "Always write tests first, in the folder tests/." in spoken(story.turns[-1])
        said = [m["content"] for m in story.turns[-1].messages if m["role"] == "user"]
        assert said[0].startswith("question 0")
        assert said[-1] == "on"


async def test_the_newest_message_is_whole_and_last_when_its_turn_is_compacted(tmp_path: Path) -> None:
    steps = [calls(output(10, n), text="note " * 700) for n in range(12)]
    async with Story(tmp_path, scripted(["X done", *steps, "Y done"]), budget="14k") as story:
        await story.say("do X")
        await story.say("now do Y, carefully")
        assert story.bodies(Compacted)
        said = [m["content"] for m in story.turns[-1].messages if m["role"] == "user"]
        assert said[-1] == "now do Y, carefully"


async def test_the_meter_moves_at_once_and_is_an_estimate_until_the_next_reply(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk(5))) as story:
        await worked(story)
        used = story.meter.used
        await story.wish(Compact())
        assert story.meter.used < used
        assert not story.meter.exact
        assert story.meter.cache.broken == "compacted"
        await story.say("on")
        assert story.meter.exact


async def test_a_preview_asks_no_model_and_changes_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk())) as story:
        await worked(story)
        log = story.session.log.path.read_bytes()
        finished = await story.wish(Compact(preview=True))
        assert (finished.committed, finished.code) == (False, 0)
        assert story.session.log.path.read_bytes() == log
        assert story.summaries == []


@pytest.mark.parametrize(("max_output", "words"), [(300, "225"), (30_000, "6,144")])
async def test_no_more_words_are_asked_for_than_one_answer_of_the_summariser_holds(
    tmp_path: Path, max_output: int, words: str
) -> None:
    async with Story(tmp_path, scripted(talk()), window=200_000, max_output=max_output) as story:
        await worked(story)
        assert (await story.wish(Compact())).committed
        (asked,) = story.summaries
        assert f"Stay under {words} words." in last_text(asked)


async def test_text_only_chats_without_tools_compact_on_a_small_window(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk(16, 1_200)), window=6_000, budget="4k", max_output=300) as story:
        for turn in range(16):
            assert (await story.say(f"question {turn}")).stop == "done"
        assert "compacted" in " ".join(story.tags)
        assert "tool" not in " ".join(b.text for b in story.said(Gated))


async def test_three_failures_in_a_row_stop_the_summariser_until_the_user_acts(tmp_path: Path) -> None:
    failing = scripted(talk(60, 4_000), [Overloaded("theirs")] * 50)
    story = Story(tmp_path, failing, window=16_000, budget="9k", max_output=500)
    async with story:
        for turn in range(14):
            idle = await story.say(f"question {turn}")
            assert idle.stop == "done", idle
        assert len(story.summaries) == 3
        assert "emergency.compacted" in story.tags
    later = story.again(window=16_000, budget="9k", max_output=500)
    async with later:
        for turn in range(5):
            assert (await later.say(f"later {turn}")).stop == "done"
        assert len(failing.requests) - len(later.turns) == 3
        failing.default = scripted(talk(60, 4_000)).default
        finished = await later.wish(Compact())
        assert finished.committed
        asked = len(later.summaries)
        for turn in range(8):
            await later.say(f"after {turn}")
        assert len(later.summaries) > asked


async def test_a_transient_error_after_partial_text_of_a_summary_is_tried_again_by_the_client(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(talk())) as story:
        await worked(story)
        await story.wish(Compact())
        assert [r.restartable for r in story.turns] == [False] * 4
        assert [r.restartable for r in story.summaries] == [True]


async def test_a_proactive_compaction_that_ends_above_the_landing_is_rejected_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    # With a short summary it would fit; this one is nearly as long as it may be.
    model = scripted([*talk(6, 2_800), "word " * 2_700, "on"], [summary("word " * 1_050)])
    async with Story(tmp_path, model, budget="12k") as story:
        await worked(story, 7)
        assert story.meter.trigger <= story.meter.used < story.meter.limit
        assert (await story.say("on")).stop == "done"
        assert story.tags == ["proactive.above_landing.no_prior"]
        assert story.bodies(Compacted) == []
        assert is_prefix(story.turns[-2], story.turns[-1])
        await story.say("and on")
        assert story.tags == ["proactive.above_landing.no_prior"]
