"""The colours of one theme as styles by role, and the glyphs of one alphabet.

Not the style sheet (that is `app.tcss`, for widgets): this is for lines drawn by hand.

Invariants
 1. No role is told by its colour alone: each has a glyph or a place of its own.
 2. With a terminal's own sixteen colours only those are used, so the user's scheme stays in charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui import bar

# Calm by intent: one cool accent for what the user said, warm colours only for what wants attention.
ULLAGE_DARK = Theme(
    name="ullage-dark",
    primary="#8fb4d9",
    secondary="#a99fd6",
    accent="#8fb4d9",
    foreground="#d6d9df",
    background="#15171b",
    surface="#1b1e23",
    panel="#23272e",
    success="#8fbf9a",
    warning="#e0b36a",
    error="#e07a7a",
    dark=True,
    variables={
        "border": "#3a404a",
        "scrollbar": "#2b3038",
        "scrollbar-background": "#15171b",
        "scrollbar-background-hover": "#15171b",
        "scrollbar-background-active": "#15171b",
        "screen-selection-background": "#8fb4d9 30%",
    },
)
ULLAGE_LIGHT = Theme(
    name="ullage-light",
    primary="#2b5f94",
    secondary="#6a4fa3",
    accent="#2b5f94",
    foreground="#24272d",
    background="#fbfbf9",
    surface="#f2f2ef",
    panel="#e8e8e4",
    success="#2f7a45",
    warning="#96640a",
    error="#b03434",
    dark=False,
    variables={"scrollbar": "#d4d4ce", "scrollbar-background": "#fbfbf9"},
)

# How far quiet text goes from the background to the foreground: still above 4.5:1 contrast on both own themes.
QUIET = 0.62


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The marks of one alphabet, each a single cell."""

    bar: str = "▌"
    rail: str = "│"
    rule: str = "─"
    running: str = "◌"
    done: str = "✓"
    failed: str = "✗"
    shell: str = "$"
    warning: str = "▲"
    notice: str = "·"
    bullet: str = "•"
    more: str = "…"
    dot: str = "·"
    arrow: str = "→"
    spin: tuple[str, ...] = ("⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏")


UNICODE = Glyphs()
ASCII = Glyphs(
    bar="|", rail="|", rule="-", running=".", done="+", failed="x", warning="!", notice="-", bullet="*", more="~",
    dot="-", arrow=">", spin=("|", "/", "-", "\\"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles by role, the glyphs, and the key that unfolds (empty: none does)."""

    text: Style = field(default_factory=Style)
    quiet: Style = field(default_factory=Style)
    faint: Style = field(default_factory=Style)
    strong: Style = field(default_factory=Style)
    accent: Style = field(default_factory=Style)
    second: Style = field(default_factory=Style)
    good: Style = field(default_factory=Style)
    warning: Style = field(default_factory=Style)
    error: Style = field(default_factory=Style)
    shade: Style = field(default_factory=Style)
    glyphs: Glyphs = UNICODE
    unfold: str = "ctrl+o"

    def meter_style(self, role: bar.Role) -> Style:
        """The style of one of the meter's roles."""
        styles: dict[bar.Role, Style] = {
            "fixed": self.quiet, "summary": self.second, "user": self.accent, "agent": self.good,
            "tool": self.warning, "free": self.faint, "beyond": self.faint, "budget": self.strong,
            "trigger": self.quiet, "frame": self.faint, "text": self.text, "quiet": self.quiet,
            "warning": self.warning, "alarm": self.error + Style(bold=True), "warm": self.warning, "cold": self.quiet,
        }  # fmt: skip
        return styles[role]


def palette(variables: Mapping[str, str], *, ascii: bool = False) -> Palette:
    """The palette of a theme, from its variables."""

    def colour(name: str) -> Color:
        try:
            return Color.parse(variables.get(name, "ansi_default"))
        except ColorParseError:
            return Color.parse("ansi_default")

    front, back = colour("foreground"), colour("background")
    own = front.ansi is not None or back.ansi is not None

    def mixed(share: float) -> Style:
        return Style(dim=True) if own else Style(color=back.blend(front, share).rich_color)

    def plain(name: str) -> Style:
        found = colour(name)
        return Style(color=found.rich_color if found.a > 0 else RichColor.default())

    return Palette(
        text=Style(color=front.rich_color),
        quiet=mixed(QUIET),
        faint=mixed(QUIET / 2),
        strong=Style(color=front.rich_color, bold=True),
        accent=plain("primary"),
        second=plain("secondary"),
        good=plain("success"),
        warning=plain("warning"),
        error=plain("error"),
        shade=Style() if own else Style(bgcolor=colour("surface").rich_color),
        glyphs=ASCII if ascii else UNICODE,
    )
