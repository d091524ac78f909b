"""Opening sessions: a new one with everything frozen into its first record, or one that goes on.

Not the log's own door (that is `session_log`, which closes what was open) and not the wiring of a program.

Invariants
 1. A resume uses the prompt, instructions and tools of the log's own first record; endpoint and keys are today's.
 2. Changed instructions are taken in by a `Reloaded` when the provider's cache is cold; warm, only a sentence says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from agent import instructions, job_news, late, metering, sandbox, sessions, spill
from agent.endpoints import Endpoints
from agent.hooks.guards import guards
from agent.lessons import alternating
from agent.mcp.server import servers_of
from agent.mcp.servers import Servers
from agent.mcp.tool import equipped
from agent.model import UnknownModel
from agent.permissions.rules import Rules, remembered
from agent.request import canonical
from agent.resuming import as_before, changed_effort, flag_given
from agent.session import Kit, Session, rules_file
from agent.session_log import LogError, SessionBusy, SessionLog
from agent.settings import SettingsError, with_model
from agent.tools import TOOLS, Environment, LogRecaller, Workspace, title_of
from agent.tools.workspace import PAGE_BYTES
from agent.wire import Event, Progress
from agent.wishes.dispatch import Unopened
from compaction.budget import budget_for
from compaction.records import AssistantSaid, Reloaded, SettingsChanged, Started
from compaction.tokens import Ruler

# A page of a file is at most an eighth of the session's first budget, what arrival lets pass unspilled. A page of
# recall is half of it: what is fetched back should not push out as much again.
PAGE_SHARE = 8

# Characters a token, for turning a page's tokens into characters: English and code run at 3 to 4.
PAGE_CHARACTERS = 3


@dataclass
class Opening:
    """Opens sessions in `folder` with what `kit` holds; see `worker.Opener`.

    A new session after another one goes on with that one's model, server and budget: `/new` means a new conversation.
    """

    kit: Kit
    folder: Path
    last: Session | None = None

    async def open(self, path: str | None, emit: Callable[[Event], None]) -> Session:
        """The session at `path` (an id or a file), or a new one. Raises `Unopened`."""
        self._renew()
        early: list[str] = []
        if self.kit.servers is not None:
            self.kit.servers.tell = lambda text, level: early.append(text)
            self.kit.servers.adopt(servers_of(self.kit.settings, self.folder))
            self.kit.servers.begin()
        if path is not None:
            self.last = await self._resumed(replace(self.kit, emit=emit), path)
        elif self.last is None:
            self.last = await self._new(replace(self.kit, emit=emit), None)
        else:
            settings = with_model(self.last.kit.settings, self.last.view.model)
            kit = replace(self.kit, emit=emit, settings=settings, endpoints=Endpoints(settings, self.kit.environ))
            self.last = await self._new(kit, self.last.rule())
        self.last.notices.extend(early)
        _follow(self.last)
        return self.last

    def _renew(self) -> None:
        """A project's file that was agreed to meanwhile counts for whatever is opened next."""
        load, last = self.kit.load, self.last
        if load is not None and last is not None and last.kit.settings.untrusted != self.kit.settings.untrusted:
            try:
                settings = load()
            except SettingsError as error:
                raise Unopened(str(error), 2) from error
            self.kit = replace(self.kit, settings=settings, endpoints=self.kit.endpoints.under(settings))

    async def aclose(self) -> None:
        """Ends models and processes."""
        await self.kit.model.aclose()
        if self.kit.servers is not None:
            await self.kit.servers.aclose()
        if self.kit.counted is not None:
            self.kit.counted.close()

    async def _new(self, kit: Kit, rule: str | None) -> Session:
        name = kit.endpoints.default()
        try:
            target = await kit.target(name)
        except UnknownModel as error:
            raise Unopened(str(error), 2) from error
        window = target.window
        budget = budget_for(window, kit.settings.policy_for(name, rule))
        frozen = instructions.build(kit.places, self.folder, kit.settings, window.effective)
        short = window.effective is not None and window.effective <= instructions.SHORT_WINDOW
        late_ones = [] if kit.servers is None else await _listed(kit, kit.servers)
        schemas = (*(canonical(tool.schema(short)) for tool in TOOLS), *late.theirs(kit.servers))
        now = kit.clock()
        id, place = sessions.new_folder(kit.places, self.folder, now)
        started = Started(
            id, str(self.folder), name, target.endpoint.label, frozen.system, frozen.instructions, schemas,
            window.tokens, window.source, budget.budget, budget.trigger, budget.landing, kit.versions,
            rule=kit.settings.budget if flag_given(kit.settings, "context.budget") else rule,
            effort=kit.settings.effort_for(name), alternate=alternating.starts_so(kit, name),
        )  # fmt: skip
        try:
            # On a screen people come and go without a word; a script's first line is on the disk before it is heard of.
            log = SessionLog.create(place, started, kit.clock, kit.disk, late=kit.interactive)
        except LogError as error:
            raise Unopened(str(error), 1) from error
        session = assemble(kit, log, self.folder)
        session.notices.extend([*frozen.notices, *late_ones, *filter(None, [kit.endpoints.trouble])])
        session.refresh()
        session.notices.extend(late.heavy(session))
        return session

    async def _resumed(self, kit: Kit, wanted: str) -> Session:
        try:
            path = sessions.find(kit.places, self.folder, wanted)
        except sessions.NoSuchSession as error:
            raise Unopened(str(error), 2) from error
        try:
            log = SessionLog.open(path, True, kit.clock, kit.disk, title_of)
        except SessionBusy as error:
            text = "that session is the one that is open here" if error.pid == os.getpid() else str(error)
            raise Unopened(text, 1) from error
        except LogError as error:
            raise Unopened(str(error), 1) from error
        try:
            return await self._going_on(kit, log)
        except LogError as error:
            await log.aclose()
            raise Unopened(str(error), 1) from error
        except BaseException:
            # Stopped or failed on the way: nobody holds the session, so nobody would give its lock back.
            await log.aclose()
            raise

    async def _going_on(self, kit: Kit, log: SessionLog) -> Session:
        session = assemble(kit, log, self.folder)
        name = kit.endpoints.default()
        if flag_given(kit.settings, "model") and name != log.view.model:
            turns = alternating.changed_turns(log.view, session.kit, name)
            await log.append(SettingsChanged(name, kit.endpoints.resolve(name).label, alternate=turns))
        effort = changed_effort(log.view, session.kit.settings, log.view.model)
        turns = alternating.changed_turns(log.view, session.kit, log.view.model)
        if effort is not None or turns is not None:
            await log.append(SettingsChanged(effort=effort, alternate=turns))
        try:
            await session.kit.target(log.view.model)
        except UnknownModel as error:
            session.notices.append(str(error))
        session.notices.extend(filter(None, [session.kit.endpoints.trouble]))
        session.refresh()
        await _take_in(session)
        if waits := late.waits(session):
            session.notices.append(waits)
        return session


