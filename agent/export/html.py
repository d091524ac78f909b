"""A session as one HTML file: no scripts, nothing fetched, readable on paper and in the dark.

Invariants
 1. What people, models and tools wrote is text or Markdown; never HTML, and no address in it is fetched (the page's own
    policy forbids it).
 2. The page is complete: its style is in it, images are data URLs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

from agent.export.entries import Block, Entry, Session
from agent.export.words import facts, when
from agent.sanitise import visible

STYLE = Path(__file__).with_name("style.css")

# Longer texts are folded; about a screenful, lines.
OPEN_LINES = 12

# What a browser draws from a data URL without running anything.
_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+")


def html(session: Session, timeline: str = "") -> str:
    """The page's text. `timeline` is a section of HTML to put before the conversation."""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts(session))
    markup = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    firsts = {entry.record: entry for entry in reversed(session.entries)}
    body = "\n".join(_entry(entry, markup, firsts[entry.record] is entry) for entry in session.entries)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    page = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escape(session.title)}</title>
<style>
{STYLE.read_text(encoding="utf-8").strip()}
</style>
</head>
<body>
<header><h1>{escape(session.title)}</h1><dl>{rows}</dl></header>
<main>
{timeline}
{body}
</main>
</body>
</html>
"""
    # Character references inside Markdown can spell what was taken out of the text before.
    return visible(page)


def _entry(entry: Entry, markup: MarkdownIt, first: bool) -> str:
    """`first`: of its record, and so the one that links go to."""
    meta = " · ".join(escape(m) for m in entry.meta)
    stamp = f'<a href="#r{entry.record}">#{entry.record}</a> <time>{when(entry.at)}</time>'
    head = f'<h2>{escape(entry.title)}</h2><p class="meta">{meta}{" · " if meta else ""}{stamp}</p>'
    place = f' id="r{entry.record}"' if first else ""
    return f'<section class="{entry.voice}"{place}>{head}{"".join(_body(entry, markup))}</section>'


def _body(entry: Entry, markup: MarkdownIt) -> Iterator[str]:
    if entry.prose and entry.voice == "agent":
        yield f'<div class="prose">{markup.render(entry.prose)}</div>'
    elif entry.prose:
        yield f'<div class="said">{escape(entry.prose)}</div>'
    yield from (_block(block) for block in entry.blocks)
    for image in entry.images:
        yield f'<img alt="" src="{image}">' if _IMAGE.fullmatch(image) else "<p>[an image that cannot be shown]</p>"


def _block(block: Block) -> str:
    text = f"<pre>{escape(block.text)}</pre>"
    lines = block.text.count("\n") + 1
    if lines <= OPEN_LINES:
        return f'<p class="label">{escape(block.label)}</p>{text}' if block.label else text
    return f"<details><summary>{escape(block.label or 'text')}, {lines:,} lines</summary>{text}</details>"
