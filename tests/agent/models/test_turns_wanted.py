"""A refusal that means that user and assistant must take turns is told from every other, template sources and all."""

from __future__ import annotations

import pytest

from agent.model import BadRequest, ContextOverflow, Endpoint, Overloaded, WantsTurns
from agent.models.errors_from import error_from
from agent.models.stub_server import TURNS
from agent.models.turns_wanted import wants_turns

MINE = Endpoint("mine", "openai/x", "http://127.0.0.1:8080/v1", "k")

WANTED = [
    TURNS,
    "Conversation roles must alternate user/assistant/user/assistant/...",
    'Error rendering prompt with jinja template: "Conversation roles must alternate user/assistant/user/assistant/..."',
    "\n------------\nWhile executing CallExpression at line 9, column 11 in source:\n{{ raise_exception('System role "
    "not supported') }}\nError: Jinja Exception: Conversation roles must alternate user and assistant roles",
    "After the optional system message, conversation roles must alternate user and assistant roles except for tool "
    "calls and results.",
    'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    "A conversation must alternate between user and assistant roles. Make sure the conversation alternates.",
    "Please ensure that multiturn requests alternate between user and model.",
    "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).",
    "Unexpected role 'user' after role 'tool'",
    "the model does not support successive user or assistant messages (messages[1] and messages[2] in your input)",
]  # fmt: skip

OTHER = [
    "System role not supported at row 3, column 9:\n  {{ raise_exception('Conversation roles must alternate "
    "user/assistant') }}",
    "\n------------\nWhile executing CallExpression in source:\n{{ raise_exception('Conversation roles must alternate "
    "user/assistant') }}\nError: Jinja Exception: System role not supported",
    "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
    "Unexpected role 'tool' after role 'user'",
    "the user may choose an alternative model; see the assistant's page",
    "Invalid value for 'role': 'assistant'",
]  # fmt: skip


@pytest.mark.parametrize("said", WANTED)
def test_what_servers_say_for_turns_is_known(said: str) -> None:
    assert wants_turns(said)


@pytest.mark.parametrize("said", OTHER)
def test_what_means_something_else_is_not_taken_for_it(said: str) -> None:
    assert not wants_turns(said)


@pytest.mark.parametrize(("status", "kind"), [(400, "BadRequestError"), (422, "BadRequestError"),
                                              (500, "InternalServerError")])  # fmt: skip
def test_it_is_an_error_of_its_own_at_whatever_status(status: int, kind: str) -> None:
    link = {"class": kind, "status": status, "text": "", "body": {"error": {"message": TURNS, "code": status}}}
    error = error_from({"links": [link]}, MINE)
    assert isinstance(error, WantsTurns) and error.status == status
    assert str(error) == (
        "mine takes user and assistant in turns only. The conversation is kept. "
        "It says: “Conversation roles must alternate user/assistant/user/assistant/...”"
    )


def test_other_failures_stay_what_they_were() -> None:
    def judged(status: int, message: str) -> type:
        link = {"class": "APIError", "status": status, "text": "", "body": {"message": message}}
        return type(error_from({"links": [link]}, MINE))

    assert judged(500, "upstream failed") is Overloaded
    assert judged(400, "no such field") is BadRequest
    assert judged(400, "prompt is too long: 9000 tokens > 8192 maximum; roles must alternate") is ContextOverflow
