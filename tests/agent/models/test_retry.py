"""When a failed request is tried again."""

from __future__ import annotations

import pytest

from agent.model import (
    BadKey,
    BadRequest,
    ContextOverflow,
    CutOff,
    EmptyReply,
    HostDied,
    ModelError,
    NoCredit,
    NotAStream,
    Overloaded,
    RateLimited,
    RequestTooLarge,
    TimedOut,
    UnknownModel,
    Unreachable,
)
from agent.models.retry import wait_before_retry


def waits(error: ModelError, *, shown: bool = False, restartable: bool = False, chance: float = 0.5) -> list[float]:
    found: list[float] = []
    while (
        wait := wait_before_retry(error, len(found) + 1, shown=shown, restartable=restartable, chance=chance)
    ) is not None:
        found.append(wait)
    return found


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RateLimited(""), [1, 2, 4]),
        (Overloaded(""), [1, 2, 4]),
        (CutOff(""), [1, 2, 4]),
        (TimedOut(""), [1]),
        (Unreachable(""), [0.5]),
        (RateLimited("", retry_after=3), [3, 3, 4]),
        (RateLimited("", retry_after=60), [60, 60, 60]),
        (RateLimited("", retry_after=61), []),
        (Overloaded("", retry_after=9), [9, 9, 9]),
    ],
)
def test_what_may_pass_is_tried_again_a_few_times(error: ModelError, expected: list[float]) -> None:
    assert waits(error) == expected


@pytest.mark.parametrize(
    "kind",
    [
        BadKey,
        NoCredit,
        UnknownModel,
        BadRequest,
        NotAStream,
        EmptyReply,
        HostDied,
        ContextOverflow,
        RequestTooLarge,
    ],
)
def test_what_will_not_pass_is_not_tried_again(kind: type[ModelError]) -> None:
    assert waits(kind("")) == []


@pytest.mark.parametrize("error", [RateLimited(""), Overloaded(""), CutOff(""), TimedOut(""), Unreachable("")])
def test_after_shown_text_only_a_restartable_request_is_tried_again(error: ModelError) -> None:
    assert waits(error, shown=True) == []
    assert waits(error, shown=True, restartable=True) == waits(error)


def test_waits_spread_by_a_quarter() -> None:
    assert waits(Overloaded(""), chance=0.0) == [0.75, 1.5, 3.0]
    assert waits(Overloaded(""), chance=1.0) == [1.25, 2.5, 5.0]
