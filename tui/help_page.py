"""The page of help: every command under what it is about, then what else can be written at the prompt.

Not the table (that is `commands`). Text alone, so that the full screen and the inline one show the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from tui.commands import GROUPS, MEASURE

# What stands where there are none.
OWN = (
    "none yet: a file commands/NAME.md beside config.toml, or .ullage/commands/NAME.md in the project, "
    "is sent as a message when /NAME is typed"
)

ELSE = (
    ("@path", "attach a file or an image; a pasted path of an image does the same"),
    ("!command", "run it in the shell; its output joins the context"),
    ("!!command", "run it; its output does not"),
)

# Names up to this share of a line are followed by what they do; longer ones get a line of their own. Cells.
WIDEST_NAME = 32


def help_text(custom: Sequence[tuple[str, str]] = (), measure: int = MEASURE, sheet: Sequence[str] = ("?",)) -> str:
    """The commands by what they are about, in `measure` cells; the user's own behind them, from (what is typed,
    about). `sheet` is the key that lists the keys, if there is one."""
    # Here, because measuring cells takes a library that headless commands can do without.
    from tui.flow import columns, wrap

    measure = min(measure, MEASURE)
    wide = min(WIDEST_NAME, measure // 3)
    parts = [("At the prompt", [*ELSE, *((key, "every key") for key in sheet)])]
    parts += [(title, [(f"/{row.name} {row.arguments}".rstrip(), row.help) for row in rows]) for title, rows in GROUPS]
    lines: list[str] = []
    for title, rows in parts:
        lines += [*wrap(title, measure), *columns(rows, wide, measure), ""]
    own = columns(list(custom), wide, measure) if custom else wrap(OWN, measure)
    return "\n".join([*lines, "Your own commands", *own])
