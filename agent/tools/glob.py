"""The `glob` tool: paths of files that match a pattern, sorted, without what git ignores.

Not a listing of one folder (`read` gives that). Links are not followed, so no circle can be entered.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field

from agent.sanitise import one_line
from agent.tools import plain_search, search
from agent.tools.contract import Args, Need, Refused, Result, Schema, said
from agent.tools.workspace import Workspace

# More names than this are no answer; the rest is counted.
LIMIT = 500

# The list of a whole disk would fill the memory; a large repository has a hundred thousand files.
MOST_FILES = 1_000_000

FRAME = 200


@dataclass
class _Names:
    """Takes the list apart."""

    names: list[str] = field(default_factory=list)
    buffer: bytes = b""

    def take(self, piece: bytes) -> bool:
        """One more piece; False when there are too many."""
        *whole, self.buffer = (self.buffer + piece).split(b"\0")
        self.names += [os.fsdecode(name).removeprefix("./") for name in whole]
        return len(self.names) < MOST_FILES


@dataclass(frozen=True, slots=True)
class Glob:
    """`glob(pattern, path)`."""

    name: str = "glob"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Find files by name pattern." if short else "Find files by name, such as *.py or src/**/test_*.py."
        properties: Schema = {"pattern": {"type": "string"}, "path": {"type": "string"}}
        parameters = {"type": "object", "properties": properties, "required": ["pattern"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`glob PATTERN in PATH`."""
        where = f" in {args['path']}" if args.get("path") else ""
        return one_line(f"glob {args.get('pattern', '')}{where}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Reading below one path."""
        return Need("read", (ws.path(args.get("path") or "."),))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Find."""
        try:
            return await _glob(args, ws)
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        except OSError as error:
            return Result(said(error, args.get("path") or "."), failed=True)


async def _glob(args: Args, ws: Workspace) -> Result:
    root = search.root_of(ws, args.get("path") or "")
    if root.name:
        raise Refused(f"{one_line(args['path'], 200)} is a file; give a folder as path.")
    pattern = search.glob_pattern(ws, root, args["pattern"])
    if not pattern.strip():
        raise Refused("The pattern is empty.")
    names = _Names()
    argv, asked = (search.files_with(ws.ripgrep), b"") if ws.ripgrep else search.plain("files", root)
    ended = await search.feed(argv, root.folder, asked, names.take)
    found = await asyncio.to_thread(_matching, names.names, pattern)
    found = [name for name in found if not ws.hidden(root.folder / name)]
    where = search.named(ws, root)
    partial = f" The list was stopped after {search.SECONDS} seconds; narrow path." if ended.late else ""
    if not found:
        return Result(f"No file like {one_line(pattern)} in {where}.{partial}")
    lines: list[str] = []
    room = ws.page_characters - FRAME
    for name in found[:LIMIT]:
        line = search.shown_path(ws, root, os.fsencode(name))
        room -= len(line) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    if len(lines) < len(found):
        lines.append(f"[{len(lines):,} of {len(found):,} files shown; narrow the pattern or path.{partial}]")
    elif partial:
        lines.append(f"[{partial.strip()}]")
    return Result("\n".join(lines))


def _matching(names: list[str], pattern: str) -> list[str]:
    wanted = plain_search.matcher(pattern)
    return sorted(filter(wanted, names), key=plain_search.by_parts)
