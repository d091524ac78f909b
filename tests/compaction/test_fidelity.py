"""No fact is further than one `recall` away, however often the session was compacted and by whom."""

from __future__ import annotations

import pytest

from tests.bench.fidelity import SUMMARISERS, play


@pytest.mark.parametrize("compactions", [1, 10])
@pytest.mark.parametrize("name", sorted(SUMMARISERS))
def test_every_planted_fact_is_in_the_view_or_one_call_away(name: str, compactions: int) -> None:
    shares = play(SUMMARISERS[name], compactions)
    assert {kind: share.reached for kind, share in shares.items()} == {k: share.all for k, share in shares.items()}
    for kind in ("path", "command", "hash", "number"):
        assert shares[kind].shown == shares[kind].all  # the program's own fact sheet, whatever the summariser does
    assert shares["error"].shown < shares["error"].all  # else nothing was asked of recall
