"""Questions of the inline screen: what is printed once, what may be answered, and what an answer asks for.

Not keys and not a terminal: a question hears named keys or whole lines and gives a `Reply`; so it is the same whether
it is asked over a prompt or read out to somebody who cannot see one.

Invariants
 1. Only a named answer does anything; any other key or word leaves everything as it was.
 2. A yes to a plan is a yes to exactly the records printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from agent.wire import Answer, Asking, Interrupt, Plan, Prune, Reviewed, Reviewing, SaveKey
from tui.actions import Wish
from tui.block import Block
from tui.front import KEYS
from tui.inline.print import Row, body, prose, row, table
from tui.plain import one_line, plural, safe, tokens
from tui.present import lasting, question
from tui.priced import totals

# A diff or a command longer than this scrolls the question's beginning away: its head and tail are printed, and `v`
# prints all of it. Rows.
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Reply:
    """What an answer asks for. `over`: the question is closed. `draft` not None: that text is to be edited."""

    wishes: tuple[Wish, ...] = ()
    rows: tuple[Row, ...] = ()
    over: bool = True
    draft: str | None = None


WAITS = Reply(over=False)


class Question(Protocol):
    """One question. `guarded`: an answer given before it was seen is none. `of_turn`: it ends with the work."""

    guarded: ClassVar[bool]
    of_turn: ClassVar[bool]

    @property
    def writing(self) -> bool:
        """Whether letters are text, to be ended by Enter, rather than answers."""

    @property
    def hint(self) -> str:
        """What may be answered."""

    def rows(self, width: int) -> list[Row]:
        """What is printed, once."""

    def key(self, key: str) -> Reply:
        """A key: a letter, `enter`, or `escape`."""

    def line(self, text: str) -> Reply:
        """A line that was written."""


@dataclass(slots=True)
class Approval:
    """A tool asks."""

    asking: Asking
    why: bool = False
    guarded: ClassVar[bool] = True
    of_turn: ClassVar[bool] = True

    @property
    def writing(self) -> bool:
        """The reason is text."""
        return self.why

    @property
    def hint(self) -> str:
        """The choices."""
        if self.why:
            return "why not? the model reads this · enter refuses · esc goes back"
        if self.asking.about == "model":
            return "y yes, for this turn · s for this session · n no · esc stops"
        prefix = lasting(self.asking, 40)
        lasts = f" · s for this session, p for this project: {prefix}" if prefix else ""
        long = " · v all of it" if self._long() else ""
        return f"y yes, once{lasts} · n no, and why{long} · esc stops"

    def _block(self) -> Block:
        text = question(self.asking)[2]
        return Block("asked", "tool", body=text, form="diff" if self.asking.diff else "output")

    def _long(self) -> bool:
        return len(body(self._block())) > SHOWN

    def rows(self, width: int) -> list[Row]:
        """What would happen."""
        title, why, text = question(self.asking)
        out: list[Row] = [(), *prose(f"{title}?", width, "class:warning", "? ")]
        if why:
            out += prose(why, width, "class:quiet", "  ")
        if not text:
            return out
        shown = body(self._block())
        if self._long():
            hidden = len(shown) - SHOWN
            more = row(f"  … {hidden} more lines; v shows them all", "class:warning")
            shown = [*shown[: SHOWN * 3 // 4], more, *shown[len(shown) - SHOWN // 4 :]]
        return out + shown

    def key(self, key: str) -> Reply:
        """A choice; Enter is none, so that a line sent a moment too late approves nothing."""
        if self.why:
            if key == "escape":
                self.why = False
            return WAITS
        if key == "escape":
            return Reply((Interrupt(),), over=False)
        if key == "v" and self._long():
            return Reply(rows=tuple(body(self._block())), over=False)
        choice = KEYS.get(key)
        if choice is None or (choice == "project" and not self.asking.prefix):
            return WAITS
        if self.asking.about == "model":
            return Reply((Answer(self.asking.id, choice),), (row(f"  {_SWITCHED[choice]}", "class:quiet"),))
        if choice == "refuse":
            self.why = True
            return WAITS
        return Reply((Answer(self.asking.id, choice),), (row(f"  {_ANSWERED[choice]}", "class:quiet"),))

    def line(self, text: str) -> Reply:
        """The reason, or where no keys are heard, a choice: `n because …` in one."""
        if self.why:
            return self._refuse(text.strip())
        word, _, reason = text.strip().partition(" ")
        if word.lower() in ("n", "no") and self.asking.about == "tool":
            return self._refuse(reason.strip())
        return self.key({"yes": "y", "no": "n"}.get(word.lower(), word.lower())) if not reason else WAITS

    def _refuse(self, reason: str) -> Reply:
        said = f"  refused: {one_line(reason)}" if reason else "  refused"
        return Reply((Answer(self.asking.id, "refuse", reason),), (row(said, "class:quiet"),))


_ANSWERED = {"once": "allowed once", "session": "allowed for this session", "project": "allowed for this project"}

_SWITCHED = {"once": "yes, for this turn", "session": "yes, for this session", "refuse": "no", "project": ""}


def plan_rows(plan: Plan, width: int) -> list[Row]:
    """A plan as a table, and what it comes to."""
    prune = plan.what == "prune"
    title = f"Prune {plural(len(plan.records), 'result')}" if prune else "What a compaction would do"
    cells = [(f"{id}", tokens(size), "goes", one_line(name, 80)) for id, name, size in plan.rows]
    cells += [(f"{id}", tokens(size), "stays", one_line(name, 80)) for id, name, size in plan.kept_rows]
    made = table(title, ("#", "tokens", "", "what"), cells, width) if cells else [row(title, "class:strong")]
    return [(), *made, *prose(totals(plan), width, "class:notice")]


@dataclass(slots=True)
class Planned:
    """A prune to commit or to leave."""

    plan: Plan
    guarded: ClassVar[bool] = True
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = False
    hint: ClassVar[str] = "enter does exactly this · esc leaves it"

    def rows(self, width: int) -> list[Row]:
        """The table."""
        return plan_rows(self.plan, width)

    def key(self, key: str) -> Reply:
        """Enter or Esc."""
        if key == "enter":
            return Reply((Prune(records=self.plan.records, force=True),))
        return Reply(rows=(row("  nothing was changed", "class:quiet"),)) if key in ("escape", "n", "q") else WAITS

    def line(self, text: str) -> Reply:
        """Where no keys are heard: an empty line is Enter."""
        return self.key("enter" if not text.strip() else text.strip().lower())


@dataclass(slots=True)
class Review:
    """A summary to accept as it stands, to edit first, or to drop."""

    review: Reviewing
    summary: str = ""
    state: Literal["asked", "editing", "sure?"] = "asked"
    guarded: ClassVar[bool] = True
    of_turn: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.summary = self.review.summary

    @property
    def writing(self) -> bool:
        """The summary is text while it is edited here."""
        return self.state == "editing"

    @property
    def hint(self) -> str:
        """The choices; a summary costs money, one slip must not throw it away."""
        if self.state == "editing":
            return "enter takes this text · ctrl+j newline · esc goes back"
        return "esc once more drops it · a accepts" if self.state == "sure?" else "a accepts · e edits · esc drops it"

    def rows(self, width: int) -> list[Row]:
        """All of the summary."""
        sizes = f"{tokens(self.review.before)} → {tokens(self.review.after)}"
        facts = plural(self.review.fact_sheet.count("\n") + 1, "line")
        return [
            (),
            (("class:strong", "The summary, to be edited if you like"), ("class:quiet", f"  {sizes}")),
            *(row(f"  {line}") for line in safe(self.summary).split("\n")),
            row(f"A fact sheet of {facts} is added by the program.", "class:quiet"),
        ]

    def key(self, key: str) -> Reply:
        """Accept, edit, or drop."""
        if self.state == "editing":
            self.state = "asked" if key == "escape" else self.state
            return WAITS
        if key in ("a", "y"):
            return Reply((Reviewed(self.summary),))
        if key == "e":
            return Reply(over=False, draft=self.summary)
        if key in ("escape", "d", "n"):
            if self.state == "sure?":
                return Reply((Reviewed(None),))
            self.state = "sure?"
        return WAITS

    def write_here(self) -> None:
        """It is edited where answers are written."""
        self.state = "editing"

    def edited(self, text: str) -> Reply:
        """Back from an editor: to be looked at once more."""
        self.summary = text
        return Reply(rows=tuple(self.rows(0)), over=False)

    def line(self, text: str) -> Reply:
        """The edited text, or where no keys are heard, a choice."""
        if self.state == "editing":
            self.state, self.summary = "asked", text
            return Reply((Reviewed(text),)) if text.strip() else WAITS
        return self.key(text.strip().lower())


@dataclass(slots=True)
class KeyLine:
    """A provider's key, where what is typed can be kept from being seen."""

    provider: str
    guarded: ClassVar[bool] = False
    of_turn: ClassVar[bool] = False
    writing: ClassVar[bool] = True

    @property
    def hint(self) -> str:
        """What may be answered."""
        return "the key is not shown · enter saves it · esc leaves"

    def rows(self, width: int) -> list[Row]:
        """Whose key."""
        return [(), *prose(f"Key for {one_line(self.provider, 40)}", width, "class:strong")]

    def key(self, key: str) -> Reply:
        """Esc saves nothing."""
        return Reply() if key == "escape" else WAITS

    def line(self, text: str) -> Reply:
        """The key; an empty line is none."""
        return Reply((SaveKey(self.provider, text.strip()),)) if text.strip() else Reply()
