"""/settings, /permissions, /theme and the keys of the settings, in both front ends."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual.widgets import OptionList

from agent.wire import (
    MODE_NAMES,
    ForgetRule,
    Permissions,
    RuleRow,
    SetMode,
    SetSetting,
    SettingRow,
    SettingsShown,
    ShowPermissions,
    ShowSettings,
)
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui.actions import CycleMode, PickTheme, Say, SetTheme, ShowSheet, ToggleFolds
from tui.commands import parse
from tui.front import Choices
from tui.full.pickers import Picker
from tui.full.prompt import Prompt
from tui.inline.keymap import listed
from tui.inline.prompt import Screen
from tui.themes import resolved

SETTINGS = SettingsShown(
    (
        SettingRow("mode", "ask", "default", "from the next session on; /mode switches this one", False),
        SettingRow("context.budget", "40k", "/c/config.toml", "at once", True),
    ),
    "/c/config.toml",
)
PERMISSIONS = Permissions(
    "edits",
    (("plan", "reads only"), ("edits", "writes inside")),
    (
        RuleRow("deny", "read(.env)", "settings", "/c/config.toml"),
        RuleRow("allow", "bash(git commit)", "project", "/d/rules.json"),
    ),
)


def test_the_commands_ask_for_the_pages_and_change_one_key() -> None:
    assert parse("/permissions") == ShowPermissions()
    assert parse("/settings") == ShowSettings()
    assert parse("/settings context.budget min(40k, 60%)") == SetSetting("context.budget", "min(40k, 60%)")
    assert parse('/settings model "openai/x"') == SetSetting("model", "openai/x")
    assert parse("/settings context.budget default") == SetSetting("context.budget", None)
    assert parse("/settings theme dracula") == SetTheme("dracula") == parse("/theme dracula")
    assert parse("/settings theme default") == SetTheme("auto")
    assert parse("/theme") == PickTheme()
    assert isinstance(parse("/settings mode"), Say)


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (40, 12)])
async def test_a_setting_is_chosen_from_the_list_and_its_command_waits_in_the_prompt(size: tuple[int, int]) -> None:
    async with stage(size) as s:
        await s.play(*Tape().opened(), SETTINGS)
        await s.on(Picker)
        assert "context.budget = 40k" in s.said("OptionList")
        await s.press("down", "enter")
        assert s.app.query_one(Prompt).text == "/settings context.budget "


async def test_a_setting_of_ones_own_is_taken_back_from_the_list() -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), SETTINGS)
        await s.on(Picker)
        await s.press("ctrl+x")
        assert s.worker.sent == []
        await s.press("down", "ctrl+x")
        assert s.worker.sent == [SetSetting("context.budget", None)]


async def test_the_permissions_name_the_mode_in_force_and_let_go_of_what_was_remembered() -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), PERMISSIONS)
        await s.on(Picker)
        assert "mode: accept edits (in force)" in s.text("OptionList")
        assert "remembered for this project" in s.text("OptionList")
        await s.press("down", "down", "ctrl+x")
        assert s.worker.sent == []
        await s.press("down", "ctrl+x")
        assert s.worker.sent == [ForgetRule("bash(git commit)")]


async def test_a_theme_is_seen_while_it_is_marked_kept_when_chosen_and_gone_when_left() -> None:
    async with stage() as s:
        await s.play(*Tape().opened())
        assert s.app.theme == "ullage-dark"
        await s.type("/theme")
        picker = await s.on(Picker)
        await s.settle(lambda: picker.query_one(OptionList).option_count > 3)
        await s.pilot.pause()
        assert picker.query_one(OptionList).option_count == len(s.app.available_themes) + 1
        await s.pilot.press(*"ullage-light")
        await s.settle(lambda: s.app.theme == "ullage-light")
        await s.press("escape")
        assert s.app.theme == "ullage-dark"
        assert s.sent(SetSetting) == []
        await s.type("/theme ullage-light")
        await s.settle(lambda: s.sent(SetSetting))
        assert s.app.theme == "ullage-light"
        assert s.sent(SetSetting) == [SetSetting("theme", "ullage-light")]
        await s.type("/theme nosuch")
        assert "There is no theme nosuch" in s.said("#transcript")


async def test_the_settings_theme_and_keys_are_those_of_the_screen() -> None:
    async with stage(choices=Choices(theme="ullage-light", keys={"unfold": "ctrl+x"})) as s:
        assert s.app.theme == "ullage-light"
        await s.type("?")
        assert "ctrl+x" in s.text("#page-lines")


@pytest.mark.parametrize(
    ("name", "environ", "theme"),
    [
        ("auto", {}, "ullage-dark"),
        ("auto", {"COLORFGBG": "0;15"}, "ullage-light"),
        ("auto", {"COLORFGBG": "15;0"}, "ullage-dark"),
        ("auto", {"TEXTUAL_THEME": "nord"}, "nord"),
        ("nord", {"COLORFGBG": "0;15"}, "nord"),
        ("nosuch", {}, "ullage-dark"),
    ],
)
def test_auto_follows_what_the_terminal_says(name: str, environ: Mapping[str, str], theme: str) -> None:
    assert resolved(name, environ, {"nord", "ullage-dark", "ullage-light"}) == theme


def test_inline_lists_them_with_the_same_words() -> None:
    play = Play()
    play.take(*Tape().opened(), SETTINGS)
    assert "context.budget = 40k" in play.text
    play.look()
    play.talk.enter("x 2")
    assert play.worker.sent == [SetSetting("context.budget", None)]
    play.take(SETTINGS)
    play.look()
    play.talk.enter("1")
    assert play.paper.drafts == ["/settings mode "]
    play.take(PERMISSIONS)
    play.look()
    play.talk.enter("x 4")
    play.take(PERMISSIONS)
    play.look()
    play.talk.enter("1")
    assert play.worker.sent[1:] == [ForgetRule("bash(git commit)"), SetMode("plan")]


def test_inline_keeps_a_theme_and_says_whose_it_is() -> None:
    play = Play()
    play.talk.enter("/theme ullage-light")
    assert play.worker.sent == [SetSetting("theme", "ullage-light")]
    assert "the theme is the full screen's" in " ".join(play.text.split())


def test_every_mode_has_one_name() -> None:
    assert MODE_NAMES == {"plan": "plan only", "ask": "ask first", "edits": "accept edits", "auto": "auto"}


def test_the_list_of_keys_follows_the_settings_and_the_width() -> None:
    text = listed({"unfold": "ctrl+x"}, 80)
    assert "ctrl+x" in text
    assert "ctrl+o" not in text
    assert max(map(len, listed({}, 39).split("\n"))) <= 39
    play = Play(choices=Choices(keys={"unfold": "ctrl+x"}))
    play.talk.perform(ShowSheet("keys"))
    assert "ctrl+x" in play.text


async def test_a_key_of_the_settings_works_at_the_inline_prompt_and_the_old_one_does_not() -> None:
    done: list[object] = []
    with create_pipe_input() as pipe:
        play = Play()
        play.talk.perform = done.append
        screen = Screen(
            lambda: play.talk, input=pipe, output=DummyOutput(), ascii=False, colours=True,
            keymap={"unfold": "ctrl+x", "mode": "f2"},
        )  # fmt: skip
        running = asyncio.ensure_future(screen.run(play.talk))
        pipe.send_text("\x0f\x18\x1b[Z\x1bOQ\x04")
        async with asyncio.timeout(120):
            while len(done) < 3:  # noqa: ASYNC110 - another task reads the keys
                await asyncio.sleep(0.01)
        screen.leave(0)
        await running
    assert done[:2] == [ToggleFolds(), CycleMode()]
