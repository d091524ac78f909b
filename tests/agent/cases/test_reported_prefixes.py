"""Public reports about other agents: what must not change the bytes that were already sent."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from agent.model import Request
from agent.models.scripted import Scripted
from agent.models.stub_server import Received
from agent.wire import Compact, Metered, Prune, SetBudget, Undo
from compaction.records import Usage
from tests.agent.cache.provider import MODEL, Provider
from tests.agent.loop.harness import Story, call, calls, is_prefix, reads, scripted, spoken, summary
from tui.plain import tokens

over_http = pytest.mark.asyncio(loop_scope="module")


def unbroken(requests: Sequence[Request], count: int) -> None:
    """So many requests went out, and each continues the one before byte for byte."""
    assert len(requests) == count
    for before, after in pairwise(requests):
        assert is_prefix(before, after)


def sent(received: Received) -> tuple[bytes, bytes, bytes]:
    """What a provider's cache goes by, as it came over the wire: tools, system and messages, without closing brackets.

    Cache marks move on by design and are taken out.
    """
    body = json.loads(received.raw, object_pairs_hook=dict)

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items() if k != "cache_control"}
        return [plain(v) for v in value] if isinstance(value, list) else value

    parts = (json.dumps(plain(body.get(name))).encode() for name in ("tools", "system", "messages"))
    tools, system, messages = parts
    return tools, system, messages[:-1]


def unbroken_on_the_wire(received: Sequence[Received], count: int) -> None:
    assert len(received) == count
    for before, after in pairwise(map(sent, received)):
        assert before[:2] == after[:2]
        assert after[2].startswith(before[2])


# ── 32: a file changes ──


def rewritten(folder: Path) -> None:
    (folder / "read.txt").write_text("quite another text\n" * 9)


def removed(folder: Path) -> None:
    (folder / "read.txt").unlink()


def new_rules(folder: Path) -> None:
    (folder / "AGENTS.md").write_text("Be long.")


def no_rules(folder: Path) -> None:
    (folder / "AGENTS.md").unlink()


def nested_rules(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "AGENTS.md").write_text("Nobody went here.")


def a_commit(folder: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["checkout", "-qb", "other"]):
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)


def many_files(folder: Path) -> None:
    for n in range(50):
        (folder / f"new-{n}.py").write_text("x = 1\n")


CHANGES = [rewritten, removed, new_rules, no_rules, nested_rules, a_commit, many_files]


def project(root: Path) -> Path:
    folder = root / "project"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Be brief.")
    (folder / "read.txt").write_text("the text\n" * 3)
    return folder


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("resumed", [False, True])
async def test_case_32_a_file_that_changes_between_two_turns_changes_no_byte_that_was_sent(
    tmp_path: Path, change: Callable[[Path], None], resumed: bool
) -> None:
    folder = project(tmp_path)
    replies: list[Scripted] = [calls(call("read", path="read.txt")), "one", "two", "three"]
    model = scripted(replies)
    story = Story(tmp_path, model)
    async with story:
        await story.say("look at @read.txt")
        if not resumed:
            change(folder)
            await story.say("and now?")
    if resumed:
        change(folder)
    async with story.again() as later:
        await later.say("and at last?")
    unbroken(model.requests, 3 if resumed else 4)
    assert "Be brief." in spoken(model.requests[-1]) and "the text" in spoken(model.requests[-1])


# ── 33: a new process ──


@over_http
@pytest.mark.parametrize("model", [MODEL, "openai/scripted"])
async def test_case_33_the_request_after_a_resume_continues_the_last_one_byte_for_byte_on_the_wire(
    provider: Provider, tmp_path: Path, model: str
) -> None:
    calling = {"calls": [{"name": "bash", "arguments": {"command": f"echo {n}"}} for n in range(3)]}
    story = provider.story(tmp_path, calling, {"text": "one"}, {"text": "two"}, calling, {"text": "three"}, model=model)
    async with story:
        await story.say("first")
    async with story.again() as second:
        await second.say("second")
    async with second.again() as third:
        third.clock.now += 86_400
        await third.say("third")
    unbroken_on_the_wire(provider.server.asked, 5)


async def test_case_33_after_a_compaction_and_a_prune_a_resume_sends_what_the_process_before_would_have(
    tmp_path: Path,
) -> None:
    model = scripted([*reads(8), "one", "two", "three"], [summary()])
    story = Story(tmp_path, model)
    async with story:
        await story.say("go")
        assert (await story.wish(Prune(every=True))).code in (0, 4)
        assert (await story.wish(Compact())).committed
        await story.say("and now?")
    async with story.again() as later:
        await later.say("and at last?")
    unbroken(model.requests[-2:], 2)


# ── 35: the meter is the user's, not the model's ──


async def test_case_35_nothing_of_the_meter_is_in_any_request(tmp_path: Path) -> None:
    model = scripted([*reads(8, 9_000), "one", "two", "three", "four"], [summary()] * 3)
    async with Story(tmp_path, model, window=64_000, budget="30k") as story:
        await story.say("look at everything")
        await story.say("and now?")
        assert (await story.wish(Compact())).committed
        await story.say("go on")
        await story.wish(Undo())
        await story.wish(SetBudget("25k"))
        await story.say("and at last?")
        meters = [e.meter for e in story.said(Metered)]
        numbers = {n for m in meters for n in (m.used, m.budget, m.trigger, m.landing, m.limit, m.window) if n}
        spelt = {s for n in numbers if n >= 1_000 for s in (str(n), f"{n:,}", tokens(n), f"{n:_}")}
        assert len(spelt) > 20
        for request in story.requests:
            text = spoken(request) + str(request.tools)
            assert [s for s in spelt if s in text] == []
            assert [word for word in ("ctx ", "k budget", "% of", "window is", "trigger") if word in text] == []


# ── 36: the clock ──


@pytest.mark.parametrize("seconds", [60, 3_600, 86_400, 40 * 86_400, -60])
async def test_case_36_a_clock_that_moves_between_turns_and_over_a_resume_changes_no_byte(
    tmp_path: Path, seconds: int
) -> None:
    project(tmp_path)
    model = scripted([calls(call("bash", command="true")), "one", "two", "three", "four"])
    story = Story(tmp_path, model)
    async with story:
        await story.say("first")
        story.clock.now += seconds
        await story.say("second")
    later = story.again()
    later.clock.now += seconds
    async with later:
        await later.say("third")
        later.clock.now += seconds
        await later.say("fourth")
    unbroken(model.requests, 5)


@over_http
async def test_case_36_a_clock_that_moves_changes_nothing_a_provider_keeps(provider: Provider, tmp_path: Path) -> None:
    story = provider.story(tmp_path, *[{"text": f"answer {n}"} for n in range(4)])
    async with story:
        await story.say("first")
        story.clock.now += 60
        await story.say("second")
    later = story.again()
    later.clock.now += 60
    async with later:
        await later.say("third")
        reported = [u for b in later.records if (u := getattr(b.body, "usage", None)) is not None]
    unbroken_on_the_wire(provider.server.asked, 3)
    assert [u.cache_read for u in reported[1:]] == [u.cache_read + u.cache_write for u in reported[:-1]]
    assert all(isinstance(u, Usage) for u in reported)
