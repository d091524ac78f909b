"""A described failure (`describe`) as the `ModelError` it is, with a sentence for people. Pure.

Invariants
 1. The sentence says what happened, whose side it is on, that the conversation is kept, and what to do next.
 2. No web page, no JSON and no control character is ever in a sentence; a provider's own words are quoted, short.
 3. Length comes first: an overflow is recognised whatever class and status a library gave it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agent.model import (
    AnswerTooLong,
    BadKey,
    BadRequest,
    ContextOverflow,
    CutOff,
    Endpoint,
    ModelError,
    NoCredit,
    NotAStream,
    Overloaded,
    RateLimited,
    RequestTooLarge,
    TimedOut,
    UnknownModel,
    Unreachable,
    WantsTurns,
)
from agent.models.answer_limit import answer_limit
from agent.models.overflow import Overflow, of_rates, of_something_else, recognise
from agent.models.plain_words import plain
from agent.models.providers import is_own_address, key_variable
from agent.models.refusal_words import BUSY, FILTERED, KEY, MONEY, RATED, UNKNOWN, wait_in
from agent.models.turns_wanted import raised, wants_turns
from agent.models.wording import is_page, page_title, words_of
from agent.sanitise import one_line

# A quote longer than this hides the sentence around it.
MOST_QUOTED = 300

# A server's own 500 and these look alike but for the exception that caused them. No connection was made …
_NO_CONNECTION = {
    "ConnectError": "nothing answers there",
    "ClientConnectorError": "nothing answers there",
    "ConnectionRefusedError": "nothing answers there",
    "gaierror": "the host's name is not known",
    "ClientConnectorDNSError": "the host's name is not known",
    "ConnectTimeout": "no connection within the time allowed",
    "ConnectionTimeoutError": "no connection within the time allowed",
    "UnsupportedProtocol": "the address is not an http address",
    "InvalidURL": "the address cannot be read",
    "ProxyError": "the proxy refused",
}
# … or it ended before an answer began.
_NO_ANSWER = {
    "RemoteProtocolError": "the connection was closed before an answer",
    "ServerDisconnectedError": "the connection was closed before an answer",
    "ReadError": "the connection broke before an answer",
    "WriteError": "the connection broke while the request was sent",
    "ConnectionResetError": "the connection was reset",
}
_CERTIFICATE = ("SSLCertVerificationError", "SSLError", "ClientConnectorCertificateError")
_TIMEOUTS = frozenset(
    {"Timeout", "APITimeoutError", "ReadTimeout", "TimeoutError", "SocketTimeoutError", "WriteTimeout"}
)
_MIDWAY = "MidStreamFallbackError"
# What a client library trips over when a server's words are not as it thought: theirs is no word of the provider's.
_STUMBLES = frozenset(
    {"KeyError", "TypeError", "ValueError", "IndexError", "AttributeError", "StopAsyncIteration", "ValidationError"}
)
# A library's frame around a provider's words.
_FRAME = re.compile(r"^Message: (.*), Metadata: .*$", re.DOTALL)
# Statuses of a request that could not be made into a prompt: llama.cpp calls that its own trouble.
_REFUSED = frozenset({None, 400, 422, 500})
# Statuses that say no more than "no": there the words decide.
_UNSURE = frozenset({None, 400, 403, 412, 413, 422, 424, 429})
# A wait up to this is no empty account, seconds: those fill up by the day.
A_WHILE = 3_600
# What client libraries say when all they know is the status.
_SAYS_NOTHING = re.compile(r"(?:Client|Server) error '|Redirect response '|Error code: \d+$|Connection error\.?$")


def error_from(described: Mapping[str, Any], endpoint: Endpoint) -> ModelError:
    """The error to raise for a description made by `describe.describe`; `kept` is the caller's to fill."""
    return _Failure(described, endpoint).judge()


