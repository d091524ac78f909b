"""The themes by name: which one `auto` means here, and which there are to choose from.

Not their colours (those are `palette` and textual's own) and no screen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

AUTO, DARK, LIGHT = "auto", "ullage-dark", "ullage-light"

OURS = (AUTO, DARK, LIGHT)

# The terminal's sixteen colours that are a light ground: white, and the bright ones but for bright black.
_LIGHT_GROUNDS = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})


def resolved(name: str, environ: Mapping[str, str], known: Collection[str]) -> str:
    """The theme that a setting means; one that is not known is `auto`, which follows what the terminal says."""
    if name != AUTO and name in known:
        return name
    if named := environ.get("TEXTUAL_THEME"):
        return named if named in known else DARK
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if ground in _LIGHT_GROUNDS else DARK
