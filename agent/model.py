"""The seam to any model: what is asked, what streams back, what can go wrong.

Not a client (those are in `agent.models`) and no policy: which request is sent, and what a refusal leads to, is decided
by `agent.loop` and `compaction.gates`.

Ordering contract of `Model.stream`: any number of `Text`, `Thinking`, `CallGrowing`, `Retrying` and `Restarted` parts,
then exactly one `Reply`, or a `ModelError` raised. Cancelling the consuming task, or closing the generator, closes the
connection; no byte is read afterwards. All parts arrive on the worker's loop.

    ModelError                  whose side it is on, in words; `kept` text arrived before it
     ├── ContextOverflow        the request is too long: `window`, `asked` tokens where the provider said so
     ├── RequestTooLarge        too many bytes (413): nothing can be learned of the window
     ├── BadKey                 401/403: no key, or not a valid one
     ├── NoCredit               402, or a 429 that says the quota is spent: waiting does not help
     ├── UnknownModel           404, or a name no provider takes
     ├── BadRequest             other 4xx: our side
     │    ├── AnswerTooLong     the wished answer is longer than the model gives: `most` tokens where it said so
     │    └── WantsTurns        user and assistant must take turns there
     ├── RateLimited            429: `retry_after` seconds
     ├── Overloaded             500, 502, 503, 529: theirs
     ├── Unreachable            refused, no such host, closed before headers
     ├── TimedOut               no bytes for the deadline
     ├── CutOff                 the stream ended before its end
     ├── NotAStream             HTML or JSON where a stream was promised
     ├── EmptyReply             neither text nor calls
     └── HostDied               our own model process ended; it is restarted once
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from compaction.records import Stop, ToolCall, Usage


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how to get in. `model` is litellm's name (`anthropic/claude-sonnet-4-5`, `openai/x`).

    `name` is what the user calls it and what is stored (`embedded/smollm2` maps to a loopback `openai/…`).
    `key` never appears in a repr. `missing_key` is the environment variable that would hold the key, when none is set.
    """

    name: str
    model: str
    api_base: str | None = None
    key: str | None = field(default=None, repr=False)
    missing_key: str | None = None

    @property
    def label(self) -> str:
        """What windows are learned for, beside the model's name: the base URL, or the provider's own."""
        return self.api_base or "default"


@dataclass(frozen=True, slots=True)
class Request:
    """One request in the OpenAI chat spelling. `messages` and `tools` are JSON values, not to be changed.

    `max_tokens` None is left out. `restartable`: a retry may follow partial text, since nobody has received any
    (summaries). `deadline` bounds the silence between two bytes, seconds. `grammar` (GBNF) is for the embedded model.
    `thinking_off` asks for no reasoning where the model can go without. `plain` requests carry no cache marks.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    max_tokens: int | None = None
    effort: str | None = None
    restartable: bool = False
    deadline: float = 120.0
    grammar: str | None = None
    thinking_off: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, control characters removed."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of readable reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallGrowing:
    """A call's arguments are arriving: `characters` so far."""

    index: int
    name: str
    characters: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """The attempt failed in a way that may pass; the next starts in `wait` seconds. `why` is a sentence."""

    why: str
    wait: float
    attempt: int


@dataclass(frozen=True, slots=True)
class Restarted:
    """A restartable request starts over: forget the text so far."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole answer. `usage` is None when the provider sent none; `thinking` is its opaque JSON, to be sent back."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage | None
    stop: Stop
    thinking: str | None = None


Part: TypeAlias = Text | Thinking | CallGrowing | Retrying | Restarted | Reply


class Model(Protocol):
    """Anything that answers requests. Implementations: `models.remote.RemoteModel`, `models.scripted.ScriptedModel`."""

    def stream(self, endpoint: Endpoint, request: Request) -> AsyncIterator[Part]:
        """Asks `endpoint`. Raises `ModelError`; see the module's ordering contract."""
        ...

    async def aclose(self) -> None:
        """Ends processes and connections; idempotent."""
        ...


class ModelError(Exception):
    """Root of what a model can do to us. `str(error)` is a sentence for the screen: what, whose side, what next."""

    def __init__(self, message: str, *, status: int | None = None, kept: str = "", retry_after: float | None = None):
        super().__init__(message)
        self.status = status
        self.kept = kept
        self.retry_after = retry_after


class ContextOverflow(ModelError):
    """Refused for length. `window`: the stated maximum, tokens; `asked`: the input the provider counted, tokens."""

    def __init__(self, message: str, *, window: int | None = None, asked: int | None = None, status: int | None = 400):
        super().__init__(message, status=status)
        self.window = window
        self.asked = asked


class RequestTooLarge(ModelError):
    """Refused for bytes; shorten and try once more, but learn no window."""


class BadKey(ModelError):
    """No key, or one the provider does not take."""


class NoCredit(ModelError):
    """The account has no credit or quota left."""


class UnknownModel(ModelError):
    """No such model there."""


class BadRequest(ModelError):
    """A request the provider says is malformed."""


class AnswerTooLong(BadRequest):
    """The wished answer alone is longer than the model gives; `most` tokens where the provider said so."""

    def __init__(self, message: str, *, most: int | None = None, status: int | None = 400):
        super().__init__(message, status=status)
        self.most = most


class WantsTurns(BadRequest):
    """The model takes user and assistant in turns only (its chat template, or the provider, says so)."""


class RateLimited(ModelError):
    """Too many requests; `retry_after` seconds when the provider said."""


class Overloaded(ModelError):
    """The provider's own trouble."""


class Unreachable(ModelError):
    """Nothing answers at the address. `lost`: something took the connection, and it was gone before an answer."""

    def __init__(self, message: str, *, lost: bool = False, status: int | None = None) -> None:
        super().__init__(message, status=status)
        self.lost = lost


class TimedOut(ModelError):
    """Silence for longer than the deadline."""


class CutOff(ModelError):
    """The stream broke; `kept` holds what had come."""


class NotAStream(ModelError):
    """Something else than a stream of chunks came back."""


class EmptyReply(ModelError):
    """A reply with neither text nor calls."""


class HostDied(ModelError):
    """The process that talks to providers ended unexpectedly."""