class _Failure:
    """One description, looked at from all sides."""

    def __init__(self, described: Mapping[str, Any], endpoint: Endpoint) -> None:
        self.links: list[Mapping[str, Any]] = list(described.get("links") or ())
        self.headers: Mapping[str, str] = described.get("headers") or {}
        self.endpoint = endpoint
        self.kept = bool(described.get("generated"))
        self.names = [str(link.get("class") or "") for link in self.links]
        tripped = bool(_STUMBLES & set(self.names)) and any("unexpected response" in str(x) for x in self.links)
        self.midway = _MIDWAY in self.names or tripped
        self.status = None if tripped else self._status()
        bodies = [link["body"] for link in self.links if link.get("body")]
        texts = [str(link.get("text") or "") for link in self.links]
        self.body = bodies[-1] if bodies else None
        said = [t for name, t in zip(self.names, texts, strict=True) if t and name not in _STUMBLES]
        self.text = next((t for t in reversed(said) if not _SAYS_NOTHING.match(t)), texts[0] if texts else "")
        self.stumble = " ".join(t for name, t in zip(self.names, texts, strict=True) if name in _STUMBLES)
        raw = self.body if isinstance(self.body, str) else self.text
        self.page = is_page(raw)
        self.words = words_of(None if self.page else self.body, "" if self.page else self.text)
        self.title = page_title(raw) if self.page else ""
        # The provider's own words; the library's say something where there are none, and may repeat the request.
        self.told = plain("\n".join([self.words.text, *self.words.codes]))
        self.said = " ".join([self.told, *texts]).lower()

    def _status(self) -> int | None:
        """The server's own status. The library's wrappers put 500 or 503 over what has none."""
        for link in reversed(self.links):
            if link.get("status") and link.get("class") not in (_MIDWAY, "InternalServerError", "APIConnectionError"):
                return int(link["status"])
        return next((int(link["status"]) for link in self.links if link.get("status") and not self.midway), None)

    def judge(self) -> ModelError:
        if overflow := self._overflow():
            return self._too_long(overflow)
        if self.status in _REFUSED and wants_turns(said := self.words.text or self.text):
            quote = one_line(" ".join(raised(said).split()), MOST_QUOTED)
            what = f"{self.endpoint.name} takes user and assistant in turns only. The conversation is kept."
            return WantsTurns(f"{what} It says: “{quote}”", status=self.status)
        if any(name in self.names for name in _CERTIFICATE):
            return self._unreachable("its certificate is not accepted")
        if self.status in (None, 408, 500, 503) and not self._answered():
            if why := next((_NO_CONNECTION[n] for n in reversed(self.names) if n in _NO_CONNECTION), None):
                return self._unreachable(why)
            if _TIMEOUTS & set(self.names):
                return self._timed_out()
            why = next((_NO_ANSWER[n] for n in reversed(self.names) if n in _NO_ANSWER), None)
            if why is not None and not self.midway:
                return self._unreachable(why, lost=True)
        if self.status == 402 or (self.status in _UNSURE and self._about(MONEY) and not self._passes()):
            return self._no_credit()
        if self.midway and self.status in (None, 200, 500, 503):
            return self._midway()
        return self._by_status()

    def _answered(self) -> bool:
        """Whether a server's own error body is there: then it was reached."""
        return self.body not in (None, "", {}) and not (_TIMEOUTS & set(self.names))

    def _about(self, kind: re.Pattern[str]) -> bool:
        return bool(kind.search(self.told))

    def _passes(self) -> bool:
        """Whether what is spent comes back by itself: said per minute, or with a time to wait that anybody would."""
        return bool(re.search(r"per[- ]minute", self.told)) or 0 < (self._wait() or 0) < A_WHILE

    def _wait(self) -> float | None:
        """Seconds it asks to wait, by its headers or its words."""
        wait = retry_after(self.headers)
        return wait_in(self.told, self.words.numbers) if wait is None else wait

    def _overflow(self) -> Overflow | None:
        found = recognise(self.status, self.body, f"{self.text}\n{self.stumble}" if self.stumble else self.text)
        if found is not None or "ContextWindowExceededError" not in self.names or self.status in (401, 402, 403, 429):
            return found
        return None if of_something_else(self.body, self.text) else Overflow()

    def _by_status(self) -> ModelError:
        status, name = self.status, self.endpoint.name
        if status in (None, 400, 401, 403, 500) and (self._about(KEY) or KEY.search(self.said)):
            return self._bad_key()
        if status in (None, 400, 404, 422, 500) and (self._about(UNKNOWN) or "provider not provided" in self.said):
            return self._unknown_model()
        if status in _UNSURE and status != 429:
            if self._about(FILTERED):
                return self._filtered()
            if self._about(RATED):
                return self._rate_limited()
        match status:
            case 401:
                return self._bad_key()
            case 403:
                return BadKey(
                    self._say(f"{name} refuses access (403). Check what the key is allowed to use."), status=status
                )
            case 404:
                return self._unknown_model()
            case 413 if of_rates(self.body, self.text):
                return self._rate_limited()
            case 413:
                return self._too_long(Overflow(bytes=True))
            case 429:
                return self._rate_limited()
            case 408 | 504 | 524:
                return self._timed_out()
            case 400 | 422 if limit := answer_limit(plain(self.words.text)):
                return AnswerTooLong(
                    self._say(f"{name} gives no answer as long as was asked for."), most=limit.most, status=status
                )
            case int() if 400 <= status < 500:
                return BadRequest(
                    self._say(f"{name} does not accept the request ({status}); that is on our side."), status=status
                )
            case int() if status >= 500:
                return self._overloaded()
        if self.page:
            return self._not_a_stream()
        return BadRequest(self._say(f"The request to {name} failed."), status=status)

    def _midway(self) -> ModelError:
        """An error after the stream had begun: reported by the server in the stream, or the stream broke."""
        if "rate_limit" in self.said or "rate limit" in self.said:
            return self._rate_limited()
        if BUSY.search(self.said) and not self._broken():
            return self._overloaded()
        if self._about(FILTERED) and not self.kept:
            return self._filtered()
        if self.page:
            return self._not_a_stream()
        what = f"The answer of {self.endpoint.name} broke off before its end"
        kept = "what had arrived is kept" if self.kept else "nothing had arrived"
        quote = "" if self._broken() else self._quote()
        return CutOff(f"{what}; {kept}. Send a message to go on.{quote}")

    def _broken(self) -> bool:
        return bool(
            {"RemoteProtocolError", "ReadError", "ClientPayloadError", "JSONDecodeError", "IncompleteRead",
             "ConnectionResetError"} & set(self.names)
        ) or "before a finish_reason" in self.said  # fmt: skip

    def _too_long(self, overflow: Overflow) -> ModelError:
        name = self.endpoint.name
        if overflow.bytes:
            return RequestTooLarge(
                f"{name} refuses the request because it has too many bytes. The conversation is kept.",
                status=self.status,
            )
        numbers = f" Its window is {overflow.window:,} tokens." if overflow.window else ""
        if overflow.asked:
            numbers += f" It counted {overflow.asked:,} tokens."
        return ContextOverflow(
            f"{name} refuses the request because it is too long.{numbers} The conversation is kept.",
            window=overflow.window, asked=overflow.asked, status=self.status,
        )  # fmt: skip

    def _bad_key(self) -> ModelError:
        base = self.endpoint.api_base
        if base is not None and not is_own_address(self.endpoint.model, base):
            return BadKey(
                self._say(f"{self.endpoint.name} at {base} does not accept the API key it got. Name the variable that "
                          "holds its own as api_key_env in the settings."), status=self.status)  # fmt: skip
        variable = self.endpoint.missing_key or key_variable(self.endpoint.model)
        where = f" in {variable}" if variable else ""
        return BadKey(
            self._say(f"{self.endpoint.name} does not accept the API key. Check the key{where}."), status=self.status
        )

    def _no_credit(self) -> ModelError:
        return NoCredit(
            self._say(f"The account at {self.endpoint.name} has no credit left; waiting does not help. Top it up or "
                      "choose another model."), status=self.status)  # fmt: skip

    def _unknown_model(self) -> ModelError:
        where = f" at {self.endpoint.api_base}" if self.endpoint.api_base else ""
        hint = " or the address, which often has to end in /v1" if where else ""
        if "llm provider not provided" in self.said:
            return UnknownModel(
                f"No provider is known for the model {self.endpoint.name}. Names are written provider/model, like "
                "anthropic/claude-sonnet-4-5; a server of your own is openai/NAME with its address. Nothing was sent.",
                status=self.status,
            )
        return UnknownModel(
            self._say(f"There is no model {self.endpoint.name}{where}. Check the name{hint}."), status=self.status
        )

    def _filtered(self) -> ModelError:
        return BadRequest(
            self._say(f"{self.endpoint.name} does not answer this, by its rules about content. Say it in other words."),
            status=self.status,
        )  # fmt: skip

    def _rate_limited(self) -> ModelError:
        wait = self._wait()
        # A library's 500 around it is no word of the provider's.
        refused = f" ({self.status})" if self.status and self.status < 500 else ""
        when = f" It asks to wait {_duration(wait)}." if wait else " Try again in a moment."
        return RateLimited(
            self._say(f"{self.endpoint.name} limits how much may be asked at a time{refused}.{when}"),
            status=self.status, retry_after=wait,
        )  # fmt: skip

    def _overloaded(self) -> ModelError:
        status = f" ({self.status})" if self.status else ""
        return Overloaded(
            self._say(f"{self.endpoint.name} has trouble of its own{status}. Try again in a moment."),
            status=self.status, retry_after=retry_after(self.headers),
        )  # fmt: skip

    def _timed_out(self) -> ModelError:
        kept = " What had arrived is kept." if self.kept else ""
        return TimedOut(
            f"{self.endpoint.name} fell silent for longer than the deadline.{kept} The conversation is kept; send the "
            "message again.",
            status=self.status if self._answered() else None,
        )

    def _unreachable(self, why: str, *, lost: bool = False) -> ModelError:
        where = self.endpoint.api_base or self.endpoint.name
        hint = "Is the server running?" if self.endpoint.api_base else "Check the network connection."
        return Unreachable(f"{where} cannot be reached: {why}. {hint} The conversation is kept.", lost=lost)

    def _not_a_stream(self) -> ModelError:
        where = self.endpoint.api_base or self.endpoint.name
        return NotAStream(
            f"{where} sent a web page where a stream of answers was expected. Check the address. The conversation is "
            "kept.",
            status=self.status,
        )

    def _say(self, sentence: str) -> str:
        return f"{sentence} The conversation is kept.{self._quote()}"

    def _quote(self) -> str:
        """The provider's own words, when they are words."""
        if self.page:
            return f" It sent a web page titled “{one_line(self.title)}”." if self.title else " It sent a web page."
        said = _FRAME.sub(r"\1", self.words.messages[0] if self.words.messages else "")
        said = " ".join(said.split())
        if not said or said[0] in "{[<" or "{'" in said or _SAYS_NOTHING.match(said) or said in self.stumble:
            return ""
        return f" It says: “{one_line(said, MOST_QUOTED)}”"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the provider asks to wait, or None. A date is not read: it needs a clock, and nobody sends one."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * scale
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} minutes" if seconds < 5_400 else f"{round(seconds / 3600)} hours"
