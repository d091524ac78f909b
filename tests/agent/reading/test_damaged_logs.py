"""What is told of a log that lost lines: what is left of it, and never a number it does not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.reading import Reading
from agent.session_log import NotASession, SessionLog
from tests.agent.loop.harness import Story

DAMAGED = {
    "it is empty": lambda lines: [],
    "torn when the program ended": lambda lines: [lines[0][:40]],
    "not a whole line of JSON": lambda lines: [b'{"id":1,', *lines[1:]],
    "log format '99'": lambda lines: [lines[0].replace(b'"log":1', b'"log":99'), *lines[1:]],
    "begins no session": lambda lines: [lines[1].replace(b'"id":2', b'"id":1')],
}


@pytest.mark.parametrize("why", DAMAGED)
async def test_of_a_log_without_its_beginning_no_size_and_no_request_is_made_up(tmp_path: Path, why: str) -> None:
    async with Story(tmp_path, "Hello.") as story:
        await story.say("hi")
    path, reading = story.session.log.path, Reading(story.kit(), story.folder)
    assert reading.request_body(path, None)["model"]
    path.write_bytes(b"\n".join(DAMAGED[why](path.read_bytes().split(b"\n"))))
    for asked in (
        lambda: reading.inspected(path),
        lambda: reading.request_body(path, "go on"),
        lambda: reading.prune_plan(path, (), False, False),
        lambda: reading.compact_plan(path),
        lambda: SessionLog.open(path, True),
    ):
        with pytest.raises(NotASession, match=why):
            asked()
    # What was said can still be looked at.
    assert len(reading.records(path)) == len(reading.timeline(path)) * 2 or why == "begins no session"


async def test_each_line_that_could_not_be_read_is_named_after_the_reading(tmp_path: Path) -> None:
    async with Story(tmp_path, "Hello.") as story:
        await story.say("hi")
    path, reading = story.session.log.path, Reading(story.kit(), story.folder)
    reading.inspected(path)
    assert reading.damage == {path: ()}
    path.write_bytes(path.read_bytes() + b'{"id":4,"at":1,"kind":"frobnicated"}\nnonsense\n{"id":6,"at":1,"kind":"us')
    assert reading.inspected(path).meter.used > 0
    (unknown, nonsense, torn) = reading.damage[path]
    assert "line 4" in unknown and "frobnicated" in unknown
    assert "line 5" in nonsense and "line 6: torn" in torn
