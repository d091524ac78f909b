"""Esc at the n-th event of a story, for every n: whatever was going on, the log is whole and the session goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.models.scripted import Say
from agent.session_log import SessionLog, open_calls
from agent.verify import verify
from agent.wire import Compact, Event, Finished, Idle, Interrupt, Submit
from compaction.records import UserSaid
from compaction.view import fold
from tests.agent.loop.harness import Story, output, pairs_are_valid, scripted


class Stopped(Story):
    """Esc is pressed when the `at`-th event has come."""

    at = 0

    def heard(self, event: Event) -> None:
        super().heard(event)
        if len(self.events) == self.at:
            self.send(Interrupt())


def script() -> list[Say | str]:
    """A turn with parallel results and enough text that the second turn compacts."""
    steps = [Say("note " * 640, calls=(output(300, n), output(300, -n)), pieces=1_000) for n in range(1, 5)]
    return [*steps, "one", Say("note " * 260, calls=(output(10),), pieces=1_000), "two", "three", "four"]


async def told(story: Story) -> None:
    """The story itself; some of it is stopped."""
    story.send(Submit("first"), Submit("second"), Compact())
    for _ in range(3):
        await story.until(Idle, after=[e for e in story.events if isinstance(e, Idle)][-1])


async def length(tmp_path: Path) -> int:
    async with Story(tmp_path, scripted(script()), budget="7k") as story:
        await told(story)
        assert "proactive.compacted" in story.tags
        return len(story.events)


@pytest.mark.parametrize("part", range(4))
async def test_the_log_is_whole_and_the_session_goes_on(tmp_path: Path, part: int) -> None:
    (tmp_path / "whole").mkdir()
    events = await length(tmp_path / "whole")
    for at in range(6 + part, events, 12):
        (tmp_path / str(at)).mkdir()
        story = Stopped(tmp_path / str(at), scripted(script()), budget="7k")
        story.at = at
        async with story:
            await told(story)
            idle = await story.say("again")
            assert (at, idle.stop) == (at, "done")
            assert [b.text for b in story.bodies(UserSaid)] == ["first", "second", "again"]
            assert len(story.said(Finished)) == 1
            assert all(map(pairs_are_valid, story.requests))
            assert open_calls(story.session.view) == ()
            assert story.session.view.items == fold(story.records).items
        path = story.session.log.path
        report = verify(path)
        assert (report.code, report.faults, report.warnings) == (0, (), ())
        SessionLog.open(path, True).close()
        assert SessionLog.open(path, False).records == story.records
