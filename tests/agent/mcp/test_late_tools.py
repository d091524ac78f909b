"""Tools that come, go or change after a session's start: told with their price, taken in at a rewrite or on a yes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from agent.mcp.offered import Lists, Offered
from agent.mcp.server import Server
from agent.mcp.servers import Servers
from agent.models.scripted import Scripted
from agent.places import under
from agent.reading import Reading
from agent.wire import (
    Finished,
    Inspect,
    Inspected,
    Interrupt,
    ListTools,
    Opened,
    Progress,
    Proposed,
    Prune,
    Reload,
    RestartServer,
    Returned,
    SetTrust,
    Told,
    ToolsListed,
)
from compaction.records import Compacted, Pruned, Reloaded, Started, ToolReturned
from tests.agent.failing_disk import FailingDisk
from tests.agent.loop.harness import Story, call, calls, is_prefix, output, reads, scripted

MORE = '[mcp.x]\ncommand = "true"\n'


def tool(name: str, words: int = 1) -> Offered:
    return Offered("x", name, f"mcp__x__{name}", "word " * words, '{"properties":{},"type":"object"}')


def known(root: Path, *tools: Offered) -> Servers:
    """One server whose list is known and which never starts: its host is a program that ends at once."""
    server = Server("x", ("true",), cwd=str(root / "project"))
    Lists(under(root / "home").cache / "mcp").keep(server.digest, tools)
    return Servers([server], under(root / "home"), {}, python="/bin/false")


def offer(servers: Servers, *tools: Offered) -> None:
    """The server says that it offers these now."""
    servers.held["x"].tools = tools
    servers.changed()


def names(texts: tuple[str, ...]) -> list[str]:
    return [json.loads(text)["function"]["name"] for text in texts]


async def prune(story: Story) -> Finished:
    """The first result goes."""
    first = next(r.id for r in story.records if isinstance(r.body, ToolReturned))
    return await story.wish(Prune((first,), force=True))


async def test_a_late_tool_joins_at_the_next_rewrite_and_no_request_changes_before(tmp_path: Path) -> None:
    servers = known(tmp_path, tool("a"))
    says: list[Scripted] = [calls(output(30_000, n)) for n in range(6)]
    says += ["Done.", "Again.", calls(call("mcp__x__b")), "Over."]
    async with Story(tmp_path, says, more=MORE, servers=servers) as story:
        assert names(story.bodies(Started)[0].tools)[-1] == "mcp__x__a"
        await story.say("look")
        mark = story.mark()
        offer(servers, tool("b"), tool("c"))
        told = await story.until(Told, after=mark)
        assert told.text.startswith("MCP tools of x: 2 new, 1 gone; taken in at the next prune or compaction. /reload")
        assert f"{story.session.size().total:,} cached tokens are read anew" in told.text
        await story.say("more")
        assert is_prefix(story.requests[-2], story.requests[-1]) and story.bodies(Reloaded) == []

        assert (await prune(story)).committed
        (reloaded,) = story.bodies(Reloaded)
        assert names(reloaded.tools)[-2:] == ["mcp__x__b", "mcp__x__c"]
        assert list(story.session.tools)[-2:] == ["mcp__x__b", "mcp__x__c"]
        await story.say("go on")
        (result,) = [body for body in story.bodies(ToolReturned) if body.tool == "mcp__x__b"]
        assert result.failed and result.text.startswith("the MCP server x cannot be started: our own process")
        assert [t["function"]["name"] for t in story.requests[-1].tools][-2:] == ["mcp__x__b", "mcp__x__c"]


async def test_what_comes_before_the_first_answer_costs_nothing_and_joins_at_the_message(tmp_path: Path) -> None:
    servers = known(tmp_path)
    async with Story(tmp_path, "Hello.", more=MORE, servers=servers) as story:
        offer(servers, tool("a"))
        assert "MCP tools" not in story.told
        await story.say("hi")
        assert [t["function"]["name"] for t in story.requests[0].tools][-1] == "mcp__x__a"
        assert len(story.bodies(Reloaded)) == 1


async def test_a_message_comes_back_when_the_tools_that_join_before_it_cannot_be_written(tmp_path: Path) -> None:
    servers, disk = known(tmp_path, tool("a")), FailingDisk()
    async with Story(tmp_path, scripted([]), servers=servers, more=MORE, disk=disk) as story:
        offer(servers, tool("a"), tool("b"))
        disk.at = disk.operations + 1
        assert (await story.say("precious")).stop == "failed"
        assert [returned.text for returned in story.said(Returned)] == ["precious"]


async def test_reload_takes_them_in_with_its_price_and_says_when_there_is_nothing(tmp_path: Path) -> None:
    servers = known(tmp_path, tool("a"))
    async with Story(tmp_path, ["Hello."], more=MORE, servers=servers) as story:
        await story.say("hi")
        size = story.session.size().total
        offer(servers, tool("a", words=2))
        finished = await story.wish(Reload())
        assert finished == Finished(
            "reload", True, 0, None,
            f"taken in: MCP tools of x: 1 changed; {size:,} cached tokens are read anew with the next message",
        )  # fmt: skip
        again = await story.wish(Reload())
        assert (again.code, again.text) == (4, "instructions and tools are as they were at the start")


async def test_tools_that_do_not_fit_below_the_trigger_wait(tmp_path: Path) -> None:
    servers = known(tmp_path)
    says = [calls(output(30_000, n)) for n in range(6)]
    async with Story(tmp_path, [*says, "Done."], more=MORE, servers=servers, window=100_000) as story:
        await story.say("look")
        offer(servers, tool("a", words=90_000))
        assert (await prune(story)).committed
        assert story.bodies(Reloaded) == []
        assert "there is no room for them below the trigger, so they wait" in story.told


async def test_tools_and_servers_are_listed_with_what_they_cost(tmp_path: Path) -> None:
    servers = known(tmp_path, tool("a"), tool("b", words=6_000), tool("c", words=6_000))
    async with Story(tmp_path, "Hello.", more=MORE, servers=servers) as story:
        (notice,) = story.said(Opened)[0].notices
        assert notice.startswith("tools of MCP servers take ") and notice.endswith("% of the budget; see /tools")
        await story.say("hi")
        story.send(ListTools("servers"), Inspect(), RestartServer("nope"))
        listed = await story.until(ToolsListed)
        a, b, c = listed.tools[-3:]
        assert (a.name, a.server, b.name) == ("mcp__x__a", "x", "mcp__x__b") and b.tokens > a.tokens > 0
        assert sum(tool.tokens for tool in listed.tools) == dict(story.meter.parts)["tools"]
        (row,) = listed.servers
        assert (row.name, row.state, row.what, row.offers, row.tools) == ("x", "failed", "true", 3, 3)
        assert row.tokens == a.tokens + b.tokens + c.tokens and row.log.endswith("/mcp/x.log")
        inspected = await story.until(Inspected)
        assert abs(dict(inspected.largest_fixed)["tools of x"] - row.tokens) <= 2
        await story.until(Told, lambda event: event.text == "there is no MCP server 'nope'; the servers: x")


async def test_esc_opens_the_session_without_waiting_for_a_server(tmp_path: Path) -> None:
    # In the place of our own process for servers: something that never says that it is ready, and ends with its input.
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec cat > /dev/null\n")
    silent.chmod(0o700)
    server = Server("x", ("true",), cwd=str(tmp_path / "project"))
    servers = Servers([server], under(tmp_path / "home"), {}, python=str(silent), patience=3_600)
    story = Story(tmp_path, "Hello.", more=MORE, servers=servers)
    entering = asyncio.ensure_future(story.__aenter__())
    await asyncio.sleep(0)
    progress = await story.until(Progress)
    assert progress.what == "starting the MCP servers x"
    story.send(Interrupt())
    await entering
    assert story.said(Opened)[0].notices == (
        "the MCP server x is still starting; its tools join with the first message after it is there",
    )
    assert (await story.say("hi")).stop == "done" and story.answers == ["Hello."]
    await story.__aexit__(None, None, None)


async def test_a_server_that_cannot_be_started_is_said_at_the_start_and_changes_are_said_at_a_resume(
    tmp_path: Path,
) -> None:
    home, server = under(tmp_path / "home"), Server("x", ("true",), cwd=str(tmp_path / "project"))
    async with Story(tmp_path, "Hello.", more=MORE, servers=Servers([server], home, {}, python="/bin/false")) as story:
        assert story.said(Opened)[0].notices == (
            "the MCP server x cannot be started: our own process for servers does not start",
        )
        await story.say("hi")
    async with story.again(["Again."], servers=known(tmp_path, tool("a"))) as resumed:
        (notice,) = resumed.said(Opened)[0].notices
        assert notice.startswith(
            "MCP tools of x: 1 new; taken in at the next prune or compaction. /reload does it now: "
        )
        assert resumed.bodies(Reloaded) == []


async def test_the_servers_of_a_project_start_once_its_file_is_trusted(tmp_path: Path) -> None:
    known(tmp_path, tool("a"))
    file = tmp_path / "project" / ".ullage" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(MORE)
    servers = Servers([], under(tmp_path / "home"), {}, python="/bin/false")
    async with Story(tmp_path, "Hello.", servers=servers) as story:
        (proposed,) = story.said(Proposed)
        assert proposed.says == ("starts the MCP server x, which runs the command: true",)
        assert servers.held == {}
        finished = await story.wish(SetTrust(proposed.path, proposed.digest, "trust"))
        assert "in force from now on: its MCP servers" in finished.text and list(servers.held) == ["x"]
        await story.say("hi")
        assert [t["function"]["name"] for t in story.requests[0].tools][-1] == "mcp__x__a"


async def test_an_automatic_rewrite_takes_them_along_too(tmp_path: Path) -> None:
    servers = known(tmp_path)
    looking = [*reads(3), "Well.", *reads(12), "Done."]
    async with Story(tmp_path, scripted(looking), more=MORE, servers=servers, window=24_000) as story:
        await story.say("look")
        offer(servers, tool("a"))
        await story.say("look again")
        rewrites = [r.id for r in story.records if isinstance(r.body, Pruned | Compacted)]
        (joined,) = [r.id for r in story.records if isinstance(r.body, Reloaded)]
        assert joined == rewrites[0] + 1


def test_the_doctor_names_servers_and_what_is_wrong_with_them_without_starting_any(tmp_path: Path) -> None:
    more = (
        MORE + '[mcp.none]\ncommand = "no-such-program-at-all"\n[mcp.web]\nurl = "http://u:p@x/mcp"\nenabled = false\n'
    )
    story = Story(tmp_path, more=more)
    found = {row["what"]: row["found"] for row in Reading(story.kit(), story.folder).doctor()}
    assert {what: found[what] for what in found if what.startswith("mcp ")} == {
        "mcp x": "true",
        "mcp none": "no-such-program-at-all: there is no such program",
        "mcp web": "switched off: http://x/mcp",
    }
