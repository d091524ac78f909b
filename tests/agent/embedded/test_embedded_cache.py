"""What the meter expects of the prompt cache, against what the embedded model's own server says it reused."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.models.embedded import installed
from compaction.cache import UNNAMED
from tests.bench.bench_cache import CLOSE, SHORT, off, played

pytestmark = pytest.mark.skipif(not installed(), reason="the weights of embedded/smollm2 are not installed")


async def test_the_forecast_is_within_a_twentieth_of_the_report_and_every_break_is_named(tmp_path: Path) -> None:
    rows = [row for _, row in await played(SHORT, tmp_path)]
    assert len(rows) == SHORT.turns + len(SHORT.tools)
    compacted, undone, pruned = [row.breaks for row in rows if row.rewrites]
    assert (compacted, undone) == ("compacted", "undone")
    assert (pruned or "").startswith("pruned at #")
    assert not any(row.breaks == UNNAMED for row in rows)
    assert [row.predicted for row in rows if off(row) > CLOSE] == []
    assert all(row.cache_read > 0 for row in rows[1:])
