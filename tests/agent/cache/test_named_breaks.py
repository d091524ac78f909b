"""Every way the cached prefix can break, done on purpose through the real loop: the timeline names each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from agent.forecast import replies
from agent.model import Request
from agent.models.scripted import Scripted
from agent.reading import Reading, RequestRow
from agent.wire import Command, Compact, Pin, Prune, Reload, Rewind, SetMode, SetModel, Shell, Undo
from compaction import cache
from compaction.cache import UNNAMED
from compaction.records import Gate, Pruned, Reloaded, Started, ToolReturned, UserSaid
from compaction.view import View
from tests.agent.loop.harness import Story, calls, is_prefix, output, scripted, summary

WORKED = [calls(output(3_000, n), text=f"step {n}") for n in range(6)]


def rows(story: Story) -> list[RequestRow]:
    """The timeline, from the log alone."""
    return list(Reading(story.kit(), story.folder).timeline(story.session.log.path))


def last_break(story: Story) -> str | None:
    """The cause said for the newest request; the meter must say the same."""
    found = rows(story)[-1].breaks
    assert story.meter.cache.broken == found
    return found


def results(story: Story) -> list[int]:
    return [r.id for r in story.records if isinstance(r.body, ToolReturned)]


async def worked(story: Story) -> None:
    """A turn with six results and another one."""
    await story.say("go")
    await story.say("go on")
    assert [row.breaks for row in rows(story)] == [None] * len(rows(story))


async def broken_by(story: Story, *commands: Command) -> str | None:
    """What the next request's break is called after these."""
    for command in commands:
        finished = await story.wish(command)
        assert finished.committed, finished.text
    await story.say("and now?")
    assert not is_prefix(story.turns[-2], story.turns[-1])
    return last_break(story)


async def test_pruned_is_named_with_its_record(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        victim = results(story)[2]
        assert await broken_by(story, Prune((victim,), force=True)) == f"pruned at #{victim}"
        await story.say("unbroken again")
        assert last_break(story) is None


async def test_compacted_and_undone_are_named(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED, [summary()])) as story:
        await worked(story)
        assert await broken_by(story, Compact()) == "compacted"
        assert await broken_by(story, Undo()) == "undone"
        victim = results(story)[1]
        assert await broken_by(story, Prune((victim,), force=True)) == f"pruned at #{victim}"
        assert await broken_by(story, Undo()) == "undone"


