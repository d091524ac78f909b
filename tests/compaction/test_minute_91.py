"""Ninety steps into a session on a 200k window a file of 412 KB comes in. Each gate catches what the one above missed.

The gates are switched off one after the other, from the top: the next one still saves the turn, and the last one says
honestly that it cannot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from compaction.gates import Decision, Place, Proceed, Refuse, decide
from compaction.records import Compacted, CompactionFailed, Gate, Pruned
from tests.compaction.simulation import Result, Simulation, check_pairs, fails, short_summary

FILE = "".join(f"{n:06}: a line of the file that nobody meant to read whole\n" for n in range(412_000 // 61))


@dataclass
class Story(Simulation):
    """A session whose named gates are out of order; `arrival` false lets every result in whole."""

    arrival: bool = True
    broken: frozenset[Gate] = field(default_factory=frozenset)

    def spilled(self, result: Result, call: str, total: int) -> tuple[str, str | None]:
        return super().spilled(result, call, total) if self.arrival else (result.text, None)

    def pass_gates(self, place: Place) -> Proceed | None:
        for _ in range(40):
            decision: Decision = decide(self.view, self.ruler, self.budget, place)
            if isinstance(decision, Proceed) or decision.gate in self.broken:
                return decision if isinstance(decision, Proceed) else Proceed()
            self.decisions.append(decision)
            if isinstance(decision, Refuse):
                self.refusals.append(decision)
                return None
            self.carry_out(decision)
        raise AssertionError("the gates do not come to an end")


def story(*, arrival: bool = True, broken: Iterable[Gate] = (), summaries: bool = True) -> Story:
    """Ninety steps of work, about 120k tokens, with nothing rewritten yet."""
    s = Story(claimed=200_000, real=200_000, rule="100%", summariser=short_summary if summaries else fails)
    for _ in range(9):
        assert s.turn("go on", [["r" * 5_000]] * 9, "thinking aloud " * 12) == "done"
    assert not s.rewrites()
    s.arrival, s.broken = arrival, frozenset(broken)
    return s


def read_the_file(s: Story) -> str:
    ended = s.turn("read the log", [[FILE]])
    for view in s.sent:
        check_pairs(view)
    return ended


def caught_by(s: Story) -> set[Gate]:
    return {r.body.gate for r in s.log if isinstance(r.body, (Pruned, Compacted))}


def test_at_the_door_the_file_becomes_a_preview_and_no_gate_has_to_act() -> None:
    s = story()
    assert read_the_file(s) == "done"
    assert caught_by(s) == set()
    assert any("recall" in i.text and i.state == "spilled" for i in s.view.items)


def test_without_the_door_the_proactive_gate_catches_it() -> None:
    s = story(arrival=False)
    assert read_the_file(s) == "done"
    assert caught_by(s) & {Gate.PROACTIVE, Gate.PRE_FLIGHT}


def test_without_the_proactive_gate_pre_flight_catches_it() -> None:
    s = story(arrival=False, broken=[Gate.PROACTIVE])
    assert read_the_file(s) == "done"
    assert Gate.PRE_FLIGHT in caught_by(s)


def test_without_pre_flight_the_provider_refuses_and_the_reactive_gate_catches_it() -> None:
    s = story(arrival=False, broken=[Gate.PROACTIVE, Gate.PRE_FLIGHT])
    assert read_the_file(s) == "done"
    assert Gate.REACTIVE in caught_by(s)


@pytest.mark.parametrize("broken", [(), (Gate.PROACTIVE,), (Gate.PROACTIVE, Gate.PRE_FLIGHT)])
def test_a_summariser_that_fails_loses_no_turn(broken: tuple[Gate, ...]) -> None:
    s = story(arrival=False, broken=broken, summaries=False)
    assert read_the_file(s) == "done"
    assert not any(isinstance(r.body, Compacted) and r.body.gate is not Gate.EMERGENCY for r in s.log)


def test_with_every_gate_out_of_order_the_turn_ends_after_two_requests_and_nothing_is_lost() -> None:
    s = story(arrival=False)
    before, s.automatic = s.requests, False
    assert read_the_file(s) == "refused"
    assert s.requests - before == 2
    assert any(getattr(r.body, "text", None) == FILE for r in s.log)
    assert not any(isinstance(r.body, CompactionFailed) for r in s.log)
