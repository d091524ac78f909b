"""Questions to logs, settings and the machine that change nothing: what headless commands and pickers ask.

Not a session's work. Takes no lock, appends nothing; calls a log left open are closed by the view, in memory.
"""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from agent import metering, sandbox, seeing, sessions
from agent.agreeing import Agreed, agree
from agent.custom_files import CustomCommand, read_commands
from agent.forking import fork
from agent.mcp.prompts import Prompt, Resource
from agent.mcp.server import Server, servers_of
from agent.models.learned import Lesson
from agent.models.providers import KEY_VARIABLES
from agent.models.weights import EMBEDDED_NAME, installed, is_embedded
from agent.opening import assemble
from agent.outgoing import body_of, next_request
from agent.reading.at_hand import AtHand, at_hand
from agent.reading.file_pages import Changed, Memory, changed_files, keep_memory, memory
from agent.reading.looking_up import Hit, Whole, hits, whole
from agent.reading.model_rows import ModelRow, Switch, model_rows
from agent.reading.request_rows import RequestRow, Requests, request_rows
from agent.reading.servers import servers
from agent.reading.session_rows import SessionRow, SessionRows
from agent.session import Kit, Session
from agent.session_log import LogError, NotASession, NothingYet, SessionLog, as_json
from agent.settings import SettingsError
from agent.tools import Refused
from agent.verify import Report, verify
from agent.wire import Inspected, Plan
from compaction import cache
from compaction.prune import plan_prune
from compaction.records import Record, UserSaid, WindowSource
from compaction.view import View

# Models named of each server found; /model lists them all.
SHOWN = 5


