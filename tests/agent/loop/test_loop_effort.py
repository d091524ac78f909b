"""The reasoning effort: set for the model in use, told by a record, kept in the settings, refused where it is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.models.scripted import Say
from agent.wire import SetEffort
from compaction.records import AssistantSaid, SettingsChanged, Usage
from tests.agent.loop.harness import Story

THINKER = "openai/gpt-oss-120b"
KEPT = json.dumps({"model": THINKER, "blocks": [{"type": "thinking", "thinking": "hm", "signature": "sig"}]})


def story_of(root: Path, replies: Any, **more: Any) -> Story:
    return Story(root, replies, flags={"model": THINKER, "window": 100_000}, **more)


async def test_an_effort_is_a_record_is_sent_and_its_price_is_said(tmp_path: Path) -> None:
    replies = [Say("One.", usage=Usage(900, 0, 0, 5)), Say("Two."), Say("Three.")]
    async with story_of(tmp_path, replies) as story:
        await story.say("hi")
        finished = await story.wish(SetEffort("high"))
        assert finished.committed and "it breaks the provider's cache" in finished.text and "read anew" in finished.text
        await story.say("again")
        assert [request.effort for request in story.model.requests] == [None, "high"]
        assert [body.effort for body in story.bodies(SettingsChanged)] == ["high"]
        assert 'effort = "high"' in story.places.settings.read_text()
        assert (await story.wish(SetEffort("high"))).code == 4
        assert "is high; /effort takes none, minimal" in (await story.wish(SetEffort())).text
        await story.wish(SetEffort("default"))
        await story.say("more")
        assert story.model.requests[-1].effort is None
        assert "effort" not in story.places.settings.read_text()


async def test_a_later_run_goes_on_with_the_effort_that_was_set(tmp_path: Path) -> None:
    async with story_of(tmp_path, ["One."]) as story:
        await story.say("hi")
        await story.wish(SetEffort("low"))
    async with story.again(["Two."]) as later:
        await later.say("again")
        assert later.model.requests[-1].effort == "low"
        assert len(later.bodies(SettingsChanged)) == 1, "nothing has changed since"


async def test_it_wins_over_a_flag_of_this_run(tmp_path: Path) -> None:
    async with Story(tmp_path, ["x"], flags={"model": THINKER, "effort": "low"}) as story:
        await story.wish(SetEffort("high"))
        await story.say("hi")
        assert story.model.requests[-1].effort == "high"
        await story.wish(SetEffort("default"))
        assert story.session.kit.settings.effort_for(THINKER) is None


@pytest.mark.parametrize("level", ["", "high"])
async def test_a_model_that_takes_none_is_said_to_take_none(tmp_path: Path, level: str) -> None:
    async with Story(tmp_path, ["x"]) as story:
        finished = await story.wish(SetEffort(level))
        assert (finished.code, finished.committed) == (4, False)
        assert finished.text == "openai/scripted is not known to take a reasoning effort, so none is sent"
        assert story.bodies(SettingsChanged) == []


async def test_what_is_no_effort_is_named_with_those_that_are(tmp_path: Path) -> None:
    async with story_of(tmp_path, ["x"]) as story:
        finished = await story.wish(SetEffort("huge"))
        assert finished.code == 2 and "minimal" in finished.text


async def test_signed_reasoning_goes_back_as_it_came_whatever_the_effort(tmp_path: Path) -> None:
    async with story_of(tmp_path, [Say("One.", thinking=KEPT), "Two."]) as story:
        await story.say("hi")
        await story.wish(SetEffort("high"))
        await story.say("again")
        assert story.bodies(AssistantSaid)[0].thinking == KEPT
        sent = [m["_thinking"] for m in story.model.requests[-1].messages if "_thinking" in m]
        assert sent == [KEPT]


async def test_default_goes_back_to_what_the_settings_say_of_all_models(tmp_path: Path) -> None:
    async with story_of(tmp_path, ["x"]) as story:
        text = story.places.settings.read_text()
        story.places.settings.write_text(f'effort = "low"\n{text}')
    async with story_of(tmp_path, ["x"]) as story:
        assert (await story.wish(SetEffort("default"))).text.endswith("is low already")
        await story.wish(SetEffort("high"))
        assert ": low" in (await story.wish(SetEffort("default"))).text
        await story.say("hi")
        assert story.model.requests[-1].effort == "low"
