"""Every key of the full screen, by where it works: what `?` shows.

Not the bindings (each widget has its own, the prompt's are in `keytable`): they are read, so that this page cannot tell
of a key that is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.binding import Binding, BindingType

from tui import keytable
from tui.commands import MEASURE
from tui.flow import columns, wrap
from tui.full.first_use import FirstUse
from tui.full.jobs_screen import JobsScreen
from tui.full.pages import PageScreen
from tui.full.plans import PlanScreen, ReviewScreen
from tui.full.recall_screen import RecallScreen
from tui.full.timeline import TimelineScreen

ANSWERS = (
    ("y, s, p", "yes: once, for this session, for this project"),
    ("n", "no, with a reason the model reads"),
    ("up, down, enter", "choose"),
    ("pageup, pagedown", "scroll what would happen"),
    ("esc", "stop the turn"),
)

# Wide enough for all but the longest, which get a line of their own. Cells.
WIDE = 20


def key_help(keymap: Mapping[str, str], measure: int = MEASURE) -> str:
    """The keys, one a line of at most `measure` cells; `keymap` names other keys for some, by the binding's id."""
    # Here, because it costs a start 45 ms before the screen stands.
    from tui.full.context_screen import ContextScreen

    parts = [
        ("", keytable.listed(keytable.bound(keymap, "full"), "full")),
        ("When a tool asks", list(ANSWERS)),
        ("/context", shown(ContextScreen.BINDINGS, keymap)),
        ("A plan, before a prune or a compaction", shown(PlanScreen.BINDINGS, keymap)),
        ("/compact --review", shown(ReviewScreen.BINDINGS, keymap)),
        ("/timeline", shown(TimelineScreen.BINDINGS, keymap)),
        ("/jobs", shown(JobsScreen.BINDINGS, keymap)),
        ("/recall", shown(RecallScreen.BINDINGS, keymap)),
        ("A record viewed whole, and other pages", shown(PageScreen.BINDINGS, keymap)),
        ("The panel at the first start", shown(FirstUse.BINDINGS, keymap)),
    ]
    lines: list[str] = []
    for title, rows in parts:
        lines += ["", *wrap(title, measure)] if title else []
        lines += columns(rows, min(WIDE, measure // 3), min(measure, MEASURE))
    return "\n".join([*lines, "", *wrap(keytable.naming("full"), min(measure, MEASURE))])


def shown(bindings: Iterable[BindingType], keymap: Mapping[str, str]) -> list[tuple[str, str]]:
    """Key and meaning of each binding that is for people to know."""
    found = [binding for binding in bindings if isinstance(binding, Binding) and binding.show and binding.description]
    return [(written(keymap.get(binding.id or "", binding.key)), binding.description) for binding in found]


def written(keys: str) -> str:
    """The keys as people know them."""
    return ", ".join(keytable.written(key) for key in keys.split(","))
