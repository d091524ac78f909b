"""/context on paper: every item as a row, and short words that mark, pin, look, sort and compact.

Not a judgement of what should go (that is the plan of a prune): numbers written here ask for that plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from agent.wire import Compact, Inspected, Pin, Prune
from agent.wire import Row as Item
from compaction.records import Record
from tui.commands import numbers
from tui.inline.print import Row, prose, row, table
from tui.inline.questions import Reply
from tui.plain import one_line, percent, safe, tokens

# What matters most is printed last: nearest to where one writes.
ORDERS: dict[str, Callable[[Item], object]] = {
    "number": lambda item: item.record,
    "tokens": lambda item: item.tokens,
    "kind": lambda item: (item.kind, item.record),
    "age": lambda item: item.age,
}

# A narrow screen shows what a choice is made by; cells.
WIDE_ENOUGH = 60

HELP = "enter closes · 12 14-18 plans a prune · p 12 pins or unpins · v 12 shows it whole · c 12 compacts up to it"
HELP += " · s tokens, kind, age, number sorts · /word narrows"


@dataclass(slots=True)
class Context:
    """The view, item by item. `record` finds a record of the log by its number."""

    event: Inspected
    record: Callable[[int], Record | None]
    width: int = 80
    order: str = "number"
    narrowed: str = ""
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True
    hint: ClassVar[str] = HELP

    def rows(self, width: int) -> list[Row]:
        """Head and table."""
        self.width = width
        meter = self.event.meter
        window = "unknown" if meter.window is None else f"{tokens(meter.window)} ({safe(meter.window_source)})"
        head = f"{tokens(meter.used)} of {tokens(meter.budget)} budget ({percent(meter.used, meter.budget)})"
        fixed = ", ".join(f"{safe(name)} {tokens(size)}" for name, size in self.event.largest_fixed)
        out: list[Row] = [(), *prose(f"{head} · window {window}", width, "class:strong")]
        out += prose(f"in every request: {fixed}", width, "class:quiet") if fixed else []
        items = self.held(self.narrowed)
        items.sort(key=ORDERS[self.order])  # type: ignore[arg-type]
        if not items:
            return [*out, row("nothing in the context holds that" if self.narrowed else "nothing yet", "class:quiet")]
        if width < WIDE_ENOUGH:
            cells = [(f"{i.record}", tokens(i.tokens), one_line(f"{_state(i)}{i.kind}: {i.title}")) for i in items]
            return out + table("", ("#", "tokens", "what"), cells, width)
        wide = [
            (
                f"{i.record}", safe(i.kind), tokens(i.tokens), percent(i.tokens, meter.budget), f"{i.age}",
                "" if i.state == "live" else safe(i.state), "yes" if i.cached else "no", one_line(i.title, 100),
            )
            for i in items
        ]  # fmt: skip
        return out + table("", ("#", "kind", "tokens", "share", "age", "state", "cached", "what"), wide, width)

    def held(self, word: str) -> list[Item]:
        """The items that hold `word`."""
        return [item for item in self.event.rows if word.lower() in f"{item.kind} {item.title} {item.state}".lower()]

    def key(self, key: str) -> Reply:
        """Esc closes."""
        return Reply() if key == "escape" else Reply(over=False)

    def line(self, text: str) -> Reply:
        """One of the short words of the hint."""
        said = text.strip()
        if not said or said in ("q", "quit"):
            return Reply()
        if said.startswith("/"):
            self.narrowed = said[1:].strip().lower()
            return self._again()
        word, _, rest = said.partition(" ")
        if word in ("s", "sort"):
            order = next((name for name in ORDERS if rest.strip() and name.startswith(rest.strip())), None)
            self.order = order or self.order
            return self._again() if order else _wrong("s sorts by number, tokens, kind or age.")
        ids = numbers(said if word[:1] in "#0123456789" else rest)
        known = {item.record: item for item in self.event.rows}
        if not ids or not (chosen := [id for id in ids if id in known]):
            return _wrong("Write numbers from the table, as in `12 14-18`, `p 12`, `v 12`, `c 12`; Enter closes.")
        if word[:1] in "#0123456789":
            return Reply((Prune(records=tuple(chosen), force=True, dry_run=True),))
        return self._one(word, known[chosen[0]])

    def _one(self, word: str, item: Item) -> Reply:
        match word:
            case "p" | "pin" | "unpin":
                return Reply((Pin(item.record, on=item.state != "pinned"),), over=False)
            case "c" | "compact":
                return Reply((Compact(up_to=item.record),))
            case "v" | "view" | "show":
                return Reply(rows=tuple(self._whole(item)), over=False)
            case _:
                return _wrong("p pins, v shows it whole, c compacts up to it; numbers alone plan a prune.")

    def _whole(self, item: Item) -> list[Row]:
        record = self.record(item.record)
        if record is None:
            return [row(f"#{item.record} is not in this session's log.", "class:warning")]
        text = str(getattr(record.body, "text", "") or getattr(record.body, "summary", "") or item.title)
        head = (("class:strong", f"#{item.record} {one_line(item.title)}"), ("class:quiet", f"  {tokens(item.tokens)}"))
        return [(), head, *(row(f"  {line}") for line in safe(text).rstrip("\n").split("\n"))]

    def _again(self) -> Reply:
        return Reply(rows=tuple(self.rows(self.width)), over=False)


def _state(item: Item) -> str:
    return "" if item.state == "live" else f"[{safe(item.state)}] "


def _wrong(text: str) -> Reply:
    return Reply(rows=(row(text, "class:warning"),), over=False)
