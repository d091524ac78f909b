"""A turn from the prompt to the answer: requests continue one another, partial texts are kept, steps are counted."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agent.model import (
    BadKey,
    BadRequest,
    CutOff,
    EmptyReply,
    Endpoint,
    HostDied,
    ModelError,
    NoCredit,
    NotAStream,
    Overloaded,
    RateLimited,
    Request,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from agent.models.scripted import Say, ScriptedModel
from agent.streaming import streaming
from agent.wire import Idle, Restreamed, Returned, SetMode, Steer
from compaction.records import AssistantSaid, Compacted, Noted, Pruned, ToolReturned, Usage, UserSaid, WindowLearned
from tests.agent.loop.harness import (
    Story,
    call,
    calls,
    is_prefix,
    last_text,
    pairs_are_valid,
    scripted,
    spoken,
    summary,
)


async def test_a_turn_is_logged_and_answered(tmp_path: Path) -> None:
    async with Story(tmp_path, "Hello.") as story:
        idle = await story.say("hi")
        assert (idle.stop, idle.code) == ("done", 0)
        assert [b.text for b in story.bodies(UserSaid)] == ["hi"]
        assert story.answers == ["Hello."]


async def test_tools_run_and_their_results_are_in_the_next_request(tmp_path: Path) -> None:
    replies = [calls(call("write", path="a.txt", content="one\n")), calls(call("read", path="a.txt")), "It says one."]
    async with Story(tmp_path, replies) as story:
        await story.say("write and read")
        assert (story.folder / "a.txt").read_text() == "one\n"
        assert "one" in last_text(story.requests[2])
        assert all(map(pairs_are_valid, story.requests))


@pytest.mark.parametrize(
    "error",
    [
        BadKey("k"), NoCredit("c"), UnknownModel("u"), BadRequest("b"), RateLimited("r"), Overloaded("o"),
        Unreachable("n"), TimedOut("t"), CutOff("cut"), NotAStream("h"), EmptyReply("e"), HostDied("d"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_after_any_error_its_sentence_is_shown_and_the_session_goes_on(tmp_path: Path, error: ModelError) -> None:
    async with Story(tmp_path, [error, "Better."]) as story:
        idle = await story.say("hi")
        assert (idle.stop, idle.error, idle.code) == ("failed", str(error), 1)
        assert [b.text for b in story.bodies(Noted)] == [str(error)]
        assert (await story.say("again")).stop == "done"
        assert [m["content"] for m in story.requests[1].messages[1:]] == ["hi", "again"]


async def test_text_before_a_cut_is_kept_and_the_request_is_not_made_again(tmp_path: Path) -> None:
    async with Story(tmp_path, [Say("Half of an ans", error=CutOff("it broke")), "Whole."]) as story:
        await story.say("hi")
        assert len(story.requests) == 1
        (partial,) = story.bodies(AssistantSaid)
        assert (partial.text, partial.stop, partial.usage) == ("Half of an ans", "failed", None)
        await story.say("go on")
        assert "Half of an ans" in spoken(story.requests[1])


async def test_streamed_words_that_no_record_replaces_are_taken_off_the_screen(tmp_path: Path) -> None:
    async with Story(tmp_path, [Say(reasoning="hm, hm", error=CutOff("it broke"))]) as story:
        await story.say("hi")
        assert story.said(Restreamed)
        assert story.bodies(AssistantSaid) == []


async def test_each_request_continues_the_one_before_whatever_happens_between(tmp_path: Path) -> None:
    model = ScriptedModel(
        [calls(call("bash", command="true")), "one", calls(call("read", path="AGENTS.md")), "two", "three", "four"]
    )
    (tmp_path / "project").mkdir()
    rules = tmp_path / "project" / "AGENTS.md"
    rules.write_text("Be brief.")
    story = Story(tmp_path, model)
    async with story:
        await story.say("first")
        rules.write_text("Be long.")
        story.clock.now += 60
        story.send(SetMode("plan"))
        await story.say("second")
        story.send(SetMode("auto"))
    later = story.again()
    later.clock.now += 60
    async with later:
        await later.say("third")
        later.clock.now += 3_600
        rules.unlink()
        await later.say("fourth")
    requests = model.requests
    assert len(requests) == 6
    for before, after in pairwise(requests):
        assert is_prefix(before, after)
    assert "Be brief." in spoken(requests[-1])


async def test_no_request_names_the_meter_or_the_time(tmp_path: Path) -> None:
    async with Story(tmp_path, "ok") as story:
        await story.say("hi")
        assert "2027" not in spoken(story.requests[0])
        assert str(story.meter.used) not in spoken(story.requests[0])


async def test_the_last_step_asks_for_text_and_answers_calls_with_not_run(tmp_path: Path) -> None:
    async with Story(tmp_path, ScriptedModel(default=calls(call("bash", command="touch x"))), max_steps=3) as story:
        idle = await story.say("loop")
        assert idle.stop == "done"
        assert len(story.requests) == 3
        assert "no steps are left" in last_text(story.requests[2])
        assert [len(r.tools) for r in story.requests] == [7, 7, 7]
        assert [b.text.startswith("[not run") for b in story.bodies(ToolReturned)] == [False, False, True]
        assert "ended after its 3 steps" in story.told
        assert is_prefix(story.requests[1], story.requests[2])


async def test_case_24_an_answer_cut_at_its_output_limit_is_not_called_a_full_window(tmp_path: Path) -> None:
    async with Story(tmp_path, [Say("long", stop="length")], window=1_000_000) as story:
        await story.say("hi")
        assert "cut at its output limit" in story.told
        assert "window" not in story.told


async def test_a_steered_message_joins_the_turn_at_the_end_of_the_step(tmp_path: Path) -> None:
    async with Story(tmp_path, ScriptedModel([])) as story:

        def first(request: object) -> Say:
            story.send(Steer("and be quick"))
            return calls(call("bash", command="true"))

        story.model.replies = [first, "done"]
        await story.say("go")
        assert len(story.said(Idle)) == 2
        assert [b.how for b in story.bodies(UserSaid)] == ["typed", "steered"]
        assert last_text(story.requests[1]) == "and be quick"
        assert is_prefix(story.requests[0], story.requests[1])


async def test_a_message_steered_into_the_last_step_is_answered(tmp_path: Path) -> None:
    async with Story(tmp_path, ScriptedModel([])) as story:

        def first(request: object) -> str:
            story.send(Steer("one more thing"))
            return "an answer"

        story.model.replies = [first, "another"]
        await story.say("go")
        assert story.answers == ["an answer", "another"]
        assert len([b for b in story.bodies(UserSaid) if b.how == "typed"]) == 1


async def test_a_prompt_larger_than_the_window_comes_back_before_it_is_logged(tmp_path: Path) -> None:
    async with Story(tmp_path, "ok", window=8_000) as story:
        idle = await story.say("word " * 20_000)
        assert (idle.stop, idle.code) == ("refused", 3)
        (returned,) = story.said(Returned)
        assert returned.text == "word " * 20_000
        assert "at most 7,000" in returned.why
        assert returned.code == 3
        assert not story.session.log.path.exists()
        assert story.requests == []
        assert (await story.say("small")).stop == "done"


async def test_a_huge_message_that_fits_is_shown_short_with_the_same_bytes_every_turn(tmp_path: Path) -> None:
    async with Story(tmp_path, ScriptedModel(), window=16_000, budget="8k") as story:
        text = "\n".join(f"line {n}" for n in range(3_000))
        assert (await story.say(text)).stop == "done"
        await story.say("next")
        (said, _) = story.bodies(UserSaid)
        assert said.text == text
        assert said.admitted is not None
        first = next(m["content"] for m in story.requests[0].messages if m["role"] == "user")
        assert len(first) < len(text)
        assert 'recall {"record": 2}' in first
        assert is_prefix(story.requests[0], story.requests[1])
        assert "the message is kept whole" in story.told


async def test_a_broken_image_is_refused_at_the_door(tmp_path: Path) -> None:
    async with Story(tmp_path, "ok") as story:
        idle = await story.say("look", "data:image/png;base64,iQ==")
        assert (idle.stop, idle.code) == ("refused", 1)
        assert story.said(Returned)[0].text == "look"
        assert (await story.say("without")).stop == "done"
        assert len(story.requests) == 1


async def test_case_59_lone_surrogates_become_replacement_characters_where_text_enters(tmp_path: Path) -> None:
    async with Story(tmp_path, "ok") as story:
        await story.say("a\ud800b")
        assert story.bodies(UserSaid)[0].text == "a\ufffdb"
        assert last_text(story.requests[0]) == "a\ufffdb"


async def test_a_server_that_drops_the_beginning_is_an_overflow_and_no_measurement(tmp_path: Path) -> None:
    silent = Usage(uncached=100, output=5)
    replies = [Say("one", usage=Usage(uncached=5_000, output=5)), Say("lost", usage=silent), Say("two")]
    async with Story(tmp_path, ScriptedModel(replies), window=None) as story:
        await story.say("first")
        before = story.session.ruler
        await story.say("second")
        assert "dropped the beginning" in story.told
        assert story.answers[:1] == ["one"]
        assert "lost" not in story.answers
        assert before is story.session.ruler


async def test_an_answer_that_ends_at_its_length_before_a_word_is_an_overflow_and_the_turn_goes_on(
    tmp_path: Path,
) -> None:
    # Some servers cut the request to the window and then have no token left to answer with.
    filled = Say("", stop="length", usage=Usage(uncached=5_000))
    replies = [*["word " * 300] * 6, filled, "two"]
    async with Story(tmp_path, scripted(replies, [summary()]), window=None) as story:
        for n in range(6):
            await story.say(f"q{n}")
        assert (await story.say("and now?")).stop == "done"
        assert "no room left for a word" in story.told
        assert story.answers[-1] == "two" and "" not in story.answers
        assert any(isinstance(r.body, (Compacted, Pruned)) for r in story.records)


async def test_an_empty_answer_at_its_length_after_thinking_is_no_overflow(tmp_path: Path) -> None:
    thought = Say("", stop="length", usage=Usage(uncached=500, reasoning=1_000), thinking='{"reasoning": "hm"}')
    async with Story(tmp_path, [thought], window=None) as story:
        assert (await story.say("think")).stop == "done"
        assert not any(isinstance(r.body, WindowLearned) for r in story.records)


async def test_a_stream_that_nobody_reads_on_is_closed_at_once() -> None:
    model = ScriptedModel(["a long answer, " * 20])
    async with streaming(model, Endpoint("m", "m"), Request(())) as parts:
        async for _part in parts:
            break
        assert model.cancelled == 0
    assert model.cancelled == 1
