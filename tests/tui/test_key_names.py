"""The keys by name: one table for both screens, what the settings make of it, and what is told of mistakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual.pilot import Pilot

from agent import places, settings
from agent.wire import Busy, Command, Interrupt, Queued, Steer, Submit, Unqueue
from tests.tui.inline_play import Play
from tui.block import Block, Fold
from tui.full.app import UllageApp
from tui.full.keys import key_help
from tui.full.pages import PageScreen
from tui.full.prompt import ACTIONS, Prompt
from tui.full.transcript import Transcript
from tui.inline.keymap import listed, meanings, spelled
from tui.inline.keys import bindings
from tui.inline.print import text_of
from tui.inline.prompt import Screen
from tui.keytable import DEFAULTS, TABLE, bound, canonical, keys_of, mistakes

SPECIAL = {"send", "newline", "steer", "older", "newer", "complete"}


# ── the table ──


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("?", "question_mark"),
        ("Ctrl+Shift+X", "ctrl+shift+x"),
        ("shift+alt+up", "alt+shift+up"),
        ("control+_", "ctrl+underscore"),
        ("ctrl++", "ctrl+plus"),
        ("esc", "escape"),
        ("ctrl+m", "enter"),
        ("ctrl+[", "escape"),
        ("PgUp", "pageup"),
        ("F12", "f12"),
        ("f25", None),
        ("hyper+x", None),
        ("ctrl", None),
        ("", None),
    ],
)
def test_a_key_has_one_spelling_however_it_is_written(written: str, key: str | None) -> None:
    assert canonical(written) == key


def test_no_two_names_share_a_default_key() -> None:
    assert len(DEFAULTS) == sum(len(named.keys) for named in TABLE)
    assert all(canonical(key) == key for key in DEFAULTS)


def test_what_the_settings_give_to_a_name_is_taken_from_every_other() -> None:
    keys = bound({"unfold": "ctrl+s, f2"}, "full")
    assert keys_of("unfold", keys) == ["ctrl+s", "f2"]
    assert keys_of("steer", keys) == ["ctrl+enter"]
    assert "ctrl+o" not in keys


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, []),
        ({"unfold": ""}, []),
        ({"stop-job": "x"}, []),
        ({"page-up": "ctrl+up", "end": "f9"}, []),
        ({"sned": "f2"}, ["[keys] names nothing called 'sned'; did you mean send?"]),
        ({"zzz": "f2"}, ["[keys] names nothing called 'zzz'; `?` in an empty prompt lists the names"]),
        (
            {"send": "ctlr+x"},
            ["[keys] send = 'ctlr+x': 'ctlr+x' is no key; keys are written like ctrl+x, alt+up or f2"],
        ),
        ({"send": "x"}, ["[keys] send = 'x': x is there to be written; add ctrl or alt to it"]),
        ({"mode": "f2", "editor": "F2"}, ["[keys] gives f2 to both mode and editor; mode has it"]),
        ({"unfold": "ctrl+r"}, ["[keys] gives ctrl+r to unfold, so search has no key left; give it another"]),
        ({"unfold": "ctrl+r", "search": "ctrl+o"}, []),
        ({"unfold": "ctrl+s"}, []),
    ],
)
def test_what_cannot_be_so_is_said_in_a_sentence(said: Mapping[str, str], told: list[str]) -> None:
    assert mistakes(said) == told


def test_a_name_with_a_mistake_keeps_its_default_keys() -> None:
    assert keys_of("send", bound({"send": "x, ctlr+y"}, "full")) == ["enter"]


def test_the_settings_are_told_of_a_mistake_with_their_file(tmp_path: Path) -> None:
    from tui.wiring import _with_keys

    here = places.under(tmp_path)
    here.settings.parent.mkdir(parents=True)
    here.settings.write_text("[keys]\nsned = 'f2'\nunfold = 'f4'\n")
    chosen = _with_keys(settings.load(tmp_path, here, {}))
    assert chosen.notices == (f"{here.settings}: [keys] names nothing called 'sned'; did you mean send?",)


# ── the full screen ──


@asynccontextmanager
async def full(**keymap: str) -> AsyncIterator[tuple[UllageApp, Pilot[int], list[Command]]]:
    sent: list[Command] = []
    app = UllageApp(sent.append, ascii=False, keymap=keymap)
    async with app.run_test(size=(80, 24)) as pilot:
        yield app, pilot, sent


def test_every_name_is_done_by_the_full_prompt() -> None:
    assert {named.name for named in TABLE if named.only != "inline"} == ACTIONS.keys() | SPECIAL


async def test_enter_writes_a_newline_once_another_key_sends() -> None:
    async with full(send="f2", newline="f3", steer="f4") as (app, pilot, sent):
        await pilot.press("a", "enter", "b", "f3", "c", "ctrl+j")
        assert app.query_one(Prompt).text == "a\nb\nc"
        await pilot.press("f2", "d", "f4")
        await pilot.pause()
        assert sent == [Submit("a\nb\nc"), Steer("d")]


async def test_the_line_keys_of_the_shell_can_be_others() -> None:
    async with full(**{"line-start": "f2", "delete-to-end": "f3", "line-end": "f4", "left": "f5"}) as (app, pilot, _):
        await pilot.press(*"abc", "ctrl+a", "d", "f2", "e", "f4", "f5", "f3")
        assert app.query_one(Prompt).text == "eabc"


async def test_no_key_ends_the_program_but_those_the_list_of_keys_names() -> None:
    async with full() as (app, pilot, sent):
        await pilot.press("a", "ctrl+q", "b")
        assert app.query_one(Prompt).text == "ab"
        assert app.is_running and sent == []


async def test_a_key_that_textual_ends_programs_with_can_stop_a_turn() -> None:
    async with full(stop="ctrl+q") as (app, pilot, sent):
        app.query_one(Prompt).busy = True
        await pilot.press("ctrl+q")
        await pilot.pause()
        assert app.is_running and sent == [Interrupt()]


async def test_earlier_messages_and_the_list_of_keys_can_have_other_keys() -> None:
    async with full(older="f2", newer="f3", keys="f4", unqueue="f6") as (app, pilot, sent):
        await pilot.press("a", "enter", "f2")
        assert app.query_one(Prompt).text == "a"
        await pilot.press("f3", "?")
        assert app.query_one(Prompt).text == "?"
        await pilot.press("f6", "f4")
        await pilot.pause()
        assert isinstance(app.screen, PageScreen)
        assert sent == [Submit("a"), Unqueue()]


async def test_the_prompt_names_the_key_that_lists_them() -> None:
    async with full(keys="f4") as (app, _, _sent):
        assert app.query_one(Prompt).placeholder == "Ask, or / for commands, f4 for keys"


async def test_the_hints_below_the_conversation_name_the_keys_in_force() -> None:
    async with full(keys="f4", stop="f5", unqueue="f6", unfold="f7") as (app, pilot, _):
        app.post_event(Busy("turn"))
        app.post_event(Queued(("later",)))
        await pilot.pause()
        await pilot.pause()
        app.query_one(Transcript).show([Block("a", "tool", "bash", body="x\n" * 90, fold=Fold(head=4))])
        await pilot.pause()
        drawn = "".join(app.query_one("#transcript").render_line(y).text for y in range(10))
        assert "86 more lines (f7)" in drawn
        for widget, hint in (("#foot", "f4 keys"), ("#activity", "f5 stops"), ("#queue", "f6 takes it back")):
            assert hint in str(app.query_one(widget).render())


def test_the_page_of_keys_follows_the_settings_and_tells_the_names() -> None:
    page = key_help({"send": "ctrl+y", "line-start": "f9"})
    assert "ctrl+y                send; while" in page
    assert "f9                    to the line's start" in page
    assert "ctrl+e k u w f b _    as in the shell" in page
    assert all(named.name in page for named in TABLE)


# ── inline ──


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ("ctrl+x", [("c-x",)]),
        ("alt+x", [("escape", "x")]),
        ("f5, ctrl+t", [("f5",), ("c-t",)]),
        ("alt+shift+x", [("escape", "X")]),
        ("ctrl+down", [("c-down",)]),
        ("ctrl+space", [("c-@",)]),
        ("", [("c-o",)]),
        ("hyper+x", [("c-o",)]),
        ("ctrl+enter", [("c-o",)]),
        ("ctrl+shift+x", [("c-o",)]),
        ("ctrl+plus", [("c-o",)]),
    ],
)
def test_keys_are_spelled_as_the_inline_prompt_wants_them(said: str, keys: list[tuple[str, ...]]) -> None:
    assert [spelled(key) for key in keys_of("unfold", meanings({"unfold": said}))] == keys


@asynccontextmanager
async def inline(**keymap: str) -> AsyncIterator[tuple[Screen, list[Command]]]:
    with create_pipe_input() as pipe:
        play = Play()
        screen = Screen(lambda: play.talk, input=pipe, output=DummyOutput(), ascii=False, colours=True, keymap=keymap)
        running = asyncio.ensure_future(screen.run(play.talk))
        try:
            await typed(screen, "")
            yield screen, play.worker.sent
        finally:
            screen.leave(0)
            async with asyncio.timeout(30):
                await running


async def typed(screen: Screen, text: str) -> None:
    """Sent, read and drawn."""
    if text:
        screen.app.input.send_text(text)  # type: ignore[attr-defined]
    for _ in range(3):
        drawn = screen.app.render_counter
        screen.app.invalidate()
        async with asyncio.timeout(30):
            while screen.app.render_counter == drawn:  # noqa: ASYNC110 - another task draws
                await asyncio.sleep(0.001)


F2, F3, F4, F5 = "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[15~"


@pytest.mark.parametrize("name", [named.name for named in TABLE if named.only != "full"])
async def test_every_name_can_have_another_key_inline(name: str) -> None:
    async with inline(**{name: "f9"}) as (screen, _):
        assert any(one.keys == ("f9",) for one in bindings(screen).bindings)


async def test_inline_enter_writes_a_newline_once_another_key_sends() -> None:
    async with inline(send="f2", newline="f3", steer="f4") as (screen, sent):
        await typed(screen, f"a\rb{F3}c\x0a")
        assert screen.buffer.text == "a\nb\nc"
        await typed(screen, f"{F2}d{F4}")
        assert sent == [Submit("a\nb\nc"), Steer("d")]


def test_inline_the_hints_name_the_keys_in_force() -> None:
    play = Play()
    play.take(Busy("turn"), Queued(("later",)))
    keys = meanings({"stop": "f5", "unqueue": "f6"})
    text = "\n".join(text_of(one) for one in play.talk.live.rows(80, None, short=False, ascii=False, keys=keys))
    assert "f5 stops" in text and "f6 takes it back" in text


async def test_inline_the_line_keys_of_the_shell_can_be_others() -> None:
    async with inline(**{"line-start": "f2", "delete-to-end": "f3", "line-end": "f4", "left": "f5"}) as (screen, _):
        await typed(screen, f"abc\x01d{F2}e{F4}{F5}{F3}")
        assert screen.buffer.text == "eabc"


def test_both_screens_list_the_names() -> None:
    text = " ".join(listed({"send": "f2"}, 60).split())
    assert "f2 send; while the agent works, queue" in text
    assert all(named.name in text for named in TABLE if named.only != "full")
