"""Sentences that people read often: each says a thing once."""

from __future__ import annotations

import pytest

from agent.model import Retrying
from agent.streaming import retrying
from compaction.budget import check_rule
from compaction.errors import BadBudget


def test_a_retry_says_its_reason_when_it_is_another_than_the_one_before() -> None:
    busy, away = "They are busy.", "Nobody answers."
    assert retrying(Retrying(busy, 1.0, 1)) == "They are busy. Trying again in 1 s."
    assert retrying(Retrying(busy, 2.0, 2), busy) == "Failed again; retry 2 in 2 s."
    assert retrying(Retrying(away, 0.5, 2), busy) == "Nobody answers. Retry 2 now."


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("-5", "budget -5 is not a number of tokens"),
        ("5", "budget 5 is below the least budget of 1,024 tokens"),
        ("500%", "budget 500% is not between 0% and 100%"),
        ("", "budget '': a number of tokens is missing"),
        ("min(1k, zz)", "budget 'min(1k, zz)': 1k is below the least budget of 1,024 tokens"),
    ],
)
def test_a_rule_that_cannot_be_used_is_named_once(rule: str, said: str) -> None:
    with pytest.raises(BadBudget) as raised:
        check_rule(rule)
    assert str(raised.value) == f"{said}; write it as 160k, 60% or min(200k, 80%)"
