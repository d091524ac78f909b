"""Jobs in the life of a session: started by a call, told to people, told to the model once, gone with the session."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from agent.models.stub_server import StubServer
from agent.wire import InspectJobs, Jobs, Open, Opened, StopJob, Told
from compaction.records import Noted, ToolReturned, UserSaid
from tests.agent.loop.harness import Story, call, calls, is_prefix, last_text, spoken
from tests.agent.loop.test_loop_processes import User

WAITS = "until test -e go; do sleep 0.02; done; echo over"


def ended(event: Told) -> bool:
    return event.text.startswith("Job 1 ended after ")


async def test_a_job_that_ends_while_nothing_runs_is_told_to_people_and_to_the_model_at_its_next_turn(
    tmp_path: Path,
) -> None:
    replies = [calls(call("bash", command=WAITS, background=True)), "It runs.", "It is over."]
    async with Story(tmp_path, replies) as story:
        await story.say("start it")
        assert "[job 1 runs for " in story.bodies(ToolReturned)[0].text
        assert [row.runs for row in story.said(Jobs)[-1].rows] == [True]
        (story.folder / "go").touch()
        await story.until(Told, ended)
        assert [row.runs for row in story.said(Jobs)[-1].rows] == [False]
        assert not story.bodies(Noted)
        await story.say("and now?")
        notice = story.bodies(Noted)[0]
        assert notice.to_model
        assert notice.text.startswith("[job 1 ended after ")
        assert "exit status 0" in notice.text
        assert is_prefix(story.turns[1], story.turns[2])
        assert spoken(story.turns[2]).count("[job 1 ended after") == 1
        assert "and now?" in last_text(story.turns[2])
        await story.say("once more")
        assert len(story.bodies(Noted)) == 1


async def test_a_job_that_ends_inside_a_turn_is_told_to_the_model_at_the_step_s_end(tmp_path: Path) -> None:
    replies = [
        calls(call("bash", command=WAITS, background=True)),
        calls(call("bash", command="touch go; until test -e heard; do sleep 0.02; done")),
        "Over.",
    ]
    async with Story(tmp_path, replies) as story:
        saying = asyncio.ensure_future(story.say("start it and go on"))
        await story.until(Told, ended)
        (story.folder / "heard").touch()
        await saying
        assert "[job 1 ended after" in last_text(story.turns[2])


async def test_what_the_model_reads_itself_needs_no_notice(tmp_path: Path) -> None:
    replies = [
        calls(call("bash", command="echo hello; exit 3", background=True)),
        calls(call("bash", job=1, timeout=60)),
        "It failed.",
        "Yes.",
    ]
    async with Story(tmp_path, replies) as story:
        await story.say("start it")
        await story.say("so?")
        assert story.bodies(Noted) == []
        assert any("hello" in body.text for body in story.bodies(ToolReturned))


async def test_the_user_lists_and_stops_jobs_whatever_runs(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="echo up; exec sleep 1000", background=True)), "It runs.", "I see."]
    async with Story(tmp_path, replies) as story:
        await story.say("start it")
        listed = await story.until(Jobs, lambda event: event.asked, sent=InspectJobs())
        assert [(row.number, row.runs, row.command) for row in listed.rows] == [(1, True, "echo up; exec sleep 1000")]
        told = await story.until(Told, lambda event: "stopped by the user after" in event.text, sent=StopJob(1))
        assert told.text.startswith("Job 1 stopped by the user")
        nothing = await story.until(Told, lambda event: event.text == "Job 1 does not run.", sent=StopJob(1))
        assert nothing.level == "warning"
        await story.say("well?")
        assert "stopped by the user" in story.bodies(Noted)[0].text
        records = [type(record.body) for record in story.records]
        assert records.index(Noted) < len(records) - 1 - records[::-1].index(UserSaid)


async def test_another_session_ends_the_jobs_of_the_one_before_and_says_so(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="exec sleep 1000", background=True)), "It runs."]
    async with Story(tmp_path, replies) as story:
        await story.say("start it")
        first = story.session
        await story.do(Open())
        assert not first.workspace.jobs.running()
        assert any("1 job in the background ended" in notice for notice in story.said(Opened)[-1].notices)


@pytest.mark.parametrize("sandbox", ["auto", "off"])
async def test_jobs_and_commands_die_with_a_program_that_is_killed_without_a_word(tmp_path: Path, sandbox: str) -> None:
    (tmp_path / "config" / "ullage").mkdir(parents=True)
    (tmp_path / "config" / "ullage" / "config.toml").write_text(f'[sandbox]\nuse = "{sandbox}"\n')
    job = {"command": f"touch job; sleep 1000; : {tmp_path}", "background": True}
    command = {"command": f"touch command; sleep 1000; : {tmp_path}"}
    steps = [{"calls": [{"name": "bash", "arguments": arguments}]} for arguments in (job, command)]
    async with StubServer([*steps, {"text": "done"}]) as server:
        user = User(tmp_path, server)
        process = await user.start(*user.asking("go"))
        begun = [user.folder / "job", user.folder / "command"]
        while not all(path.exists() for path in begun):  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.05)
        # In a sandbox a command does not know its number: it is found by what it was called with.
        assert len(_called_with(str(tmp_path))) >= 2
        process.send_signal(signal.SIGKILL)
        await process.communicate()
        while _called_with(str(tmp_path)):  # noqa: ASYNC110 - another process ends them
            await asyncio.sleep(0.05)


def _called_with(text: str) -> list[int]:
    """Processes with `sleep 1000` and this text in one argument; zombies have none."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if any("sleep 1000" in word and text in word for word in entry.read_text("utf-8", "replace").split("\0")):
                found.append(int(entry.parent.name))
    return found
