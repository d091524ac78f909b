"""Prompts of a server as slash commands and its resources as mentions, in whole sessions; and how they are typed."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.custom_files import BadWords
from agent.mcp.held import progress_line
from agent.mcp.prompts import Prompt, Resource, Wanted, prompt_name, prompts_of, resources_of
from agent.reading import Reading
from agent.wire import (
    Drafted,
    Idle,
    Interrupt,
    ListTools,
    Progress,
    Returned,
    Rewind,
    Steer,
    Submit,
    ToolRunning,
    ToolsListed,
)
from compaction.records import ToolReturned, UserSaid
from tests.agent.loop.harness import Story, call, calls, last_text
from tests.agent.mcp.waiting import until
from tui.completion import paths, slashes

ODD = Path(__file__).with_name("odd_server.py")
SERVER = f"[mcp.odd]\ncommand = [{sys.executable!r}, {str(ODD)!r}]\n"


def story_of(root: Path, *replies: Any, **more: Any) -> Story:
    story = Story(root, list(replies) or "Done.", **{"more": SERVER, **more})
    (story.folder / "secret.txt").write_text("the secret")
    return story


async def test_a_prompt_is_sent_filled_in_and_its_words_fetch_no_file(tmp_path: Path) -> None:
    async with story_of(tmp_path, "Hello.", "Hm.", "Well.") as story:
        await story.say("/odd:greet Ann kindly but briefly")
        (said,) = story.bodies(UserSaid)
        assert said.text == "Greet Ann kindly but briefly. See @secret.txt and @odd:note://one."
        assert said.typed == "/odd:greet Ann kindly but briefly"
        assert last_text(story.requests[-1]) == said.text and "the secret" not in said.text

        await story.say("/ODD:Talk-it-over")
        said = story.bodies(UserSaid)[-1]
        assert said.text == "user: What is it?\n\nassistant: It is odd."
        assert len(said.images) == 1 and said.images[0].startswith("data:image/png;base64,")

        # While a turn runs it joins it like any message.
        story.send(Submit("go"), Steer("/odd:greet Bob"))
        await story.until(Idle, after=story.mark())
        await until(lambda: any("Bob" in body.text for body in story.bodies(UserSaid)))


@pytest.mark.parametrize(
    ("typed", "why", "code"),
    [
        ("/odd:greet", "/odd:greet needs who: /odd:greet who [how]", 2),
        ("/odd:greet 'Ann", "/odd:greet: a quotation mark in what follows it is not closed", 2),
        ("/odd:talk-it-over now", "/odd:talk-it-over takes nothing behind it", 2),
        ("/odd:none", "the MCP server odd has no prompt /odd:none; it has /odd:greet, /odd:talk-it-over", 2),
    ],
)
async def test_what_cannot_be_sent_comes_back_as_it_was_typed(tmp_path: Path, typed: str, why: str, code: int) -> None:
    async with story_of(tmp_path) as story:
        idle = await story.say(typed)
        assert story.said(Returned) == [Returned(typed, why, code)]
        assert idle.code == code and story.bodies(UserSaid) == []


async def test_a_prompt_of_a_server_that_cannot_be_started_is_not_sent_as_words(tmp_path: Path) -> None:
    gone = '[mcp.gone]\ncommand = "/no/such/program"\n'
    async with story_of(tmp_path, more=gone) as story:
        idle = await story.say("/gone:greet Ann")
        assert idle.code == 1 and story.bodies(UserSaid) == []
        assert "the MCP server gone cannot be started: /no/such/program was not found" in story.told
        # What names no server at all is a message, as ever.
        assert (await story.say("/other:greet Ann")).stop == "done"


async def test_resources_join_behind_the_message_and_pictures_with_it(tmp_path: Path) -> None:
    async with story_of(tmp_path) as story:
        await story.say("look at @odd:note://one, @odd:note://picture and @odd:note://long!. Also @odd:note://none")
        (said,) = story.bodies(UserSaid)
        first, *blocks = said.text.split("\n\n<resource ")
        assert first.endswith("@odd:note://none") and len(blocks) == 3
        assert blocks[0] == 'server="odd" uri="note://one">\nnote one, with @secret.txt\n</resource>'
        assert blocks[1] == 'server="odd" uri="note://picture">\n[the picture, attached]\n</resource>'
        assert "characters of it are not shown …]" in blocks[2] and len(blocks[2]) < 51_000
        assert len(said.images) == 1 and "the secret" not in said.text
        assert "@odd:note://none was not read: the MCP server odd says: " in story.told


async def test_a_model_that_takes_no_pictures_gets_a_line_instead(tmp_path: Path) -> None:
    async with story_of(tmp_path, more=f"images = false\n{SERVER}") as story:
        await story.say("look at @odd:note://picture")
        (said,) = story.bodies(UserSaid)
        assert said.images == () and "[a picture, which this model does not take]" in said.text


async def test_gone_back_to_the_message_is_the_draft_without_what_was_read_for_it(tmp_path: Path) -> None:
    async with story_of(tmp_path) as story:
        await story.say("look at @odd:note://one")
        assert "<resource " in story.bodies(UserSaid)[0].text
        (record,) = [r.id for r in story.records if isinstance(r.body, UserSaid)]
        await story.wish(Rewind(record, "conversation"))
        assert story.said(Drafted) == [Drafted("look at @odd:note://one")]


async def test_a_file_of_that_name_is_the_file(tmp_path: Path) -> None:
    async with story_of(tmp_path) as story:
        (story.folder / "odd:x").write_text("mine")
        await story.say("look at @odd:x")
        await story.say(f"and at @odd:{'y' * 300}")
        assert '<file path="odd:x">\nmine\n</file>' in story.bodies(UserSaid)[0].text
        assert "@odd:x was not read" not in story.told and "@odd:yyy" in story.told


async def test_esc_while_a_server_is_asked_brings_the_message_back(tmp_path: Path) -> None:
    deaf = f'[mcp.deaf]\ncommand = [{sys.executable!r}, "-c", "import time; time.sleep(3600)"]\n'
    story = story_of(tmp_path, more=deaf)
    opening = asyncio.ensure_future(story.__aenter__())
    await until(lambda: story.said(Progress))
    story.send(Interrupt())
    await opening
    try:
        story.send(Submit("look at @deaf:x"))
        await story.until(Progress, lambda event: "reading x" in str(event))
        story.send(Interrupt())
        assert await story.until(Returned) == Returned("look at @deaf:x", "", 130)
        assert story.bodies(UserSaid) == []
    finally:
        await story.__aexit__(None, None, None)


async def test_a_running_tool_shows_how_far_it_is(tmp_path: Path) -> None:
    end = tmp_path / "end"
    counting = calls(call("mcp__odd__count", path=str(end)))
    async with story_of(tmp_path, counting, "Counted.") as story:
        story.send(Submit("count"))
        await story.until(ToolRunning, lambda event: event.output == "\r75% reading three")
        end.touch()
        await story.until(Idle, after=story.mark())
        assert "\r25% reading one and more" in [event.output for event in story.said(ToolRunning)]
        assert [body.text for body in story.bodies(ToolReturned)] == ["counted"]


async def test_the_page_of_servers_and_the_lists_of_the_screens_name_them(tmp_path: Path) -> None:
    async with story_of(tmp_path) as story:
        await story.say("/odd:greet Ann")
        story.send(ListTools("servers"))
        (row,) = (await story.until(ToolsListed)).servers
        assert row.prompts == ("/odd:greet who [how]", "/odd:talk-it-over")
        assert row.resources == ("@odd:note://bytes", "@odd:note://one", "@odd:note://picture")
        reading = Reading(story.session.kit, story.folder)
        rows, problems = reading.commands(())
        assert ([one.name for one in rows], problems) == (["odd:greet", "odd:talk-it-over"], ())
        (greet,) = slashes("odd:gr", rows)
        assert (greet.insert, greet.label, greet.run) == ("/odd:greet ", "/odd:greet who [how]", False)
        assert greet.hint == "Says hello (MCP server odd)"
        # A file of the user's own of that name wins.
        own = story.places.config / "commands" / "odd" / "greet.md"
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        assert [one.name for one in reading.commands(())[0]] == ["odd:greet", "odd:talk-it-over"]
        await story.say("/odd:greet")
        assert story.bodies(UserSaid)[-1].text == "mine"


def test_resources_are_completed_beside_files_and_quoted_where_they_must_be() -> None:
    offered = [Resource("docs", uri, f"docs:{uri}", "said") for uri in ("a://one", "a://t(w)o", "a://end.")]
    found = paths("docs:", ["docs/x.md"], offered)
    assert {(c.insert, c.hint) for c in found if "a://" in c.label} == {
        ("@docs:a://one ", "said"),
        ('@"docs:a://t(w)o" ', "said"),
        ('@"docs:a://end." ', "said"),
    }
    many = [f"f{n}" for n in range(100)]
    assert [c.label for c in paths("", many, offered)][-3:] == [one.name for one in offered]
    assert len(paths("", many, offered)) == 50 and len(paths("", many)) == 50


def prompt(*wanted: str) -> Prompt:
    return Prompt("s", "p", "s:p", wanted=tuple(Wanted(name.strip("?"), not name.endswith("?")) for name in wanted))


@pytest.mark.parametrize(
    ("wanted", "typed", "filled"),
    [
        ((), "", {}),
        (("text",), 'it\'s "all" of it', {"text": 'it\'s "all" of it'}),
        (("text",), "text='a b'", {"text": "a b"}),
        (("text?",), "", {}),
        (("a", "b?"), "one", {"a": "one"}),
        (("a", "b"), "one 'two three' four", {"a": "one", "b": "two three four"}),
        (("a", "b"), "b=2 1", {"a": "1", "b": "2"}),
        (("a", "b"), "x=1 2", {"a": "x=1", "b": "2"}),
    ],
)
def test_arguments_are_taken_in_order_or_by_name(wanted: tuple[str, ...], typed: str, filled: dict[str, str]) -> None:
    assert prompt(*wanted).filled(typed) == filled


@pytest.mark.parametrize(("wanted", "typed"), [(("a",), ""), (("a", "b"), "1"), ((), "x"), (("a", "b"), "'")])
def test_what_is_missing_or_too_much_is_said(wanted: tuple[str, ...], typed: str) -> None:
    with pytest.raises(BadWords, match=r"^/s:p"):
        prompt(*wanted).filled(typed)


def test_names_that_cannot_be_typed_are_made_typable_and_never_shared() -> None:
    assert prompt_name("My Docs", "Plan: a trip!").startswith("my_docs-") and " " not in prompt_name("My Docs", "x y")
    assert prompt_name("docs", "Plan: a trip!") == "docs:plan-a-trip"
    assert prompt_name("docs", "…") == ""
    listed = [{"name": name, "description": "x\ny\x1b[31mz"} for name in ("a b", "a-b", "…")]
    assert [(one.name, one.prompt, one.description) for one in prompts_of("s", listed)] == [("s:a-b", "a b", "x yz")]
    uris = [{"uri": uri} for uri in ("b://2", "a://1", "", "x://\x1b[2J", "y://" + "z" * 3_000)]
    assert [one.name for one in resources_of("s", uris)] == ["s:a://1", "s:b://2"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"done": 1, "total": 4, "said": None}, "25%"),
        ({"done": 5, "total": 4, "said": "over\n\x1b[31mit"}, "100% over it"),
        ({"done": 7, "total": None, "said": None}, "7"),
        ({"done": 7, "total": None, "said": "seven"}, "seven"),
        ({"done": 0, "total": 0, "said": ""}, "0"),
        ({"done": "x", "total": "y", "said": "z" * 500}, "z" * 119 + "…"),
    ],
)
def test_progress_is_one_short_line(said: dict[str, Any], line: str) -> None:
    assert progress_line(json.loads(json.dumps(said))) == line
