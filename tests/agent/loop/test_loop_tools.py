"""Calls of one reply: run side by side or in turn, allowed or refused, and always answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.models.scripted import Say
from agent.wire import Asking, Idle, SetMode, Submit
from compaction.records import AssistantSaid, ToolCall, ToolReturned
from tests.agent.loop.harness import Story, call, calls, last_text, pairs_are_valid, scripted


def results(story: Story) -> list[str]:
    return [b.text for b in story.bodies(ToolReturned)]


async def test_parallel_reads_run_side_by_side_and_requests_keep_the_calls_order(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "big").mkdir()
    for n in range(80):
        (folder / "big" / f"f{n}").write_text("needle\n" * 400)
    (folder / "quick").write_text("quick text")
    slow, quick = call("grep", pattern="needle", path="big"), call("read", path="quick")
    async with Story(tmp_path, scripted([calls(slow, quick), "ok"])) as story:
        await story.say("both")
        order = [b.tool for b in story.bodies(ToolReturned)]
        sent = [m for m in story.requests[1].messages if m["role"] == "tool"]
        asked = [c["id"] for c in story.requests[1].messages[2]["tool_calls"]]
        assert [m["tool_call_id"] for m in sent] == asked
        assert "needle" in sent[0]["content"] and "quick text" in sent[1]["content"]
        assert order == ["read", "grep"]


async def test_calls_that_change_things_run_one_after_the_other(tmp_path: Path) -> None:
    made = [call("bash", command=f"sleep 0.0{3 - n}; echo {n} >> order") for n in range(3)]
    async with Story(tmp_path, scripted([calls(*made, call("read", path="order")), "ok"])) as story:
        await story.say("go")
        assert (story.folder / "order").read_text() == "0\n1\n2\n"
        assert "2\t1\n" in results(story)[3] or "1\n" in results(story)[3]


async def test_how_long_a_call_took_leaves_out_the_wait_for_a_yes(tmp_path: Path) -> None:
    made = [call("bash", command="touch a"), call("bash", command="touch b")]
    async with Story(tmp_path, scripted([calls(*made), "ok"]), mode="ask") as story:
        await story.until(Asking, sent=Submit("go"))
        story.clock.now += 600.0
        await story.answer("once")
        second = await story.until(Asking, lambda asking: asking.command == "touch b")
        await story.answer("refuse")
        await story.until(Idle, after=second)
        ran, refused = story.bodies(ToolReturned)
        assert ran.took is not None and 0.0 <= ran.took < 600.0
        assert refused.took is None


async def test_ids_that_a_local_server_repeats_are_made_unique(tmp_path: Path) -> None:
    same = Say(calls=(ToolCall("0", "bash", '{"command":"echo a"}'), ToolCall("0", "bash", '{"command":"echo b"}')))
    empty = Say(calls=(ToolCall("", "bash", '{"command":"echo c"}'),))
    async with Story(tmp_path, scripted([same, same, empty, "ok"])) as story:
        await story.say("go")
        ids = [c.id for b in story.bodies(AssistantSaid) for c in b.calls]
        assert len(ids) == len(set(ids)) == 5
        assert all(ids)
        assert [r.split("\n")[0] for r in results(story)] == ["a", "b", "a", "b", "c"]
        assert all(map(pairs_are_valid, story.requests))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (("teleport", "{}"), "there is no tool 'teleport'"),
        (("read", '{"path": '), "not valid JSON"),
        (("read", '["a"]'), "must be one JSON object"),
        (("read", "{}"), "path"),
        (("read", '{"path": 7, "offset": "x"}'), "offset"),
        (("read", '{"path": "no/such/file"}'), "no such file"),
        (("edit", '{"path": "a"}'), "edits"),
        (("bash", '{"command": "exit 3"}'), "3"),
    ],
)
async def test_a_wrong_call_is_answered_with_something_to_act_on(
    tmp_path: Path, made: tuple[str, str], said: str
) -> None:
    async with Story(tmp_path, scripted([calls(made), "ok"])) as story:
        assert (await story.say("go")).stop == "done"
        (result,) = story.bodies(ToolReturned)
        assert result.failed
        assert said in result.text
        assert said in last_text(story.requests[1])


async def test_control_characters_of_a_tool_do_not_reach_the_log(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="printf '\\033]0;title\\007\\033[31mred\\033[0m'")), "ok"]
    async with Story(tmp_path, scripted(replies)) as story:
        await story.say("go")
        assert "\x1b" not in results(story)[0]
        assert "red" in results(story)[0]


async def test_a_huge_result_is_spilled_and_can_be_paged(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="seq 1 20000")), calls(call("recall", record=4)), "ok"]
    async with Story(tmp_path, scripted(replies)) as story:
        await story.say("go")
        first, second = story.bodies(ToolReturned)
        assert first.spilled is not None
        file = story.session.log.folder / first.spilled
        assert file.read_text().splitlines() == [str(n) for n in range(1, 20_001)]
        assert file.stat().st_mode & 0o777 == 0o600
        assert len(first.text) < 3_000
        assert "recall" in first.text
        assert not second.failed
        assert second.spilled is None
        assert "1000" in second.text


# ── approvals ──

TOUCH = calls(call("bash", command="touch made"))


async def asked(story: Story, text: str = "go") -> Asking:
    mark = story.mark()
    story.send(Submit(text))
    return await story.until(Asking, after=mark)


async def settled(story: Story) -> Idle:
    return await story.until(Idle, after=[e for e in story.events if isinstance(e, Asking)][-1])


async def test_a_yes_for_once_is_for_once(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([TOUCH, "ok", TOUCH, "ok"]), mode="ask") as story:
        question = await asked(story)
        assert (question.tool, question.command) == ("bash", "touch made")
        await story.answer("once")
        await settled(story)
        assert (story.folder / "made").exists()
        await asked(story, "again")
        await story.answer("refuse")
        await settled(story)


@pytest.mark.parametrize("choice", ["session", "project"])
async def test_a_yes_for_longer_holds_as_long_as_it_says(tmp_path: Path, choice: str) -> None:
    async with Story(tmp_path, scripted([TOUCH, "ok", TOUCH, "ok"]), mode="ask") as story:
        await asked(story)
        await story.answer(choice)
        await settled(story)
        assert (await story.say("again")).stop == "done"
        assert len(story.said(Asking)) == 1
    async with story.again(scripted([TOUCH, "ok"]), first=None) as later:
        later.send(Submit("go"))
        if choice == "session":
            await later.until(Asking)
            await later.answer("refuse")
        await later.until(Idle, lambda i: i.stop == "done", after=later.events[-1])
        assert len(later.said(Asking)) == (choice == "session")


async def test_a_refusals_reason_reaches_the_model(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([TOUCH, "ok"]), mode="ask") as story:
        await asked(story)
        await story.answer("refuse", "use the other folder")
        await settled(story)
        assert last_text(story.requests[1]) == "refused by the user: use the other folder"
        assert not (story.folder / "made").exists()


async def test_modes_decide_what_is_asked(tmp_path: Path) -> None:
    write = calls(call("write", path="a.txt", content="x"))
    async with Story(tmp_path, scripted([write, "ok"] * 2 + [TOUCH, "ok"] * 2), mode="plan") as story:
        await story.say("in plan mode")
        assert "plan mode only reads" in results(story)[0]
        story.send(SetMode("edits"))
        await story.say("in edits mode")
        assert (story.folder / "a.txt").read_text() == "x"
        assert story.said(Asking) == []
        await asked(story, "a command in edits mode")
        await story.answer("refuse")
        await settled(story)
        story.send(SetMode("auto"))
        await story.say("in auto mode")
        assert (story.folder / "made").exists()
        assert len({str(r.tools) for r in story.requests}) == 1
        assert len({r.messages[0]["content"] for r in story.requests}) == 1


async def test_nobody_there_to_ask_is_a_refusal_that_the_model_reads(tmp_path: Path) -> None:
    async with Story(tmp_path, scripted([TOUCH, "ok"]), mode="ask", interactive=False) as story:
        assert (await story.say("go")).stop == "done"
        assert "nobody is there to give it" in last_text(story.requests[1])
        assert story.said(Asking) == []
        assert not (story.folder / "made").exists()


async def test_one_question_is_open_at_a_time_and_a_lasting_answer_settles_the_next(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "a").write_text("text a")
    made = call("read", path=str(outside / "a"))
    async with Story(tmp_path, scripted([calls(made, made), "ok"]), mode="ask") as story:
        question = await asked(story)
        await asyncio.sleep(0.05)
        assert len(story.said(Asking)) == 1
        await story.answer("session")
        await story.until(Idle, after=question)
        assert len(story.said(Asking)) == 1
        assert [r[-6:] for r in results(story)] == ["text a", "text a"]


async def test_questions_of_parallel_calls_follow_one_another(tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    for name in "ab":
        (outside / name).write_text(f"text {name}")
    made = calls(*(call("read", path=str(outside / name)) for name in "ab"))
    async with Story(tmp_path, scripted([made, "ok"]), mode="ask") as story:
        first = await asked(story)
        await story.answer("once")
        await story.until(Asking, after=first)
        await story.answer("refuse", "not that one")
        await story.until(Idle, after=first)
        assert sorted(r[-12:] for r in results(story))[-1] == "not that one"
