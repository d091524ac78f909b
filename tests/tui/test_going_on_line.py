"""The line that a run ends with: which session it names."""

from __future__ import annotations

from dataclasses import replace

from agent.wire import Appended
from compaction.records import Record, UserSaid
from tests.tui.scenes import Tape
from tui.front import GoingOn

SAID = Appended(Record(2, 0.0, UserSaid("hello")))


def test_nothing_was_said_so_there_is_nothing_to_go_on_with() -> None:
    going_on = GoingOn()
    for event in Tape().opened():
        going_on.take(event)
    assert going_on.line() is None


def test_the_session_last_spoken_in_is_named_not_the_empty_one_opened_after_it() -> None:
    (opened, *_) = Tape().opened()
    going_on = GoingOn()
    for event in (replace(opened, session="used"), SAID, replace(opened, session="empty")):
        going_on.take(event)
    assert going_on.line() == "go on with: ullage --resume used"
