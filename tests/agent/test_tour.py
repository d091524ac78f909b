"""The recording keeps its place whatever the user does, and its project fails and is mended as the recording says."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent.model import Endpoint, Reply, Request
from agent.tour import TOUR_NAME, TOUR_PROMPTS, TOUR_SETTINGS, TourModel, copy_project, narration, summary
from agent.tour.script import FAREWELL, MEND, TURNS
from compaction.judge import HEADINGS

ENDPOINT = Endpoint(TOUR_NAME, TOUR_NAME)
TOOL = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}

Messages = list[dict[str, Any]]


async def at_once(seconds: float) -> None:
    assert seconds >= 0


def tour() -> TourModel:
    return TourModel(count=len, pause=at_once)


async def ask(model: TourModel, messages: Messages, *, tools: bool = True) -> Reply:
    request = Request(tuple(messages), (TOOL,) if tools else ())
    parts = [part async for part in model.stream(ENDPOINT, request)]
    assert isinstance(parts[-1], Reply)
    return parts[-1]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def answered(reply: Reply) -> Messages:
    """The reply and its results as the next request holds them."""
    results = [{"role": "tool", "tool_call_id": call.id, "content": "done"} for call in reply.calls]
    return [{"role": "assistant", "content": reply.text}, *results]


async def played(model: TourModel, messages: Messages) -> list[Reply]:
    """Steps until a reply calls nothing; `messages` grows."""
    replies: list[Reply] = []
    while not replies or replies[-1].calls:
        replies.append(await ask(model, messages))
        messages += answered(replies[-1])
    return replies


async def test_each_turn_is_played_to_its_end_step_by_step() -> None:
    model, messages = tour(), [{"role": "system", "content": "s"}]
    for turn in TURNS:
        messages.append(user(turn.prompt))
        replies = await played(model, messages)
        assert [reply.text for reply in replies] == [step.text for step in turn.steps]
    ids = [call["tool_call_id"] for call in messages if call["role"] == "tool"]
    assert len(ids) == len(set(ids))


async def test_a_turn_that_was_stopped_begins_again_when_it_is_asked_again() -> None:
    model, messages = tour(), [user(TURNS[0].prompt)]
    messages += answered(await ask(model, messages))
    messages.append(user(TURNS[0].prompt))
    assert (await ask(model, messages)).text == TURNS[0].steps[0].text


async def test_a_turn_goes_on_after_a_compaction_took_its_first_steps() -> None:
    model, messages = tour(), [user(TURNS[0].prompt)]
    messages += answered(await ask(model, messages))
    shown = [messages[0], user("[earlier conversation, summarised]\n\n## Goal\n- look"), *messages[1:]]
    assert (await ask(model, shown)).text == TURNS[0].steps[1].text


async def test_any_other_prompt_is_told_where_the_tour_goes_on() -> None:
    model = tour()
    first = await ask(model, [user("write me a poem")])
    assert not first.calls
    assert TURNS[0].prompt in first.text
    messages = [user(TURNS[0].prompt)]
    await played(model, messages)
    assert TURNS[1].prompt in (await ask(model, [*messages, user("and now?")])).text


async def test_a_request_without_tools_gets_a_summary_of_what_it_holds() -> None:
    text = (await ask(tour(), [user(f"<conversation>{TURNS[0].prompt}</conversation>")], tools=False)).text
    assert [line for line in text.splitlines() if line.startswith("#")] == list(HEADINGS)
    assert TURNS[0].done in text
    assert MEND.done not in text
    assert TURNS[0].done in summary(f"<previous-summary>{text}</previous-summary>")


def test_every_prompt_has_words_before_it_and_the_last_words_follow_all() -> None:
    said = [narration(n) for n in range(len(TOUR_PROMPTS))]
    assert all(said)
    assert len(set(said)) == len(said)
    assert narration(len(TOUR_PROMPTS)) == FAREWELL
    assert [p for p in TOUR_PROMPTS if not p.startswith("/")] == [turn.prompt for turn in TURNS]


def test_the_settings_are_toml() -> None:
    assert tomllib.loads(TOUR_SETTINGS)["model"] == TOUR_NAME


def unittest_in(folder: Path) -> str:
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr


def test_the_project_fails_as_the_recording_says_and_its_edit_mends_it(tmp_path: Path) -> None:
    folder = copy_project(tmp_path)
    before = unittest_in(folder)
    assert "Ran 17 tests" in before
    assert "failures=1, errors=1" in before
    for name in ("test_negative_below_one", "test_a_small_rounding_posting"):
        assert name in before
    (edit,) = [call for step in MEND.steps for call in step.calls if isinstance(call, tuple) and call[0] == "edit"]
    arguments = json.loads(edit[1])
    file = folder / arguments["path"]
    text = file.read_text()
    for change in arguments["edits"]:
        assert text.count(change["old"]) == 1
        text = text.replace(change["old"], change["new"])
    file.write_text(text)
    after = unittest_in(folder)
    assert "Ran 17 tests" in after
    assert after.endswith("OK\n")


def test_a_copy_is_never_made_over_something(tmp_path: Path) -> None:
    copy_project(tmp_path)
    with pytest.raises(FileExistsError):
        copy_project(tmp_path)
