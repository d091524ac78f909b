"""A server whose chat template insists on turns, through the real loop and client: learned once, and a named break."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agent.models.stub_server import TURNS
from agent.reading import Reading
from agent.request import BRIDGE
from agent.wire import Compact, SetModel, Shell
from compaction.records import SettingsChanged, Started
from tests.agent.cache.provider import Provider, calling
from tests.agent.loop.harness import Story, summary

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODEL = "openai/gemma"


@pytest_asyncio.fixture(loop_scope="module")
async def strict(provider: Provider) -> AsyncIterator[Provider]:
    provider.server.alternates = True
    yield provider
    provider.server.alternates = False


def story_of(strict: Provider, root: Path, *steps: Any, **more: Any) -> Story:
    return strict.story(root, *steps, model=MODEL, **{"more": "", **more})


def sent(strict: Provider) -> list[list[tuple[str, str]]]:
    """Each request as (role, text), without the system prompt."""
    return [
        [(m["role"], m.get("content") or "") for m in r.messages if m["role"] != "system"] for r in strict.server.asked
    ]


async def test_a_refusal_is_learned_and_the_same_request_goes_out_once_more_with_turns(
    strict: Provider, tmp_path: Path
) -> None:
    story = story_of(strict, tmp_path, {"text": "One."}, {"text": "Two."}, {"text": "Three."})
    async with story:
        await story.say("hi")
        await story.do(Shell("echo out"))
        idle = await story.say("and?")
        assert (idle.stop, story.answers) == ("done", ["One.", "Two."])
        one, refused, again = sent(strict)
        assert [role for role, _ in refused] == ["user", "assistant", "user", "user"]
        assert [role for role, _ in again] == ["user", "assistant", "user"]
        assert again[2][1] == f"{refused[2][1]}\n\n{refused[3][1]}"
        assert again[: len(one)] == one
        assert "takes user and assistant in turns only" in story.told
        assert [body.alternate for body in story.bodies(SettingsChanged)] == [True]
        # It is not asked a second time, nor by the next session, which starts so.
        await story.say("more")
        assert len(strict.server.asked) == 4
        rows = Reading(story.kit(), story.folder).timeline(story.session.log.path)
        assert [row.breaks for row in rows] == [None, None, None]
    strict.script({"text": "One."}, {"text": "Two."})
    async with Story(tmp_path, story.model) as later:
        assert later.bodies(Started)[0].alternate
        await later.do(Shell("echo out"))
        await later.say("hi")
        assert [role for role, _ in sent(strict)[0]] == ["user"] and later.answers == ["One."]


async def test_bytes_that_were_sent_and_change_are_a_break_with_a_name(strict: Provider, tmp_path: Path) -> None:
    strict.server.alternates = False
    story = story_of(strict, tmp_path, {"text": "One."}, {"text": "Two."}, {"text": "Three."})
    async with story:
        await story.say("hi")
        await story.do(Shell("echo out"))
        await story.say("and?")
        strict.server.alternates = True
        await story.say("more")
        rows = Reading(story.kit(), story.folder).timeline(story.session.log.path)
        assert [row.breaks for row in rows] == [None, None, "turns kept"]
    strict.script({"text": "Four."})
    async with story.again() as later:
        await later.say("in a new process")
        assert later.answers[-1] == "Four." and len(strict.server.asked) == 1
        rows = Reading(later.kit(), later.folder).timeline(later.session.log.path)
        assert rows[-1].breaks is None


async def test_out_of_steps_the_word_for_the_model_stands_behind_one_of_its_own(
    strict: Provider, tmp_path: Path
) -> None:
    story = story_of(strict, tmp_path, calling("echo 1"), {"text": "Enough."})
    story.places.settings.write_text("max_steps = 2\n" + story.places.settings.read_text())
    async with story:
        idle = await story.say("go")
        assert (idle.stop, story.answers[-1]) == ("done", "Enough.")
    *_, refused, again = sent(strict)
    assert [role for role, _ in refused] == ["user", "assistant", "tool", "user"]
    assert [role for role, _ in again] == ["user", "assistant", "tool", "assistant", "user"]
    assert again[3][1] == BRIDGE


async def test_the_settings_can_say_it_beforehand_or_forbid_it(strict: Provider, tmp_path: Path) -> None:
    said = story_of(strict, tmp_path / "yes", {"text": "One."}, more="alternate = true\n")
    async with said:
        await said.do(Shell("echo out"))
        assert (await said.say("hi")).stop == "done"
        assert len(strict.server.asked) == 1
    never = story_of(strict, tmp_path / "no", {"text": "One."}, more="alternate = false\n")
    async with never:
        await never.do(Shell("echo out"))
        idle = await never.say("hi")
        assert idle.stop == "failed" and "takes user and assistant in turns only" in str(idle.error)
        assert len(strict.server.asked) == 1, "no request is sent again, not even by the client"
        assert f'models."{MODEL}".alternate is false' in never.told


async def test_a_server_that_refuses_turns_kept_too_ends_the_turn(strict: Provider, tmp_path: Path) -> None:
    strict.server.alternates = False
    refused = {"error": {"status": 400, "body": {"error": {"message": TURNS}}}}
    story = story_of(strict, tmp_path, refused, refused, {"text": "never"})
    async with story:
        idle = await story.say("hi")
        assert idle.stop == "failed" and story.answers == []
    assert len(strict.server.asked) == 2


async def test_a_summary_inside_the_conversation_keeps_turns(strict: Provider, tmp_path: Path) -> None:
    steps = [{"text": f"Answer {n}. " + "It is so. " * 60} for n in range(6)]
    story = story_of(
        strict, tmp_path, *steps, {"text": summary()}, more="alternate = true\n", context='summary_mode = "in_context"'
    )
    async with story:
        for n in range(6):
            await story.say(f"question {n}")
        await story.do(Shell("echo out"))
        finished = await story.wish(Compact())
        assert finished.committed
    assert sent(strict)[-1][-1][0] == "user" and "out" in sent(strict)[-1][-1][1]
    assert len(strict.server.asked) == 7, "the summary was not asked for a second time"


async def test_another_model_goes_without_and_coming_back_keeps_turns_again(strict: Provider, tmp_path: Path) -> None:
    more = f'[models."openai/other"]\nwindow = 100000\napi_base = "{strict.server.base}"\n'
    story = story_of(strict, tmp_path, {"text": "One."}, {"text": "Two."}, more=more)
    async with story:
        await story.do(Shell("echo out"))
        await story.say("hi")
        await story.wish(SetModel("openai/other"))
        await story.wish(SetModel(MODEL))
        assert [body.alternate for body in story.bodies(SettingsChanged)] == [True, False, True]


async def test_what_was_learned_can_be_forgotten(strict: Provider, tmp_path: Path) -> None:
    story = story_of(strict, tmp_path, {"text": "One."})
    async with story:
        await story.do(Shell("echo out"))
        await story.say("hi")
        kit = story.kit()
        assert kit.catalogue.alternates(story.session.target.endpoint)
        assert Reading(kit, story.folder).forget(MODEL)
        assert not story.kit().catalogue.alternates(story.session.target.endpoint)
