"""Property: whatever byte a program dies at, the session opens again with every complete record.

And with it: the log's earlier bytes are a prefix of the later ones, and folding it gives the live view.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.session_log import NAME, LogError, LogFailed, SessionLog, open_calls, read_lines
from agent.verify import verify
from compaction.records import Body, Noted, Record, Rewound, UserSaid
from compaction.view import View, fold
from tests.agent.failing_disk import FailingDisk, Killed
from tests.agent.record_examples import BODIES, returned, says, started, turns

TALK: tuple[Body, ...] = (
    UserSaid("näh 👩‍👩‍👧"),
    says("", "c1", "c2"),
    returned("c2", "two\nlines"),
    returned("c1"),
    says("done"),
    UserSaid("more"),
    says("", "c3"),
)


def written(folder: Path, bodies: Sequence[Body]) -> bytes:
    """The bytes of a finished log."""

    async def write() -> None:
        log = SessionLog.create(folder, started(), lambda: 1.0)
        for body in bodies:
            await log.append(body)
        await log.aclose()

    asyncio.run(write())
    return (folder / NAME).read_bytes()


def complete(data: bytes) -> list[Record]:
    """The records that stand whole in these bytes."""
    return list(read_lines(data).records)


def check_opens(path: Path, data: bytes) -> None:
    """What must hold of a log with these bytes, for a reader and for a writer that goes on."""
    path.write_bytes(data)
    reader = SessionLog.open(path, write=False)
    assert list(reader.records) == complete(data)
    assert reader.view == fold(reader.records)
    assert path.read_bytes() == data
    if reader.view.started is None:
        with pytest.raises(LogError):
            SessionLog.open(path, write=True)
        assert path.read_bytes() == data
        return
    log = SessionLog.open(path, write=True, now=lambda: 2.0)
    assert list(log.records[: len(reader.records)]) == list(reader.records)
    assert path.read_bytes().startswith(data)
    assert open_calls(log.view) == ()
    record = asyncio.run(say(log, "goes on"))
    after = path.read_bytes()
    assert after.startswith(data)
    assert after.count(b"\n") == record.id == log.next_id - 1
    again = SessionLog.open(path, write=False)
    assert (list(again.records), again.view) == (list(log.records), log.view)
    assert all(damage.torn for damage in again.damage)
    assert verify(path).code == 0


async def say(log: SessionLog, text: str) -> Record:
    """Appends one message and closes."""
    (record,) = await log.append(UserSaid(text))
    await log.aclose()
    return record


def test_cut_at_every_byte_of_its_last_lines_it_opens_with_every_complete_record(tmp_path: Path) -> None:
    data = written(tmp_path / "s", TALK)
    last_lines = sum(len(line) + 1 for line in data.split(b"\n")[-5:])
    for end in range(len(data) - last_lines, len(data) + 1):
        check_opens(tmp_path / "s" / NAME, data[:end])


def test_cut_at_every_byte_of_its_first_line_it_opens_for_reading(tmp_path: Path) -> None:
    data = written(tmp_path / "s", ())
    for end in range(len(data) + 1):
        check_opens(tmp_path / "s" / NAME, data[:end])


@pytest.mark.parametrize("rest", [b"\x00" * 40, b"\xff\xfe", b"{}", b"\n\n", b'{"id":9', b"null"])
def test_rubbish_at_the_end_takes_no_record_with_it(tmp_path: Path, rest: bytes) -> None:
    data = written(tmp_path / "s", TALK)
    (tmp_path / "s" / NAME).write_bytes(data + rest)
    log = SessionLog.open(tmp_path / "s", write=True, now=lambda: 2.0)
    log.close()
    assert list(log.records[: len(TALK) + 1]) == complete(data)
    assert log.path.read_bytes().startswith(data + rest)


async def run_into(disk: FailingDisk, folder: Path) -> tuple[int, View | None, bool]:
    """Talks until the disk fails. How many records were confirmed, the view then, and whether it failed."""
    confirmed, view = 0, None
    try:
        log = SessionLog.create(folder, started(), lambda: 1.0, disk)
        confirmed, view = 1, log.view
        for first, second in itertools.pairwise((*TALK, Noted("end", "test"))):
            confirmed += len(await log.append(first, second))
            view = log.view
        await log.aclose()
    except (LogFailed, Killed):
        return confirmed, view, True
    return confirmed, view, False


@pytest.mark.parametrize("how", ["error", "partial", "killed"])
@pytest.mark.parametrize("portion", [1 << 30, 50])
def test_a_failure_of_any_write_or_fsync_loses_no_confirmed_record(tmp_path: Path, how: str, portion: int) -> None:
    for at in itertools.count(1):
        folder = tmp_path / str(at)
        disk = FailingDisk(at, how, portion)
        confirmed, view, failed = asyncio.run(run_into(disk, folder))
        if not failed:
            assert at > 10
            break
        path = folder / NAME
        if not path.exists():
            assert confirmed == 0
            continue
        data = path.read_bytes()
        records = complete(data)
        assert len(records) >= confirmed
        if view is not None:
            assert fold(records[:confirmed]) == view
        check_opens(tmp_path / "copy.jsonl", data)


@settings(max_examples=40, deadline=None)
@given(turns(), st.data())
def test_the_live_view_is_the_fold_of_the_log_after_every_record(bodies: list[Body], data: st.DataObject) -> None:
    if data.draw(st.booleans()):
        bodies.insert(data.draw(st.integers(1, len(bodies))), Rewound(data.draw(st.integers(2, len(bodies) + 1))))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_follow(Path(folder) / "s", bodies))


async def _follow(folder: Path, bodies: list[Body]) -> None:
    log = SessionLog.create(folder, started(), lambda: 1.0)
    before = log.path.read_bytes()
    for body in bodies:
        await log.append(body)
        after = log.path.read_bytes()
        assert after.startswith(before)
        assert log.view == fold(read_lines(after).records)
        before = after
    await log.aclose()


@settings(max_examples=60, deadline=None)
@given(st.lists(BODIES, max_size=6), st.data())
def test_any_records_cut_anywhere_are_read_up_to_the_cut(bodies: list[Body], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = written(Path(folder) / "s", bodies)
    end = data.draw(st.integers(0, len(whole)))
    lines = read_lines(whole[:end])
    assert list(lines.records) == complete(whole)[: len(lines.records)]
    assert len(lines.records) in (whole[:end].count(b"\n"), whole[:end].count(b"\n") + 1)
    assert lines.count - len(lines.records) == len(lines.damage) <= 1
