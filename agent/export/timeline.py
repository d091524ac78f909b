"""The timeline of a session as one inline SVG: a bar a request, marks for rewrites and broken caches, and their list.

Not a page (that is `html`) and not the figures. Readable without scripts, with a screen reader, and in the dark:
colours are the page's own, and hatching tells what no colour does.

Invariants
 1. Every request has one bar; heights are in proportion to tokens, the cached part below.
 2. What models and tools wrote is escaped text; nothing here is fetched or run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Protocol

# The picture's own units; the page scales it. As wide as the text column with ten units a bar up to some ninety.
WIDTH = 900
HEIGHT = 260
LEFT = 56
BOTTOM = 26
TOP = 18

# A line this many times above the highest bar is named below instead of crushing the bars.
NEAR = 2.5

# A bar wider than this says nothing more.
WIDEST = 40.0


class Request(Protocol):
    """What is drawn of a request; sizes in tokens, cost in dollars."""

    @property
    def record(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def cache_read(self) -> int: ...
    @property
    def output(self) -> int: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def breaks(self) -> str | None: ...
    @property
    def rewrites(self) -> Sequence[str]: ...


def timeline(rows: Sequence[Request], budget: int | None, window: int | None, since: Sequence[str] = ()) -> str:
    """The section's HTML; empty when no request was answered. `budget` and `window` in tokens.

    `since`: the tags of what was rewritten after the last request.
    """
    if not rows:
        return ""
    highest = max(row.size for row in rows) or 1
    levels = [(name, level) for name, level in (("budget", budget), ("window", window)) if level]
    drawn = [(name, level) for name, level in levels if level <= highest * NEAR]
    top = max([highest, *(level for _, level in drawn)]) * 1.08
    read = sum(row.cache_read for row in rows) * 100 / max(1, sum(row.size for row in rows))
    above = "".join(f", {name} {level:,} (above the picture)" for name, level in levels if (name, level) not in drawn)
    costs = [row.cost for row in rows if row.cost is not None]
    said = f"{len(rows):,} requests, {read:.0f}% read from the cache{above}" + (f", ${sum(costs):.2f}" if costs else "")
    body = "".join((*_scale(top), *_bars(rows, top), *_levels(drawn, top)))
    marks = "".join(f"<li>before <a href=\"#r{row.record}\">#{row.record}</a>: {escape(what)}</li>"
                    for row in rows if (what := _happened(row)))  # fmt: skip
    marks += f"<li>since then: {escape(', '.join(since))}</li>" if since else ""
    listed = f'<ol class="marks">{marks}</ol>' if marks else "<p>Nothing was rewritten and the cache never broke.</p>"
    return (
        f'<section class="timeline"><h2>Timeline</h2><p class="meta">{said}</p>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{_hatch()}{body}</svg>'
        '<p class="label"><svg class="key" viewBox="0 0 10 10"><rect class="read" width="10" height="10"/></svg> read '
        'from the cache <svg class="key" viewBox="0 0 10 10"><rect class="fresh" width="10" height="10"/></svg> not</p>'
        f"{listed}</section>"
    )


def _hatch() -> str:
    return (
        '<defs><pattern id="fresh" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect class="fresh" width="5" height="5"/><line class="hatch" x1="0" y1="0" x2="0" y2="5"/></pattern></defs>'
    )


def _y(tokens: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - tokens / top * (HEIGHT - BOTTOM - TOP), 2)


def _scale(top: float) -> Iterator[str]:
    for step in range(5):
        tokens, y = top * step / 4, _y(top * step / 4, top)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{tokens / 1000:,.1f}k</text>'


def _bars(rows: Sequence[Request], top: float) -> Iterator[str]:
    each = (WIDTH - LEFT) / len(rows)
    wide = round(min(WIDEST, each * 0.8), 2)
    every = max(1, -(-len(rows) // 12))
    for n, row in enumerate(rows):
        x = round(LEFT + each * n + (each - wide) / 2, 2)
        middle = round(x + wide / 2, 2)
        floor, split, roof = _y(0, top), _y(min(row.cache_read, row.size), top), _y(row.size, top)
        cost = "" if row.cost is None else f", ${row.cost:.4f}"
        happened = f"; {_happened(row)}" if _happened(row) else ""
        title = f"#{row.record}: {row.size:,} tokens, {row.cache_read:,} cached, {row.output:,} out{cost}{happened}"
        yield f"<g><title>{escape(title)}</title>"
        yield f'<rect class="read" x="{x}" y="{split}" width="{wide}" height="{round(floor - split, 2)}"/>'
        yield f'<rect fill="url(#fresh)" x="{x}" y="{roof}" width="{wide}" height="{round(split - roof, 2)}"/>'
        if _happened(row):
            yield f'<path class="mark" d="M{middle - 4} {roof - 9}h8l-4 7z"/>'
        yield "</g>"
        if n % every == 0:
            yield f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">#{row.record}</text>'


def _levels(drawn: Sequence[tuple[str, int]], top: float) -> Iterator[str]:
    for name, level in drawn:
        y = _y(level, top)
        yield f'<line class="{name}" x1="{LEFT}" x2="{WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{WIDTH}" y="{y - 4}" text-anchor="end">{name} {level:,}</text>'


def _happened(row: Request) -> str:
    said = [", ".join(row.rewrites)] if row.rewrites else []
    return " · ".join([*said, *([f"cache broken: {row.breaks}"] if row.breaks else [])])
