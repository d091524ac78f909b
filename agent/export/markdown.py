"""A session as one Markdown file.

Not safe to paste into a page that runs HTML: Markdown keeps what people and models wrote (`html` does not).

Invariants
 1. Nothing inside an entry ends it: blocks are fenced by more backticks than they contain, a user's words are quoted,
    and a fence an answer left open is closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.export.entries import Block, Entry, Session
from agent.export.words import facts, when

# Fences are at least this long; the rule of Markdown.
SHORTEST_FENCE = 3


def markdown(session: Session) -> str:
    """The file's text."""
    head = [f"# {_escaped(session.title)}", "\n".join(f"- {name}: {_escaped(value)}" for name, value in facts(session))]
    return "\n\n".join([*head, *(part for entry in session.entries for part in _entry(entry))]) + "\n"


def _entry(entry: Entry) -> Iterator[str]:
    meta = "".join(f" · {_escaped(m)}" for m in (*entry.meta, when(entry.at), f"#{entry.record}"))
    match entry.voice:
        case "user":
            yield f"## {_escaped(entry.title)}\n\n<sub>{meta.removeprefix(' · ')}</sub>"
            if entry.prose:
                yield "\n".join(f"> {line}".rstrip() for line in entry.prose.split("\n"))
        case "agent":
            yield f"## {_escaped(entry.title)}\n\n<sub>{meta.removeprefix(' · ')}</sub>"
            yield closed(entry.prose)
        case "tool":
            yield f"**{_escaped(entry.title)}**{meta}"
        case "rewrite":
            yield "---"
            yield f"*{_escaped(entry.title)}*{meta}"
        case "notice":
            yield f"*{_escaped(entry.title)}*{meta}"
    if entry.prose and entry.voice not in ("user", "agent"):
        yield fenced(Block("", entry.prose))
    yield from (fenced(block) for block in entry.blocks)
    yield from (f"*[an image, {len(image):,} characters as a data URL]*" for image in entry.images)


def fenced(block: Block) -> str:
    """A text between fences that it cannot close."""
    longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
    fence = "`" * max(SHORTEST_FENCE, longest + 1)
    label = f"{_escaped(block.label)}:\n\n" if block.label else ""
    return f"{label}{fence}text\n{block.text}\n{fence}"


def closed(prose: str) -> str:
    """Markdown whose last fence is closed: an answer cut off inside one would swallow all that follows."""
    fence = ""
    for line in prose.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if not found:
            continue
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{prose}\n{fence}" if fence else prose


def _escaped(text: str) -> str:
    """A foreign text inside a line of ours."""
    return re.sub(r"([\\`*_\[\]<>&|])", r"\\\1", text)
