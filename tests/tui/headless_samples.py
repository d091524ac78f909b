"""Values that headless tests show: the meter of the contract, a plan, a session's start."""

from __future__ import annotations

from agent.wire import CacheState, Meter, Plan, Price
from compaction.records import Started, WindowSource

METER = Meter(
    used=61_400,
    known=58_100,
    estimated=3_300,
    exact=False,
    budget=160_000,
    budget_rule="min(200k, 80%)",
    trigger=143_616,
    landing=127_232,
    window=200_000,
    window_source="catalogue",
    limit=190_000,
    parts=(("system", 1_100), ("tools", 1_300), ("user", 900), ("assistant", 8_200), ("tool", 49_900)),
    cache=CacheState(predicted=58_000, reported=57_800, warm_s=251.0, broken=None),
    cost=0.42,
    model="scripted",
)

PLAN = Plan(
    "prune", (14, 17), ((14, "read src/app.py", 9_000), (17, "bash make", 4_000)), 12_800, 61_400, 48_600, 14, 40_000,
    Price(0.03, 0.12, 9),
)  # fmt: skip

STARTED = Started(
    "a1b2c3d4", "/p", "scripted", "default", "be brief", (), (), 200_000, WindowSource.CATALOGUE, 160_000, 143_616,
    127_232, "test",
)  # fmt: skip
