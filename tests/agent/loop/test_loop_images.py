"""Images and models that take none: said before anything is sent, and never in a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent import places, seeing
from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.tools.refused import Refused
from agent.wire import Returned, Steer, Told
from compaction.records import ToolReturned, UserSaid
from tests.agent.loop.harness import NAME, Story, call, calls, spoken
from tests.agent.tools.bench import PNG

BLIND = "images = false"


def names(story: Story) -> str:
    (story.folder / "plan.png").write_bytes(PNG)
    return "what is on @plan.png?"


async def test_an_image_goes_to_a_model_that_takes_images(tmp_path: Path) -> None:
    async with Story(tmp_path, ["A plan."]) as story:
        await story.say(names(story))
        assert '"image_url"' in spoken(story.turns[0])


async def test_for_one_that_takes_none_the_message_comes_back_with_a_sentence(tmp_path: Path) -> None:
    async with Story(tmp_path, ["Never."], more=BLIND) as story:
        text = names(story)
        idle = await story.say(text)
        assert idle.stop == "refused"
        returned = story.said(Returned)[0]
        assert returned.text == text
        assert returned.why.startswith(f"{NAME} takes no images, as far as is known; choose another with /model")
        assert story.turns == []
        assert story.bodies(UserSaid) == []


async def test_read_tells_such_a_model_so_and_sends_nothing(tmp_path: Path) -> None:
    async with Story(tmp_path, [calls(call("read", path="plan.png")), "I cannot see it."], more=BLIND) as story:
        names(story)
        await story.say("read the plan")
        returned = story.bodies(ToolReturned)[0]
        assert returned.text == "plan.png: png image, 69 bytes; you take no images, so it was not sent."
        assert (returned.images, returned.failed) == ((), False)


async def test_after_a_switch_to_such_a_model_a_line_stands_where_the_image_was(tmp_path: Path) -> None:
    async with Story(tmp_path, ["A plan."]) as story:
        await story.say(names(story))
    story.places.settings.write_text(story.places.settings.read_text() + f"{BLIND}\n")
    async with story.again(["Whatever."]) as later:
        await later.say("and now?")
        assert '"image_url"' not in spoken(later.turns[0])
        assert "[an image stands here; this model takes none]" in spoken(later.turns[0])


async def test_an_image_joins_a_running_turn_with_what_steers_it(tmp_path: Path) -> None:
    wait = calls(call("bash", command="touch begun; until test -e go; do sleep 0.02; done"))
    async with Story(tmp_path, [wait, "A plan."]) as story:
        text = names(story)
        import asyncio

        saying = asyncio.ensure_future(story.say("begin"))
        while not (story.folder / "begun").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.02)
        await story.until(Told, lambda event: event.text.startswith("joins the turn"), sent=Steer(text))
        (story.folder / "go").touch()
        await saying
        assert [len(body.images) for body in story.bodies(UserSaid)] == [0, 1]


def test_the_catalogue_knows_who_takes_images_and_believes_those_it_does_not_know(tmp_path: Path) -> None:
    catalogue = Catalogue(Learned(tmp_path / "learned.json"))
    assert [catalogue.sees(name) for name in ("gpt-4o", "gpt-3.5-turbo", "nobody/knows")] == [True, False, None]


def test_an_image_from_a_clipboard_is_kept_privately_and_a_broken_one_refused(tmp_path: Path) -> None:
    here = places.under(tmp_path)
    path = seeing.keep(here, PNG)
    assert path.read_bytes() == PNG
    assert path.stat().st_mode & 0o777 == 0o600
    assert seeing.trouble(path) == ""
    path.write_bytes(PNG[:1])
    assert seeing.trouble(path) == "not a PNG, JPEG, GIF or WebP image"
    with pytest.raises(Refused):
        seeing.keep(here, PNG[:1])
