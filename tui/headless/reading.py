"""The commands that read: sessions, context, recall, timeline, request, verify, fork, export, config, models, doctor,
and the plans of prune and compact.

Not the reading itself (that is `agent.reading`): here a command becomes one question, and the answer JSON or a table.

Invariants
 1. No lock is taken and nothing appended; all that is written is the export, where `-o` says, and a fork's own folder.
 2. Whatever is printed with `--json` is one value, whole.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from agent.wire import Inspected, Plan
from compaction.errors import EngineError
from tui.headless import lines, objects
from tui.headless.pipes import UNWRITABLE, Pipe
from tui.headless.writing import USAGE, Misused, ids_of
from tui.plain import only_ascii, safe

if TYPE_CHECKING:
    from agent.reading import Requests

# What a timeline shows to people, and its heads; JSON has every field.
TIMELINE = {
    "record": "#",
    "at": "WHEN",
    "size": "SIZE",
    "uncached": "UNCACHED",
    "cache_read": "READ",
    "cache_write": "WRITTEN",
    "output": "OUTPUT",
    "cost": "COST",
    "breaks": "CACHE BROKEN",
    "rewrites": "BEFORE IT",
}

# Rows of the plot above the table: enough to tell a tenth apart, and both are seen on 24 rows.
PLOT_ROWS = 12

# Nothing was found, or nothing would be done.
NOTHING = 4


class Nothing(Exception):
    """There is nothing to answer with; the text is a sentence."""


class Report(Protocol):
    """What `verify` found: sentences, and the exit status."""

    @property
    def code(self) -> int:
        """0, or 1 for a fault."""
        ...

    def lines(self) -> Sequence[str]:
        """For people."""
        ...


class Agreed(Protocol):
    """How trusting a file, or taking that back, ended."""

    @property
    def path(self) -> str: ...
    @property
    def trusted(self) -> bool: ...
    @property
    def code(self) -> int: ...
    @property
    def sentence(self) -> str: ...
    @property
    def says(self) -> Sequence[str]: ...
    @property
    def text(self) -> str: ...


class Reading(Protocol):
    """What `agent.reading` answers. `find` and `recall` raise `LookupError` with a sentence; all of them what
    `troubles` names, whose text is a sentence too. `damage` has one for each line of a log that could not be read.
    """

    @property
    def troubles(self) -> tuple[type[Exception], ...]:
        """What a session that is there and cannot be read raises."""
        ...

    @property
    def damage(self) -> Mapping[Path, Sequence[str]]: ...

    def find(self, wanted: str) -> Path: ...
    def listing(self, all: bool) -> Sequence[Any]: ...
    def inspected(self, path: Path) -> Inspected: ...
    def prune_plan(self, path: Path, records: tuple[int, ...], every: bool, force: bool) -> Plan: ...
    def compact_plan(self, path: Path) -> Plan: ...
    def timeline(self, path: Path) -> Requests: ...
    def request_body(self, path: Path, prompt: str | None) -> Mapping[str, Any]: ...
    def verify(self, path: Path) -> Report: ...
    def fork(self, path: Path, before: int | None) -> Any: ...
    def recall(self, path: Path, query: str) -> Sequence[Any]: ...
    def exported(self, path: Path, format: str) -> str: ...
    def settings_shown(self) -> Sequence[tuple[str, Any, str]]: ...
    def settings_check(self) -> Sequence[str]: ...
    def settings_path(self) -> Any: ...
    def agree(self, *, withdraw: bool) -> Agreed: ...
    def models(self) -> Sequence[Any]: ...
    def forget(self, name: str) -> bool: ...
    def doctor(self) -> Sequence[Any]: ...


def is_reading(options: argparse.Namespace) -> bool:
    """Whether a command changes nothing: all that read, and the plans of those that write."""
    match options.command:
        case "prune":
            return bool(options.dry_run)
        case "compact":
            return bool(options.preview)
        case command:
            return command in COMMANDS


def run_reading(options: argparse.Namespace, reading: Reading, out: TextIO | None, err: TextIO | None) -> int:
    """Runs one reading command and returns the exit status."""
    output, errors = Pipe(out), Pipe(err)

    def failed(text: object, code: int) -> int:
        errors.text(f"ullage: {text}")
        return code

    ask = _Ask(options, reading, output, errors)
    troubles = reading.troubles
    try:
        if hasattr(options, "target"):
            ask.path = reading.find(options.target)
            # The numbers follow the settings; whoever wrote one that does not count should hear of it here too.
            for notice in reading.settings_check():
                errors.text(f"ullage: {safe(notice)}")
    except LookupError as error:
        return failed(error.args[0] if error.args else error, USAGE)
    try:
        code = COMMANDS[options.command](ask)
    except Misused as error:
        return failed(error, USAGE)
    except (EngineError, Nothing) as error:
        return failed(error, NOTHING)
    except troubles as error:
        return failed(error, 1)
    finally:
        for sentence in reading.damage.get(ask.path, ()):
            errors.text(f"ullage: {safe(sentence)}")
    if output.broken == UNWRITABLE:
        errors.text(f"ullage: {output.why}")
    return code if output.broken is None else output.broken


class _Ask:
    """One command with what it needs."""

    def __init__(self, options: argparse.Namespace, reading: Reading, out: Pipe, err: Pipe) -> None:
        self.options = options
        self.reading = reading
        self.out = out
        self.err = err
        self.path = Path()

    def show(self, value: Any, text: Callable[[], str]) -> None:
        """JSON or text, as asked."""
        if self.options.json:
            self.out.json(value)
        else:
            self.out.text(text())

    def rows(self, rows: Iterable[Any], none: str, columns: Mapping[str, str] | None = None) -> int:
        """A list of objects, or a table of them; `none` is the sentence for an empty one."""
        values = [objects.plain_object(row) for row in rows]
        self.show(values, lambda: table_of(values, columns) if values else none)
        return 0

    def plan(self, plan: Plan) -> int:
        """A plan that stays one."""
        self.show(objects.planned(plan), lambda: lines.plan(plan))
        return 0 if plan.records else NOTHING


def table_of(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str] | None = None) -> str:
    """Rows that share their names as a table. `columns`: the names shown, and their heads; all by default."""
    heads = columns or {name: name.replace("_", " ").upper() for name in rows[0]}
    numbers = [n for n, name in enumerate(heads) if all(_is_number(row.get(name)) for row in rows)]
    cells = ([_cell(row.get(name)) for name in heads] for row in rows)
    return lines.table(tuple(heads.values()), cells, right=numbers)


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4f}".rstrip("0").rstrip(".")
        case list() | tuple():
            return ", ".join(map(_cell, value))
        case dict():
            return ", ".join(f"{name} {_cell(one)}" for name, one in value.items())
        case _:
            return str(value)


def _sessions(ask: _Ask) -> int:
    found = [objects.plain_object(one) for one in ask.reading.listing(ask.options.all)]
    shown = [{**one, "used": lines.when(one["used"]), "size": lines.size(one["size"])} for one in found]
    columns = {"id": "SESSION", "used": "LAST USED", "size": "SIZE", "model": "MODEL", "title": "TITLE"}
    if ask.options.all:
        columns["folder"] = "FOLDER"
    none = "no sessions yet" if ask.options.all else "no sessions in this folder yet; --all lists every folder's"
    ask.show(found, lambda: table_of(shown, columns) if shown else none)
    return 0


def _context(ask: _Ask) -> int:
    inspected = ask.reading.inspected(ask.path)
    ask.show(objects.inspected(inspected), lambda: lines.context(inspected))
    return 0


def _prune(ask: _Ask) -> int:
    options = ask.options
    return ask.plan(ask.reading.prune_plan(ask.path, ids_of(options), options.all, options.force))


def _compact(ask: _Ask) -> int:
    return ask.plan(ask.reading.compact_plan(ask.path))


def _recall(ask: _Ask) -> int:
    query = " ".join(ask.options.query)
    if not query.strip():
        raise Misused("write the words to look for")
    try:
        hits = [objects.plain_object(hit) for hit in ask.reading.recall(ask.path, query)]
    except LookupError as error:
        if ask.options.json:
            ask.out.json([])
        raise Nothing(str(error.args[0] if error.args else error)) from error
    ask.show(hits, lambda: "\n\n".join(map(_hit, hits)) or f"nothing in this session matches {query!r}")
    return 0 if hits else NOTHING


def _hit(hit: Mapping[str, Any]) -> str:
    """A hit as a line that names it and the text around it."""
    named = [str(hit[name]) for name in ("kind", "title") if hit.get(name)]
    head = f"#{hit['record']} {': '.join(named)}\n" if "record" in hit else ""
    return f"{head}{hit.get('text', '')}"


def _timeline(ask: _Ask) -> int:
    from tui.plot import happened_since as since

    found = ask.reading.timeline(ask.path)
    rows = [objects.plain_object(row) for row in found]
    shown = [{**row, "at": lines.when(row["at"]), "cost": lines.money(row["cost"])} for row in rows]
    none = "no request was answered in this session yet"
    if rows and ask.out.terminal and not ask.options.json:
        ask.out.whole(_plotted(ask, found))
    after = f"\nafter #{rows[-1]['record']}: {since(found.since)}" if rows and found.since else ""
    ask.show(rows, lambda: table_of(shown, TIMELINE) + after if shown else none)
    return 0


def _plotted(ask: _Ask, rows: Requests) -> str:
    """The timeline as people see it on a terminal, above its table."""
    from tui.alphabet import ascii_text
    from tui.plot import ASCII_INK, Ink, plot, uncoloured

    meter = ask.reading.inspected(ask.path).meter
    ascii = only_ascii(os.environ)
    drawn = plot(
        rows, shutil.get_terminal_size().columns, PLOT_ROWS, budget=meter.budget, window=meter.window,
        ink=ASCII_INK if ascii else Ink(),
    )  # fmt: skip
    lines = [*(uncoloured(drawn.lines) if os.environ.get("NO_COLOR") else drawn.lines), drawn.legend, *drawn.marks]
    return "\n".join(map(ascii_text, lines) if ascii else lines) + "\n\n"


def _request(ask: _Ask) -> int:
    ask.out.json(ask.reading.request_body(ask.path, ask.options.prompt))
    return 0


def _verify(ask: _Ask) -> int:
    report = ask.reading.verify(ask.path)
    value = {"ok": report.code == 0, **objects.plain_object(report)}
    ask.show(value, lambda: "\n".join((*report.lines(), *(("the log is whole",) if report.code == 0 else ()))))
    return report.code


def _fork(ask: _Ask) -> int:
    """The one command here that makes something: a session of its own, beside the one that is read."""
    made = objects.plain_object(ask.reading.fork(ask.path, ask.options.before))
    value = {"session": made["id"], "path": made["path"], "title": made["title"], "from": str(ask.path)}
    ask.show(value, lambda: f"{made['id']}  {safe(str(made['title']))}\n{made['path']}")
    return 0


def _export(ask: _Ask) -> int:
    text = ask.reading.exported(ask.path, ask.options.format)
    if ask.options.output is None or ask.options.output == "-":
        ask.out.whole(text)
        return 0
    place = Path(os.path.expanduser(ask.options.output))
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        ask.err.text(f"ullage: {place} cannot be written: {error.strerror or error}")
        return 1
    ask.err.text(f"ullage: written to {place}")
    return 0


def _config(ask: _Ask) -> int:
    match ask.options.what:
        case "path":
            path = str(ask.reading.settings_path())
            ask.show({"path": path}, lambda: path)
            return 0
        case "check":
            notices = list(ask.reading.settings_check())
            ask.show({"notices": notices}, lambda: "\n".join(notices) or "nothing is wrong with the settings")
            return USAGE if notices else 0
        case "trust":
            return _trust(ask)
        case _:
            names = ("key", "value", "source")
            rows = [dict(zip(names, row, strict=True)) for row in ask.reading.settings_shown()]
            return ask.rows(rows, "no settings")


def _trust(ask: _Ask) -> int:
    found = ask.reading.agree(withdraw=ask.options.withdraw)

    def told() -> str:
        rows = [f"  · {safe(text)}" for text in found.says]
        rows += [f"  │ {line}" for line in safe(found.text).rstrip("\n").split("\n")] if found.text else []
        return "\n".join([safe(found.sentence), *rows])

    shown = {"path": found.path, "trusted": found.trusted, "says": list(found.says), "text": found.text}
    ask.show({**shown, "sentence": found.sentence}, told)
    return found.code


def _models(ask: _Ask) -> int:
    name = ask.options.forget
    if name is None:
        return ask.rows(ask.reading.models(), "no models are known")
    forgotten = ask.reading.forget(name)
    said = f"what was learned of {name} is forgotten" if forgotten else f"nothing was learned of {name}"
    ask.show({"model": name, "forgotten": bool(forgotten)}, lambda: said)
    return 0 if forgotten else NOTHING


def _doctor(ask: _Ask) -> int:
    return ask.rows(ask.reading.doctor(), "nothing to report")


COMMANDS: Mapping[str, Callable[[_Ask], int]] = {
    "sessions": _sessions,
    "context": _context,
    "prune": _prune,
    "compact": _compact,
    "recall": _recall,
    "timeline": _timeline,
    "request": _request,
    "verify": _verify,
    "fork": _fork,
    "export": _export,
    "config": _config,
    "models": _models,
    "doctor": _doctor,
}
