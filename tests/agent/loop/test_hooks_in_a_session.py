"""Hooks at every event, with every decision, and what a hostile one can do: nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from agent.hooks.process import FLOOD, run_hook, shell
from agent.models.scripted import Say
from agent.sandbox import Sandbox
from agent.tools.processes import Guard
from agent.trust import Trust
from agent.wire import (
    Asking,
    Compact,
    Idle,
    Interrupt,
    Open,
    Progress,
    Proposed,
    Returned,
    SetTrust,
    Sheet,
    ShowHooks,
    Steer,
    Submit,
    ToolRunning,
)
from compaction.records import (
    Compacted,
    CompactionFailed,
    Noted,
    Outcome,
    ToolReturned,
    UserSaid,
)
from tests.agent.loop.harness import (
    PATIENCE,
    Story,
    call,
    calls,
    is_prefix,
    last_text,
    pairs_are_valid,
    scripted,
    spoken,
    summary,
)  # fmt: skip


def hook(event: str, command: str, match: str = "", timeout: str = "20s") -> str:
    matched = f"match = {json.dumps(match)}\n" if match else ""
    return f'[[hooks]]\nevent = "{event}"\ncommand = {json.dumps(command)}\n{matched}timeout = "{timeout}"\n'


def says(**said: Any) -> str:
    """A command that prints an answer."""
    return f"printf %s {shlex.quote(json.dumps(said))}"


def results(story: Story) -> list[ToolReturned]:
    return story.bodies(ToolReturned)


def notes(story: Story) -> list[str]:
    return [b.text for b in story.bodies(Noted) if b.topic == "hook" and b.to_model]


KEEP = "cat > given.json"


def given(story: Story) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((story.folder / "given.json").read_text())
    return found


# ── before_tool ──


async def test_a_hook_reads_the_call_and_lets_it_go_on(tmp_path: Path) -> None:
    made = scripted([calls(call("bash", command="echo hi")), "ok"])
    async with Story(tmp_path, made, more=hook("before_tool", KEEP, "bash(echo)")) as story:
        await story.say("go")
        (result,) = results(story)
        assert not result.failed and result.text == "hi"
        found = given(story)
        assert {k: found[k] for k in ("event", "tool", "title", "arguments", "mode", "folder", "path")} == {
            "event": "before_tool", "tool": "bash", "title": "bash echo hi", "arguments": {"command": "echo hi"},
            "mode": "auto", "folder": str(story.folder), "path": str(story.session.log.path),
        }  # fmt: skip


@pytest.mark.parametrize("command", ["echo not today >&2; exit 2", says(decision="block", reason="not today")])
async def test_a_block_keeps_the_call_from_running_and_the_model_reads_why(tmp_path: Path, command: str) -> None:
    made = scripted([calls(call("write", path="a", content="x")), "ok"])
    async with Story(tmp_path, made, more=hook("before_tool", command, "write")) as story:
        await story.say("go")
        assert results(story)[0].failed and not (story.folder / "a").exists()
        assert "objects: not today" in last_text(story.requests[1])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 3", "exit status 3"),
        ("kill -9 $$", "signal 9"),
        ("no-such-program-anywhere", "exit status 127"),
        ("sleep 60", "longer than 0.3 seconds"),
        ("echo '{\"decision\": '", "begins like a JSON object"),
        ('echo \'{"decision": "deny"}\'', "not known"),
        ("head -c 300000 /dev/zero | tr '\\0' '{'", "longer than 256 KiB"),
        ("yes '{'", "printed more than 8 MiB"),
    ],
)
async def test_before_a_tool_no_answer_is_a_no(tmp_path: Path, command: str, why: str) -> None:
    made = scripted([calls(call("write", path="a", content="x")), "ok"])
    timeout = "0.3s" if "longer than 0.3" in why else "20s"
    async with Story(tmp_path, made, more=hook("before_tool", command, "write", timeout)) as story:
        assert (await story.say("go")).stop == "done"
        (result,) = results(story)
        assert result.failed and not (story.folder / "a").exists()
        assert "gave no answer" in result.text and why in story.told


async def test_changed_arguments_run_and_everybody_is_told(tmp_path: Path) -> None:
    made = scripted([calls(call("bash", command="echo one")), "ok"])
    more = hook("before_tool", says(arguments={"command": "echo two"}), "bash")
    async with Story(tmp_path, made, more=more) as story:
        await story.say("go")
        (result,) = results(story)
        assert result.title == "bash echo two" and result.text.startswith("two\n")
        assert "changed the arguments to" in last_text(story.requests[1])
        assert "changed the arguments of bash" in story.told


async def test_changed_arguments_are_asked_about_and_judged_like_any_other(tmp_path: Path) -> None:
    made = scripted([calls(call("read", path="a.txt")), calls(call("bash", command="true")), "ok"])
    more = hook("before_tool", says(arguments={"path": "/etc/hostname"}), "read")
    more += hook("before_tool", says(arguments={"command": "touch made"}), "bash")
    async with Story(tmp_path, made, mode="ask", more=more) as story:
        (story.folder / "a.txt").write_text("a")
        await story.until(Asking, sent=Submit("go"))
        assert "/etc/hostname" in story.said(Asking)[0].why + story.said(Asking)[0].title
        await story.answer("refuse")
        await story.until(Asking, lambda asking: asking.command == "touch made")
        await story.answer("refuse")
        await story.until(Idle, lambda idle: len(story.answers) == 3)
        assert all(r.failed for r in results(story)) and not (story.folder / "made").exists()


async def test_a_hook_cannot_allow_what_rules_deny_nor_answer_for_the_user(tmp_path: Path) -> None:
    made = scripted([calls(call("bash", command="touch a")), calls(call("bash", command="touch b")), "ok"])
    more = '[permissions]\ndeny = ["bash(touch b)"]\n'
    more += hook("before_tool", f"echo asked >> asked; {says(decision='allow', permission='allow')}")
    async with Story(tmp_path, made, mode="ask", interactive=False, more=more) as story:
        await story.say("go")
        assert all(r.failed for r in results(story))
        assert "needs the user's permission" in results(story)[0].text and "rule deny" in results(story)[1].text
        assert not (story.folder / "a").exists() and not (story.folder / "b").exists()
        assert (story.folder / "asked").read_text() == "asked\n"  # what is denied is asked of nobody


async def test_the_first_block_wins_and_the_next_hook_sees_changed_arguments(tmp_path: Path) -> None:
    more = hook("before_tool", says(arguments={"command": "echo two"}), "bash(echo one)")
    more += hook("before_tool", KEEP, "bash(echo two)")
    more += hook("before_tool", "echo no >&2; exit 2", "bash(echo two)")
    more += hook("before_tool", "touch never; " + says(decision="allow"))
    async with Story(tmp_path, scripted([calls(call("bash", command="echo one")), "ok"]), more=more) as story:
        await story.say("go")
        assert given(story)["arguments"] == {"command": "echo two"}
        assert "objects: no" in results(story)[0].text and not (story.folder / "never").exists()


async def test_what_a_later_hook_makes_of_a_call_is_shown_to_the_guards_before_it(tmp_path: Path) -> None:
    more = hook("before_tool", "echo seen >> seen; echo guarded >&2; exit 2", "bash(touch)")
    more += hook("before_tool", "echo seen >> any; true")
    more += hook("before_tool", says(arguments={"command": "touch a"}), "bash(echo)")
    async with Story(tmp_path, scripted([calls(call("bash", command="echo hi")), "ok"]), more=more) as story:
        await story.say("go")
        assert "objects: guarded" in results(story)[0].text and not (story.folder / "a").exists()
        assert (story.folder / "seen").read_text() == "seen\n" == (story.folder / "any").read_text()


async def test_hooks_that_undo_each_others_arguments_come_to_an_end(tmp_path: Path) -> None:
    more = hook("before_tool", says(arguments={"command": "echo two"}), "bash(echo one)")
    more += hook("before_tool", says(arguments={"command": "echo one"}), "bash(echo two)")
    async with Story(tmp_path, scripted([calls(call("bash", command="echo one")), "ok"]), more=more) as story:
        await story.say("go")
        assert results(story)[0].text.startswith("one\n")


@pytest.mark.parametrize("arguments", [{}, {"command": 7}, {"command": ""}])
async def test_arguments_that_the_tool_does_not_take_run_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    made = scripted([calls(call("bash", command="touch a")), "ok"])
    async with Story(tmp_path, made, more=hook("before_tool", says(arguments=arguments))) as story:
        await story.say("go")
        assert results(story)[0].failed and not (story.folder / "a").exists()


# ── after_tool ──


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (says(context="three warnings"), "three warnings"),
        ("echo tests fail >&2; exit 2", "objects to write a: tests fail"),
    ],
)
async def test_after_a_tool_a_hooks_words_join_at_the_end(tmp_path: Path, command: str, text: str) -> None:
    both = calls(call("write", path="a", content="x"), call("read", path="b"))
    async with Story(tmp_path, scripted([both, "ok"]), more=hook("after_tool", command, "write")) as story:
        (story.folder / "b").write_text("b")
        await story.say("go")
        assert len(notes(story)) == 1 and text in notes(story)[0]
        assert pairs_are_valid(story.requests[1]) and text in last_text(story.requests[1])
        assert is_prefix(story.requests[0], story.requests[1])
        assert not results(story)[0].failed


async def test_the_result_is_given_and_trouble_is_told_while_work_goes_on(tmp_path: Path) -> None:
    made = scripted([calls(call("bash", command="echo out; exit 3")), "ok"])
    more = hook("after_tool", KEEP + "; exit 7")
    async with Story(tmp_path, made, more=more) as story:
        assert (await story.say("go")).stop == "done"
        found = given(story)["result"]
        assert (found["failed"], found["exit_status"]) == (True, 3) and found["text"].startswith("out")
        assert "exit status 7" in story.told and notes(story) == []


# ── prompt, session_start, turn_end ──


async def test_a_blocked_prompt_comes_back_as_the_draft_and_is_in_no_log(tmp_path: Path) -> None:
    more = hook("prompt", "grep -q secret && { echo mind your words >&2; exit 2; }; true")
    async with Story(tmp_path, scripted(["ok"]), more=more) as story:
        ended = await story.say("the secret plan")
        assert (ended.stop, ended.code) == ("refused", 4) and "mind your words" in str(ended.error)
        returned = story.said(Returned)[-1]
        assert (returned.text, returned.code) == ("the secret plan", 4)
        assert story.bodies(UserSaid) == [] and story.requests == []
        assert (await story.say("hello")).stop == "done"


async def test_a_steering_message_is_a_prompt_too(tmp_path: Path) -> None:
    more = hook("prompt", "grep -q secret && { echo no >&2; exit 2; }; true")
    wait = call("bash", command="until test -e go; do sleep 0.02; done")
    async with Story(tmp_path, scripted([calls(wait), "done"]), more=more) as story:
        await story.until(ToolRunning, sent=Submit("work"))
        story.send(Steer("secret"), Steer("fine"))
        (story.folder / "go").write_text("")
        await story.until(Idle, lambda idle: len(story.answers) == 2)
        assert [b.text for b in story.bodies(UserSaid)] == ["work", "fine"]
        assert story.said(Returned)[-1].text == "secret"


async def test_contexts_stand_behind_the_message_and_no_prefix_changes(tmp_path: Path) -> None:
    more = hook("session_start", says(context="branch main"))
    more += hook("prompt", 'echo x >> count; printf \'{"context": "prompt %s"}\' $(wc -l < count)')
    async with Story(tmp_path, scripted(["a", "b"]), more=more) as story:
        await story.say("one")
        await story.say("two")
        kinds = [type(r.body).__name__ for r in story.records[1:]]
        assert kinds == ["UserSaid", "Noted", "Noted", "AssistantSaid", "UserSaid", "Noted", "AssistantSaid"]
        assert ["branch main" in notes(story)[0], "prompt 1" in notes(story)[1], "prompt 2" in notes(story)[2]] == [
            True
        ] * 3
        assert is_prefix(*story.requests)
    async with story.again(scripted(["c"])) as later:
        await later.say("three")
        assert "branch main" in notes(later)[3]
        assert is_prefix(story.requests[-1], later.requests[0])


async def test_the_cached_prefix_is_the_same_with_and_without_hooks_that_add_context(tmp_path: Path) -> None:
    async with Story(tmp_path / "a", scripted(["ok"])) as plain:
        await plain.say("one")
    more = hook("session_start", says(context="c")) + hook("prompt", says(context="d"))
    async with Story(tmp_path / "b", scripted(["ok"]), more=more) as story:
        await story.say("one")
    folders = (str(plain.folder), str(story.folder))
    first, second = (spoken(s.requests[0]).replace(f, "") for s, f in zip((plain, story), folders, strict=True))
    assert second.split("\n")[:2] == first.split("\n")[:2] and second.startswith(first[:-2])
    assert plain.requests[0].tools == story.requests[0].tools


async def test_a_session_starts_once_and_a_turns_end_is_told_with_its_answer(tmp_path: Path) -> None:
    more = hook("session_start", "echo start >> seen") + hook("turn_end", KEEP + "; echo end >> seen; exit 2")
    async with Story(tmp_path, scripted(["the answer", "b"]), more=more) as story:
        await story.say("one")
        assert given(story) | {"stop": "done", "answer": "the answer", "error": None} == given(story)
        await story.say("two")
        assert (story.folder / "seen").read_text() == "start\nend\nend\n"
        assert "it said no" in story.told
        await story.do(Open(None))
        assert (story.folder / "seen").read_text().endswith("end\nstart\n")


async def test_without_a_screen_hooks_run_too(tmp_path: Path) -> None:
    more = hook("session_start", says(context="here")) + hook("turn_end", "touch ended")
    async with Story(tmp_path, scripted(["a"]), interactive=False, more=more) as story:
        await story.say("one")
        assert "here" in notes(story)[0] and (story.folder / "ended").exists()


# ── compaction ──


async def compacted(story: Story) -> None:
    for n in range(4):
        await story.say(f"message {n} " + "word " * 300)
    await story.wish(Compact(focus="the plan"))


async def test_a_hook_can_write_the_summary_and_the_judge_reads_it(tmp_path: Path) -> None:
    more = hook("before_compaction", KEEP + "; " + says(summary=summary("by hand"))) + hook(
        "after_compaction", "cat > after"
    )
    async with Story(tmp_path, scripted([]), more=more) as story:
        await compacted(story)
        (body,) = story.bodies(Compacted)
        assert "by hand" in body.summary and story.summaries == [] and body.requests == 0
        plan = given(story)["plan"]
        assert (plan["gate"], plan["focus"], plan["first_kept"]) == ("asked", "the plan", body.first_kept)
        assert plan["records"] and max(plan["records"]) < body.first_kept
        after = json.loads((story.folder / "after").read_text())["compaction"]
        assert (after["before"], after["after"]) == (body.before, body.after) and "by hand" in after["summary"]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("no headings at all", Outcome.SUMMARY_SHAPELESS),
        (summary("x " * 30_000), Outcome.SUMMARY_OVERSIZE),
        ("<summary></summary>", Outcome.SUMMARY_EMPTY),
    ],
)
async def test_a_hooks_summary_is_held_to_the_same_judge(tmp_path: Path, text: str, outcome: Outcome) -> None:
    (tmp_path / "answer.json").write_text(json.dumps({"summary": text}))
    async with Story(tmp_path, scripted([]), more=hook("before_compaction", f"cat {tmp_path}/answer.json")) as story:
        await compacted(story)
        (body,) = story.bodies(CompactionFailed)
        assert body.outcome is outcome and "a hook's summary" in body.detail
        assert story.bodies(Compacted) == [] and story.summaries == []


async def test_a_blocked_compaction_is_written_down_with_the_hooks_reason(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([]), more=hook("before_compaction", "echo not now >&2; exit 2")) as story:
        await compacted(story)
        (body,) = story.bodies(CompactionFailed)
        assert (body.outcome, body.detail, body.after_summary_call) == (
            Outcome.INTERRUPTED, "a hook objects: not now", False,
        )  # fmt: skip
        assert story.summaries == []


async def test_where_the_turn_needs_room_a_blocked_compaction_falls_to_the_emergency_rung(tmp_path: Path) -> None:
    more = hook("before_compaction", "echo x >> asked; echo never >&2; exit 2")
    made = scripted([Say(f"answer {n} " + "word " * 800) for n in range(30)])
    async with Story(tmp_path, made, window=16_000, budget="9k", max_output=500, more=more) as story:
        for turn in range(20):
            assert (await story.say(f"question {turn}")).stop == "done"
        failed = story.bodies(CompactionFailed)
        assert {b.outcome for b in failed} == {Outcome.INTERRUPTED} and "never" in failed[0].detail
        assert "emergency.compacted" in story.tags and story.summaries == []
        assert {b.gate.value for b in story.bodies(Compacted)} == {"emergency"}
        # Between two attempts the size has grown: a no backs off, without counting as a failure.
        assert len(failed) == len((story.folder / "asked").read_text().split()) < 20


async def test_a_hook_that_fails_before_a_compaction_stands_in_nobodys_way(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([]), more=hook("before_compaction", "exit 9")) as story:
        await compacted(story)
        assert len(story.bodies(Compacted)) == 1 and "exit status 9" in story.told


# ── hostile hooks, and stopping ──


def alive(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_text()), 0)
        return "Z" not in Path(f"/proc/{pid.read_text().strip()}/stat").read_text().split(")")[1][:3]
    except (OSError, ValueError):
        return False


async def gone(*pids: Path) -> None:
    """Waits until these have ended: what was killed needs its turn to die."""
    async with asyncio.timeout(PATIENCE):
        while any(map(alive, pids)):  # noqa: ASYNC110 - the kernel ends them
            await asyncio.sleep(0.02)


async def test_escape_ends_a_hook_with_all_it_started(tmp_path: Path) -> None:
    more = hook("prompt", "sleep 60 & echo $! > child; echo $$ > parent; echo > ready; wait", timeout="60s")
    async with Story(tmp_path, scripted(["ok"]), more=more) as story:
        os.mkfifo(story.folder / "ready")
        await story.until(Progress, lambda p: "hook" in p.what, sent=Submit("hello"))
        child = story.folder / "child"
        await asyncio.to_thread((story.folder / "ready").read_text)
        ended = await story.do(Interrupt())
        assert ended.stop == "interrupted"
        await gone(child, story.folder / "parent")
        assert story.bodies(UserSaid) == []
        assert [returned.text for returned in story.said(Returned)] == ["hello"]


async def test_a_timeout_ends_a_hook_that_hears_no_signal_and_its_children(tmp_path: Path) -> None:
    command = "trap '' TERM HUP INT; (trap '' TERM; sleep 60) & echo $! > child; setsid sleep 60 & wait; sleep 60"
    ran = await run_hook(shell(command), b"{}", tmp_path, {"PATH": "/usr/bin:/bin"}, 0.5, Guard())
    assert ran.status is None and "longer than 0.5 seconds" in ran.stopped
    await gone(tmp_path / "child")


async def test_megabytes_bad_bytes_and_an_unread_input_hang_nothing(tmp_path: Path) -> None:
    env, guard = {"PATH": "/usr/bin:/bin"}, Guard()
    ran = await run_hook(shell("head -c 3000000 /dev/urandom; exit 0"), b"x" * 5_000_000, tmp_path, env, 20, guard)
    assert ran.status == 0 and len(ran.out) <= 256 * 1024 + 1
    ran.out.encode()
    refusing = "exec <&-; printf '\\377\\376{' >&2; exit 2"
    ran = await run_hook(shell(refusing), b"x" * 5_000_000, tmp_path, env, 20, guard)
    assert (ran.status, ran.err) == (2, "\ufffd\ufffd{")
    ran = await run_hook(shell(f"head -c {FLOOD * 2} /dev/zero; sleep 60"), b"", tmp_path, env, 20, guard)
    assert "printed more than" in ran.stopped


async def test_a_child_that_holds_the_outputs_keeps_nobody_waiting_and_ends_with_the_session(tmp_path: Path) -> None:
    more = hook("prompt", "(sleep 60; echo late) & echo $! > child; echo '{}'")
    async with Story(tmp_path, scripted(["ok"]), more=more) as story:
        assert (await story.say("hello")).stop == "done"
        assert alive(story.folder / "child")
    await gone(story.folder / "child")


async def test_escape_ends_the_hook_of_a_start_and_the_session_is_open(tmp_path: Path) -> None:
    more = hook("session_start", "test -e slow && { echo > ready; sleep 60; }; exit 0", timeout="60s")
    async with Story(tmp_path, scripted(["ok"]), more=more) as story:
        os.mkfifo(story.folder / "ready")
        (story.folder / "slow").write_text("")
        story.send(Open(None))
        await asyncio.to_thread((story.folder / "ready").read_text)
        assert (await story.do(Interrupt())).stop == "interrupted"
        assert len(story.sessions) == 2 and (await story.say("x")).stop == "done"


async def test_secrets_of_the_environment_are_not_handed_over_and_hooks_run_in_the_projects_top(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    async with Story(tmp_path, scripted(["ok"]), more=hook("prompt", "pwd > where; env > seen")) as story:
        story.session.workspace.environ = {"PATH": "/usr/bin:/bin", "MY_API_KEY": "k", "PLAIN": "p"}
        await story.say("x")
        seen = (tmp_path / "seen").read_text()
        assert "PLAIN=p" in seen and "MY_API_KEY" not in seen
        assert (tmp_path / "where").read_text().strip() == str(tmp_path)


async def test_a_file_that_a_hook_starts_is_not_written_unasked(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("fmt.sh", "free.sh"):
        (folder / name).write_text("true\n")
    made = [calls(call("read", path=n), call("write", path=n, content="evil\n")) for n in ("free.sh", "fmt.sh")]
    more = hook("turn_end", "sh ./fmt.sh; true")
    async with Story(tmp_path, scripted([*made, "ok"]), interactive=False, more=more) as story:
        await story.say("go")
        assert (folder / "free.sh").read_text() == "evil\n" and (folder / "fmt.sh").read_text() == "true\n"
        assert "rule ask write(fmt.sh)" in results(story)[-1].text


async def test_a_projects_hook_runs_in_the_sandbox_and_the_users_own_does_not(tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.write_text('#!/bin/sh\necho boxed >> "$BOXED"\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    box.chmod(0o755)
    theirs = tmp_path / "project" / ".ullage" / "config.toml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(hook("prompt", "echo theirs >> ran"))
    story = Story(tmp_path, scripted(["ok"]), more=hook("prompt", "echo mine >> ran"))
    Trust(story.places).grant(theirs, theirs.read_bytes())
    async with story:
        workspace = story.session.workspace
        workspace.sandbox = Sandbox(str(box))
        workspace.environ = {"PATH": "/usr/bin:/bin", "BOXED": str(tmp_path / "boxed")}
        await story.say("x")
        assert (story.folder / "ran").read_text() == "mine\ntheirs\n"
        assert (tmp_path / "boxed").read_text() == "boxed\n"


async def test_the_page_of_hooks_says_how_each_ended(tmp_path: Path) -> None:
    more = hook("prompt", "exit 3") + hook("turn_end", "true") + hook("before_tool", "true", "edit")
    async with Story(tmp_path, scripted(["ok"]), more=more) as story:
        await story.say("x")
        sheet = await story.until(Sheet, sent=ShowHooks())
        rows = sheet.text.split("\n\n")[:3]
        assert [r.split("last: ")[1].strip() for r in rows] == [
            "it failed with exit status 3", "went on", "not run yet in this session",
        ]  # fmt: skip
        assert all(str(story.places.settings) in r for r in rows)


async def test_a_project_brings_hooks_only_once_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".ullage"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(hook("prompt", "echo no >&2; exit 2") + hook("session_start", "touch started"))
    async with Story(tmp_path, scripted(["ok"])) as story:
        assert (await story.say("x")).stop == "done" and not (story.folder / "started").exists()
        shown = story.said(Proposed)[-1]
        assert any(s.startswith("runs the command echo no") for s in shown.says)
        finished = await story.wish(SetTrust(shown.path, shown.digest, "trust"))
        assert "its hooks" in finished.text
        assert (await story.say("y")).stop == "refused"


async def test_a_script_that_a_server_is_started_from_is_not_written_unasked(tmp_path: Path) -> None:
    read, write = call("read", path="tools/server.py"), call("write", path="tools/server.py", content="import evil")
    more = '[mcp.local]\ncommand = "python3 server.py"\ncwd = "tools"\nenabled = false'
    made = scripted([calls(read), calls(write), "ok"])
    script = Story(tmp_path, made, mode="edits", more=more, interactive=False)
    (script.folder / "tools").mkdir()
    (script.folder / "tools" / "server.py").write_text("pass\n")
    async with script as story:
        await story.say("go")
        assert "the rule ask write(tools/server.py)" in results(story)[1].text
        assert (story.folder / "tools" / "server.py").read_text() == "pass\n"
