"""The turn a rewrite is said to pay for itself at, against bills that a simulated provider writes turn by turn."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from random import Random

import pytest

from compaction.cache import (
    Ladder,
    Payback,
    Prices,
    Segment,
    breakeven,
    equal_segments,
    ladder,
    predicted,
    request_cost,
    summary_costs,
)
from compaction.records import Body, Record, Usage
from compaction.view import View, fold
from tests.compaction.build_log import compacted, log, pruned, ruler, says, step_of, user

SESSIONS = 100

# A rewrite that has not paid for itself after so many turns is said to pay never, or so late that nobody waits for it.
MOST_TURNS = 400


@dataclass
class Provider:
    """Bills each request: what the newest one began with is read from the cache, the rest is written."""

    prices: Prices
    seen: tuple[Segment, ...] = ()
    bill: Fraction = Fraction(0)

    def ask(self, segments: tuple[Segment, ...], output: int) -> None:
        same = 0
        while same < min(len(self.seen), len(segments)) and self.seen[same].hash == segments[same].hash:
            same += 1
        read = sum(s.tokens for s in segments[:same])
        written = sum(s.tokens for s in segments[same:])
        self.seen = segments
        self.bill += read * Fraction(self.prices.read) + written * Fraction(self.prices.write)
        self.bill += output * Fraction(self.prices.output)


def random_prices(chance: Random) -> Prices:
    """A table like those of real providers: reading from cache costs nothing to all of it, writing up to double."""
    price = chance.choice([0.05, 0.25, 1.0, 3.0, 15.0]) * chance.uniform(0.5, 1.5)
    cached = chance.choice([None, 0.0, 0.1, 0.25, 0.5])
    write = chance.choice([None, 1.25, 2.0])
    return Prices(
        price, price * chance.choice([2, 4, 5, 8]), None if cached is None else price * cached,
        None if write is None else price * write,
    )  # fmt: skip


def random_session(chance: Random) -> tuple[View, View, View, str]:
    """The view of the last request, the view now, the view after a rewrite, and which kind that was."""
    bodies: list[Body | tuple[Body, ...]] = [user("please " * chance.randint(1, 40))]
    for n in range(chance.randint(4, 12)):
        bodies.append(step_of(f"c{n}", "result " * chance.randint(1, 900)))
    sent = log(*bodies)
    now = log(*bodies, says("done " * chance.randint(1, 50)), user("next"))
    results = [r.id for r in now if type(r.body).__name__ == "ToolReturned"]
    if chance.random() < 0.5:
        gone = sorted(chance.sample(results[:-1], chance.randint(1, len(results) - 2)))
        rewrite: Body = pruned(*gone)
        what = "prune"
    else:
        # A result's id is that of its call plus one: the tail starts at a call.
        rewrite = compacted(chance.choice(results[2:]) - 1, summary="note " * chance.randint(5, 120))
        what = "compaction"
    after = fold([*now, Record(now[-1].id + 1, 0.0, rewrite)])
    return fold(sent), fold(now), after, what


def turn_of_crossing(
    keep: Provider, rewrite: Provider, now: Ladder, after: Ladder, output: int, requests: int, chance: Random
) -> float:
    """The first turn after which the session with the rewrite has cost no more; both go on with the same words."""
    grown: tuple[Segment, ...] = ()
    for turn in range(1, MOST_TURNS + 1):
        for _ in range(requests):
            keep.ask(now.segments + grown, output)
            rewrite.ask(after.segments + grown, output)
            grown += (Segment("", f"{len(grown)}", chance.randint(1, 400)),)
        if rewrite.bill <= keep.bill:
            return turn
        # One segment for all that was said, so that a thousand turns are quick to compare.
        grown = (Segment("", f"turn {turn}", sum(s.tokens for s in grown)),)
        keep.seen = now.segments + grown
        rewrite.seen = after.segments + grown
    return inf


def dollars(bill: Fraction) -> float:
    return float(bill) / 1e6


@pytest.mark.parametrize("seed", range(SESSIONS))
def test_the_turn_predicted_is_the_one_at_which_the_bills_cross(seed: int) -> None:
    chance = Random(seed)
    prices = random_prices(chance)
    *views, what = random_session(chance)
    sent, now, after = (ladder(v, ruler()) for v in views)
    warm, output, requests = chance.random() < 0.75, chance.randint(0, 900), chance.randint(1, 6)
    size, left = (sum(s.tokens for s in rungs.segments) for rungs in (now, after))
    keep, rewrite = (Provider(prices, sent.segments if warm else ()) for _ in range(2))
    once = 0.0
    if what == "compaction":
        flattened, words = size // 2, chance.randint(50, 900)
        once = summary_costs(size=size, cached=0, flattened=flattened, output=words, prices=prices)[1]
        rewrite.bill += Fraction(once * 1_000_000)
        assert once == pytest.approx(request_cost(Usage(uncached=flattened, output=words), prices))
    assert left < size or what == "compaction"
    found = breakeven(
        size=size, after=left, cached_now=predicted(sent, now) if warm else 0,
        cached_after=predicted(sent, after) if warm else 0, prices=prices, output=output, once=once, requests=requests,
    )  # fmt: skip
    assert equal_segments(now, after) < len(now.segments)
    crossed = turn_of_crossing(keep, rewrite, now, after, output, requests, chance)
    if found.turns is None or found.turns > MOST_TURNS:
        assert crossed == inf
    else:
        assert crossed == found.turns


def test_the_next_turns_prices_are_what_the_provider_bills() -> None:
    for seed in range(SESSIONS):
        chance = Random(seed)
        prices = random_prices(chance)
        sent, now, after, _ = random_session(chance)
        rungs = [ladder(v, ruler()) for v in (sent, now, after)]
        keep, rewrite = (Provider(prices, rungs[0].segments) for _ in range(2))
        keep.ask(rungs[1].segments, 300)
        rewrite.ask(rungs[2].segments, 300)
        found = breakeven(
            size=sum(s.tokens for s in rungs[1].segments), after=sum(s.tokens for s in rungs[2].segments),
            cached_now=predicted(rungs[0], rungs[1]), cached_after=predicted(rungs[0], rungs[2]), prices=prices,
            output=300,
        )  # fmt: skip
        assert found == Payback(pytest.approx(dollars(keep.bill)), pytest.approx(dollars(rewrite.bill)), found.turns)


def test_the_sessions_tried_pay_at_once_later_and_never() -> None:
    kinds: set[str] = set()
    for seed in range(SESSIONS):
        chance = Random(seed)
        prices = random_prices(chance)
        sent, now, after, _ = random_session(chance)
        rungs = [ladder(v, ruler()) for v in (sent, now, after)]
        turns = breakeven(
            size=sum(s.tokens for s in rungs[1].segments), after=sum(s.tokens for s in rungs[2].segments),
            cached_now=predicted(rungs[0], rungs[1]), cached_after=predicted(rungs[0], rungs[2]), prices=prices,
        ).turns  # fmt: skip
        kinds.add("never" if turns is None else "at once" if turns == 1 else "later")
    assert kinds == {"at once", "later", "never"}
