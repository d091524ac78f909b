"""A shorter simulated day: no refusal that a rewrite could have avoided, no two rewrites where one would have done."""

from __future__ import annotations

import pytest

from compaction.records import Compacted, Gate
from compaction.view import fold
from tests.bench.engine_day import live, verified


@pytest.mark.parametrize("window", [8_192, 32_000, 200_000])
def test_a_day_of_200_steps_with_three_switches_loses_no_turn_and_rewrites_seldom(window: int) -> None:
    day, s = live(window, 200, seed=3)
    assert day.steps >= 200
    assert day.wrong == []
    assert day.refused == 0
    assert fold(s.log).items == s.view.items
    assert day.rewrites
    assert day.stops == 0
    proactive = [r.body for r in s.log if isinstance(r.body, Compacted) and r.body.gate is Gate.PROACTIVE]
    assert all(body.after < body.before for body in proactive)
    assert day.share > 0.8
    report = verified(s.log)
    assert (report.records, report.lines(), report.code) == (len(s.log), (), 0)


def test_a_user_who_compacts_when_told_that_it_stopped_is_spared_emergencies() -> None:
    alone, _ = live(4_096, 200, seed=3)
    heeded, s = live(4_096, 200, seed=3, heeds=True)
    assert alone.stops and heeded.rewrites["asked"]
    assert 2 * heeded.rewrites["emergency"] <= alone.rewrites["emergency"]
    assert alone.wrong == heeded.wrong == []
    assert alone.refused == heeded.refused == 0
    assert verified(s.log).lines() == ()
