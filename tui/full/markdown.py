"""Markdown drawn as styled lines: calm headings, code in the theme's colours, tables, lists.

Not a parser (markdown-it is) and not incremental: it gets finished pieces of a finished answer.

Invariants
 1. HTML and square brackets are text. Nothing a model wrote is interpreted but Markdown itself.
 2. Character references cannot smuggle controls in: what comes out is made safe once more.
"""

from __future__ import annotations

from functools import lru_cache
from io import StringIO
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.token import Comment, Keyword, Name, Number, String  # type: ignore[import-untyped]
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, ImageItem, Markdown, MarkdownElement, TableElement
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from tui.full.palette import ASCII, Palette
from tui.plain import safe

# Highlighting costs about 0.1 ms a line; longer code is shown plain. Characters.
HIGHLIGHTED = 20_000


def lines(text: str, width: int, palette: Palette) -> list[list[Segment]]:
    """`text` as lines of at most `width` cells."""
    console = _console(palette)
    options = console.options.update(width=max(1, width), highlight=False)
    drawn = console.render_lines(_Markdown(text, palette), options, pad=False)
    return [[_safe(segment) for segment in line if segment.text] for line in _trimmed(drawn)]


def _safe(segment: Segment) -> Segment:
    return segment if segment.text.isascii() else Segment(safe(segment.text), segment.style)


def _trimmed(drawn: list[list[Segment]]) -> list[list[Segment]]:
    def blank(line: list[Segment]) -> bool:
        return not "".join(segment.text for segment in line).strip()

    first, last = 0, len(drawn)
    while first < last and blank(drawn[first]):
        first += 1
    while last > first and blank(drawn[last - 1]):
        last -= 1
    return drawn[first:last]


@lru_cache(maxsize=4)
def _console(palette: Palette) -> Console:
    """A console that writes nowhere, with the palette's Markdown styles."""
    code = palette.second
    theme = Theme(
        {
            "markdown.paragraph": Style(),
            "markdown.text": Style(),
            "markdown.em": Style(italic=True),
            "markdown.strong": palette.strong,
            "markdown.code": code,
            "markdown.code_block": Style(),
            "markdown.block_quote": palette.quiet,
            "markdown.list": Style(),
            "markdown.item": Style(),
            "markdown.item.bullet": palette.quiet,
            "markdown.item.number": palette.quiet,
            "markdown.hr": palette.faint,
            "markdown.h1": palette.accent + Style(bold=True),
            "markdown.h2": palette.accent + Style(bold=True),
            "markdown.h3": palette.strong,
            "markdown.h4": palette.strong,
            "markdown.h5": palette.strong,
            "markdown.h6": palette.quiet + Style(bold=True),
            "markdown.link": palette.accent + Style(underline=True),
            "markdown.link_url": palette.quiet,
            "markdown.s": Style(strike=True),
            "markdown.table.border": palette.faint,
            "markdown.table.header": palette.strong,
        },
        inherit=True,
    )
    return Console(
        file=StringIO(), force_terminal=True, color_system="truecolor", theme=theme, markup=False, emoji=False,
        highlight=False, legacy_windows=False, no_color=False, safe_box=palette.glyphs is ASCII, width=80,
    )  # fmt: skip


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "left")


class _Code(CodeBlock):
    """Code behind a rail on the palette's shade, its colours from the theme."""

    def __init__(self, lexer_name: str, palette: Palette) -> None:
        super().__init__(lexer_name, "default")
        self.palette = palette

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Code:
        language = (token.info or "").partition(" ")[0]
        return cls(language or "text", _palette_of(markdown))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code, shade = str(self.text).rstrip("\n"), self.palette.shade
        inner = options.update(width=max(1, options.max_width - 3))
        drawn: list[list[Segment]]
        if len(code) <= HIGHLIGHTED and self.lexer_name != "text":
            syntax = Syntax(code, self.lexer_name, theme=_syntax(self.palette), word_wrap=True)
            drawn = console.render_lines(syntax, inner, pad=False)
        else:
            drawn = console.render_lines(Text(code, overflow="fold"), inner, pad=False)
        rail = Segment(f"{self.palette.glyphs.rail} ", self.palette.faint + shade)
        for line in drawn:
            body = [Segment(segment.text, (segment.style or Style()) + shade) for segment in line]
            yield rail
            yield from Segment.adjust_line_length(body, inner.max_width + 1, style=shade)
            yield Segment.line()


class _Line(HorizontalRule):
    def __init__(self, rule: str) -> None:
        self.rule = rule

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> _Line:
        return cls(_palette_of(markdown).glyphs.rule)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr", characters=self.rule)


class _Table(TableElement):
    """Without the blank lines at its edges."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for table in super().__rich_console__(console, options):
            if isinstance(table, Table):
                table.show_edge = False
            yield table


class _Image(ImageItem):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text.assemble("[image: ", self.text.plain or self.destination, "]", style="markdown.link_url", end="")


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _Code,
        "code_block": _Code,
        "hr": _Line,
        "image": _Image,
        "table_open": _Table,
    }

    def __init__(self, text: str, palette: Palette) -> None:
        super().__init__("", hyperlinks=False)
        self.palette = palette
        self.markup = text
        self.parsed = _parser().parse(text)


def _palette_of(markdown: Markdown) -> Palette:
    return markdown.palette if isinstance(markdown, _Markdown) else Palette()


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")


@lru_cache(maxsize=4)
def _syntax(palette: Palette) -> ANSISyntaxTheme:
    return ANSISyntaxTheme(
        {
            Comment: palette.quiet + Style(italic=True),
            Keyword: palette.second,
            Name.Function: palette.accent,
            Name.Class: palette.accent,
            Name.Decorator: palette.quiet,
            Name.Builtin: palette.second,
            Name.Tag: palette.accent,
            String: palette.good,
            Number: palette.warning,
        }
    )
