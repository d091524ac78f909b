"""Public reports about other agents, over HTTP and in real processes: compactions that hang, are stopped or killed."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path

import pytest

from agent.models.stub_server import Received, Step, StubServer
from agent.reading import Reading
from agent.wire import Compact, Interrupt, Progress
from compaction.records import Compacted, CompactionFailed
from tests.agent.cache.provider import MODEL, Provider
from tests.agent.loop.harness import NAME, PATIENCE, Story, summary
from tests.agent.loop.test_loop_processes import User

# The child process is shared by the module, and so is the loop it is attached to.
over_http = pytest.mark.asyncio(loop_scope="module")

SUMMARISER = "<conversation>"
MODELS = [MODEL, "openai/scripted"]
PHASES = ["before", "first", "middle"]


def asked_for_a_summary(provider: Provider) -> list[Received]:
    return [r for r in provider.server.asked if SUMMARISER in r.raw.decode()]


async def told(provider: Provider, root: Path, model: str, *steps: Step) -> Story:
    """A story of four turns, not yet begun; `steps` come first."""
    return provider.story(root, *steps, *[{"text": "word " * 600}] * 4, model=model)


async def four_turns(story: Story) -> None:
    for n in range(4):
        assert (await story.say(f"question {n}")).stop == "done"


async def left(request: Received) -> None:
    """Waits until the client has closed its side."""
    async with asyncio.timeout(PATIENCE):
        await request.left.wait()


@over_http
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("phase", PHASES)
async def test_case_11_a_summariser_that_never_answers_ends_at_its_deadline_and_the_session_stays_usable(
    provider: Provider, tmp_path: Path, phase: str, model: str
) -> None:
    story = await told(provider, tmp_path, model, {"when": SUMMARISER, "text": summary(), "hang": phase})
    story.summary_deadline = 2.0  # on a busy machine, too, the request has left by then
    async with story:
        await four_turns(story)
        before = story.session.view.items
        finished = await story.wish(Compact())
        assert (finished.tag, finished.code, finished.committed) == ("asked.timed_out.no_prior", 1, False)
        assert story.session.view.items == before
        await left(asked_for_a_summary(provider)[0])
        assert (await story.say("still there?")).stop == "done"
    provider.script({"when": SUMMARISER, "text": summary()}, {"text": "Yes."})
    async with story.again(summary_deadline=PATIENCE) as later:
        assert (await later.say("and now?")).stop == "done"
        assert later.answers[-1] == "Yes."
        assert (await later.wish(Compact())).tag == "asked.compacted"


@over_http
@pytest.mark.parametrize("model", MODELS)
async def test_case_11_a_summariser_that_is_silent_for_longer_than_the_settings_allow_times_out(
    provider: Provider, tmp_path: Path, model: str
) -> None:
    story = await told(provider, tmp_path, model)
    async with story:
        await four_turns(story)
    provider.script({"when": SUMMARISER, "text": summary(), "hang": "middle"}, {"text": "Yes."})
    async with story.again(flags={"deadline": "1s"}) as hasty:
        finished = await hasty.wish(Compact())
        assert (finished.tag, finished.code) == ("asked.timed_out.no_prior", 1)
        assert "deadline" in hasty.bodies(CompactionFailed)[0].detail
    async with story.again() as later:
        assert (await later.say("and now?")).stop == "done"


@over_http
async def test_case_11_a_gate_whose_summariser_hangs_inside_a_turn_lets_the_turn_go_on(
    provider: Provider, tmp_path: Path
) -> None:
    story = provider.story(
        tmp_path, {"when": SUMMARISER, "hang": "first"}, context='budget = "8k"', window=40_000,
    )  # fmt: skip
    provider.server.default = {"text": "word " * 700}
    story.summary_deadline = 0.3
    try:
        async with story:
            for n in range(9):
                assert (await story.say(f"question {n}")).stop == "done"
            assert "proactive.timed_out.no_prior" in story.tags
            assert len(story.answers) == 9
    finally:
        provider.server.default = {"text": "Done."}


@over_http
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("phase", PHASES)
async def test_case_49_after_esc_nothing_more_is_read_from_the_provider_of_a_summary(
    provider: Provider, tmp_path: Path, phase: str, model: str
) -> None:
    # The server falls silent: a client that notices its own cancel only at the next byte would wait for ever.
    story = await told(provider, tmp_path, model, {"when": SUMMARISER, "text": summary("x " * 200), "hang": phase})
    async with story:
        await four_turns(story)
        before, asked = story.session.view.items, len(provider.server.asked)
        mark = story.mark()
        story.send(Compact())
        request = await provider.server.wait_for(asked + 1)
        if phase == "middle":
            await story.until(Progress, lambda p: p.tokens > 0, after=mark)
        finished = await story.wish(Interrupt())
        assert (finished.tag, finished.code) == ("asked.interrupted.no_prior", 130)
        await left(request)
        assert len(provider.server.asked) == asked + 1
        assert story.session.view.items == before
        assert story.bodies(Compacted) == []
        assert (await story.say("go on")).stop == "done"
        assert len(provider.server.asked) == asked + 2


@over_http
@pytest.mark.parametrize("model", MODELS)
async def test_case_49_esc_closes_a_summary_that_is_streaming_and_no_further_word_of_it_is_counted(
    provider: Provider, tmp_path: Path, model: str
) -> None:
    drip = {"when": SUMMARISER, "text": summary("x " * 20_000), "chunk": 4, "pause": 0.01}
    story = await told(provider, tmp_path, model, drip)
    async with story:
        await four_turns(story)
        before, asked = story.session.view.items, len(provider.server.asked)
        story.send(Compact())
        await story.until(Progress, lambda p: p.tokens > 0)
        await story.wish(Interrupt())
        ended = story.mark()
        request = provider.server.asked[asked]
        await left(request)
        sent = request.sent
        assert sent < len(summary("x " * 20_000)) // 4
        assert (await story.say("go on")).stop == "done"
        assert request.sent == sent
        after = story.events[story.events.index(ended) :]
        assert [e for e in after if isinstance(e, Progress) and e.tokens] == []
        assert story.session.view.items[: len(before)] == before


# ── in real processes ──


class Same(User):
    """The user of a story in this folder, at a real command line."""

    @property
    def folder(self) -> Path:
        return self.root / "project"

    def at(self, path: Path, *arguments: str, window: int) -> tuple[str, ...]:
        """`arguments` about the session at `path`, with the story's model at this server."""
        model = ("--model", NAME, "--api-base", self.server.base, "--window", str(window), "--mode", "auto")
        where = ("--session", str(path)) if arguments[0] == "exec" else (str(path),)
        return (arguments[0], *where, *arguments[1:], "--json", *model)


