"""The client side of every real model: asks through a child process, tries again, translates failures.

Not the place where a provider's library lives (`host`), nor where wordings are read (`errors_from`, `overflow`).

Invariants
 1. Nothing is written to the terminal: the child's output and errors go to a log.
 2. Keys travel over the pipe only.
 3. When `stream` has been closed or its task cancelled, the child has been told to close the connection; usually it
    has confirmed before control returns.
 4. A child that dies takes only its open requests with it; the next request starts another.
Consume `stream` under `contextlib.aclosing`: a generator merely dropped is closed only when it is collected.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

from agent.model import (
    BadKey,
    CallGrowing,
    Endpoint,
    HostDied,
    ModelError,
    Part,
    Request,
    Restarted,
    Retrying,
    Text,
    Thinking,
)
from agent.models.errors_from import error_from
from agent.models.host_process import BEAT, CANCEL_PATIENCE, PATIENCE, HostProcess
from agent.models.providers import key_variable, provider_with
from agent.models.replies import reply_from
from agent.models.retry import wait_before_retry
from agent.models.spelling import spell

# Seconds for the child to say that it is ready: its import takes 4 to 10, on a cold disk several times that.
START_PATIENCE = 120.0


class RemoteModel:
    """`agent.model.Model` over a child process. Use it from one loop; any number of streams at a time.

    `start` may be called before there is a loop. `sleep` waits between attempts, `chance` spreads the waits (0 to 1).
    """

    def __init__(
        self,
        python: str = sys.executable,
        log: Path | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        environ: Mapping[str, str] | None = None,
        supports_effort: Callable[[str], bool] | None = None,
        beat: float = BEAT,
        patience: int = PATIENCE,
        cancel_patience: float = CANCEL_PATIENCE,
    ) -> None:
        self._python, self._log = python, log
        self._sleep, self._chance = sleep, chance
        self._environ = os.environ if environ is None else environ
        self._supports_effort = supports_effort or (lambda model: False)
        self._beat, self._patience, self._cancel_patience = beat, patience, cancel_patience
        self._process: HostProcess | None = None
        self._starting = asyncio.Lock()
        self._deaths = 0
        self._closed = False

    def start(self) -> None:
        """Starts the child, without waiting. Harmless when it runs already. Raises `HostDied` when it cannot."""
        if self._process is not None:
            return
        try:
            self._process = HostProcess(
                self._python, self._log, beat=self._beat, patience=self._patience, cancel_patience=self._cancel_patience
            )
        except OSError as error:
            why = f"Ullage's own model process cannot be started: {error}. The conversation is kept."
            raise HostDied(why) from error

    @property
    def pid(self) -> int | None:
        """The child's process id, for diagnostics."""
        return None if self._process is None else self._process.pid

    async def ended(self) -> None:
        """Waits until the child that runs now has ended."""
        if self._process is not None:
            await self._process.over.wait()

    async def ready(self) -> None:
        """Waits until the child can take requests. Raises `HostDied`."""
        await self._running()

    async def stream(self, endpoint: Endpoint, request: Request) -> AsyncGenerator[Part, None]:
        """See `agent.model.Model`. Raises `ModelError`."""
        self._check_key(endpoint)
        call = spell(endpoint, request, supports_effort=self._supports_effort(endpoint.model))
        failed, shown = 0, False
        while True:
            try:
                async with aclosing(self._attempt(endpoint, call)) as parts:
                    async for part in parts:
                        shown = shown or isinstance(part, Text | Thinking | CallGrowing)
                        yield part
                return
            except ModelError as error:
                refusal = error
            failed += 1
            wait = wait_before_retry(
                refusal, failed, shown=shown, restartable=request.restartable, chance=self._chance()
            )
            if wait is None:
                raise refusal
            yield Retrying(str(refusal), wait, failed)
            await self._sleep(wait)
            if shown:
                shown = False
                yield Restarted()

    async def aclose(self) -> None:
        """Ends the child. Idempotent; the model is of no more use afterwards."""
        self._closed = True
        if self._process is not None:
            process, self._process = self._process, None
            await process.aclose()

    async def _attempt(self, endpoint: Endpoint, call: dict[str, Any]) -> AsyncGenerator[Part, None]:
        """One request, without retries."""
        process = await self._running()
        exchange = process.open(call)
        texts: list[str] = []
        try:
            while True:
                message = await exchange.messages.get()
                if message is None:
                    raise self._died(process)
                if "error" in message:
                    raise error_from(message["error"], endpoint)
                if "done" in message:
                    self._deaths = 0
                    yield reply_from(message["done"], endpoint)
                    return
                for piece in message.get("pieces", ()):
                    part = _part(piece)
                    if isinstance(part, Text):
                        texts.append(part.text)
                    yield part
        except ModelError as error:
            error.kept = "".join(texts)
            raise
        finally:
            await process.confirm(exchange)

    async def _running(self) -> HostProcess:
        """A child that is ready; starts one where there is none, and a second one when the first does not come up."""
        async with self._starting:
            for last in (False, True):
                if self._closed:
                    raise HostDied("The program is ending.")
                if self._process is not None and self._process.gone:
                    await self._process.aclose()
                    self._process = None
                self.start()
                process = self._process
                assert process is not None
                if process.ready is None:
                    await process.attach()
                assert process.ready is not None
                done, _ = await asyncio.wait({process.ready}, timeout=START_PATIENCE)
                if done and not process.gone:
                    return process
                if not done:
                    process.kill("it did not become ready")
                if last:
                    raise HostDied(_cannot_start(process, self._log))
        raise AssertionError("unreachable")

    def _died(self, process: HostProcess) -> HostDied:
        self._deaths += 1
        why = f" ({process.why})" if process.why else ""
        where = f" Its log is {self._log}." if self._log is not None else ""
        if self._deaths > 1:
            return HostDied(
                f"Ullage's own model process ended again{why}, the {self._deaths} last times it was asked. "
                f"The conversation is kept.{where} Send the message again to try once more."
            )
        return HostDied(
            f"Ullage's own model process ended unexpectedly{why}. The conversation is kept and the process is started "
            f"again with the next message.{where}"
        )

    def _check_key(self, endpoint: Endpoint) -> None:
        """A missing key is known before anything is sent."""
        if endpoint.key is not None:
            if not (endpoint.key.isascii() and endpoint.key.isprintable() and " " not in endpoint.key):
                raise BadKey(
                    f"The API key for {endpoint.name} holds a space, a line break or a character that no key has. "
                    "Copy it again. Nothing was sent."
                )
            return
        variable = endpoint.missing_key
        if variable is None and endpoint.api_base is None:
            variable = key_variable(endpoint.model)
            if variable is not None and self._environ.get(variable):
                return
        if variable is not None:
            raise BadKey(
                f"No API key for {endpoint.name}: set the environment variable {variable}, save it with "
                f"`ullage keys set {provider_with(variable) or variable}` or /key, or choose another model. "
                "Nothing was sent."
            )


def _part(piece: list[Any]) -> Part:
    match piece:
        case ["text", str(text)]:
            return Text(text)
        case ["thinking", str(text)]:
            return Thinking(text)
        case _:
            return CallGrowing(piece[1], piece[2], piece[3])


def _cannot_start(process: HostProcess, log: Path | None) -> str:
    why = process.why or process.last_words()
    reason = f": {why}" if why else ""
    where = f" The log is {log}." if log is not None else ""
    return f"Ullage's own model process does not start{reason}. The conversation is kept.{where} Try `ullage doctor`."
