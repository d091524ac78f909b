"""What each provider answers (`provider_answers.json`), through the real library: its kind and the window it states.

A refusal that every client library reads wrongly costs a session, so each goes the whole way: over the wire, in both
spellings, through the process that holds the library.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import agent.model
from agent.model import ContextOverflow, Endpoint
from agent.models.overflow import recognise
from agent.models.stub_server import Step
from tests.agent.models.bench import Bench, asking

ANSWERS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("provider_answers.json").read_text("utf-8"))


def name(answer: dict[str, Any]) -> str:
    return str(answer["name"])


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("answer", ANSWERS, ids=name)
async def test_each_answer_of_a_provider_is_the_error_it_means(
    shared: Bench, endpoint: Endpoint, answer: dict[str, Any]
) -> None:
    step: Step = {"error": {"status": answer["status"], "body": answer["body"]}}
    shared.script(*[step] * 5)
    error = await shared.error(endpoint, asking())
    assert type(error) is getattr(agent.model, answer["kind"])
    assert (error.window if isinstance(error, ContextOverflow) else None) == answer["window"]


@pytest.mark.parametrize("answer", ANSWERS, ids=name)
def test_each_answer_is_recognised_by_its_words_alone(answer: dict[str, Any]) -> None:
    found = recognise(answer["status"], answer["body"])
    assert (found is not None) == (answer["kind"] in ("ContextOverflow", "RequestTooLarge"))
    if found is not None:
        assert (found.window, found.bytes) == (answer["window"], answer["kind"] == "RequestTooLarge")


SEPARATORS = ("{:d}", "{:,d}", "{:_d}")


def respelt(body: Any, old: int, new: str) -> Any:
    """The same body with another window."""
    return json.loads(json.dumps(body).replace(str(old), new))


STATED = [a for a in ANSWERS if a["window"] is not None]


@pytest.mark.parametrize("window", [1_000, 8_192, 33_000, 1_048_576, 2_097_152])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("answer", STATED, ids=name)
def test_another_number_in_another_spelling_is_read_from_the_same_words(
    answer: dict[str, Any], separator: str, window: int
) -> None:
    message = json.dumps(answer["body"]).replace('"n_ctx": 8192', '"other": 0')
    asked = {"5000", "9031", "70000", "130000", "140000", "208310", "1196265", "4500", "69000"}
    for number in sorted(asked, key=len, reverse=True):
        message = message.replace(f" {number} ", f" {separator.format(int(number) + 3_000_000)} ")
        message = message.replace(f"({number}", f"({separator.format(int(number) + 3_000_000)}")
    body = respelt(json.loads(message), answer["window"], separator.format(window))
    found = recognise(answer["status"], body)
    assert found is not None
    assert found.window == window
