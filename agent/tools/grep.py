"""The `grep` tool: lines that match a regular expression, by file, in stable order.

Not a reader: long lines are cut, and what passes the limits is counted and said. Ignored and binary files are not
searched.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.sanitise import decode, one_line, visible
from agent.tools import search
from agent.tools.contract import Args, Need, Refused, Result, Schema, said
from agent.tools.workspace import Workspace

# What a model asks for when it does not say: a page of matches. And what it may ask for.
LIMIT = 100
MOST = 1_000

# Matches beyond the limit are counted up to here, so that "how many more" costs no second search.
COUNTED = 10_000
MOST_CONTEXT = 20

# What the last line says takes at most this; characters.
FRAME = 200

# Ripgrep writes one line at a time and cuts it at 400 columns of up to 4 bytes; more without an end is not text. Bytes.
LONGEST_ROW = 64 * 1024


@dataclass
class _Hits:
    """Takes a search's output apart and keeps what fits."""

    ws: Workspace
    root: search.Root
    limit: int
    room: int
    lines: list[str] = field(default_factory=list)
    shown: int = 0
    found: int = 0
    files: int = 0
    buffer: bytes = b""
    last: bytes | None = None
    full: bool = False
    skipping: bool = False

    def take(self, piece: bytes) -> bool:
        """One more piece; False when enough was counted."""
        self.buffer += piece
        at = 0
        while True:
            middle = self.buffer.find(b"\0", at)
            end = self.buffer.find(b"\n", middle)
            if middle < 0 or end < 0:
                break
            path = self.buffer[at:middle]
            gap = path.startswith(b"--\n")
            self._row(path.removeprefix(b"--\n"), self.buffer[middle + 1 : end], gap)
            at = end + 1
        self.buffer = self.buffer[at:]
        if len(self.buffer) > LONGEST_ROW:
            self.buffer = self.buffer[:LONGEST_ROW]
        return self.found < COUNTED

    def _row(self, path: bytes, row: bytes, gap: bool) -> None:
        digits = len(row) - len(row.lstrip(b"0123456789"))
        matched = row[digits : digits + 1] == b":"
        new_file = path != self.last
        if new_file:
            self.skipping = self.ws.hidden(search.real_path(self.root, path))
        if self.skipping:
            self.last = path
            return
        self.found += matched
        self.files += new_file and (matched or not self.full)
        self.last = path
        if self.full:
            return
        text = [search.shown_path(self.ws, self.root, path)] if new_file else ["…"] if gap else []
        if new_file and self.lines:
            text.insert(0, "")
        text.append(f"{row[:digits].decode()}{':' if matched else '-'} {visible(decode(row[digits + 1 :]).rstrip())}")
        size = sum(map(len, text)) + len(text)
        if (self.shown >= self.limit and matched) or size > self.room:
            self.full = True
            return
        self.lines += text
        self.room -= size
        self.shown += matched


@dataclass(frozen=True, slots=True)
class Grep:
    """`grep(pattern, path, glob, context?, limit?)`."""

    name: str = "grep"

    def schema(self, short: bool) -> Schema:
        """The function schema."""
        about = "Search file contents with a regular expression."
        glob: Schema = {"type": "string"}
        context: Schema = {"type": "integer"}
        if not short:
            about += " Respects .gitignore."
            glob["description"] = "only files like *.py or src/**/*.ts"
            context["description"] = "lines around each match"
        properties: Schema = {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
            "glob": glob,
            "context": context,
            "limit": {"type": "integer"},
        }
        parameters = {"type": "object", "properties": properties, "required": ["pattern"]}
        return {"type": "function", "function": {"name": self.name, "description": about, "parameters": parameters}}

    def title(self, args: Args) -> str:
        """`grep PATTERN in PATH`."""
        where = f" in {args['path']}" if args.get("path") else ""
        return one_line(f"grep {args.get('pattern', '')}{where}")

    def need(self, args: Args, ws: Workspace) -> Need:
        """Reading below one path."""
        return Need("read", (ws.path(args.get("path") or "."),))

    async def run(self, args: Args, ws: Workspace, call_id: str) -> Result:
        """Search."""
        try:
            return await _grep(args, ws)
        except Refused as refusal:
            return Result(str(refusal), failed=True)
        except OSError as error:
            return Result(said(error, args.get("path") or "."), failed=True)


async def _grep(args: Args, ws: Workspace) -> Result:
    pattern: str = args["pattern"]
    if not pattern:
        raise Refused("The pattern is empty and would match every line.")
    if "\0" in pattern:
        raise Refused("The pattern contains a NUL character.")
    if len(pattern) > LONGEST_ROW:
        raise Refused(f"The pattern is longer than {LONGEST_ROW:,} characters.")
    root = search.root_of(ws, args.get("path") or "")
    glob = search.glob_pattern(ws, root, args.get("glob") or "")
    context = min(MOST_CONTEXT, max(0, args.get("context", 0)))
    limit = min(MOST, max(1, args.get("limit", LIMIT)))

    def fresh() -> _Hits:
        return _Hits(ws, root, limit, ws.page_characters - FRAME)

    hits = fresh()
    ended: search.Ended | None = None
    if ws.ripgrep:
        argv = search.grep_with(ws.ripgrep, root, pattern, glob, context)
        ended = await search.feed(argv, root.folder, b"", hits.take)
    if ended is None or (ended.status == 2 and not hits.found and "look-around" in ended.complaint):
        # Ripgrep's expressions have no look-around and no backreferences; Python's have.
        hits = fresh()
        argv, asked = search.plain("grep", root, pattern, glob, context)
        ended = await search.feed(argv, root.folder, asked, hits.take)
    if ended.status not in (0, 1, None) and not hits.found and ended.complaint:
        raise Refused(f"The search could not be done: {search.complaint_of(ended.complaint)}.")
    return Result(_text(hits, ended.late, ws, root, args))


def _text(hits: _Hits, late: bool, ws: Workspace, root: search.Root, args: Args) -> str:
    where = search.named(ws, root)
    stopped = f" The search was stopped after {search.SECONDS} seconds; narrow path or glob." if late else ""
    if not hits.found:
        glob = f" in files like {one_line(args['glob'], 60)}" if args.get("glob") else ""
        return f"No match for {one_line(args['pattern'], 80)} in {where}{glob}.{stopped}"
    more_than = "more than " if hits.found >= COUNTED or late else ""
    total = f"{more_than}{min(hits.found, COUNTED):,} {'match' if hits.found == 1 else 'matches'}"
    if hits.shown < hits.found:
        end = f"[{hits.shown:,} of {total} shown; narrow the pattern, path or glob, or raise limit.{stopped}]"
    else:
        end = f"[{total} in {hits.files:,} {'file' if hits.files == 1 else 'files'}{'.' + stopped if stopped else ''}]"
    return "\n".join([*hits.lines, end])
