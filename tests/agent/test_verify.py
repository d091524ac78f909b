"""Replaying a log: what is fine, what is a warning, what is a fault, each named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.session_log import NAME, NotASession, SessionLog
from agent.verify import Finding, Report, verify
from compaction.records import (
    Body,
    Compacted,
    CompactionFailed,
    Gate,
    Outcome,
    Pinned,
    Pruned,
    Reverted,
    Rewound,
    SettingsChanged,
    UserSaid,
    WindowLearned,
)
from tests.agent.record_examples import returned, says, started, turns

LONG = "a long sentence about nothing in particular, said again. " * 30

# Records 2 to 13: three turns of one step with a call each, and a last answer.
TALK: tuple[Body, ...] = (
    UserSaid("first"), says("", "a"), returned("a", "one"), says("ok"),
    UserSaid("second"), says("", "b"), returned("b", "two"), says("ok"),
    UserSaid("third"), says("", "c"), returned("c", "three"), says("ok"),
)  # fmt: skip

PRUNED = Pruned((4,), "pruned", Gate.ASKED, 900, 500)
COMPACTED = Compacted("## Goal\nx", "facts", 10, 2, None, "", Gate.ASKED, 900, 500, "scripted/one")
REFUSED = WindowLearned("scripted/one", "default", 1_000, None, 1_200)


def report(tmp_path: Path, *bodies: Body, first: Body | None = None) -> Report:
    async def write() -> None:
        log = SessionLog.create(tmp_path / "s", first or started(), lambda: 1.0)  # type: ignore[arg-type]
        if bodies:
            await log.append(*bodies)
        await log.aclose()

    asyncio.run(write())
    before = (tmp_path / "s" / NAME).read_bytes()
    found = verify(tmp_path / "s")
    assert (tmp_path / "s" / NAME).read_bytes() == before
    return found


@pytest.mark.parametrize(
    "more",
    [
        (),
        (PRUNED,),
        (PRUNED, COMPACTED, Reverted(15, 500, 900), Reverted(14, 900, 1_000)),
        (COMPACTED, UserSaid("fourth"), says("ok"), replace(COMPACTED, first_kept=15, prefix_from=10, previous=14)),
        (Pinned(4), COMPACTED, Pinned(4, on=False), Pinned(7), Rewound(14), UserSaid("again")),
        (Rewound(6), UserSaid("another way"), says("", "b"), returned("b")),
        (REFUSED, replace(COMPACTED, gate=Gate.REACTIVE), REFUSED, UserSaid("next"), REFUSED),
        (REFUSED, replace(REFUSED, summary=True), replace(REFUSED, summary=True), replace(REFUSED, summary=True)),
        (CompactionFailed(Gate.PROACTIVE, Outcome.ABOVE_LANDING, "", 900),),
        (replace(COMPACTED, summary=LONG[:900]),),
    ],
)
def test_what_the_engine_does_is_fine(tmp_path: Path, more: tuple[Body, ...]) -> None:
    found = report(tmp_path, *TALK, *more)
    assert (found.faults, found.damaged, found.torn, found.code) == ((), (), (), 0)
    assert found.warnings == ()
    assert found.lines() == ()


@pytest.mark.parametrize(
    ("more", "says_so"),
    [
        ((started(),), "the first record starts the session, and no other"),
        ((replace(says("x"), seen=14),), "its request is said to contain record 14"),
        ((says("", "x", "x"), returned("x"), returned("x")), "two of its calls have the same id"),
        ((replace(PRUNED, records=()),), "replaces nothing"),
        ((replace(PRUNED, records=(4, 4)),), "replaces nothing, or something twice"),
        ((replace(PRUNED, records=(3,)),), "replaces record 3, which is no result in force"),
        ((replace(PRUNED, records=(99,)),), "replaces record 99, which is no result in force"),
        ((PRUNED, PRUNED), "replaces record 4 again"),
        ((Pinned(4), PRUNED), "replaces record 4, which is pinned"),
        ((replace(PRUNED, after=901),), "made the view larger: 900 before, 901 after"),
        ((replace(PRUNED, gate=Gate.EMERGENCY),), "emergency.pruned is not a legal pair"),
        ((replace(COMPACTED, after=900),), "made the view no smaller: 900 before, 900 after"),
        ((replace(COMPACTED, first_kept=12),), "cuts before record 12, where no cut is legal"),
        ((replace(COMPACTED, first_kept=2),), "cuts before record 2, where no cut is legal"),
        ((replace(COMPACTED, first_kept=99),), "cuts before record 99, where no cut is legal"),
        ((replace(COMPACTED, prefix_from=6),), "summarises from record 6 on; the last summary ends at 2"),
        ((COMPACTED, UserSaid("4"), replace(COMPACTED, first_kept=15, previous=14)), "the last summary ends at 10"),
        ((replace(COMPACTED, previous=2),), "stands on the summary of record 2, which is not the one in force"),
        ((COMPACTED, UserSaid("4"), replace(COMPACTED, first_kept=15, prefix_from=10)), "stands on the summary of rec"),
        ((replace(COMPACTED, summary="x" * 300_000),), "holds the conversation itself"),
        ((CompactionFailed(Gate.ASKED, Outcome.ABOVE_LANDING, "", 900),), "is not a legal pair"),
        ((PRUNED, COMPACTED, Reverted(14, 1, 1)), "takes back record 14, which is not the newest rewrite in force"),
        ((PRUNED, Reverted(14, 1, 1), Reverted(14, 1, 1)), "takes back record 14"),
        ((Rewound(1),), "goes back to before record 1"),
        ((Rewound(20),), "goes back to before record 20"),
        ((Pinned(99),), "pins record 99, which is not in force"),
        ((Rewound(6), Pinned(8)), "pins record 8, which is not in force"),
        ((REFUSED, REFUSED, REFUSED), "more than one retry after a refusal in one turn"),
    ],
)  # fmt: skip
def test_what_the_engine_never_does_is_a_named_fault(tmp_path: Path, more: tuple[Body, ...], says_so: str) -> None:
    found = report(tmp_path, *TALK, *more)
    assert found.code == 1
    assert any(says_so in line for line in found.lines()), found.lines()
    assert found.lines()[0].startswith("fault: record ")


def test_a_summary_that_quotes_the_whole_conversation_is_a_fault(tmp_path: Path) -> None:
    texts = [LONG + str(n) for n in range(3)]
    talk = [body for text in texts for body in (UserSaid("go"), says(text))]
    body = replace(COMPACTED, first_kept=6, summary="\n".join(texts[:2]))
    found = report(tmp_path, *talk, body)
    assert [f.text for f in found.faults] == ["holds the conversation itself, not a summary of it"]


def test_a_hundred_compactions_of_which_none_holds_the_history_are_fine(tmp_path: Path) -> None:
    bodies: list[Body] = [UserSaid("go"), says(LONG)]
    previous, start = None, 2
    for _ in range(100):
        bodies += [UserSaid(LONG), says("ok")]
        kept = len(bodies)
        bodies.append(replace(COMPACTED, first_kept=kept, prefix_from=start, previous=previous))
        previous, start = len(bodies) + 1, kept
    assert report(tmp_path, *bodies).lines() == ()


def test_results_that_nobody_waits_for_and_calls_without_one_are_warnings(tmp_path: Path) -> None:
    found = report(tmp_path, *TALK, returned("a"), says("", "d", "e"), returned("e"))
    assert found.code == 0
    assert found.warnings == (
        Finding(14, "a result that no call waits for; it is in no view"),
        Finding(16, "the call d has no result"),
    )


def test_a_proactive_compaction_above_the_first_landing_is_a_warning_while_nothing_changed_it(tmp_path: Path) -> None:
    above = replace(COMPACTED, gate=Gate.PROACTIVE, before=10**6, after=127_233)
    found = report(tmp_path, *TALK, above)
    assert (found.code, len(found.warnings)) == (0, 1)
    changed = report(tmp_path / "other", *TALK, SettingsChanged(budget="300k"), above)
    assert changed.lines() == ()


def damage(tmp_path: Path, change: Callable[[list[bytes]], object], ending: bytes = b"\n") -> Report:
    report(tmp_path, *TALK)
    path = tmp_path / "s" / NAME
    lines = path.read_bytes().split(b"\n")[:-1]
    change(lines)
    path.write_bytes(b"\n".join(lines) + ending)
    return verify(path)


def test_a_torn_end_is_a_warning(tmp_path: Path) -> None:
    found = damage(tmp_path, lambda lines: lines.append(b'{"id":14,"at'), ending=b"")
    assert (found.code, found.torn_end, found.records) == (0, True, 13)
    assert found.lines() == (
        "warning: line 14: torn when the program ended while writing it; nothing before it is lost",
    )


def test_a_torn_line_that_was_gone_on_after_stays_a_warning(tmp_path: Path) -> None:
    damage(tmp_path, lambda lines: lines.append(b'{"id":14,"at'), ending=b"")
    SessionLog.open(tmp_path / "s", write=True).close()
    found = verify(tmp_path / "s")
    assert (found.code, found.torn_end, [d.line for d in found.torn]) == (0, False, [14])


def test_a_damaged_middle_is_a_fault_and_named(tmp_path: Path) -> None:
    found = damage(tmp_path, lambda lines: lines.__setitem__(12, lines[12][:20]))
    assert (found.code, found.lines()[0]) == (1, "fault: line 13: not a whole line of JSON")


def test_a_damaged_last_line_that_was_ended_is_a_fault(tmp_path: Path) -> None:
    assert damage(tmp_path, lambda lines: lines.append(b"rubbish")).code == 1


def test_swapped_lines_are_both_named(tmp_path: Path) -> None:
    found = damage(tmp_path, lambda lines: lines.__setitem__(slice(6, 8), [lines[7], lines[6]]))
    assert [line for line in found.lines() if "its id says" in line] == [
        "fault: line 7: its id says '8'",
        "fault: line 8: its id says '7'",
    ]


def test_a_lost_first_line_is_a_fault(tmp_path: Path) -> None:
    found = damage(tmp_path, lambda lines: lines.__setitem__(0, b""))
    assert "fault: record 2: the session has no start" in found.lines()


def test_a_log_that_was_never_begun_is_told_of_and_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"")
    found = verify(path)
    assert (found.code, found.records) == (0, 0)
    assert found.lines() == ("warning: record 0: the log is empty: the program ended before its session began",)


def test_no_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotASession):
        verify(tmp_path)


@settings(max_examples=30, deadline=None)
@given(turns(), st.data())
def test_any_conversation_that_makes_sense_is_without_fault(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[Body], data: st.DataObject
) -> None:
    if data.draw(st.booleans()):
        bodies.append(Rewound(data.draw(st.integers(2, len(bodies) + 2))))
        bodies.append(UserSaid("on"))
    assert report(tmp_path_factory.mktemp("s"), *bodies).faults == ()
