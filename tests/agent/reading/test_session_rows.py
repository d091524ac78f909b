"""Earlier sessions for somebody who looks for one: from real logs, many of them, none read whole for the first rows."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from agent.places import under
from agent.reading.session_rows import SHORT, SessionRow, SessionRows, ago
from agent.session_log import SessionLog
from agent.sessions import find, new_folder
from compaction.records import AssistantSaid, Body, Noted, SettingsChanged, Started, UserSaid, WindowSource

NOW = 1_800_000_000.0


def started(session: str, folder: str) -> Started:
    return Started(
        session, folder, "openai/m", "m", "You are an agent about jitter.", (), (), 1_000, WindowSource.USER, 800, 600,
        500, "test",
    )  # fmt: skip


class House:
    """A user's sessions in one folder."""

    def __init__(self, root: Path) -> None:
        self.places = under(root)
        self.folder = root / "project"
        self.folder.mkdir()
        self.rows = SessionRows(self.places, self.folder, lambda: NOW)
        self.count = 0

    def session(self, *bodies: Body) -> Path:
        self.count += 1
        id, place = new_folder(self.places, self.folder, NOW + self.count)
        log = SessionLog.create(place, started(id, str(self.folder)), lambda: NOW)
        if bodies:
            log.append_now(*bodies)
        log.close()
        os.utime(log.path, (NOW - 7_200, NOW - 7_200 + self.count))
        return log.path


def said(text: str) -> UserSaid:
    return UserSaid(text)


def answered(text: str) -> AssistantSaid:
    return AssistantSaid(text, (), None, "done", "openai/m", 1)


def test_the_last_used_comes_first_and_where_nothing_was_said_is_left_out(tmp_path: Path) -> None:
    house = House(tmp_path)
    one = house.session(said("fix the parser\nplease"))
    house.session()
    two = house.session(said("write docs"), SettingsChanged(name="Docs"))
    rows = list(house.rows.rows())
    assert [(row.path, row.title) for row in rows] == [(str(two), "Docs"), (str(one), "fix the parser")]
    assert rows[0].said == "write docs"
    assert rows[1].facts == "1 h ago · openai/m"


def test_a_name_far_down_a_long_log_is_found_after_all_rows_stand(tmp_path: Path) -> None:
    house = House(tmp_path)
    long = house.session(said("long"), answered("x" * SHORT), SettingsChanged(name="Named late"), answered("y"))
    short = house.session(said("short"))
    rows = list(house.rows.rows())
    assert [(row.path, row.title) for row in rows] == [
        (str(short), "short"), (str(long), "long"), (str(long), "Named late")
    ]  # fmt: skip


def test_what_is_in_one_is_told_with_its_first_and_last_words(tmp_path: Path) -> None:
    house = House(tmp_path)
    path = house.session(
        said("first words"), answered("one"), said("last \x1b[31mwords"), answered("two\x07"), Noted("n", "t")
    )
    text = house.rows.preview(str(path))
    assert "\x1b" not in text and "\x07" not in text
    for part in ("first words", "last words", "two", "openai/m", "1 h ago", str(house.folder), "kB"):
        assert part in text
    assert house.rows.preview(str(tmp_path / "nothing")).startswith("It cannot be read")


def test_words_are_looked_for_in_what_was_said_and_not_in_the_instructions(tmp_path: Path) -> None:
    house = House(tmp_path)
    one = house.session(said("hello"), answered("use Back-off here"), said("and more"))
    house.session(said("hello"))
    assert house.rows.holding("back-OFF more") == {str(one)}
    assert house.rows.holding("jitter") == frozenset()
    assert house.rows.holding("  ") == frozenset()


def test_a_session_is_renamed_by_a_record(tmp_path: Path) -> None:
    house = House(tmp_path)
    path = house.session(said("hello"))
    before = path.read_bytes()
    assert house.rows.rename(str(path), "Greeting") == "the session is called 'Greeting'"
    assert path.read_bytes().startswith(before)
    assert next(iter(house.rows.rows())).title == "Greeting"
    assert "no session" in house.rows.rename(str(tmp_path / "nothing" / "session.jsonl"), "x")


def test_a_session_that_is_open_is_neither_renamed_nor_moved(tmp_path: Path) -> None:
    house = House(tmp_path)
    path = house.session(said("hello"))
    log = SessionLog.open(path, True)
    assert "in use" in house.rows.rename(str(path), "x")
    assert "in use" in house.rows.discard(str(path))
    log.close()
    assert path.exists()


def test_what_is_moved_to_the_trash_is_whole_and_can_be_moved_back(tmp_path: Path) -> None:
    house = House(tmp_path)
    path = house.session(said("hello"))
    (path.parent / "spill").mkdir()
    (path.parent / "spill" / "x").write_text("kept")
    text = house.rows.discard(str(path))
    assert not path.exists() and list(house.rows.rows()) == []
    (moved,) = house.places.trash.glob("*/*")
    assert str(moved) in text
    assert (moved / "spill" / "x").read_text() == "kept"
    moved.rename(path.parent)
    assert [row.title for row in house.rows.rows()] == ["hello"]
    assert find(house.places, house.folder, "last") == path
    same = replace(house.rows, now=lambda: NOW + 5)
    moved.mkdir()
    assert "moved to" in same.discard(str(path))
    assert len(list(house.places.trash.glob("*/*/session.jsonl"))) == 1


def test_damaged_sessions_stand_in_the_list_too(tmp_path: Path) -> None:
    house = House(tmp_path)
    path = house.session(said("hello"))
    path.write_bytes(b"{nonsense\n")
    (row,) = house.rows.rows()
    assert row == SessionRow(str(path), path.parent.name.rsplit("-", 1)[-1], row.facts, row.title)
    assert "its beginning is damaged" in row.facts


def test_ages() -> None:
    assert [ago(s) for s in (3, 61, 7_300, 90_000, 1_300_000)] == ["now", "1 min ago", "2 h ago", "1 d ago", "2 w ago"]
