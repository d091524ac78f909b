"""Somebody else's server (mcp-server-time) in whole sessions: asked, refused, killed, restarted, resumed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from agent.mcp.servers import Servers
from agent.wire import Asking, Reload, Told
from compaction.records import Reloaded, Started, ToolReturned
from tests.agent.loop.harness import Story, call, calls, is_prefix, prefix
from tests.agent.mcp.waiting import alive, children, text_of, until

NOW, CONVERT = "mcp__time__get_current_time", "mcp__time__convert_time"

TIME = f"""
[mcp.time]
command = [{sys.executable!r}, "-m", "mcp_server_time"]
args = ["--local-timezone", "Etc/UTC"]
"""


def overheard(heard: Path) -> str:
    """The same server, all that it is sent copied to a file first: so a test knows that a call has left us."""
    server = f"{sys.executable} -m mcp_server_time --local-timezone Etc/UTC"
    return f"""
[mcp.time]
command = ["bash", "-c", {f"exec {server} < <(exec tee {heard})"!r}]
"""


def the_servers(story: Story) -> Servers:
    servers = story.session.kit.servers
    assert servers is not None
    return servers


async def gone(pid: int) -> None:
    """Waits until a process has ended."""
    await until(lambda: not alive(pid))


async def test_a_server_is_asked_about_used_killed_and_started_anew_and_every_request_continues_the_last(
    tmp_path: Path,
) -> None:
    ask = calls(call(NOW, timezone="Europe/Paris"))
    says = [ask, "It is late.", ask, "It is gone.", ask, "Later.", ask, "Latest."]
    heard = tmp_path / "heard"
    async with Story(tmp_path, says, more=overheard(heard), mode="ask") as story:
        names = [json.loads(text)["function"]["name"] for text in story.session.view.tools]
        assert names[-2:] == [CONVERT, NOW] and names[0] == "read"

        saying = asyncio.ensure_future(story.say("what time is it?"))
        asking = await story.until(Asking)
        assert (asking.title, asking.prefix) == ("time get_current_time timezone=Europe/Paris", "*")
        assert asking.command == '{"timezone": "Europe/Paris"}'
        await story.answer("session")
        await saying
        (result,) = story.bodies(ToolReturned)
        assert '"timezone": "Europe/Paris"' in result.text and not result.failed

        # Killed in the middle of a call.
        servers = the_servers(story)
        (first,) = children(servers.pid)
        os.kill(first, signal.SIGSTOP)
        saying = asyncio.ensure_future(story.say("and now?"))
        await until(lambda: text_of(heard).count('"tools/call"') == 2)
        os.kill(first, signal.SIGKILL)
        await saying
        dead = story.bodies(ToolReturned)[-1]
        assert dead.failed and dead.text.startswith("the MCP server time ended during the call (its log: ")

        await story.say("and now?")
        assert not story.bodies(ToolReturned)[-1].failed
        (second,) = children(servers.pid)
        assert second != first

        # Killed while nobody asks, and then our own process too.
        mark = story.mark()
        os.kill(second, signal.SIGKILL)
        told = await story.until(Told, lambda event: "ended" in event.text, after=mark)
        assert told.text.endswith("the next call starts it anew")
        host = servers.pid
        assert host is not None
        os.kill(host, signal.SIGKILL)
        await gone(host)
        await story.say("and now, without our own process?")
        assert not story.bodies(ToolReturned)[-1].failed and servers.pid != host
        assert story.answers == ["", "It is late.", "", "It is gone.", "", "Later.", "", "Latest."]
        assert all(is_prefix(a, b) for a, b in zip(story.requests, story.requests[1:], strict=False))
        leaving = [servers.pid, *children(servers.pid)]
    for pid in leaving:
        assert pid is not None
        await gone(pid)


async def test_the_last_known_list_is_taken_at_once_and_a_resume_keeps_the_log_s_own(tmp_path: Path) -> None:
    async with Story(tmp_path, "Hello.", more=TIME) as story:
        await story.say("hi")
        before = story.requests[0]
    settings = story.places.settings
    unstarted = Servers([], story.places, {}, python="/bin/false")
    async with story.again(["Hello again."], first=None, servers=unstarted) as second:
        assert second.bodies(Started)[0].tools == story.bodies(Started)[0].tools
        await second.say("hi")
        assert prefix(second.requests[0]) == prefix(before)
    settings.write_text(settings.read_text().replace("[mcp.time]", "[mcp.other]"))
    async with story.again([calls(call(NOW, timezone="Etc/UTC")), "Oh."]) as resumed:
        await resumed.say("what time is it?")
        assert is_prefix(before, resumed.requests[-2])
        (result,) = resumed.bodies(ToolReturned)
        assert result.failed and result.text == f"{NOW} belongs to an MCP server that is not in the settings any more"
        await resumed.until(Told, lambda event: "MCP tools of" in event.text)
        assert "/reload does it now:" in resumed.told and "cached tokens are read anew" in resumed.told
        finished = await resumed.wish(Reload())
        assert finished.committed and "cached tokens are read anew" in finished.text
        assert "mcp__other__convert_time" in resumed.bodies(Reloaded)[0].tools[-2]
        assert NOW not in resumed.session.tools and "mcp__other__convert_time" in resumed.session.tools
