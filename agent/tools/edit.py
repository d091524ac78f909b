"""The `edit` tool: parts of one file replaced, several at once, all or none.

Not for new files (that is `write`), and no matching rules of its own (those are `matching`). A file that was read and
has changed on disk since is refused; one never read may be edited, since `old` must be found in it anyway.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import one_line
from agent.tools import text_files
from agent.tools.contract import Args, Need, Refused, Result, Schema, attempt
from agent.tools.matching import Edit as Replacement
from agent.tools.matching import Spliced, splice
from agent.tools.workspace import Workspace
from agent.tools.write import unplanned


def _edits(args: Args) -> list[Replacement]:
    """The edits asked for. A single one spelled beside `path` was folded into the list by `arguments.parse`."""
    if not args["edits"]:
        raise Refused("There are no edits: give edits as a list of {old, new}.")
    return [Replacement(e["old"], e["new"], bool(e.get("all", False))) for e in args["edits"]]


@dataclass(frozen=True, slots=True)
class _Planned:
    path: Path
    shown: str
    before: text_files.TextFile
    after: Spliced


def _plan(args: Args, ws: Workspace) -> _Planned:
    """What would become of the file. Raises `Refused`, `OSError`."""
    edits = _edits(args)
    path = ws.path(args["path"])
    shown = ws.shown(path)
    try:
        before = text_files.load(path, shown)
    except FileNotFoundError as error:
        raise text_files.missing(ws, path, args["path"]) from error
    text_files.refuse_changed(ws, path, before.stamp)
    return _Planned(path, shown, before, splice(before.raw, before.newline, edits, shown))


def _summary(plan: _Planned) -> str:
    added, removed = text_files.changed_lines(plan.before.raw, plan.after.raw)
    places, lines = plan.after.places, plan.after.lines
    where = ", ".join(map(str, lines[:10])) + (", …" if len(lines) > 10 else "")
    text = f"Edited {plan.shown}: {places} {'place' if places == 1 else 'places'} (line {where}), "
    text += f"{added:,} lines added, {removed:,} removed."
    if plan.after.loose:
        which = "" if len(plan.after.lines) == 1 else f" of edit {', '.join(map(str, plan.after.loose))}"
        text += f" The old text{which} was matched with other blanks or indentation; the new text was shifted alike."
    return text


@dataclass(frozen=True, slots=True)
class Edit:
    """`edit(path, edits: [{old, new, all?}])`; a single `old` and `new` are taken too."""

    name: str = "edit"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Replace text in a file."
        if not short:
            about += (
                " Each old must be copied from the file (without line numbers) with enough lines to occur once;"
                " all edits refer to the file as it is now and are applied together or not at all."
            )
        every: Schema = {"type": "boolean"}
        if not short:
            every["description"] = "replace every occurrence"
        edit: Schema = {
            "type": "object",
            "properties": {"old": {"type": "string"}, "new": {"type": "string"}, "all": every},
            "required": ["old", "new"],
        }
        properties: Schema = {"path": {"type": "string"}, "edits": {"type": "array", "items": edit}}
        parameters = {"type": "object", "properties": properties, "required": ["path", "edits"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`edit PATH`."""
        return one_line(f"edit {args.get('path', '')}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Writing one file; the diff of all edits."""
        try:
            plan = _plan(args, ws)
        except (OSError, Refused) as error:
            return unplanned(error, args, ws)
        return Need("write", (plan.path,), diff=text_files.diff(plan.shown, plan.before.raw, plan.after.raw))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Write the changed file, atomically."""

        def work(stop: threading.Event) -> Result:
            plan = _plan(args, ws)
            if stop.is_set():
                raise Refused("Interrupted before anything was written.")
            data = text_files.encode(plan.after.raw, plan.before.bom)
            ws.was_read(plan.path, text_files.replace_file(plan.path, data))
            return Result(_summary(plan), paths=(plan.shown,), changed=True)

        return await attempt(work, args["path"])
