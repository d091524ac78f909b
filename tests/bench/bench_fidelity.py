"""How much of 200 planted facts survives 1, 3 and 10 compactions, by kind, with two scripted summarisers."""

from __future__ import annotations

from tests.bench.fidelity import KINDS, SUMMARISERS, Share, play
from tests.bench.tables import table


def percent(one: Share) -> str:
    return f"{one.shown / one.all:.0%} / {one.reached / one.all:.0%}"


def main() -> int:
    rows = []
    for name, summariser in SUMMARISERS.items():
        for compactions in (1, 3, 10):
            shares = play(summariser, compactions)
            rows.append([f"{name}, {compactions}", *(percent(shares[kind]) for kind in KINDS)])
    table(
        "Facts after compactions: word for word in the view / there or one recall away",
        ("summariser, compactions", *KINDS),
        rows,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
