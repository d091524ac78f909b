"""The fact sheet: what it gathers, from how far back, and that it never passes its cap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compaction.cut import Cut, prefix_start
from compaction.facts import fact_sheet, identifiers
from compaction.records import Body
from compaction.tokens import Ruler
from compaction.view import View
from tests.compaction.build_log import (
    calls,
    characters_ruler,
    compacted,
    pruned,
    returned,
    ruler,
    says,
    step_of,
    user,
    view_of,
)


def cut_before_last_step(view: View) -> Cut:
    items = view.conversation
    at = max(i for i, item in enumerate(items) if item.role == "assistant")
    return Cut(items[at].record, at, items[prefix_start(view) : at], items[at:], 0, 1)


def sheet(*bodies: Body | tuple[Body, ...], summary: str = "", cap: int = 500, by: Ruler | None = None) -> str:
    view = view_of(*bodies, says("end"))
    return fact_sheet(view, cut_before_last_step(view), summary, by or ruler(), cap)


def edited(path: str, call: str) -> tuple[Body, ...]:
    return calls(call, tool="edit"), returned(call, "ok", tool="edit", paths=(path,), changed=True)


def test_files_commands_identifiers_and_the_way_back_are_in_it() -> None:
    text = sheet(
        user("fix https://bugs.example/17"),
        step_of("r", "code", paths=("src/b.py",)),
        edited("src/a.py", "e"),
        (calls("c", tool="bash"), returned("c", "boom 9fceb02d0a", tool="bash", title="pytest -q", exit_status=1)),
    )
    assert text == (
        "[facts kept by the program]\n"
        "Files changed: src/a.py\n"
        "Commands:\n"
        "- pytest -q: exit 1\n"
        "Files read: src/b.py\n"
        "Named, and not in the summary: https://bugs.example/17, 9fceb02d0a\n"
        "Records 2 to 8 are out of view, not lost: recall shows one by its id and finds them by words."
    )


def test_what_the_summary_names_already_is_not_named_again() -> None:
    bodies = user("see /etc/hosts and 192.168.0.1:8080"), says("ok")
    assert "/etc/hosts" in sheet(*bodies)
    text = sheet(*bodies, summary="## Done\nread /etc/hosts")
    assert "/etc/hosts" not in text
    assert "192.168.0.1:8080" in text


def test_a_second_sheet_covers_all_from_the_sessions_start() -> None:
    first = edited("a.py", "e1"), says("between")
    view = view_of(user("go"), *first, compacted(5), edited("b.py", "e2"), edited("c.py", "e3"))
    text = fact_sheet(view, cut_before_last_step(view), "", ruler(), 500)
    assert "Files changed: a.py, b.py\n" in text
    assert "Records 2 to 8 are out of view" in text


def test_what_a_prune_replaced_is_still_known() -> None:
    text = sheet(user("go"), step_of("x", "listening on db.internal:5432 " + "w " * 50, paths=("x.log",)), pruned(4))
    assert "db.internal:5432" in text


def test_a_command_is_listed_once_with_its_newest_status() -> None:
    run = [
        (calls(c, tool="bash"), returned(c, "", tool="bash", title=t, exit_status=s))
        for c, t, s in (("1", "make", 2), ("2", "ls", 0), ("3", "make", 0))
    ]
    assert "Commands:\n- ls: exit 0\n- make: exit 0\n" in sheet(user("go"), *run)


def test_a_failed_edit_changed_nothing() -> None:
    failed = calls("e"), returned("e", "no match", paths=("a.py",), changed=True, failed=True)
    text = sheet(user("go"), failed)
    assert "Files changed" not in text
    assert "Files read: a.py" in text


def test_identifiers_are_looked_for_in_the_newest_million_characters() -> None:
    far, near = "/srv/far.conf", "/srv/near.conf"
    text = sheet(user(f"see {far}"), says("x " * 300_000), says(f"and {near}"), says("y " * 150_000))
    assert near in text
    assert far in text
    text = sheet(user(f"see {far}"), says("x " * 400_000), says(f"and {near}"), says("y " * 150_000))
    assert near in text
    assert far not in text
    assert far not in sheet(user(f"see {far} " + "z " * 600_000), says("end"))


def test_a_foreign_title_stays_on_one_line() -> None:
    text = sheet(user("go"), (calls("c"), returned("c", "", title="a\nb\x1b[31m\u2028c", exit_status=0)))
    assert "- a b [31m c: exit 0\n" in text


def test_the_oldest_go_first_and_the_count_says_so() -> None:
    text = sheet(user("go"), *[edited(f"src/file{n}.py", f"e{n}") for n in range(100)], cap=100)
    assert ruler().count(text) <= 100
    assert "src/file99.py" in text
    assert "src/file0.py" not in text
    shown = text.count("src/file")
    assert f"({100 - shown} older left out)" in text


def test_without_room_for_the_way_back_there_is_no_sheet() -> None:
    assert sheet(user("go"), edited("a.py", "e"), cap=5) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see https://a.example/x?y=1).", ["https://a.example/x?y=1"]),
        ("src/app.py:120: error", ["src/app.py"]),
        ("app.py:120", []),
        ("localhost:8080 and db:5432 at 10:30", ["localhost:8080", "db:5432"]),
        ("10.0.0.1:443 [::1]:8080", ["10.0.0.1:443", "[::1]:8080"]),
        ("and/or 1/2 2024/01/02 text/plain", []),
        ("/etc/passwd ~/notes ../up a/b/c lib/x.so", ["/etc/passwd", "~/notes", "../up", "a/b/c", "lib/x.so"]),
        ("defaced 9fceb02d0a deadbeef", ["9fceb02d0a"]),
        ("order 4711471, 12345, 3.14159265", ["4711471"]),
        ("123e4567-e89b-12d3-a456-426614174000", ["123e4567-e89b-12d3-a456-426614174000"]),
        ("data " + "x/" * 200 + "y.py", []),
    ],
)
def test_identifiers_are_told_from_what_only_looks_like_one(text: str, found: list[str]) -> None:
    assert list(identifiers(text)) == found


_WORD = st.sampled_from(["/etc/a", "src/x.py", "9fceb02d0a", "12345678", "db:5432", "word", "https://h.example/p"])
_STEP = st.tuples(
    st.lists(_WORD, max_size=30).map(" ".join),
    st.lists(st.text(max_size=20), max_size=3).map(tuple),
    st.booleans(),
    st.none() | st.integers(0, 255),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(_STEP, min_size=1, max_size=20), st.integers(0, 300))
def test_a_sheet_is_never_larger_than_its_cap(
    steps: list[tuple[str, tuple[str, ...], bool, int | None]], cap: int
) -> None:
    bodies = [
        step_of(f"c{n}", text, paths=paths, changed=changed, exit_status=status)
        for n, (text, paths, changed, status) in enumerate(steps)
    ]
    by = characters_ruler()
    text = sheet(user("go"), *bodies, cap=cap, by=by)
    assert by.count(text) <= cap
    if text:
        assert text.endswith("finds them by words.")
