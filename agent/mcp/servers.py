"""All MCP servers of a program, as its sessions use them: started when needed, listed, called, watched.

Not the protocol (that is the child process, `host`) and not a tool. Used from the worker's loop alone.

Invariants
 1. One child process for all of them, and none before a server is to be started.
 2. A server that ended is started anew by the next call; one that ends again and again is left alone for a while, and
    every sentence about it says so.
 3. What a server offers is known from its last list until it says otherwise; a list that differs is told once, as
    `changed`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, TypeAlias

from agent.mcp.held import Down, Held, Reply, Spoken, State, progress_line
from agent.mcp.names import server_part
from agent.mcp.offered import Damaged, Lists, Offered, offered
from agent.mcp.prompts import Prompt, Resource, command_part, prompts_of, resources_of
from agent.mcp.server import Server, Unset
from agent.models.host_process import HostProcess
from agent.models.pipe import Message
from agent.places import Places
from agent.sanitise import one_line

# Seconds for a server to connect and list: a package runner fetches it first, which takes a slow line a minute.
CONNECT = 90.0

# Seconds a new session waits for servers that are started for the first time: Python servers take 2, others less. A
# run without a screen has no later, so it waits as long as a package runner takes to fetch one.
LISTED, LISTED_ALONE = 6.0, 60.0

# Seconds for our own child to be ready: its import takes 1 to 3, on a cold disk several times that.
READY = 60.0

# Seconds the program waits at its end for servers to leave; the child goes on ending them by itself.
LEAVING = 1.0

# What of a start is told: a call says itself that it could not be made.
Tells: TypeAlias = Literal["nothing", "failures", "all"]


class Servers:
    """The servers of the settings. `changed` is called when a list differs from what was known, `tell` with sentences.

    `clock` gives seconds, for back-off; `patience` is how long a new session waits for them, seconds.
    """

    def __init__(
        self, servers: Sequence[Server], places: Places, environ: Mapping[str, str], *, python: str = sys.executable,
        clock: Callable[[], float] = time.monotonic, patience: float = LISTED,
    ) -> None:  # fmt: skip
        self._python, self._environ, self._clock, self._patience = python, environ, clock, patience
        self._lists = Lists(places.cache / "mcp")
        self._logs, self._log = places.state / "mcp", places.state / "mcp-host.log"
        self.held: dict[str, Held] = {}
        self._unread: list[str] = []
        self.adopt(servers)
        self._process: HostProcess | None = None
        self._opening = asyncio.Lock()
        self._why = ""
        self._closed = False
        self.changed: Callable[[], None] = lambda: None
        self.tell: Callable[[str, str], None] = lambda text, level: None

    @property
    def enabled(self) -> list[Held]:
        """Those that are not switched off, in the settings' order."""
        return [held for held in self.held.values() if held.server.enabled]

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is none."""
        return None if self._process is None else self._process.pid

    def adopt(self, servers: Sequence[Server]) -> None:
        """These from now on: what stands unchanged among them goes on, others end."""
        before = self.held
        self.held = {server.name: self._holding(server, before.get(server.name)) for server in servers}
        for name, held in before.items():
            if self.held.get(name) is not held:
                if held.starting is not None:
                    held.starting.cancel()
                if self._process is not None and not self._process.gone:
                    self._process.open({"name": name}, "stop")

    def _holding(self, server: Server, before: Held | None) -> Held:
        if before is not None and before.server == server:
            return before
        held = Held(server, self._logs / f"{server_part(server.name)}.log")
        try:
            held.tools = self._lists.load(server.name, server.digest) if server.enabled else ()
        except Damaged as damaged:
            text = f"what was kept of the MCP server {held.name} cannot be read: {damaged}; it is asked anew"
            self._unread.append(text)
        held.state = "not started" if server.enabled else "off"
        return held

    def begin(self) -> None:
        """Starts every server that has not been, without waiting."""
        for text in self._unread:
            self.tell(text, "warning")
        self._unread.clear()
        for held in self.enabled:
            if held.state == "not started" and held.starting is None:
                self._start(held, "failures")

    def unlisted(self) -> list[Held]:
        """Those on their way of which nothing is known yet."""
        return [held for held in self.enabled if held.tools is None and held.starting is not None]

    async def listed(self) -> None:
        """Waits until something is known of all of them, as long as a new session waits."""
        waiting = {held.starting for held in self.unlisted() if held.starting is not None}
        if waiting:
            await asyncio.wait(waiting, timeout=self._patience)

    def tools(self) -> tuple[Offered, ...]:
        """All that is known to be offered, in the order it is sent."""
        return tuple(tool for held in self.enabled for tool in held.tools or ())

    def find(self, name: str) -> Offered | None:
        """A tool by the name the model knows."""
        return next((tool for tool in self.tools() if tool.name == name), None)

    def of_part(self, part: str | None) -> Held | None:
        """The server whose part of a name this is."""
        return next((held for held in self.held.values() if server_part(held.server.name) == part), None)

    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts of all that have run. From any thread."""
        return tuple(prompt for held in self.enabled for prompt in held.prompts or ())

    def resources(self) -> tuple[Resource, ...]:
        """The resources of all that have run. From any thread."""
        return tuple(resource for held in self.enabled for resource in held.resources or ())

    def of_command(self, name: str) -> Held | None:
        """The server that a command such as `server:prompt` would be of."""
        part, colon, _ = name.partition(":")
        return next((h for h in self.enabled if colon and command_part(h.server.name) == part), None)

    def of_mention(self, name: str) -> Held | None:
        """The server that a mention such as `server:uri` would be of."""
        part, colon, uri = name.partition(":")
        return next((h for h in self.enabled if colon and uri and server_part(h.server.name) == part), None)

    async def call(
        self, tool: Offered, arguments: Mapping[str, Any], progress: Callable[[str], None] = lambda line: None
    ) -> Reply:
        """One call; `progress` gets a line whenever there is news of it. Cancelling it stops it at the server.

        Raises `Down` with a sentence for whatever went wrong.
        """
        question = {"tool": tool.tool, "arguments": dict(arguments)}
        done = await self._asked(self.held[tool.server], "call", question, progress)
        return Reply(tuple(done["texts"]), tuple((kind, data) for kind, data in done["images"]), done["failed"])

    async def prompt(self, prompt: Prompt, arguments: Mapping[str, str]) -> tuple[Spoken, ...]:
        """A prompt's messages, filled in. Raises `Down`."""
        question = {"prompt": prompt.prompt, "arguments": dict(arguments)}
        done = await self._asked(self.held[prompt.server], "prompt", question)
        return tuple(
            Spoken(m["role"], tuple(m["texts"]), tuple((kind, data) for kind, data in m["images"]))
            for m in done["messages"]
        )

    async def read(self, held: Held, uri: str) -> Reply:
        """A resource. Raises `Down`."""
        done = await self._asked(held, "read", {"uri": uri})
        return Reply(tuple(done["texts"]), tuple((kind, data) for kind, data in done["images"]))

    async def _asked(
        self, held: Held, op: str, question: Message, progress: Callable[[str], None] = lambda line: None
    ) -> Message:
        """What came of a question. Raises `Down`."""
        process = await self.up(held)
        timeout = held.server.timeout
        exchange = process.open({**question, "name": held.server.name, "timeout": timeout}, op)
        try:
            while (message := await exchange.messages.get()) is not None and "progress" in message:
                if line := progress_line(message["progress"]):
                    progress(line)
        finally:
            await process.confirm(exchange)
        if message is None:
            self._died(held, "our own process for servers ended")
            lost = f"the MCP server {held.name} was lost during the call: our process for servers ended"
            raise Down(f"{lost}{held.again}")
        if (error := message.get("error")) is not None:
            if error["ended"]:
                self._died(held, "it ended during a call")
                raise Down(f"the MCP server {held.name} ended during the call{held.where_logged}{held.again}")
            if error["late"]:
                raise Down(f"the MCP server {held.name} gave no answer in {timeout:g} s; the call was stopped")
            raise Down(f"the MCP server {held.name} says: {one_line(error['why'], 500)}")
        held.deaths = 0
        done: Message = message["done"]
        return done

    async def up(self, held: Held) -> HostProcess:
        """The child, with this server running in it. Raises `Down`."""
        if not held.server.enabled:
            raise Down(f"the MCP server {held.name} is switched off")
        self.look()
        if held.state != "running" and held.starting is None:
            wait = held.not_before - self._clock()
            if wait > 0:
                raise Down(
                    f"the MCP server {held.name} failed {held.deaths} times in a row; it is tried again "
                    f"in {wait:.0f} s, or at once by /mcp restart {held.name}"
                )
            self._start(held, "nothing")
        if held.starting is not None:
            await asyncio.wait({held.starting})
        if held.state != "running" or self._process is None:
            raise Down(f"the MCP server {held.name} cannot be started: {held.why}{held.where_logged}")
        return self._process

    def look(self) -> None:
        """Notices that our own process for servers is gone, and with it all that ran in it."""
        if self._process is not None and self._process.gone:
            for held in self.held.values():
                if held.state == "running":
                    held.state, held.why = "ended", "our own process for servers ended"

    def restart(self, name: str) -> str:
        """Starts a server anew, without waiting; what is said about it. What it was doing ends."""
        held = self.held.get(name) or self.of_part(name)
        if held is None:
            known = ", ".join(one.name for one in self.held.values()) or "none is configured"
            return f"there is no MCP server {one_line(name, 40)!r}; the servers: {known}"
        if not held.server.enabled:
            return f"the MCP server {held.name} is switched off in the settings"
        if held.starting is not None:
            return f"the MCP server {held.name} is being started"
        held.deaths, held.not_before = 0, 0.0
        self._start(held, "all")
        return f"starting the MCP server {held.name} anew"

    async def aclose(self) -> None:
        """Ends everything. Idempotent."""
        self._closed = True
        for held in self.held.values():
            if held.starting is not None:
                held.starting.cancel()
                await asyncio.wait({held.starting})
        process, self._process = self._process, None
        if process is not None:
            await process.leave(LEAVING)

    # ── starting ──

    def _start(self, held: Held, tells: Tells) -> None:
        held.state, held.why = "starting", ""
        held.starting = asyncio.ensure_future(self._started(held, tells))

    async def _started(self, held: Held, tells: Tells) -> None:
        try:
            why = await self._connected(held)
        finally:
            held.starting = None
        if why is not None:
            self._died(held, why, "failed")
            if tells != "nothing":
                self.tell(f"the MCP server {held.name} cannot be started: {held.why}{held.where_logged}", "warning")
        elif tells == "all":
            self.tell(f"the MCP server {held.name} runs: {len(held.tools or ())} tools", "info")

    async def _connected(self, held: Held) -> str | None:
        """Starts one server and takes its list in; why it failed, or None."""
        try:
            spec = held.server.spelled(self._environ)
        except Unset as unset:
            return f"the variable {unset} is not set, and the settings refer to it"
        message: Message | None = None
        for _ in range(2):  # it may have ended without a word; to start a server twice does no harm
            process = await self._host()
            if process is None:
                return f"our own process for servers does not start{self._why}"
            exchange = process.open({**spec, "log": str(held.log), "patience": CONNECT}, "start")
            message = await exchange.messages.get()
            if message is not None:
                break
        if message is None:
            return "our own process for servers ended"
        if (error := message.get("error")) is not None:
            return f"no answer in {CONNECT:.0f} s" if error["late"] else one_line(error["why"] or "it ended", 300)
        held.state, held.said = "running", one_line(message["done"]["server"], 80)
        self._take_lists(held, message["done"])
        return None

    async def _host(self) -> HostProcess | None:
        async with self._opening:
            if self._process is not None and self._process.gone:
                await self._process.aclose()
                self._process = None
            if self._process is None and not self._closed:
                try:
                    self._process = HostProcess(self._python, self._log, module="agent.mcp.host", heard=self._heard)
                except OSError as error:
                    self._why = f": {error.strerror or error}"
                    return None
                await self._process.attach()
            process = self._process
            if process is None or process.ready is None:
                return None
            done, _ = await asyncio.wait({process.ready}, timeout=READY)
            if not done:
                process.kill("it did not become ready")
            if done and not process.gone:
                return process
            said = one_line(process.why or process.last_words(), 200)
            self._why = f": {said}" if said else ""
            return None

    # ── what comes unasked ──

    def _heard(self, message: Message) -> None:
        held = self.held.get(message.get("name", ""))
        if held is None:
            return
        if message.get("op") == "changed":
            self._take_lists(held, message)
        elif message.get("op") == "ended" and held.state == "running":
            self._died(held, one_line(str(message.get("why") or "it ended by itself"), 300))
            self.tell(f"the MCP server {held.name} ended{held.where_logged}{held.again}", "warning")

    def _take_lists(self, held: Held, lists: Message) -> None:
        held.prompts = prompts_of(held.server.name, lists["prompts"])
        held.resources = resources_of(held.server.name, lists["resources"])
        tools, left_out = offered(held.server.name, lists["tools"])
        if left_out != held.left_out:
            held.left_out = left_out
            for text in left_out:
                self.tell(f"a tool of the MCP server {held.name} is left out: {text}", "warning")
        if tools != held.tools:
            held.tools = tools
            # Without it, the next start waits for the server; nothing else is lost.
            with suppress(OSError):
                self._lists.keep(held.server.digest, tools)
            self.changed()

    def _died(self, held: Held, why: str, state: State = "ended") -> None:
        held.died(why, state, self._clock())


__all__ = ["LISTED", "LISTED_ALONE", "Servers"]
