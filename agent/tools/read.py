"""The `read` tool: a page of a text file with line numbers, an image, or a folder's listing.

Not a search, and never spilled: a page fits what arrives unspilled. Reading a file makes it known to `write` and
`edit`.
"""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from agent.sanitise import one_line
from agent.tools import images, text_files
from agent.tools.contract import Args, Need, Refused, Result, Schema, attempt
from agent.tools.paging import Page, page
from agent.tools.workspace import HASHED, PAGE_LINES, Stamp, Workspace, digest

# What a page's own words (which lines, how to go on, what is odd about the file) take at most; characters.
FRAME = 240

# A folder's listing longer than this is better searched; entries.
LISTED = 500


@dataclass(frozen=True, slots=True)
class Read:
    """`read(path, offset, limit)`, both in lines."""

    name: str = "read"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Read a text file with line numbers, an image, or list a folder."
        offset: Schema = {"type": "integer"}
        limit: Schema = {"type": "integer"}
        if not short:
            about += " Long files come in pages: go on with offset."
            offset["description"] = "first line, from 1"
            limit["description"] = "number of lines"
        properties: Schema = {"path": {"type": "string"}, "offset": offset, "limit": limit}
        parameters = {"type": "object", "properties": properties, "required": ["path"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`read PATH`, with the lines when they were asked for."""
        start, limit = args.get("offset"), args.get("limit")
        lines = (
            ""
            if start is None and limit is None
            else f":{start or 1}" + (f"-{(start or 1) + limit - 1}" if limit else "")
        )
        return one_line(f"read {args.get('path', '')}{lines}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Reading one path."""
        return Need("read", (ws.path(args["path"]),))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Read it."""
        return await attempt(lambda stop: _read(args, ws, stop), args["path"])


def _read(args: Args, ws: Workspace, stop: threading.Event) -> Result:
    path = ws.path(args["path"])
    shown = ws.shown(path)
    offset = max(1, args.get("offset", 1))
    limit = max(1, args.get("limit", PAGE_LINES))
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise text_files.missing(ws, path, args["path"]) from error
    if stat.S_ISDIR(status.st_mode):
        return Result(_listing(path, shown, offset, min(limit, LISTED), ws), paths=(shown,))
    with text_files.open_regular(path, shown) as file:
        head = text_files.some(file, text_files.SNIFFED, shown)
        status = os.fstat(file.fileno())
        if images.kind_of(head):
            return _image(file.read(images.LARGEST_IMAGE + 1), head, shown, ws)
        if text_files.binary(head):
            raise Refused(f"{shown} is a binary file ({status.st_size:,} bytes){_utf16(head)}; it was not read.")
        file.seek(0)
        found = page(file, offset, limit, ws.page_characters - FRAME, stop)
        stamp = None
        if status.st_size <= HASHED:
            file.seek(0)
            stamp = Stamp(status.st_mtime_ns, status.st_size, digest(file.read(HASHED)))
    if stamp is not None:
        ws.was_read(path, stamp)
    return Result(_framed(found, shown, offset, bom=offset == 1 and head.startswith(text_files.BOM)), paths=(shown,))


def _utf16(head: bytes) -> str:
    return ", perhaps UTF-16 text" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else ""


def _image(rest: bytes, head: bytes, shown: str, ws: Workspace) -> Result:
    try:
        url = images.data_url(head + rest)
    except Refused as refusal:
        raise Refused(f"{shown}: {refusal}; it was not sent.") from refusal
    if ws.blind() is not None:
        size = len(head + rest)
        return Result(f"{shown}: {images.kind_of(head)} image, {size:,} bytes; you take no images, so it was not sent.")
    return Result(f"{shown}: {images.kind_of(head)} image, {len(head + rest):,} bytes.", paths=(shown,), images=(url,))


def _framed(found: Page, shown: str, offset: int, bom: bool) -> str:
    """The page between a line that says which lines they are and one that says how to go on."""
    name = one_line(shown, 80)
    if not found.lines:
        return f"{name} is empty."
    total = f" of {found.total:,}" if found.total is not None else ""
    odd = [
        (found.crlf, "CRLF line ends"),
        (bom, "byte order mark"),
        (found.invalid, f"{found.invalid:,} invalid UTF-8 shown as \ufffd"),
        (found.spelled, "control characters spelled out"),
    ]
    notes = "".join(f"; {words}" for is_so, words in odd if is_so)
    text = found.text.replace("1\t\ufeff", "1\t", 1) if bom else found.text
    head = f"[{name}, lines {found.first:,}-{found.last:,}{total}{notes}]\n"
    end = f"\n[more follows: read again with offset {found.last + 1}]" if found.more else ""
    return head + text + end


def _listing(path: Path, shown: str, offset: int, limit: int, ws: Workspace) -> str:
    """A folder's entries, sorted; folders end in `/`, links show where they lead."""
    with os.scandir(path) as found:
        entries = sorted((e for e in found if not ws.hidden(path / e.name)), key=lambda e: e.name)
    lines: list[str] = []
    room = ws.page_characters - FRAME
    for entry in entries[offset - 1 : offset - 1 + limit]:
        line = one_line(entry.name, 200)
        if entry.is_symlink():
            line += f" -> {one_line(os.readlink(entry.path), 200)}"
        elif entry.is_dir():
            line += "/"
        elif not entry.is_file():
            line += " (special)"
        room -= len(line) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    if offset > 1 and not lines:
        raise Refused(f"{shown} is a folder with {len(entries):,} entries.")
    last = offset - 1 + len(lines)
    head = f"[{one_line(shown, 80)} is a folder with {len(entries):,} {'entry' if len(entries) == 1 else 'entries'}]"
    more = f"[entries {offset:,}-{last:,} shown; read again with offset {last + 1}]"
    return "\n".join([head, *lines, *([more] if last < len(entries) else [])])
