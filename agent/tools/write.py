"""The `write` tool: a whole file, new or in the place of one that was read.

Not for changing a part of a file (that is `edit`). A file that exists is overwritten only if it was read in this
session and still holds what was read; its mode, its byte order mark and its line ends stay.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import one_line
from agent.tools import text_files
from agent.tools.contract import Args, Need, Refused, Result, Schema, attempt, said
from agent.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class _Planned:
    path: Path
    shown: str
    before: str
    after: str
    data: bytes
    exists: bool


def _plan(args: Args, ws: Workspace) -> _Planned:
    """What would be written where. Raises `Refused`, `OSError`."""
    path = ws.path(args["path"])
    shown = ws.shown(path)
    if not path.exists():
        data = text_files.encode(args["content"], bom=False)
        return _Planned(path, shown, "", args["content"], data, exists=False)
    old = text_files.load(path, shown)
    if path not in ws.seen:
        raise Refused(f"{shown} exists and was not read in this session. Read it first, or change it with edit.")
    text_files.refuse_changed(ws, path, old.stamp)
    content: str = args["content"]
    after = text_files.with_newline(content.removeprefix("\ufeff"), old.newline)
    return _Planned(
        path, shown, old.raw, after, text_files.encode(after, old.bom or content.startswith("\ufeff")), exists=True
    )


def unplanned(error: OSError | Refused, args: Args, ws: Workspace) -> Need:
    """The need of a write that cannot be planned. Raises `Refused` with the reason where the file may be read anyway.

    Elsewhere the reason would tell what is in a file, or that it is there, before anybody allowed it to be read: then
    the permission comes first, and `run` says the reason.
    """
    path = ws.path(args["path"])
    if ws.inside(path) and not ws.hidden(path):
        raise Refused(said(error, args["path"]) if isinstance(error, OSError) else str(error)) from error
    return Need("write", (path,))


@dataclass(frozen=True, slots=True)
class Write:
    """`write(path, content)`."""

    name: str = "write"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Create or overwrite a whole file."
        if not short:
            about += " Missing folders are made. An existing file must have been read first; prefer edit for changes."
        properties: Schema = {"path": {"type": "string"}, "content": {"type": "string"}}
        parameters = {"type": "object", "properties": properties, "required": ["path", "content"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`write PATH`."""
        return one_line(f"write {args.get('path', '')}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Writing one file; the diff against what is there."""
        try:
            plan = _plan(args, ws)
        except (OSError, Refused) as error:
            return unplanned(error, args, ws)
        return Need("write", (plan.path,), diff=text_files.diff(plan.shown, plan.before, plan.after))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Write the file, atomically."""

        def work(stop: threading.Event) -> Result:
            plan = _plan(args, ws)
            if plan.exists and plan.before == plan.after:
                return Result(f"{plan.shown} already holds exactly this; nothing was written.", paths=(plan.shown,))
            if stop.is_set():
                raise Refused("Interrupted before anything was written.")
            stamp = text_files.replace_file(plan.path, plan.data)
            ws.was_read(plan.path, stamp)
            lines = plan.after.count("\n") + (not plan.after.endswith("\n") and plan.after != "")
            count = f"{lines:,} {'line' if lines == 1 else 'lines'}"
            verb = "Overwrote" if plan.exists else "Created"
            text = f"{verb} {plan.shown}: {count}, {len(plan.data):,} bytes."
            return Result(text, paths=(plan.shown,), changed=True)

        return await attempt(work, args["path"])