async def test_a_pin_that_brings_back_what_was_pruned_is_named(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        victim = results(story)[2]
        await broken_by(story, Prune((victim,), force=True))
        assert await broken_by(story, Pin(victim)) == "pinned"


async def test_a_rewind_is_named(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        second = [r.id for r in story.records if isinstance(r.body, UserSaid)][1]
        assert await broken_by(story, Rewind(second)) == "rewound"


async def test_edited_instructions_are_named_once_they_are_taken_in(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        (story.folder / "AGENTS.md").write_text("Be kind.\n")
        await story.say("not taken in yet")
        assert last_break(story) is None
        assert await broken_by(story, Reload()) == "reloaded"


async def test_another_order_of_tools_is_named(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        view = story.session.view
        await story.session.append(Reloaded(view.system, view.instructions, tuple(reversed(view.tools))))
        assert await broken_by(story) == "tools changed"


async def test_another_model_is_named_and_nothing_is_expected_of_its_cache(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED), more='[models."openai/other"]\nwindow = 100_000\n') as story:
        await worked(story)
        await story.wish(SetModel("openai/other"))
        await story.say("and now?")
        assert last_break(story) == "model switched"
        assert rows(story)[-1].predicted == 0


async def test_another_effort_is_named_when_a_session_goes_on_with_it(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
    text = story.places.settings.read_text()
    story.places.settings.write_text(f'effort = "high"\n{text}')
    async with story.again() as later:
        await later.say("think hard")
        assert last_break(later) == "effort changed"
        assert later.turns[-1].effort == "high"
        await later.say("again")
        assert last_break(later) is None
    async with later.again() as last:
        await last.say("the same effort is no break")
        assert last_break(last) is None


async def test_a_late_spill_is_named(tmp_path: Path) -> None:
    steps = [calls(output(30_000, n), text=f"step {n}") for n in range(3)]
    async with Story(tmp_path, scripted(steps)) as story:
        await story.say("go")
        victim = results(story)[1]
        await story.session.append(Pruned((victim,), "spilled", Gate.PROACTIVE, 0, 0))
        assert await broken_by(story) == f"shortened at #{victim}"


async def test_what_breaks_nothing_has_no_name(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        await story.do(Shell("echo hi"))
        story.send(SetMode("plan"))
        await story.wish(Pin(results(story)[-1]))
        story.clock.now += 30
        await story.say("and now?")
        assert is_prefix(story.turns[-2], story.turns[-1])
        assert last_break(story) is None
    async with story.again() as later:
        await later.say("in a new process")
        assert is_prefix(later.turns[-2], later.turns[-1])
        assert last_break(later) is None


def unnamed(requests: Sequence[Request], told: Sequence[RequestRow]) -> list[int]:
    """The hunt: numbers of requests whose bytes do not continue the one before, though no cause is told.

    One that is itself the beginning of the one before (rewound, and the same said again) is read from the cache whole.
    """
    found: list[int] = []
    for n, (one, other) in enumerate(pairwise(requests), 1):
        if told[n].breaks in (None, UNNAMED) and not (is_prefix(one, other) or is_prefix(other, one)):
            found.append(n)
    return found


@pytest.mark.parametrize(("seed", "own"), [(0, ""), (1, ""), (2, ""), (3, ""), (4, "alternate = true\n")])
async def test_no_break_of_a_random_session_is_without_a_name(tmp_path: Path, seed: int, own: str) -> None:
    chance = Random(seed)
    steps: list[Scripted] = []
    for n in range(40):
        steps += [calls(output(chance.randint(10, 4_000), n))] * chance.randint(0, 2) + [f"answer {n}"]
    other = '[models."openai/other"]\nwindow = 100_000\n'
    story = Story(tmp_path, scripted(steps, [summary()] * 40), more=own + other)
    for _ in range(3):
        async with story:
            for _ in range(6):
                await story.say(f"go {chance.randint(1, 9)}")
                users = [r.id for r in story.session.view.records if isinstance(r.body, UserSaid)]
                (story.folder / "AGENTS.md").write_text(f"Rule {chance.random()}.\n")
                model = chance.choice(["openai/other", "openai/scripted"])
                wishes: list[Command] = [
                    Prune(every=True, force=True), Compact(), Undo(), Pin(chance.choice(users)), Reload(),
                    SetModel(model), Rewind(chance.choice(users[1:] or users)),
                ]  # fmt: skip
                await story.wish(chance.choice(wishes))
                if chance.random() < 0.3:
                    await story.do(Shell("echo hi"))
                story.clock.now += chance.choice([1, 400])
            found = rows(story)
            assert unnamed(story.turns, found) == []
            assert len({row.breaks for row in found}) > 1
        story = story.again()


async def test_a_byte_of_the_system_prompt_that_changes_by_itself_is_found(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        await story.say("once more")
    path = story.session.log.path
    assert unnamed(story.turns, rows(story)) == []
    # What a prompt with the time of day in it would do: the next process sends another one.
    first, rest = path.read_text().split("\n", 1)
    started = json.loads(first)
    started["system"] += f"\nIt is {story.clock.now:.0f}."
    path.write_text(json.dumps(started, separators=(",", ":")) + "\n" + rest)
    async with story.again() as later:
        await later.say("and now?")
        assert unnamed(later.turns, rows(later)) == [len(later.turns) - 1]
        # The report tells it too: all was expected to be read, and nearly nothing was.
        newest = rows(later)[-1]
        assert newest.cache_read < newest.predicted // 2


async def test_a_ladder_with_another_prompt_than_its_records_explain_is_unnamed(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted(WORKED)) as story:
        await worked(story)
        log = story.session.log
        before = story.session.ladders.sent(log.records, next(replies(log.records)))
        started = log.records[0]
        assert isinstance(started.body, Started)
        volatile = replace(started, body=replace(started.body, system=f"{started.body.system} 12:01"))
        after = cache.ladder(View((volatile, *log.view.records[1:])), story.session.ruler)
        assert cache.cause(before, after, log.view.records) == cache.Break(cache.SYSTEM, UNNAMED)
