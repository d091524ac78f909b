"""A whole simulated day's log, broken against one invariant of the engine after another: each break is named.

The invariants' numbers are those of the engine's specification. Two of them no log can show: what an operation did to
the bytes before it beyond their numbering (3), and what stood in a request for a summary (9).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from agent.codec import encode
from agent.log_file import NAME
from agent.verify import verify
from compaction.records import (
    AssistantSaid,
    Body,
    Compacted,
    Gate,
    Pruned,
    Record,
    Reverted,
    Started,
    ToolReturned,
    UserSaid,
    WindowLearned,
)
from compaction.view import View, fold
from tests.bench.engine_day import live, verified
from tests.compaction.simulation import Simulation

Break = Callable[[list[Record]], list[Record]]
REFUSED = WindowLearned("scripted/one", "default", 30_000, None, 31_000)


@cache
def day() -> tuple[Record, ...]:
    """200 steps at 32,000 tokens: prunes, spills on arrival, compactions of every kind."""
    return tuple(live(32_000, 200, seed=6)[1].log)


@cache
def refused_day() -> tuple[Record, ...]:
    """One turn that a provider refuses once and then takes."""
    s = Simulation(claimed=None, real=20_000)
    s.turn("go", [[str(n) * 6_000] for n in range(20)])
    return tuple(s.log)


def first(log: list[Record], kind: type[Body], n: int = 0, when: Callable[[Body], bool] = lambda b: True) -> int:
    """Where the n-th record of a kind stands."""
    return [at for at, r in enumerate(log) if isinstance(r.body, kind) and when(r.body)][n]


def put(log: list[Record], at: int, body: Body) -> list[Record]:
    """The log with another body at one place."""
    return [*log[:at], replace(log[at], body=body), *log[at + 1 :]]


def insert(log: list[Record], at: int, *bodies: Body) -> list[Record]:
    """The log up to one place and then these; what followed would need new numbers."""
    return [*log[:at], *(Record(at + 1 + n, 0.0, body) for n, body in enumerate(bodies))]


def change(kind: type[Body], n: int = 0, when: Callable[[Body], bool] = lambda b: True, **fields: object) -> Break:
    """A break of some fields of the n-th record of a kind."""

    def broken(log: list[Record]) -> list[Record]:
        at = first(log, kind, n, when)
        return put(log, at, replace(log[at].body, **fields))  # type: ignore[type-var]

    return broken


def modelled(body: Body) -> bool:
    return isinstance(body, Compacted) and body.gate is not Gate.EMERGENCY


def unmodelled(body: Body) -> bool:
    return isinstance(body, Compacted) and body.gate is Gate.EMERGENCY


def same_call_twice(log: list[Record]) -> list[Record]:
    at = first(log, AssistantSaid, when=lambda b: isinstance(b, AssistantSaid) and len(b.calls) > 1)
    body = log[at].body
    assert isinstance(body, AssistantSaid)
    return put(log, at, replace(body, calls=(body.calls[0], body.calls[0])))


def cut_inside_a_group(log: list[Record]) -> list[Record]:
    at = first(log, Compacted)
    body = log[at].body
    assert isinstance(body, Compacted)
    inside = next(r.id for r in log if isinstance(r.body, ToolReturned) and r.id > body.first_kept)
    return put(log, at, replace(body, first_kept=inside))


def prune_what_was_swallowed(log: list[Record]) -> list[Record]:
    at = first(log, Compacted)
    before = fold(log[:at])
    after = fold(log[: at + 1])
    gone = next(i for i in before.tail if i.role == "tool" and i.state == "live" and i not in after.tail)
    return insert(log, at + 1, Pruned((gone.record,), "pruned", Gate.ASKED, 900, 800))


def rewrites_swapped(log: list[Record]) -> list[Record]:
    """The first prune and the compaction after it, each in the other's place."""
    a = first(log, Pruned)
    b = next(n for n in range(a, len(log)) if isinstance(log[n].body, Compacted))
    return put(put(log, a, log[b].body), b, log[a].body)


def pruned_again(log: list[Record]) -> list[Record]:
    at = first(log, Pruned)
    return insert(log, at + 1, log[at].body)


def spilled_one_pruned(log: list[Record]) -> list[Record]:
    at = first(log, ToolReturned, when=lambda b: isinstance(b, ToolReturned) and b.spilled is not None)
    return insert(log, at + 1, Pruned((log[at].id,), "pruned", Gate.ASKED, 900, 800))