def assemble(kit: Kit, log: SessionLog, folder: Path) -> Session:
    """A session over an open log; nothing is asked of any server."""
    kit = as_before(kit, log)
    started = log.view.started
    home = Path(started.folder) if started and Path(started.folder).is_dir() else folder
    budget = started.budget if started else 0
    rules, unread = _rules(kit, home)
    rules = rules.joined(guards(kit.settings, home))
    found = _sandbox(kit)
    workspace = Workspace(
        home,
        page_characters=min(PAGE_BYTES, budget // PAGE_SHARE * PAGE_CHARACTERS) if budget else PAGE_BYTES,
        environment=Environment(kit.settings.shell_keep, kit.settings.shell_drop),
        environ=kit.environ,
        sandbox=found if isinstance(found, sandbox.Sandbox) else None,
        hidden=rules.hides(home.resolve()),
    )
    session = Session(kit, log, workspace, Ruler(kit.count), kit.settings.mode, rules, metering.meter)
    session.tools = equipped(log.view.tools, kit.servers)
    session.notices.extend(unread)
    if isinstance(found, str) and kit.interactive:
        session.notices.append(found)
    workspace.recaller = LogRecaller(
        lambda: log.records, lambda path: spill.load(log.folder, path), workspace.page_characters // 2
    )
    workspace.on_output = session.tool_output
    workspace.jobs.folder = log.folder / "jobs"
    workspace.blind = session.blind
    job_news.listen(session)
    return session


async def _listed(kit: Kit, servers: Servers) -> list[str]:
    """Waits shortly for servers of which nothing is known yet; Esc goes on without them. A sentence for each."""
    waiting = servers.unlisted()
    if not waiting:
        return []
    kit.emit(Progress(f"starting the MCP servers {', '.join(held.name for held in waiting)}"))
    try:
        await servers.listed()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return [
        f"the MCP server {held.name} is still starting; its tools join with the first message after it is there"
        for held in servers.unlisted()
    ]


def _follow(session: Session) -> None:
    """What servers say from now on is said in this session."""
    servers = session.kit.servers
    if servers is not None:
        servers.tell = session.tell
        servers.changed = lambda: late.told(session)


def _sandbox(kit: Kit) -> sandbox.Sandbox | str | None:
    """The sandbox commands run in, as the settings say, or why there is none; None when it is switched off."""
    if kit.settings.sandbox_use == "off":
        return None
    policy = sandbox.Policy(
        kit.settings.sandbox_network,
        tuple(Path(os.path.expanduser(p)) for p in kit.settings.sandbox_writable),
        kept=(kit.places.config, kit.places.data, kit.places.state),
        hidden=(kit.places.keys,),
    )
    return sandbox.probe(policy)


def _rules(kit: Kit, folder: Path) -> tuple[Rules, tuple[str, ...]]:
    """The rules of the settings and those remembered for the project, and a sentence for each that cannot be read."""
    chosen, wrong = Rules.of(kit.settings.allow, kit.settings.ask, kit.settings.deny)
    kept, unread = remembered(rules_file(kit.places, folder))
    return chosen.joined(kept), (*wrong, *unread)


async def _take_in(session: Session) -> None:
    """What a resume does about instructions that changed since."""
    view = session.view
    frozen = instructions.build(
        session.kit.places, session.workspace.folder, session.kit.settings, session.target.window.effective
    )
    then = instructions.Frozen(view.system, view.instructions)
    changed = instructions.changed(then, frozen)
    if not changed:
        return
    last = next((r.at for r in reversed(view.records) if isinstance(r.body, AssistantSaid)), None)
    names = ", ".join(changed)
    if last is None or session.kit.clock() - last > session.warm_s():
        await session.log.append(Reloaded(frozen.system, frozen.instructions, view.tools))
        session.notices.append(f"taken in: {names}, changed since this session started")
    else:
        tokens = session.size().total
        session.notices.append(
            f"{names} changed since this session started; /reload takes it in: {tokens:,} cached tokens are read anew"
        )
