"""A model that is overloaded: the user is asked once whether another goes on, and the log tells which one did."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.model import (
    BadRequest,
    CutOff,
    Endpoint,
    HostDied,
    ModelError,
    Overloaded,
    Part,
    RateLimited,
    Reply,
    Request,
    Retrying,
    Text,
    TimedOut,
    Unreachable,
)
from agent.models.scripted import Say
from agent.wire import Appended, Asking, Idle, Submit
from compaction.records import AssistantSaid, SettingsChanged
from tests.agent.loop.harness import NAME, Story, call, calls, pairs_are_valid

OTHER = "openai/other"
MORE = f'fallback = "{OTHER}"\n[models."{OTHER}"]\nwindow = 50000\nprices = {{ input = 2.0, output = 8.0 }}\n'


def busy(status: int = 529) -> ModelError:
    return RateLimited("too many", status=429) if status == 429 else Overloaded("overloaded", status=status)


async def asked(story: Story, choice: Any) -> Any:
    """One turn in which the question comes and is answered."""
    story.send(Submit("hi"))
    await story.until(Asking)
    await story.answer(choice)
    return await story.until(Idle, after=story.said(Asking)[-1])


def models(story: Story) -> list[str]:
    return [body.model for body in story.bodies(AssistantSaid)]


@pytest.mark.parametrize("status", [429, 503, 529])
async def test_a_yes_for_the_turn_goes_on_with_the_other_model_and_comes_back_after_it(
    tmp_path: Path, status: int
) -> None:
    replies = [busy(status), calls(call("read", path="none")), "Done.", "Back."]
    async with Story(tmp_path, replies, more=MORE) as story:
        idle = await asked(story, "once")
        asking = story.said(Asking)[-1]
        assert asking.title == f"{NAME} is overloaded; go on with {OTHER}" and asking.about == "model"
        assert "window 50k (user) · $2 in, $8 out per million tokens" in asking.why
        assert "tokens are read again, uncached, for under a cent" in asking.why
        assert idle.stop == "done"
        await story.say("again")
        assert models(story) == [OTHER, OTHER, NAME]
        assert [body.model for body in story.bodies(SettingsChanged)] == [OTHER, NAME]
        assert all(map(pairs_are_valid, story.requests))
        assert len(story.said(Asking)) == 1


async def test_a_yes_for_the_session_stays(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), "One.", "Two."], more=MORE) as story:
        await asked(story, "session")
        await story.say("again")
        assert models(story) == [OTHER, OTHER]
        assert story.meter.window == 50_000, "the gates are those of the other window"


async def test_a_no_ends_the_turn_as_ever(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), "Later."], more=MORE) as story:
        idle = await asked(story, "refuse")
        assert (idle.stop, idle.error) == ("failed", "overloaded")
        assert story.bodies(SettingsChanged) == []


async def test_a_turn_asks_once_and_ends_when_the_other_is_overloaded_too(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), busy(503), "Later."], more=MORE) as story:
        idle = await asked(story, "once")
        assert idle.stop == "failed" and len(story.said(Asking)) == 1
        await story.say("again")
        assert models(story) == [NAME]


async def test_without_anybody_to_ask_the_settings_decide_and_say_no_by_default(tmp_path: Path) -> None:
    async with Story(tmp_path / "no", [busy(), "x"], more=MORE, interactive=False) as story:
        assert (await story.say("hi")).stop == "failed"
    flags = {"fallback_without_asking": True}
    async with Story(tmp_path / "yes", [busy(), "Done."], more=MORE, interactive=False, flags=flags) as story:
        assert (await story.say("hi")).stop == "done"
        assert models(story) == [OTHER] and story.said(Asking) == []
        assert f"{NAME} is overloaded; going on with {OTHER} for this turn" in story.told


@pytest.mark.parametrize(
    ("failure", "what"),
    [
        (Overloaded("internal", status=500), "has trouble of its own"),
        (Overloaded("gateway", status=502), "has trouble of its own"),
        (Overloaded("busy", status=503), "is overloaded"),
        (Unreachable("closed before an answer"), "cannot be reached"),
        (CutOff("cut"), "breaks off before it answers"),
        (Say(reasoning="hm", error=CutOff("cut")), "breaks off before it answers"),
        (TimedOut("silent"), "stays silent"),
    ],
)
async def test_trouble_and_lost_connections_before_any_text_ask_too(tmp_path: Path, failure: Any, what: str) -> None:
    async with Story(tmp_path, [failure, "Done."], more=MORE) as story:
        idle = await asked(story, "once")
        assert story.said(Asking)[-1].title == f"{NAME} {what}; go on with {OTHER}"
        assert idle.stop == "done" and models(story) == [OTHER]
        assert f"{NAME} {what}; going on with {OTHER} for this turn" in story.told


async def test_where_nothing_answers_another_model_at_the_same_address_is_not_offered(tmp_path: Path) -> None:
    base = 'api_base = "http://127.0.0.1:9/v1"\n'
    more = base + MORE.replace("window = 50000\n", f"window = 50000\n{base}")
    async with Story(tmp_path, [Unreachable("refused"), Overloaded("o", status=500), "Done."], more=more) as story:
        assert (await story.say("hi")).stop == "failed"
        assert story.said(Asking) == []
        assert (await asked(story, "once")).stop == "done", "one that only has trouble may have it with one model"
    lost = Unreachable("closed before an answer", lost=True)
    async with Story(tmp_path / "lost", [lost, "Done."], more=more) as story:
        assert (await asked(story, "once")).stop == "done"


@pytest.mark.parametrize(
    "failure",
    [
        Say("half of it", error=Overloaded("o", status=529)),
        Say("half of it", error=CutOff("cut")),
        BadRequest("malformed", status=400),
        HostDied("ended"),
    ],
)
async def test_other_failures_and_broken_answers_ask_nothing(tmp_path: Path, failure: Any) -> None:
    async with Story(tmp_path, [failure, "x"], more=MORE) as story:
        assert (await story.say("hi")).stop == "failed"
        assert story.said(Asking) == []


async def test_a_fallback_without_a_key_is_named_and_not_asked_for(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), "x"], more='fallback = "xai/grok-4"\n') as story:
        assert (await story.say("hi")).stop == "failed"
        assert f"{NAME} is overloaded and its fallback xai/grok-4 needs XAI_API_KEY" in story.told


async def test_esc_at_the_question_stops_the_turn_and_changes_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), "x"], more=MORE) as story:
        story.send(Submit("hi"))
        await story.until(Asking)
        assert (await story.stop()).stop == "interrupted"
        assert story.bodies(SettingsChanged) == []


async def test_esc_on_the_detour_comes_back_all_the_same(tmp_path: Path) -> None:
    async with Story(tmp_path, [busy(), Say("Slow.", wait=asyncio.Event()), "x"], more=MORE) as story:
        story.send(Submit("hi"))
        await story.until(Asking)
        await story.answer("once")
        await story.until(Appended, lambda event: isinstance(event.record.body, SettingsChanged))
        await story.stop()
        assert [body.model for body in story.bodies(SettingsChanged)] == [OTHER, NAME]


async def test_a_turn_asks_once_though_the_fallback_has_one_too(tmp_path: Path) -> None:
    more = MORE + 'fallback = "openai/third"\n'
    async with Story(tmp_path, [busy(), busy(503), "Later."], more=more) as story:
        idle = await asked(story, "session")
        assert idle.stop == "failed" and len(story.said(Asking)) == 1


async def test_a_retry_with_another_reason_says_it(tmp_path: Path) -> None:
    class Failing:
        async def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
            for attempt, why in enumerate(("Busy.", "Busy.", "Away."), 1):
                yield Retrying(why, 2.0, attempt)
            yield Text("Here.")
            yield Reply("Here.", (), None, "done")

        async def aclose(self) -> None:
            pass

    async with Story(tmp_path, Failing()) as story:
        await story.say("hi")
        assert story.told.splitlines()[-3:] == [
            "Busy. Trying again in 2 s.", "Failed again; retry 2 in 2 s.", "Away. Retry 3 in 2 s.",
        ]  # fmt: skip