async def talked(root: Path, turns: int, words: int, window: int) -> Path:
    """A session of so many turns on disk, with nothing of it in memory. Its log."""
    async with Story(root, ["word " * words] * turns, window=window) as story:
        for n in range(turns):
            await story.say(f"question {n}")
        return story.session.log.path


async def killed(process: asyncio.subprocess.Process, request: Received) -> None:
    """`kill -9`, when the provider has the request; nothing of the program outlives it."""
    process.send_signal(signal.SIGKILL)
    await asyncio.wait_for(process.communicate(), PATIENCE)
    await left(request)


def opens_at_rest(root: Path, path: Path) -> None:
    """What was left is whole, reads without a fault, and nothing in it runs."""
    story = Story(root)
    reading = Reading(story.kit(), story.folder)
    assert reading.verify(path).code == 0
    assert "running" not in str(reading.inspected(path)) + str(reading.listing(False))
    kinds = [type(record.body) for record in reading.records(path)]
    assert Compacted not in kinds and CompactionFailed not in kinds


@pytest.mark.parametrize("phase", ["before", "middle"])
async def test_case_48_killed_in_the_middle_of_a_compaction_it_opens_and_compacts(tmp_path: Path, phase: str) -> None:
    path = await talked(tmp_path, 4, 600, 200_000)
    before = path.read_bytes()
    async with StubServer([{"when": SUMMARISER, "text": summary(), "hang": phase}]) as server:
        user = Same(tmp_path, server)
        process = await user.start(*user.at(path, "compact", window=200_000))
        await killed(process, await asyncio.wait_for(server.wait_for(1), 2 * PATIENCE))
        assert path.read_bytes() == before
        opens_at_rest(tmp_path, path)
        server.steps[:] = [{"when": SUMMARISER, "text": summary()}]
        ran = await user.run(*user.at(path, "compact", window=200_000))
        assert (ran.code, json.loads(ran.out.splitlines()[-1])["tag"]) == (0, "asked.compacted")
        assert path.read_bytes().startswith(before)


async def test_case_48_killed_while_a_gate_compacts_inside_a_turn_it_opens_and_goes_on(tmp_path: Path) -> None:
    # Four turns of 1,200 tokens stand below the trigger of a window of 8,000; one more question is above it.
    path = await talked(tmp_path, 4, 1_200, 32_000)
    before = path.read_bytes()
    async with StubServer([{"when": SUMMARISER, "text": summary(), "hang": "middle"}]) as server:
        user = Same(tmp_path, server)
        process = await user.start(*user.at(path, "exec", "and now?", window=8_000))
        request = await asyncio.wait_for(server.wait_for(1), 2 * PATIENCE)
        assert SUMMARISER in request.raw.decode()
        await killed(process, request)
        assert path.read_bytes().startswith(before)
        opens_at_rest(tmp_path, path)
        server.steps[:] = [{"when": SUMMARISER, "text": summary()}, {"text": "Yes."}]
        again = await user.run(*user.at(path, "exec", "once more", window=8_000))
        assert (again.code, again.of("idle")[-1]["stop"]) == (0, "done")
        assert [e["tag"] for e in again.of("gate")] == ["pre-flight.compacted"]
        own = [m["content"] for m in server.asked[-1].messages if m["role"] == "user"]
        assert own[-2:] == ["and now?", "once more"]
