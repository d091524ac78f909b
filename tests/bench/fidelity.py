"""What is left of 200 planted facts after compactions: word for word in the view, or one `recall` call away.

No model: one scripted summariser copies lines of what it is given, as an honest one would; the other drops everything.
A fact is asked for by the words it was planted with (its cue), never by itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from agent.tools.contract import Refused
from agent.tools.recall import words_page
from compaction.cut import Cut
from compaction.view import View
from tests.compaction.simulation import Result, Simulation, Summariser, drops_everything

KINDS = ("path", "command", "hash", "number", "decision", "error")
FACTS = 200
# A turn carries this many facts and some talk between them.
A_TURN = 4


@dataclass(frozen=True)
class Fact:
    """`text` is what must not be lost; `cue` the words somebody would look for it with."""

    kind: str
    cue: str
    text: str


@dataclass(frozen=True)
class Share:
    """Of `all` facts of a kind, how many stand in the view, and how many there or one call away."""

    all: int
    shown: int
    reached: int


def facts(chance: random.Random) -> list[Fact]:
    """The facts, their kinds in turn."""
    made: list[Fact] = []
    for n in range(FACTS):
        kind = KINDS[n % len(KINDS)]
        hexes = f"{chance.getrandbits(160):040x}"
        text = {
            "path": f"src/part{n}/module_{chance.randrange(10_000)}.py",
            "command": f"make check-{n} SHARD={chance.randrange(100)}",
            "hash": hexes,
            "number": str(chance.randrange(10**9, 10**10)),
            "decision": f"we keep table t{n} sorted by column c{chance.randrange(1_000)}",
            "error": f"E{chance.randrange(10_000):04}: key k{n} expected int, got str",
        }[kind]
        made.append(Fact(kind, f"topic{n}", text))
    return made


def extracts(cut: Cut, view: View) -> str:
    """Copies the beginning of every message it was given, newest last, as far as a summary may go."""
    lines = [f"- {' '.join(i.text.split())[:160]}" for i in cut.prefix if i.role != "assistant" and i.text]
    body = view.started.budget // 8 * 3 if view.started else 1_000
    text = ""
    for line in reversed(lines):
        if len(text) + len(line) > body:
            break
        text = f"{line}\n{text}"
    return f"## Goal\n- go on\n## Done\n{text}"


SUMMARISERS: dict[str, Summariser] = {"extractive": extracts, "drops everything": drops_everything}


def plant(s: Simulation, chance: random.Random, some: list[Fact]) -> None:
    """A turn that carries these facts: decisions in the user's words, the rest in results."""
    said = [f"{f.cue}: {f.text}" for f in some if f.kind == "decision"]
    steps = [[_result(chance, f)] for f in some if f.kind != "decision"]
    assert s.turn("go on. " + ". ".join(said), steps, "noted " * 40) == "done"


def _result(chance: random.Random, fact: Fact) -> Result:
    noise = " ".join(str(chance.randrange(1_000)) for _ in range(300))
    text = f"{noise}\n{fact.cue}: {fact.text}\n{noise}"
    match fact.kind:
        case "path":
            return Result(text, "read", f"read {fact.text}", f'{{"path":"{fact.text}"}}', (fact.text,))
        case "command":
            return Result(text, "bash", fact.text, f'{{"command":"{fact.text}"}}', (), False, 0)
        case "error":
            return Result(text, "bash", "bash make", None, (), False, 1, True)
        case _:
            return Result(text, "grep", "grep topic")


def play(summariser: Summariser, compactions: int, window: int = 64_000, seed: int = 11) -> dict[str, Share]:
    """All facts planted, with so many compactions evenly between; the shares by kind."""
    chance = random.Random(seed)
    planted = facts(chance)
    s = Simulation(claimed=window, summariser=summariser, automatic=False)
    turns = [planted[at : at + A_TURN] for at in range(0, len(planted), A_TURN)]
    due = {len(turns) * (n + 1) // compactions for n in range(compactions)}
    for number, some in enumerate(turns, 1):
        plant(s, chance, some)
        if number in due:
            assert s.ask_compact()
    return {kind: share(s, [f for f in planted if f.kind == kind]) for kind in KINDS}


def share(s: Simulation, some: list[Fact]) -> Share:
    """What is there of these facts."""
    text = "\n".join(i.text + "".join(c.arguments for c in i.calls) for i in s.view.items)
    shown = [f for f in some if f.text in text]
    away = [f for f in some if f not in shown and f.text in recalled(s, f.cue)]
    return Share(len(some), len(shown), len(shown) + len(away))


def recalled(s: Simulation, words: str) -> str:
    """The first page that `recall` answers with."""
    first = s.view.started.budget if s.view.started else 0
    read: Callable[[str], str] = s.files.__getitem__
    try:
        return words_page(s.log, words, 1, first // 16 * 4, read)
    except Refused:
        return ""
