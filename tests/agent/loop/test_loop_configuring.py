"""Settings and permissions of an open session: shown with where they come from, changed in the user's own file."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import settings
from agent.session import Kit
from agent.wire import (
    Asking,
    ForgetRule,
    Permissions,
    SetSetting,
    SettingsShown,
    ShowPermissions,
    ShowSettings,
    Submit,
    Told,
)
from compaction.records import ToolReturned
from tests.agent.loop.harness import Story, call, calls


class Reloading(Story):
    """A program that reads its settings again, as the real one does."""

    def kit(self) -> Kit:
        kit = super().kit()
        return replace(kit, load=lambda: settings.load(self.folder, self.places, {}, self.flags))


async def shown(story: Story) -> dict[str, Any]:
    event = await story.until(SettingsShown, sent=ShowSettings())
    return {row.key: row for row in event.rows}


async def rules(story: Story) -> list[tuple[str, str, str]]:
    event = await story.until(Permissions, sent=ShowPermissions())
    return [(row.action, row.rule, row.origin) for row in event.rules]


async def test_every_key_is_shown_with_its_value_and_where_it_comes_from(tmp_path: Path) -> None:
    async with Reloading(tmp_path, flags={"max_steps": 7}) as story:
        rows = await shown(story)
        assert (rows["mode"].value, rows["mode"].own) == ("auto", True)
        assert (rows["max_steps"].value, rows["max_steps"].origin, rows["max_steps"].own) == (
            "7",
            "flag --max-steps",
            False,
        )
        assert (rows["context.automatic"].value, rows["context.automatic"].origin) == ("true", "default")
        assert rows["sandbox.use"].when == "from the next session on"
        assert rows["deadline"].when == "at once"


async def test_a_change_is_written_with_everything_else_left_and_counts_at_once(tmp_path: Path) -> None:
    async with Reloading(tmp_path) as story:
        story.places.settings.write_text("# mine\n" + story.places.settings.read_text())
        done = await story.wish(SetSetting("context.budget", "40k"))
        assert done.committed
        assert done.text.endswith("it counts at once")
        assert story.meter.budget == 40_000
        text = story.places.settings.read_text()
        assert text.startswith("# mine\n")
        assert 'budget = "40k"' in text
        assert (await shown(story))["context.budget"].value == "40k"
        back = await story.wish(SetSetting("context.budget", None))
        assert "is back at its default" in back.text
        assert "40k" not in story.places.settings.read_text()
        assert story.meter.budget != 40_000


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("context.budgett", "4k", "is no setting; did you mean context.budget?"),
        ("max_steps", "none", "max_steps must be a whole number; it is 'none'"),
        ("mode", "fast", "mode must be one of plan, ask, edits, auto; it is 'fast'"),
        ("window", "4k", "window is not for a file"),
        ("keys", "x", "keys is a table; write keys.ID"),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, key: str, value: str, says: str
) -> None:
    async with Reloading(tmp_path) as story:
        before = story.places.settings.read_text()
        done = await story.wish(SetSetting(key, value))
        assert (done.committed, done.code) == (False, 2)
        assert says in done.text
        assert story.places.settings.read_text() == before


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("max_steps", "60", "max_steps = 60"),
        ("notify", "off", "notify = false"),
        ("permissions.deny", "bash(rm), read(.env)", 'deny = ["bash(rm)", "read(.env)"]'),
        ("keys.unfold", "ctrl+x", 'unfold = "ctrl+x"'),
        ('models."openai/x.1".prices.input', "2.5", "input = 2.5"),
        ("models.gpt-4o.budget", "60%", 'budget = "60%"'),
    ],
)
async def test_each_kind_of_value_is_written_as_the_file_wants_it(
    tmp_path: Path, key: str, value: str, line: str
) -> None:
    async with Reloading(tmp_path) as story:
        done = await story.wish(SetSetting(key, value))
        assert done.committed, done.text
        assert line in story.places.settings.read_text()
        settings.load(story.folder, story.places, {})


async def test_a_stronger_flag_is_named(tmp_path: Path) -> None:
    async with Reloading(tmp_path, flags={"max_steps": 7}) as story:
        done = await story.wish(SetSetting("max_steps", "60"))
        assert done.text.endswith("but flag --max-steps is stronger")


async def test_a_rule_s_origin_is_shown_and_a_remembered_one_can_be_taken_back(tmp_path: Path) -> None:
    more = '[permissions]\nallow = ["bash(true)"]\ndeny = ["read(.env)"]'
    steps = [calls(call("bash", command="touch a")), "One.", calls(call("bash", command="touch a")), "Two."]
    async with Reloading(tmp_path, steps, mode="ask", more=more) as story:
        saying = asyncio.ensure_future(story.say("go"))
        await story.until(Asking)
        await story.answer("project")
        await saying
        first, second, (action, rule, origin) = await rules(story)
        assert (first, second) == (("allow", "bash(true)", "settings"), ("deny", "read(.env)", "settings"))
        assert (action, origin) == ("allow", "project")
        asked = len(story.said(Asking))
        after = await story.until(Permissions, lambda event: len(event.rules) == 2, sent=ForgetRule(rule))
        assert [row.origin for row in after.rules] == ["settings", "settings"]
        story.send(Submit("again"))
        await story.until(Asking, lambda event: len(story.said(Asking)) > asked)
        await story.answer("refuse")
        refused = await story.until(
            Told, lambda event: "stands in the settings" in event.text, sent=ForgetRule("bash(true)")
        )
        assert refused.level == "warning"


async def test_a_rule_written_as_a_setting_counts_at_once(tmp_path: Path) -> None:
    steps = [calls(call("bash", command="touch a")), "It is denied."]
    async with Reloading(tmp_path, steps) as story:
        await story.wish(SetSetting("permissions.deny", "bash(touch)"))
        await story.say("go")
        assert "refused by the rule" in story.bodies(ToolReturned)[0].text
        await story.wish(SetSetting("permissions.deny", None))
        assert await rules(story) == []


async def test_files_that_hooks_run_are_asked_about_after_a_rule_was_changed_too(tmp_path: Path) -> None:
    more = '[[hooks]]\nevent = "turn_end"\ncommand = "sh check.sh"'
    write = call("write", path="check.sh", content="rm -rf x")
    steps = [calls(call("read", path="check.sh")), calls(write), "Refused."]
    story = Reloading(tmp_path, steps, mode="edits", more=more)
    (story.folder / "check.sh").write_text("true\n")
    async with story:
        await story.wish(SetSetting("permissions.ask", "bash(rm)"))
        saying = asyncio.ensure_future(story.say("go"))
        assert "check.sh" in (await story.until(Asking)).why
        await story.answer("refuse")
        await saying
        assert (story.folder / "check.sh").read_text() == "true\n"
