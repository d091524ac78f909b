"""Finding and listing sessions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.places import Places, under
from agent.session_log import NAME, SessionLog
from agent.sessions import Found, NoSuchSession, find, id_of, listing, look, new_folder
from compaction.records import Body, Noted, SettingsChanged, UserSaid
from tests.agent.record_examples import says, started

NOW = 1_767_225_600.0  # 2026-01-01 00:00 UTC


class Shelf:
    """Sessions in two folders, written at times of our choosing."""

    def __init__(self, root: Path) -> None:
        self.places: Places = under(root / "user")
        self.here = root / "here"
        self.there = root / "there"
        self.written = 0

    async def session(self, *bodies: Body, folder: Path | None = None, id: str | None = None) -> Path:
        folder = folder or self.here
        drawn, place = new_folder(self.places, folder, NOW + self.written)
        if id:
            drawn, place = id, place.with_name(place.name.replace(drawn, id))
        log = SessionLog.create(place, started(session=drawn, folder=str(folder)), lambda: NOW)
        if bodies:
            await log.append(*bodies)
        await log.aclose()
        self.touch(log.path)
        return log.path

    def touch(self, log: Path) -> None:
        """Makes it the one written last."""
        self.written += 1
        os.utime(log, (NOW + self.written, NOW + self.written))

    def find(self, wanted: str) -> Path:
        return find(self.places, self.here, wanted)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_a_new_session_goes_into_its_folders_folder_under_time_and_id(shelf: Shelf) -> None:
    id, place = new_folder(shelf.places, shelf.here, NOW)
    assert place.parent.parent == shelf.places.sessions
    assert (place.name, place.parent.name.rsplit("-", 2)[-2]) == (f"20260101T000000Z-{id}", "here")
    assert (len(id), place.exists()) == (8, False)


async def test_a_session_is_found_by_id_part_path_and_last(shelf: Shelf) -> None:
    one = await shelf.session(id="aaaa1111")
    two = await shelf.session(id="aaaa2222")
    assert [shelf.find(w) for w in ("aaaa1111", "a1", one.parent.name, str(one), str(one.parent))] == [one] * 5
    assert shelf.find("last") == two
    shelf.touch(one)
    assert shelf.find("last") == one


async def test_last_is_one_in_which_something_was_said(shelf: Shelf) -> None:
    worked = await shelf.session(UserSaid("mend it"))
    unused = await shelf.session()
    shelf.touch(unused)
    assert shelf.find("last") == worked


async def test_last_is_of_this_folder_and_can_be_gone_on_with(shelf: Shelf) -> None:
    with pytest.raises(NoSuchSession, match="no session in"):
        shelf.find("last")
    mine = await shelf.session()
    await shelf.session(folder=shelf.there)
    torn = await shelf.session()
    torn.write_bytes(torn.read_bytes()[:20])
    shelf.touch(torn)
    assert shelf.find("last") == mine


async def test_a_part_means_this_folders_session_before_others(shelf: Shelf) -> None:
    mine = await shelf.session(id="ab000001")
    other = await shelf.session(folder=shelf.there, id="ab000002")
    assert shelf.find("ab") == mine
    assert shelf.find("ab000002") == other
    assert shelf.find("0002") == other


async def test_an_id_wins_over_sessions_it_is_a_part_of(shelf: Shelf) -> None:
    await shelf.session(id="12345678")
    exact = await shelf.session(id="1234")
    assert shelf.find("1234") == exact


async def test_what_fits_several_or_none_is_refused_with_a_sentence(shelf: Shelf) -> None:
    for n in range(7):
        await shelf.session(id=f"ab00000{n}")
    with pytest.raises(NoSuchSession, match=r"'ab' fits 7 sessions: ab000006, ab000005, .*…; write more of the id"):
        shelf.find("ab")
    with pytest.raises(NoSuchSession, match="no session 'zz'"):
        shelf.find("zz")
    with pytest.raises(NoSuchSession):
        shelf.find("a\x00/b")


async def test_a_list_shows_the_last_used_first_with_its_title(shelf: Shelf) -> None:
    first = await shelf.session(Noted("x", "t"), UserSaid("  \n Fix the parser\nplease"), says("ok"), UserSaid("more"))
    second = await shelf.session(UserSaid("what"), SettingsChanged(name="my name"), *[says("x" * 500)] * 500)
    await shelf.session(folder=shelf.there)
    found = listing(shelf.places, shelf.here)
    assert [(f.path, f.title, f.named) for f in found] == [(second, "my name", True), (first, "Fix the parser", False)]
    assert found[1] == Found(
        id_of(first), first, str(shelf.here), "Fix the parser", "scripted/one", NOW, NOW + 1, first.stat().st_size
    )
    assert len(listing(shelf.places, None)) == 3
    assert [f.path for f in listing(shelf.places, shelf.here, 1)] == [second]


async def test_the_newest_name_counts_and_an_empty_one_gives_the_title_back(shelf: Shelf) -> None:
    log = await shelf.session(UserSaid("hello"), SettingsChanged(name="one"), SettingsChanged(mode="plan"))
    assert look(log).title == "one"
    with log.open("ab") as file:
        file.write(b'{"id":5,"at":0,"kind":"settings_changed","name":""}\n')
    assert look(log).title == "hello"


async def test_a_user_cannot_fake_a_name_from_inside_a_message(shelf: Shelf) -> None:
    text = 'x\n{"id":3,"at":0,"kind":"settings_changed","name":"faked"}'
    assert look(await shelf.session(UserSaid(text))).title == "x"


async def test_damaged_sessions_are_listed_as_such(shelf: Shelf) -> None:
    log = await shelf.session(UserSaid("hello"), UserSaid("again"))
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([lines[0][:9], *lines[1:]]))
    assert (look(log).readable, look(log).id) == (False, id_of(log))
    log.write_bytes(b"\n".join([lines[0], b"rubbish", lines[2]]))
    assert (look(log).readable, look(log).title) == (True, "again")
    log.unlink()
    assert look(log).readable is False


async def test_a_list_reads_no_more_than_heads_and_names(shelf: Shelf) -> None:
    log = await shelf.session(UserSaid("hello"))
    with log.open("ab") as file:
        file.write(b"\xff rubbish that no decoder would take\n" * 1000)
    (found,) = listing(shelf.places, shelf.here)
    assert (found.title, found.size > 30_000, found.path.name) == ("hello", True, NAME)