@dataclass
class Reading:
    """Answers for work in `folder`. `troubles` are the errors its methods raise beside `LookupError`.

    `damage` has a sentence for each line that could not be read of the logs looked at so far.
    """

    kit: Kit
    folder: Path
    troubles: tuple[type[Exception], ...] = (LogError, SettingsError)
    damage: dict[Path, tuple[str, ...]] = field(default_factory=dict)

    def find(self, wanted: str) -> Path:
        """The log meant by a name. Raises `LookupError` with a sentence."""
        return sessions.find(self.kit.places, self.folder, wanted)

    def listing(self, all: bool) -> Sequence[sessions.Found]:
        """Sessions in which something was said, this folder's or everybody's, the last used first."""
        found = sessions.listing(self.kit.places, None if all else self.folder)
        return [one for one in found if one.title or not one.readable]

    @property
    def shelf(self) -> SessionRows:
        """This folder's sessions, for somebody who looks for one."""
        return SessionRows(self.kit.places, self.folder, self.kit.clock)

    def session(self, path: Path) -> Session:
        """A session over a log opened for reading. Raises `LogError`."""
        return assemble(replace(self.kit, emit=lambda event: None), self._log(path), self.folder)

    def begun(self, path: Path) -> Session:
        """A session that could go on: without its beginning there is no model, no prompt, and so no size to show.

        Raises `LogError`.
        """
        session = self.session(path)
        if session.log.beginless:
            raise NotASession(path, f"{session.log.beginless}, so no request can be made of it; recall and export do")
        return session

    def records(self, path: Path) -> Sequence[Record]:
        """Every record of a log."""
        return self._log(path).records

    def _log(self, path: Path) -> SessionLog:
        if not path.exists():
            raise NothingYet(path, "there is nothing to look into")
        log = SessionLog.open(path, False, self.kit.clock)
        self.damage[path] = tuple(map(str, log.damage))
        return log

    @staticmethod
    def record_json(record: Record) -> Mapping[str, Any]:
        """A record as the line of the log says it."""
        return as_json(record)

    def inspected(self, path: Path) -> Inspected:
        """The view item by item, with the meter."""
        return metering.inspected(self.begun(path))

    def commands(self, taken: Collection[str]) -> tuple[Sequence[CustomCommand | Prompt], Sequence[str]]:
        """The user's own commands, this project's and its servers' prompts, and a sentence for each file that is none.

        `taken` are the program's own names, which no file can take.
        """
        found = read_commands(self.kit.places, self.folder)
        refused = [c for name, c in found.commands.items() if name in taken]
        problems = [f"{c.path}: no command, for /{c.name} is one of the program's own" for c in refused]
        rows = sorted((c for name, c in found.commands.items() if name not in taken), key=lambda c: c.name)
        prompts = () if self.kit.servers is None else self.kit.servers.prompts()
        theirs = (prompt for prompt in prompts if prompt.name not in taken and prompt.name not in found.commands)
        return (*rows, *theirs), (*found.problems, *problems)

    def serves(self, command: str) -> bool:
        """Whether a command would be a server's prompt, though it may not have said yet which it has."""
        return self.kit.servers is not None and self.kit.servers.of_command(command) is not None

    def resources(self) -> Sequence[Resource]:
        """What MCP servers offer to be mentioned."""
        return () if self.kit.servers is None else self.kit.servers.resources()

    def image_trouble(self, path: Path, model: str) -> str:
        """Why a file cannot be sent to a model as an image, in a sentence; empty when it can."""
        if not seeing.sees(model, self.kit.settings, self.kit.catalogue):
            return seeing.blind(model)
        return seeing.trouble(path)

    def keep_image(self, data: bytes) -> Path:
        """A file with an image's bytes. Raises `LookupError` for what is no image that can be sent, `OSError`."""
        try:
            return seeing.keep(self.kit.places, data)
        except Refused as refused:
            raise LookupError(str(refused)) from refused

    def agree(self, *, withdraw: bool) -> Agreed:
        """Trusts this project's settings file, or takes that back: the one thing here that is written down."""
        return agree(self.kit.places, self.folder, withdraw=withdraw)

    def prune_plan(self, path: Path, records: tuple[int, ...], every: bool, force: bool) -> Plan:
        """What a prune would do. Raises `BadTarget`."""
        session = self.begun(path)
        plan = plan_prune(
            session.view, session.ruler, session.budget, inside_turn=False, asked=True, every=every, records=records,
            force=force,
        )  # fmt: skip
        return metering.prune_plan(session, plan)

    def compact_plan(self, path: Path) -> Plan:
        """What a compaction would do."""
        return metering.compact_plan(self.begun(path))

    def timeline(self, path: Path) -> Requests:
        """One row for each answered request, from the log alone."""
        return request_rows(self.session(path))

    def request_body(self, path: Path, prompt: str | None) -> Mapping[str, Any]:
        """The exact body that would go out next; with `prompt`, as if that were said."""
        session = self.begun(path)
        view = session.view
        if prompt is not None:
            view = View((*view.records, Record(session.log.next_id, self.kit.clock(), UserSaid(prompt))))
        return body_of(session, next_request(session, view=view))

    def fork(self, path: Path, before: int | None) -> sessions.Found:
        """A new session with that one's log up to here, or up to before a record. Raises `LogError`."""
        return sessions.look(fork(self.kit.places, path, before, self.kit.clock()))

    def changed_files(self, path: Path, only: str = "") -> Changed:
        """What the session changed in files; `only` a file or folder. Raises `LookupError`."""
        return changed_files(self.session(path), only)

    def memory(self) -> Memory:
        """The project's memory."""
        return memory(self.kit.places, self.folder)

    def keep_memory(self, before: str, after: str) -> str:
        """Writes an edited memory; the sentence for people."""
        return keep_memory(self.kit.places, self.folder, before, after)

    def verify(self, path: Path) -> Report:
        """What is wrong with a log."""
        return verify(path)

    def recall(self, path: Path, query: str) -> Sequence[Mapping[str, Any]]:
        """What the whole log holds for words, or the record of that number. Raises `LookupError` for nothing."""
        number = query.strip().removeprefix("#")
        if not number.isdigit():
            return [asdict(hit) for hit in self.hits(path, query)]
        recaller = self.session(path).workspace.recaller
        if recaller is None:
            return ()
        try:
            return ({"record": int(number), "text": recaller.by_record(int(number), 1)},)
        except Refused as refused:
            raise LookupError(str(refused)) from refused

    def whole(self, path: Path, record: int) -> Whole:
        """One record with all its text. Raises `LookupError`."""
        return whole(self.session(path), record)

    def hits(self, path: Path, query: str) -> Sequence[Hit]:
        """The records that hold words of `query`, best first. Raises `LookupError`."""
        return hits(self.session(path), query)

    def prices(self, model: str) -> cache.Prices | None:
        """What a model costs; None where it is not known."""
        return self.kit.known(model).prices

    def exported(self, path: Path, format: str) -> str:
        """The session for people."""
        # Here, because few sessions are ever exported, and this costs a start 40 ms.
        from agent import export
        from agent.export.timeline import timeline

        chosen: Literal["md", "html", "json"] = "html" if format == "html" else "json" if format == "json" else "md"
        if chosen != "html":
            return export.exported(self.records(path), chosen)
        budget = self.session(path).budget
        rows = self.timeline(path)
        drawn = timeline(rows, budget.budget, budget.window.tokens, rows.since)
        return export.exported(self.records(path), chosen, drawn)

    # ── settings, models, machine ──

    def settings_shown(self) -> Sequence[tuple[str, Any, str]]:
        """Key, value, and where it came from."""
        return self.kit.settings.shown()

    def settings_check(self) -> Sequence[str]:
        """What is not right with the settings, as sentences."""
        return self.kit.settings.notices

    def settings_path(self) -> Path:
        """The user's settings file."""
        return self.kit.places.settings

    def models(self) -> Sequence[Mapping[str, Any]]:
        """Models with a known window: what was learned, the settings' own, the embedded one, then the catalogue."""
        lessons = self.kit.catalogue.lessons()
        named = [m for m in (self.kit.settings.model, EMBEDDED_NAME) if m]
        own = [glob for glob in self.kit.settings.models if not set("*?[") & set(glob)]
        names = list(dict.fromkeys([*named, *own, *self.kit.catalogue.names()]))
        rows = [self._model(name) for name in names]
        learned = {row["model"] for row in rows if row["source"] == WindowSource.LEARNED}
        return [*(self._lesson(lesson) for lesson in lessons if lesson.name not in learned), *rows]

    def _lesson(self, lesson: Lesson) -> Mapping[str, Any]:
        """A window learned at an endpoint that today's settings do not name."""
        row = {**self._model(lesson.name), "window": lesson.window, "source": str(WindowSource.LEARNED)}
        return {**row, "endpoint": lesson.endpoint}

    def _model(self, name: str) -> Mapping[str, Any]:
        target = self.kit.known(name)
        prices = target.prices
        return {
            "model": name,
            "window": target.window.tokens,
            "source": str(target.window.source),
            "max_output": target.window.max_output,
            "input": None if prices is None else prices.input,
            "cached": None if prices is None else prices.read,
            "output": None if prices is None else prices.output,
        }

    def model_rows(self, current: str) -> Iterator[ModelRow]:
        """Models to choose from for a session on `current`, the likely ones first, made as they are asked for."""
        return model_rows(self.kit, current, embedded=installed())

    @property
    def chosen(self) -> bool:
        """Whether anybody has said which model to use."""
        return self.kit.settings.model is not None

    def at_hand(self) -> Sequence[AtHand]:
        """Models that could be used at once. Asks this machine's ports; takes up to a second."""
        return at_hand(self._found_keys(), self.kit.catalogue.names(), embedded=installed())

    def forget(self, name: str) -> bool:
        """Drops what was learned of a model; whether anything was."""
        return self.kit.catalogue.forget(name) > 0

    def doctor(self, model: str = "") -> Sequence[Mapping[str, Any]]:
        """What is found on this machine; keys are named, never shown. `model`: the session's, if one is open."""
        checks: dict[str, Callable[[], str]] = {
            "python": lambda: f"{platform.python_version()} at {sys.executable}",
            "ullage": lambda: self.kit.versions,
            "model": lambda: self._model_found(model),
            "embedded": lambda: "installed" if installed() else "not installed; make run installs it",
            "servers": self._servers,
            "keys": self._keys,
            "settings": lambda: str(self.kit.places.settings),
            "sessions": lambda: str(self.kit.places.sessions),
            "sandbox": lambda: sandbox.describe(sandbox.probe(sandbox.Policy())),
            **{f"mcp {server.name}": partial(_found, server) for server in servers_of(self.kit.settings, self.folder)},
            "terminal": lambda: f"{self.kit.environ.get('TERM', 'none')}, {_encoding()}",
        }
        return [{"what": what, "found": find()} for what, find in checks.items()]

    def _model_found(self, model: str) -> str:
        default = self.kit.endpoints.default()
        _, way = self.kit.endpoints.way_in(model or default) if not is_embedded(model or default) else (True, "")
        words = f"{model or default}{f' ({way})' if way else ''}"
        return f"{words}; new sessions start with {default}" if model and model != default else words

    def _servers(self) -> str:
        of: dict[str, list[str]] = {}
        for one in servers():
            of.setdefault(one.found, []).append(one.model)
        said = [
            f"{where}: {', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''}" for where, names in of.items()
        ]
        return "; ".join(said) if said else "none on this machine's usual ports"

    def _keys(self) -> str:
        keys, found = self.kit.endpoints.keys, self._found_keys()
        said = [where if where.startswith(name) else f"{name}: {where}" for name, where in sorted(found.items())]
        trouble = [keys.trouble] if keys is not None and keys.trouble else []
        return "; ".join([*said, *trouble]) or "none in the environment and none saved (`ullage keys set PROVIDER`)"

    def _found_keys(self) -> Mapping[str, str]:
        endpoints = self.kit.endpoints
        if endpoints.keys is not None:
            endpoints.keys.load()
        found = {variable: endpoints.found(variable) for variable in KEY_VARIABLES.values()}
        return {variable: where for variable, where in found.items() if where is not None}


def _found(server: Server) -> str:
    """An MCP server as far as can be seen without starting it."""
    if not server.enabled:
        return f"switched off: {server.shown}"
    if server.command and shutil.which(server.command[0]) is None:
        return f"{server.shown}: there is no such program"
    return server.shown


def _encoding() -> str:
    # A screen puts an object of its own in the place of stdout; what the program was started with knows.
    return getattr(sys.__stdout__, "encoding", None) or "unknown"


__all__ = [
        "AtHand", "Changed", "CustomCommand", "Hit", "Memory", "ModelRow", "Reading", "RequestRow", "Requests",
    "SessionRow", "Switch", "Whole",
]  # fmt: skip