def starts_too_late(which: Callable[[Body], bool]) -> Break:
    """The compaction after one of a kind covers a step less than it must: that step is in no summary."""

    def broken(log: list[Record]) -> list[Record]:
        before = first(log, Compacted, when=which)
        at = next(n for n in range(before + 1, len(log)) if isinstance(log[n].body, Compacted))
        body = log[at].body
        assert isinstance(body, Compacted)
        later = next(r.id for r in log if isinstance(r.body, AssistantSaid) and r.id > body.prefix_from)
        return put(log, at, replace(body, prefix_from=later))

    return broken


def answered_after_the_second_refusal(log: list[Record]) -> list[Record]:
    at = first(log, AssistantSaid)
    body = log[at].body
    assert isinstance(body, AssistantSaid)
    return insert(log, at, REFUSED, REFUSED, body)


def undone_out_of_order(log: list[Record]) -> list[Record]:
    view: View = fold(log)
    return insert(log, len(log), Reverted(view.rewrites[-2].id, 900, 1_000))


def small_first_message_cut(log: list[Record]) -> list[Record]:
    return put(log, 1, UserSaid("word " * 40, admitted=30))


BREAKS: tuple[tuple[int, Break, str], ...] = (
    (1, same_call_twice, "two of its calls have the same id"),
    (1, cut_inside_a_group, "where no cut is legal"),
    (2, change(Compacted, after=10**6), "made the view no smaller"),
    (2, change(Pruned, after=10**6), "made the view larger"),
    (5, rewrites_swapped, "where no cut is legal"),
    (5, prune_what_was_swallowed, "which a compaction has taken out of the view"),
    (6, small_first_message_cut, "is shown short, and is not above 80% of the first trigger"),
    (6, change(UserSaid, admitted=0), "is shown in 0 of its"),
    (6, change(ToolReturned, spilled="spill/a.txt", text="x" * 2_001), "holds 2,001 characters of a result that went"),
    (7, change(Started, landing=25_000), "its marks are not in their order"),
    (7, change(Started, window=20_000), "its budget of 25,600 is more than can be sent to a window of 20,000"),
    (8, answered_after_the_second_refusal, "answers a request made after the second refusal in one turn"),
    (9, change(Compacted, 1, previous=None), "stands on the summary of record None"),
    (10, starts_too_late(modelled), "the last summary ends at"),
    (10, starts_too_late(unmodelled), "the last summary ends at"),
    (13, pruned_again, "again"),
    (13, spilled_one_pruned, "which is spilled already"),
    (13, undone_out_of_order, "which is not the newest rewrite in force"),
)


DOUBTFUL: tuple[tuple[int, Break, str], ...] = (
    (2, change(Compacted, after=13_000), "ended above landing, at 13,000"),
    (2, change(Compacted, gate=Gate.EMERGENCY, before=40_000, after=31_000), "at most 30,400 can be sent"),
    (12, change(Compacted, primer=7), "the first message is shown in 7 characters, and was small enough to stay whole"),
)


def test_the_days_themselves_are_fine() -> None:
    assert verified(day()).lines() == ()
    assert verified(refused_day()).lines() == ()
    assert any(isinstance(r.body, WindowLearned) for r in refused_day())


@pytest.mark.parametrize(("number", "broken", "says_so"), BREAKS)
def test_a_break_of_an_invariant_is_a_named_fault(number: int, broken: Break, says_so: str) -> None:
    report = verified(broken(list(day())))
    assert report.code == 1, number
    assert any(says_so in fault.text for fault in report.faults), report.lines()


@pytest.mark.parametrize(("number", "broken", "says_so"), DOUBTFUL)
def test_what_other_settings_would_explain_is_a_named_warning(number: int, broken: Break, says_so: str) -> None:
    report = verified(broken(list(day())))
    assert any(says_so in warning.text for warning in report.warnings), (number, report.lines())


def test_a_line_lost_or_cut_is_damage_and_a_torn_end_is_none(tmp_path: Path) -> None:
    lines = [encode(record) for record in day()]
    path = tmp_path / NAME

    def code(lines: list[bytes], ending: bytes = b"\n") -> tuple[int, int]:
        path.write_bytes(b"\n".join(lines) + ending)
        report = verify(path)
        return report.code, report.records

    assert code(lines) == (0, len(lines))
    assert code([*lines[:100], *lines[101:]])[0] == 1
    assert code([*lines[:100], lines[100][:-1], *lines[101:]])[0] == 1
    assert code([*lines, lines[-1][:20]], ending=b"") == (0, len(lines))
