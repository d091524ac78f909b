"""The worker: one thread, one loop, commands in, events out.

Not a turn (that is `loop`) and not a wish's doing (that is `wishes`). `Worker.send` may be called from any thread and
never blocks; `emit` is called on the worker's thread.

Invariants
 1. One thing runs at a time; `Interrupt` cancels it at whatever await it stands.
 2. The queue survives interrupts, compactions and failures.
 3. The one place in the program that catches `Exception` is `_run`'s edge: it emits `Crashed` and ends.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from agent import job_news, loop
from agent.ending import End
from agent.forking import fork
from agent.hooks import asking as hooks
from agent.instructions import prompt
from agent.session import Session
from agent.session_log import LogError, LogFailed
from agent.wire import (
    Answer,
    AtOnce,
    Busy,
    Command,
    Compact,
    Crashed,
    Event,
    Fork,
    Idle,
    Init,
    Interrupt,
    Open,
    Pin,
    Prune,
    Queued,
    Quit,
    Reload,
    Returned,
    Reviewed,
    Rewind,
    SetBudget,
    SetModel,
    SetSetting,
    SetTrust,
    Shell,
    Steer,
    Submit,
    Told,
    Undo,
    Unqueue,
    Wish,
)
from agent.wishes import dispatch
from agent.wishes.rewinding import after_work
from compaction.view import first_line

# The interpreter's default of 5 ms lets a busy worker hold a key back for that long per switch; a tenth of it keeps the
# screen within its idle latency (measured: key p99 36 ms at 5 ms, 15 ms at 0.5 ms). Seconds.
SWITCH_INTERVAL = 0.0005


# Wishes that wait for the end of what runs, as people call them; messages that wait are listed.
WAITS: Mapping[type[Command], str] = {
    Compact: "compacting", Prune: "pruning", Undo: "undoing", Rewind: "going back", Reload: "reading anew",
    SetModel: "the other model", Shell: "the command", Open: "the other session",
}  # fmt: skip


def _acts_at_once(command: Command) -> bool:
    return isinstance(command, AtOnce) or (isinstance(command, Prune) and command.probe)


class Opener(Protocol):
    """Opens sessions for the worker: wired by the command line, scripted in tests."""

    async def open(self, path: str | None, emit: Callable[[Event], None]) -> Session:
        """The session at `path`, or a new one for None. Raises `dispatch.Unopened` with a sentence."""
        ...

    async def aclose(self) -> None:
        """Ends models and processes."""
        ...


class Worker:
    """Runs sessions on a thread of its own."""

    def __init__(self, opener: Opener, emit: Callable[[Event], None], first: str | None = None) -> None:
        self._opener = opener
        self._emit = emit
        self._first = first
        self._queue: deque[Command] = deque()
        self._ready = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._early: list[Command] = []
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._current: asyncio.Task[Any] | None = None
        self._running = ""
        self._quitting = False
        self._stopping = False
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def start(self) -> None:
        """Starts the thread; the first session opens at once."""
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._thread.start()

    def send(self, command: Command) -> None:
        """Hands a command over; from any thread, never blocking. After `Crashed` or `Quit` it is dropped."""
        with self._lock:
            if self._loop is None:
                self._early.append(command)
                return
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._take, command)

    def join(self, timeout: float | None = None) -> bool:
        """Waits for the thread to end, `timeout` seconds at most; True when it has."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # ── on the worker's thread ──

    def _run(self) -> None:
        try:
            asyncio.run(self.serve())
        except Exception as error:  # the thread's edge: nothing above would hear of it
            self._emit(Crashed(f"{type(error).__name__}: {error}", traceback.format_exc()))

    async def serve(self) -> None:
        """What the thread runs, for a caller with its own loop; until `Quit`. Raises whatever is a fault of ours."""
        with self._lock:
            self._loop = asyncio.get_running_loop()
            early, self._early = self._early, []
        # A fault while a command is taken is ours too: without this it would be printed and the worker go on.
        self._loop.set_exception_handler(self._faulted)
        for command in early:
            self._take(command)
        try:
            await self._guarded("opening", self._open(self._first))
            while not self._quitting:
                await self._ready.wait()
                self._ready.clear()
                while self._queue and not self._quitting:
                    await self._do(self._queue.popleft())
            if self._fault is not None:
                raise self._fault
        finally:
            await self._close()
            await self._opener.aclose()

    def _faulted(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Ends the worker for a fault in a callback: no task of ours would raise it.

        What the loop says of transports and forgotten futures is no state of ours, and a screen is no place for it.
        """
        error = context.get("exception")
        if "handle" in context and isinstance(error, Exception):
            self._fault = error
            self._end()

    def _end(self) -> None:
        self._quitting = True
        self._stop()
        self._ready.set()

    def _stop(self) -> None:
        """Cancels what runs. What has not begun yet begins first: a task cancelled before would lose its message."""
        if self._current is not None:
            self._current.cancel()
        else:
            self._stopping = bool(self._running)

    def _take(self, command: Command) -> None:
        """Sorts a command: at once, at the step's end, or into the queue."""
        session = self._session
        match command:
            case Interrupt():
                self._stop()
            case Answer(id=asked, choice=choice, reason=reason):
                if session is not None:
                    session.answers.answer(asked, choice, reason)
            case Reviewed(summary=summary):
                if session is not None:
                    session.answers.reviewed(summary)
            case Unqueue():
                self._unqueue()
            case Quit():
                self._end()
            case _ if session is not None and _acts_at_once(command):
                dispatch.at_once(session, command)
            case Steer(text=text) if self._running == "turn" and session is not None:
                session.steered.append(text)
                session.tell(f"joins the turn after its current step: {first_line(text)}")
            case Pin() | SetBudget() | SetTrust() | SetSetting() if self._running == "turn" and session is not None:
                session.waiting.append(command)
            case Compact() | Prune() if self._running:
                # Room is made before the next request, whatever waits: messages stay in the queue meanwhile.
                first = next((n for n, c in enumerate(self._queue) if isinstance(c, (Submit, Steer))), len(self._queue))
                self._queue.insert(first, command)
                self._ready.set()
                self._tell_waiting(command)
            case _:
                self._queue.append(command)
                if self._running:
                    self._tell_queue()
                    self._tell_waiting(command)
                self._ready.set()

    def _tell_waiting(self, command: Command) -> None:
        """Says of a wish that it was heard: nothing else is seen of it until what runs has ended."""
        what = WAITS.get(type(command))
        if what is not None and self._session is not None and self._running != "opening":
            self._session.tell(f"{what} waits until what runs has ended")

    def _unqueue(self) -> None:
        last = next((c for c in reversed(self._queue) if isinstance(c, (Submit, Steer))), None)
        if last is not None:
            # By identity and from the end: an equal message may wait further in front.
            del self._queue[max(i for i, c in enumerate(self._queue) if c is last)]
            self._tell_queue()
            self._emit(Returned(last.text, "", 0))

    def _tell_queue(self) -> None:
        self._emit(Queued(tuple(c.text for c in self._queue if isinstance(c, (Submit, Steer)))))

    async def _do(self, command: Command) -> None:
        session = self._session
        if isinstance(command, Open):
            await self._guarded("opening", self._open(command.path))
            return
        if session is None:
            if isinstance(command, (Submit, Steer)):
                self._emit(Returned(command.text, "no session is open", 1))
            self._emit(Idle("", "", "failed", "no session is open", 1))
            return
        match command:
            case Fork(before=before):
                await self._guarded("opening", self._fork(session, before))
            case Submit(text=text, images=images):
                self._tell_queue()
                await self._guarded("turn", loop.turn(session, text, images))
            case Init():
                await self._guarded("turn", loop.turn(session, prompt("init")))
            case Steer(text=text):
                self._tell_queue()
                await self._guarded("turn", loop.turn(session, text))
            case Shell():
                await self._guarded("shell", dispatch.shell(session, command))
            case _ if _acts_at_once(command):
                dispatch.at_once(session, command)
            case _ if isinstance(command, Wish):
                await self._guarded(type(command).__name__.lower(), dispatch.carry_out(session, command))
            case _:
                raise AssertionError(f"{type(command).__name__} is taken at once")

    async def _guarded(self, what: str, work: Coroutine[Any, Any, End]) -> None:
        """Runs one piece of work as the task that `Interrupt` cancels; `Busy` before, `Idle` after."""
        self._emit(Busy(what))
        self._running = what
        end = End("interrupted", None, 130)
        self._stopping = False
        task = asyncio.ensure_future(self._settled(work))
        try:
            await asyncio.wait({task})
            if not task.cancelled():
                end = task.result()
        finally:
            self._current = None
            self._running = ""
        session = self._session
        if session is not None:
            # What joined no turn, because it ended first, opens one: before all that was queued behind it.
            self._queue.extendleft(Steer(text) for text in reversed(session.steered))
            session.steered.clear()
        path = str(session.log.path) if session else ""
        self._emit(Idle(session.id if session else "", path, end.stop, end.error, end.code))

    async def _settled(self, work: Coroutine[Any, Any, End]) -> End:
        self._current = asyncio.current_task()
        if self._stopping and self._current is not None:
            self._current.cancel()
        try:
            end = await self._ended(work)
            if self._session is not None:
                await after_work(self._session)
                await dispatch.run_waiting(self._session)
        except LogFailed as error:
            return dispatch.log_failed(self._session, error)
        return end

    async def _ended(self, work: Coroutine[Any, Any, End]) -> End:
        try:
            return await work
        except asyncio.CancelledError:
            return End("interrupted", None, 130)
        except dispatch.Unopened as error:
            return End("failed", str(error), error.code)

    async def _open(self, path: str | None) -> End:
        session = await self._opener.open(path, self._emit)
        old, self._session = self._session, session
        if old is not None:
            session.notices += job_news.ending(old)
            await old.aclose()
        dispatch.replay(session, resumed=path is not None)
        if session.kit.interactive:
            await hooks.begin(session)
        return End()

    async def _fork(self, session: Session, before: int | None) -> End:
        try:
            path = await asyncio.to_thread(fork, session.kit.places, session.log.path, before, session.kit.clock())
        except LogError as error:
            return End("failed", str(error), 1)
        end = await self._open(str(path))
        self._emit(Told(f"a fork of {session.id}, which stays as it is: /resume {session.id} goes back to it"))
        return end

    async def _close(self) -> None:
        if self._session is not None:
            await self._session.aclose()
            self._session = None


__all__ = ["Opener", "Worker"]
