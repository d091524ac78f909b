"""Public reports about other agents: what many compactions cost a session's file, and what they cost its opening."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from agent.wire import Compact
from compaction.records import Compacted
from tests.agent.loop.harness import Story, scripted, summary

COMPACTIONS = 48

# Fields of a record beside its two texts: numbers, names, the JSON around them; characters.
FRAME = 1_200


class Calls:
    """Counts calls of functions in all threads while `on`: work, told without a clock."""

    def __init__(self) -> None:
        self.on = False
        self.count = 0

    def seen(self, frame: FrameType, event: str, argument: Any) -> None:
        if self.on and event in ("call", "c_call"):
            self.count += 1

    @contextmanager
    def counting(self) -> Iterator[None]:
        self.on, self.count = True, 0
        sys.setprofile(self.seen)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.on = False


async def opening(story: Story, calls: Calls) -> int:
    """How many calls it takes until the session is open and shown."""
    with calls.counting():
        await story.__aenter__()
    await story.__aexit__(None, None, None)
    return calls.count


async def compacted(root: Path) -> Story:
    """A session of forty-eight compactions, each of which added one record and nothing else."""
    model = scripted(
        ["word " * 120] * (3 * COMPACTIONS), [summary(f"part {n}, " + "told " * 60) for n in range(COMPACTIONS)]
    )
    story = Story(root, model, window=1_000_000, budget="100%")
    async with story:
        path = story.session.log.path
        for n in range(COMPACTIONS):
            for _ in range(3):
                await story.say(f"question {n}")
            before = path.read_bytes()
            assert (await story.wish(Compact())).committed
            after = path.read_bytes()
            assert after.startswith(before)
            (line,) = after[len(before) :].splitlines()
            body = story.bodies(Compacted)[-1]
            assert json.loads(line)["kind"] == "compacted"
            assert len(line) <= len(body.summary) + len(body.fact_sheet) + FRAME
    sizes = [len(body.summary) + len(body.fact_sheet) for body in story.bodies(Compacted)]
    assert len(sizes) == COMPACTIONS
    # They do not grow on one another.
    assert max(sizes[COMPACTIONS // 2 :]) <= 2 * max(sizes[: COMPACTIONS // 2])
    return story


async def untouched(root: Path, size: int) -> Story:
    """A session of about `size` bytes without any compaction, of as many records."""
    turns = 3 * COMPACTIONS + COMPACTIONS // 2
    async with Story(root / "probe", ["x"] * 2, window=1_000_000, budget="100%") as probe:
        await probe.say("question 1")
        one = probe.session.log.path.stat().st_size
        await probe.say("question 2")
        frame = probe.session.log.path.stat().st_size - one
    text = "w" * max(1, (size - (one - frame)) // turns - frame)
    story = Story(root / "plain", [text] * turns, window=1_000_000, budget="100%")
    async with story:
        for n in range(turns):
            await story.say(f"question {n}")
    return story


async def test_case_18_forty_eight_compactions_grow_the_file_by_their_records_and_open_like_any_log_of_that_size(
    tmp_path: Path,
) -> None:
    calls = Calls()
    threading.setprofile(calls.seen)
    try:
        story = await compacted(tmp_path / "compacted")
        size = story.session.log.path.stat().st_size
        plain = await untouched(tmp_path, size)
        assert 0.8 < plain.session.log.path.stat().st_size / size < 1.25
        assert plain.bodies(Compacted) == []
        rounds = [(await opening(story.again("hi"), calls), await opening(plain.again("hi"), calls)) for _ in range(3)]
    finally:
        threading.setprofile(None)
    assert min(ours for ours, _ in rounds) < 2 * min(theirs for _, theirs in rounds)
