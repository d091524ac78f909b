"""The session log: order, ids, sharing of writes, one writer, open calls, torn ends."""

from __future__ import annotations

import asyncio
import math
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.codec import encode
from agent.log_file import LOCK, OsDisk
from agent.session_log import (
    NAME,
    TORN,
    Damage,
    LogFailed,
    NotASession,
    SessionBusy,
    SessionLog,
    heads,
    newest_first,
    open_calls,
)
from compaction.records import Noted, Pinned, Record, Reverted, SettingsChanged, ToolReturned, UserSaid
from compaction.view import NO_RESULT, fold
from tests.agent.failing_disk import FailingDisk, SilentDisk
from tests.agent.record_examples import returned, says, started


def clock() -> Callable[[], float]:
    """Seconds that pass one a question."""
    ticks = iter(range(1_767_000_000, 1_767_900_000))
    return lambda: float(next(ticks))


def new(folder: Path, disk: FailingDisk | None = None) -> SessionLog:
    return SessionLog.create(folder, started(), clock(), disk)


def inside(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir()]


def reread(log: SessionLog) -> SessionLog:
    return SessionLog.open(log.path, write=False)


class Recording:
    """A disk that remembers what it was asked to do, and can be held back."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.threads: set[int] = set()
        self.gate = threading.Event()
        self.gate.set()

    def write(self, fd: int, data: bytes) -> int:
        self.gate.wait(10)
        self.threads.add(threading.get_ident())
        count = data.count(b"\n")
        self.done.append(f"write {count}")
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        self.done.append("fsync")
        os.fsync(fd)


async def test_a_record_is_a_line_with_its_number(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    records = await log.append(UserSaid("one"), UserSaid("two"))
    await log.aclose()
    assert [r.id for r in records] == [2, 3]
    lines = log.path.read_bytes().split(b"\n")
    assert [line[:8] for line in lines] == [b'{"id":1,', b'{"id":2,', b'{"id":3,', b""]
    assert list(reread(log).records) == list(log.records)


async def test_the_folder_and_the_file_are_the_owners_alone(tmp_path: Path) -> None:
    log = new(tmp_path / "deep" / "s")
    await log.aclose()
    assert stat.S_IMODE(log.folder.stat().st_mode) == 0o700
    assert {name: stat.S_IMODE((log.folder / name).stat().st_mode) for name in (NAME, LOCK)} == {
        NAME: 0o600,
        LOCK: 0o600,
    }


async def test_disk_then_memory_then_listeners(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    seen: list[tuple[int, bool, bool]] = []

    def listener(record: Record) -> None:
        on_disk = [r.id for r in reread(log).records]
        seen.append((record.id, record.id in on_disk, record == log.records[-1] and log.view.last == record.id))

    log.on_append.append(listener)
    await log.append(UserSaid("one"), UserSaid("two"))
    await log.aclose()
    assert seen == [(2, True, True), (3, True, True)]


async def test_a_new_log_is_on_the_disk_with_its_names_before_anybody_has_it(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "s", started(), clock(), disk)
    await log.aclose()
    assert disk.done == ["fsync", "fsync", "write 1", "fsync"]


async def test_a_late_log_leaves_nothing_on_the_disk_until_it_has_a_second_record(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "a" / "s", started(), clock(), disk, late=True)
    assert (log.next_id, log.view.started, inside(tmp_path)) == (2, started(), [])
    await log.aclose()
    assert (disk.done, inside(tmp_path)) == ([], [])
    with pytest.raises(LogFailed, match="not open for writing"):
        await log.append(UserSaid("late"))


async def test_a_late_logs_first_two_records_are_one_write_to_one_file_with_a_lock(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "s", started(), clock(), disk, late=True)
    (tmp_path / "s").mkdir(mode=0o755)  # what belongs to a session may be there before its log
    await log.append(UserSaid("a"))
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700
    assert disk.done == ["fsync", "fsync", "write 2", "fsync"]
    assert reread(log).view == log.view
    with pytest.raises(SessionBusy):
        SessionLog.open(log.path, write=True)
    await log.append(UserSaid("b"))
    await log.aclose()
    assert disk.done[4:] == ["write 1", "fsync"]
    assert [record.id for record in reread(log).records] == [1, 2, 3]


async def test_where_no_log_can_be_made_a_late_one_is_refused_at_once_or_fails_at_its_first_write(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LogFailed, match=r"cannot be stored in .*file is no folder"):
        SessionLog.create(tmp_path / "file" / "s", started(), clock(), late=True)
    log = SessionLog.create(tmp_path / "t" / "s", started(), clock(), late=True)
    (tmp_path / "t").touch()
    for _ in range(2):
        with pytest.raises(LogFailed, match="a new session cannot be stored in"):
            await log.append(UserSaid("a"))
    assert len(log.records) == 1 and not log.writable


async def test_several_records_are_one_write_and_one_fsync_off_the_loop(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "s", started(), clock(), disk)
    disk.done.clear()
    disk.threads.clear()
    await log.append(UserSaid("a"), UserSaid("b"), UserSaid("c"))
    await log.aclose()
    assert disk.done == ["write 3", "fsync"]
    assert disk.threads.isdisjoint({threading.get_ident()})


async def test_records_that_arrive_while_the_disk_works_share_the_next_write(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "s", started(), clock(), disk)
    disk.done.clear()
    disk.gate.clear()
    first = asyncio.create_task(log.append(UserSaid("a")))
    await asyncio.sleep(0.01)
    rest = [asyncio.create_task(log.append(UserSaid(text))) for text in "bcd"]
    await asyncio.sleep(0.01)
    disk.gate.set()
    batches = await asyncio.gather(first, *rest)
    await log.aclose()
    assert [[r.id for r in batch] for batch in batches] == [[2], [3], [4], [5]]
    assert disk.done == ["write 1", "fsync", "write 3", "fsync"]
    assert reread(log).view == log.view


async def test_the_next_id_is_taken_before_the_first_await(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    ids: list[int] = []

    async def pin_itself() -> None:
        ids.append(log.next_id)
        (record,) = await log.append(Pinned(log.next_id))
        assert isinstance(record.body, Pinned)
        assert record.body.target == record.id

    await asyncio.gather(*(pin_itself() for _ in range(5)))
    await log.aclose()
    assert ids == [2, 3, 4, 5, 6]


async def test_a_cancelled_append_is_written_and_heard_of_all_the_same(tmp_path: Path) -> None:
    disk = Recording()
    log = SessionLog.create(tmp_path / "s", started(), clock(), disk)
    heard: list[int] = []
    log.on_append.append(lambda record: heard.append(record.id))
    disk.gate.clear()
    waiting = asyncio.create_task(log.append(UserSaid("a")))
    await asyncio.sleep(0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    disk.gate.set()
    await log.append(UserSaid("b"))
    await log.aclose()
    assert heard == [2, 3]
    assert [r.id for r in reread(log).records] == [1, 2, 3]


async def test_closing_waits_for_what_was_just_asked(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    asked = asyncio.create_task(log.append(UserSaid("a")))
    await asyncio.sleep(0)
    await log.aclose()
    await asked
    assert [r.id for r in reread(log).records] == [1, 2]
    with pytest.raises(LogFailed):
        await log.append(UserSaid("b"))


@pytest.mark.parametrize("at", [1, 2])
async def test_after_a_failed_write_or_fsync_nothing_more_is_appended(tmp_path: Path, at: int) -> None:
    disk = FailingDisk()
    log = new(tmp_path / "s", disk)
    await log.append(UserSaid("kept"))
    before, view, heard = log.path.read_bytes(), log.view, []
    log.on_append.append(heard.append)
    disk.at = disk.operations + at
    with pytest.raises(LogFailed, match="No space left"):
        await log.append(UserSaid("lost"))
    disk.at = 0
    after = log.path.read_bytes()
    with pytest.raises(LogFailed, match="No space left"):
        await log.append(UserSaid("lost too"))
    assert log.path.read_bytes() == after
    assert after.startswith(before)
    assert (log.view, heard, log.writable) == (view, [], False)
    await log.aclose()
    again = SessionLog.open(log.path, write=True, now=clock())
    (record,) = await again.append(UserSaid("goes on"))
    assert record.id == len(again.path.read_bytes().splitlines())
    await again.aclose()


async def test_records_whose_write_was_cut_off_are_not_in_memory_and_nothing_follows_them(tmp_path: Path) -> None:
    """The loop ends and cancels every task, the writing one too: nobody knows how much of it is on the disk."""
    disk = FailingDisk()
    log = new(tmp_path / "s", disk)
    heard: list[Record] = []
    log.on_append.append(heard.append)
    disk.held.clear()
    known = asyncio.all_tasks()
    asked = asyncio.create_task(log.append(UserSaid("a")))
    await asyncio.sleep(0.01)
    (writing,) = asyncio.all_tasks() - known - {asked}
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert ([r.id for r in log.records], heard, log.writable) == ([1], [], False)
    with pytest.raises(LogFailed, match="ended while writing"):
        await log.append(UserSaid("b"))
    disk.held.set()
    await log.aclose()
    assert [r.id for r in reread(log).records] == [1, 2]


def test_the_real_disk_asks_the_system_and_leaves_no_file_open(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    with pytest.raises(OSError, match="Invalid argument"):
        OsDisk().fsync(writing)  # a pipe cannot be synced, and says so when it is asked
    os.close(reading)
    os.close(writing)
    before = len(os.listdir("/proc/self/fd"))
    new(tmp_path / "s").close()
    assert len(os.listdir("/proc/self/fd")) == before


async def test_what_waits_behind_a_failed_write_fails_too(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = new(tmp_path / "s", disk)
    disk.at = disk.operations + 1
    disk.held.clear()
    first = asyncio.create_task(log.append(UserSaid("a")))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(log.append(UserSaid("b")))
    await asyncio.sleep(0.01)
    disk.held.set()
    results = await asyncio.gather(first, second, return_exceptions=True)
    await log.aclose()
    assert disk.operations == disk.at
    assert [type(r) for r in results] == [LogFailed, LogFailed]
    assert [r.id for r in reread(log).records] == [1]


async def test_short_writes_are_gone_on_with(tmp_path: Path) -> None:
    log = new(tmp_path / "s", FailingDisk(portion=7))
    await log.append(UserSaid("a message of more than seven bytes"))
    await log.aclose()
    assert reread(log).view == log.view


def test_a_disk_that_takes_nothing_is_a_failure_and_no_endless_loop(tmp_path: Path) -> None:
    with pytest.raises(LogFailed, match="takes no more bytes"):
        SessionLog.create(tmp_path / "s", started(), clock(), SilentDisk())


async def test_a_number_json_lacks_is_refused_and_takes_no_id(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    with pytest.raises(ValueError, match="JSON"):
        await log.append(UserSaid("y"), replace(says("x"), cost=math.nan))
    (record,) = await log.append(UserSaid("z"))
    assert record.id == 2
    await log.aclose()


async def test_memory_holds_what_the_disk_holds_even_for_lone_surrogates(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    (record,) = await log.append(UserSaid("a\ud800b"))
    await log.aclose()
    assert record.body == UserSaid("a\ufffdb")
    assert reread(log).view == log.view


# ── one writer ──


async def test_a_second_writer_is_told_who_has_it_and_a_reader_is_let_in(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    with pytest.raises(SessionBusy, match=f"process {os.getpid()}") as busy:
        SessionLog.open(log.path, write=True)
    assert busy.value.pid == os.getpid()
    assert reread(log).view == log.view
    await log.aclose()
    SessionLog.open(log.path, write=True).close()


def test_a_writer_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from agent.session_log import SessionLog;"
        "from tests.agent.record_examples import started;"
        "log = SessionLog.create(Path(sys.argv[1]), started()); print('open', flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], cwd=root, capture_output=True, check=False)
    log = SessionLog.open(tmp_path / "s", write=True)
    assert [r.id for r in log.records] == [1]
    log.close()


async def test_a_reader_changes_nothing_and_cannot_append(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(says("", "c1"))
    await log.aclose()
    (log.folder / LOCK).unlink()
    before = log.path.read_bytes()
    reader = SessionLog.open(log.folder, write=False)
    assert [item.text for item in reader.view.items if item.role == "tool"] == [NO_RESULT]
    with pytest.raises(LogFailed):
        await reader.append(UserSaid("x"))
    assert (log.path.read_bytes(), sorted(p.name for p in log.folder.iterdir())) == (before, [NAME])


# ── at the door ──


async def test_a_writer_closes_open_calls_with_a_failed_result_each(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("go"), says("", "c1", "c2", "c3"), returned("c2"))
    await log.aclose()
    again = SessionLog.open(log.path, write=True, now=clock())
    again.close()
    closed = [r.body for r in again.records if r.id > 4]
    assert closed == [
        ToolReturned(call, "bash", "bash", NO_RESULT, failed=True, characters=len(NO_RESULT)) for call in ("c1", "c3")
    ]
    assert open_calls(again.view) == ()
    assert reread(again).view == again.view


async def test_opening_twice_closes_once(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(says("", "c1"))
    await log.aclose()
    SessionLog.open(log.path, write=True).close()
    once = log.path.read_bytes()
    SessionLog.open(log.path, write=True).close()
    assert log.path.read_bytes() == once


async def test_open_calls_are_found_when_ids_repeat(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(says("", "c"), returned("c"), says("", "c"))
    assert [call.id for call in open_calls(log.view)] == ["c"]
    await log.append(returned("c"))
    assert open_calls(log.view) == ()
    await log.aclose()


async def test_a_torn_end_stays_and_its_number_is_spent(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("a"))
    await log.aclose()
    torn = log.path.read_bytes() + b'{"id":3,"at":17'
    log.path.write_bytes(torn)
    assert reread(log).damage == (Damage(3, "not a whole line of JSON", torn=True),)
    assert log.path.read_bytes() == torn
    again = SessionLog.open(log.path, write=True, now=clock())
    (record,) = await again.append(UserSaid("b"))
    await again.aclose()
    assert log.path.read_bytes().startswith(torn + b'\n{"id":4,')
    assert [(r.id, type(r.body)) for r in again.records[2:]] == [(4, Noted), (5, UserSaid)]
    note = again.records[2].body
    assert isinstance(note, Noted) and note.text.startswith("line 3 was torn")
    assert record.id == 5
    assert reread(log).damage == (Damage(3, "not a whole line of JSON", torn=True),)


@pytest.mark.parametrize("end", [b'{"id":5,"at":1.5,"kind":"user_said","text":"li', b'{"id":5,"at":1,"kind":"us'])
def test_a_torn_end_that_is_no_note_says_nothing_of_the_line_before_it(tmp_path: Path, end: bytes) -> None:
    bodies = (started(), UserSaid("a"), UserSaid("b"))
    whole = b"".join(encode(Record(n, 1.0, body)) + b"\n" for n, body in enumerate(bodies, 1))
    (tmp_path / NAME).write_bytes(whole + b'{"id":4,"at":1,"ki\n' + end)
    assert [(d.line, d.torn) for d in SessionLog.open(tmp_path, False).damage] == [(4, False), (5, True)]
    note = encode(Record(5, 1.5, Noted("line 4 was torn", "torn")))
    for cut in range(1, len(note) - 1):
        (tmp_path / NAME).write_bytes(whole + b'{"id":4,"at":1,"ki\n' + note[:cut])
        assert [(d.line, d.torn) for d in SessionLog.open(tmp_path, False).damage] == [(4, True), (5, True)]


async def test_a_torn_note_about_a_torn_line_leaves_both_known_as_torn(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.aclose()
    log.path.write_bytes(log.path.read_bytes() + b'{"id":2,"at":17')
    SessionLog.open(log.path, write=True).close()
    log.path.write_bytes(log.path.read_bytes()[:-9])
    SessionLog.open(log.path, write=True).close()
    assert [(d.line, d.torn) for d in reread(log).damage] == [(2, True), (3, True)]


async def test_a_damaged_line_in_the_middle_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("a"), UserSaid("b"), UserSaid("c"))
    await log.aclose()
    lines = log.path.read_bytes().split(b"\n")
    lines[2] = lines[2][: len(lines[2]) // 2]
    log.path.write_bytes(b"\n".join(lines))
    again = SessionLog.open(log.path, write=True, now=clock())
    (record,) = await again.append(UserSaid("d"))
    await again.aclose()
    assert again.damage == (Damage(3, "not a whole line of JSON", torn=False),)
    assert [r.id for r in again.records] == [1, 2, 4, 5]
    assert (record.id, again.record(3), again.record(5)) == (5, None, record)


async def test_a_last_line_without_its_line_feed_is_a_record(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("a"))
    await log.aclose()
    whole = log.path.read_bytes().removesuffix(b"\n")
    log.path.write_bytes(whole)
    again = SessionLog.open(log.path, write=True, now=clock())
    assert (again.damage, [r.id for r in again.records]) == ((), [1, 2])
    assert log.path.read_bytes() == whole
    await again.append(UserSaid("b"))
    await again.aclose()
    assert log.path.read_bytes().startswith(whole + b'\n{"id":3,')


async def test_line_separators_inside_texts_end_no_line(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("a\u2028b\x85c\x0bd\x0ce\rf\ng"))
    await log.aclose()
    assert (reread(log).damage, reread(log).view) == ((), log.view)


@pytest.mark.parametrize(
    "content", [b"", b'{"id":1,"at":0,"kind":"sta', b'\n{"id":2,"at":0,"kind":"user_said","text":"x"}\n']
)
def test_a_log_without_its_first_line_can_be_read_and_not_gone_on_with(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / NAME
    path.write_bytes(content)
    assert SessionLog.open(path, write=False).view.started is None
    kept = []  # an error kept alive keeps its frames alive; the lock must be given back all the same
    for _ in range(2):
        with pytest.raises(NotASession, match="start a new session") as error:
            SessionLog.open(path, write=True)
        kept.append(error)
    assert path.read_bytes() == content


@pytest.mark.parametrize("write", [True, False])
def test_a_missing_log_is_a_sentence(tmp_path: Path, write: bool) -> None:
    with pytest.raises(NotASession, match="no session here"):
        SessionLog.open(tmp_path / "nowhere" / NAME, write=write)


def test_a_log_that_cannot_be_read_is_a_sentence_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    with pytest.raises(NotASession, match="cannot be read: Is a directory"):
        SessionLog.open(tmp_path, write=False)


def test_a_folder_without_a_log_stays_without_a_lock(tmp_path: Path) -> None:
    with pytest.raises(NotASession):
        SessionLog.open(tmp_path, write=True)
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_is_used_for_one_session_only(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.aclose()
    with pytest.raises(LogFailed, match="cannot be stored"):
        new(tmp_path / "s")


# ── reading parts ──


async def test_the_head_is_read_without_the_rest(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.append(UserSaid("a"), UserSaid("b"))
    await log.aclose()
    with log.path.open("ab") as file:
        file.write(b"rubbish\n" * 3)
    assert next(iter(heads(log.path))).id == 1
    assert [r.id for r in heads(log.path)] == [1, 2, 3]


async def test_records_of_one_kind_are_found_from_the_end(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    tricky = UserSaid('"kind":"settings_changed"\n{"id":9,"at":0,"kind":"settings_changed","name":"no"}')
    await log.append(SettingsChanged(name="one"), tricky, SettingsChanged(mode="plan"), tricky, Reverted(1, 2, 3))
    await log.aclose()
    data = log.path.read_bytes()
    assert [r.id for r in newest_first(data, SettingsChanged)] == [4, 2]
    assert [r.id for r in newest_first(data.removesuffix(b"\n"), Reverted)] == [6]


async def test_a_note_about_a_torn_line_is_for_people_only(tmp_path: Path) -> None:
    log = new(tmp_path / "s")
    await log.aclose()
    log.path.write_bytes(log.path.read_bytes() + b"{")
    again = SessionLog.open(log.path, write=True)
    again.close()
    note = again.records[-1].body
    assert isinstance(note, Noted)
    assert (note.topic, note.to_model) == (TORN, False)
    assert again.view.items == fold(again.records[:1]).items
