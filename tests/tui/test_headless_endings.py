"""How a headless run ends when it does not end by itself: signals, a reader that went away, a full disk."""

from __future__ import annotations

import errno
import io
import os
import signal

import pytest

from agent.wire import Busy, Command, Interrupt, Quit, Submit
from compaction.records import AssistantSaid
from tests.tui.headless_play import DONE, PlayedWorker, appended, run
from tui.headless.pipes import Pipe, signals_to

ANSWER = AssistantSaid("done", (), None, "done", "m", 2)


def kill_me(number: int, *, when: type[Command], times: int = 1) -> object:
    """A listener that sends this process a signal each of the first `times` that such a command is sent."""
    left = [times]

    def listen(command: Command) -> None:
        if isinstance(command, when) and left[0]:
            left[0] -= 1
            os.kill(os.getpid(), number)

    return listen


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_interrupts_the_turn_and_the_status_names_it(number: int, code: int) -> None:
    ran = run("exec --json go", (Busy("turn"),), until_stopped=True, on_sent=kill_me(number, when=Submit))
    assert (ran.code, ran.ended) == (code, True)
    assert ran.sent[-1] == Quit()
    assert Interrupt() in ran.sent
    assert ran.lines[-1]["stop"] == "interrupted"


def test_work_that_ends_well_in_spite_of_a_signal_keeps_its_status() -> None:
    ran = run("exec go", (Busy("turn"),), until_stopped=True, after_stop=(appended(3, ANSWER), DONE),
              on_sent=kill_me(signal.SIGINT, when=Submit))  # fmt: skip
    assert (ran.code, ran.out) == (0, "done\n")


def test_a_second_signal_waits_for_nothing_but_still_says_quit() -> None:
    stubborn = kill_me(signal.SIGINT, when=(Submit, Interrupt), times=2)  # type: ignore[arg-type]
    ran = run("exec --json go", (Busy("turn"),), until_stopped=True, after_stop=(), on_sent=stubborn)
    assert (ran.code, ran.sent[-1], ran.ended) == (130, Quit(), True)
    assert ran.lines[-1]["stop"] == "interrupted"


def test_a_signal_before_the_session_is_open_sends_no_prompt() -> None:
    class Early(PlayedWorker):
        def start(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().start()

    ran = run("exec go", kind=Early)
    assert ran.code == 130
    assert not any(isinstance(command, Submit) for command in ran.sent)


def test_a_signal_between_two_works_is_repeated_when_the_next_begins() -> None:
    class Deaf(PlayedWorker):
        """Takes an `Interrupt` only once its turn is known to run, as the real worker does."""

        def send(self, command: Command) -> None:
            if isinstance(command, Submit):
                self.sent.append(command)
                os.kill(os.getpid(), signal.SIGINT)
            elif isinstance(command, Interrupt) and sum(isinstance(c, Interrupt) for c in self.sent) == 0:
                self.sent.append(command)
                self._play((Busy("turn"),))
            else:
                super().send(command)

    ran = run("exec go", kind=Deaf, until_stopped=True)
    assert ran.code == 130
    assert ran.sent == [Submit("go"), Interrupt(), Interrupt(), Quit()]


def test_the_signals_are_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    run("exec go")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    got: list[int] = []
    try:
        with signals_to(got.append):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert got == []


# ── output that goes nowhere ──


class Refusing(io.StringIO):
    """A stream that takes `lines` writes, then fails."""

    def __init__(self, error: OSError, lines: int = 0) -> None:
        super().__init__()
        self.error, self.left = error, lines

    def write(self, text: str) -> int:
        if self.left <= 0:
            raise self.error
        self.left -= 1
        return super().write(text)


def test_when_nobody_reads_any_more_the_turn_stops_quietly() -> None:
    ran = run("exec --json go", (Busy("turn"),), until_stopped=True, out=Refusing(BrokenPipeError(), lines=2))
    assert (ran.code, ran.ended) == (141, True)
    assert Interrupt() in ran.sent
    assert "Traceback" not in ran.err


def test_when_the_disk_is_full_the_run_has_failed_and_says_so() -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    ran = run("exec go", (Busy("turn"), appended(3, ANSWER), DONE), out=Refusing(full))
    assert ran.code == 1
    assert "ullage: the output cannot be written: No space left on device\n" in ran.err


def test_a_pipe_without_a_reader_leaves_nothing_to_complain_of_at_the_end() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        pipe = Pipe(stream)
        pipe.text("one")
        pipe.text("two")
        assert pipe.broken == 141
        stream.write("left over")


def test_every_line_is_flushed_when_it_is_written() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    Pipe(stream).json({"event": "idle"})
    assert raw.getvalue() == b'{"event": "idle"}\n'


def test_what_a_narrow_encoding_cannot_say_becomes_a_question_mark() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    Pipe(stream).text("naïve → 日本")
    assert raw.getvalue() == "naïve ? ??\n".encode("latin-1")


def test_json_for_a_narrow_encoding_or_a_terminal_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Pipe(stream).json({"text": "→\x9b\x7f"})
    assert raw.getvalue() == b'{"text": "\\u2192\\u009b\\u007f"}\n'


def test_an_answer_for_a_stream_that_was_never_there_has_reached_nobody() -> None:
    pipe = Pipe(None)
    assert (pipe.terminal, pipe.broken) == (False, None)
    pipe.text("x")
    assert (pipe.broken, pipe.why) == (1, "the output cannot be written: it is closed")


class Shut(io.StringIO):
    @property
    def closed(self) -> bool:
        return True


def test_a_run_whose_output_is_closed_has_failed_says_so_and_keeps_its_session() -> None:
    ran = run("exec go", (Busy("turn"), appended(3, ANSWER), DONE), out=Shut())
    assert ran.code == 1
    assert "ullage: the output cannot be written: it is closed\n" in ran.err
    assert "go on with `ullage exec --session a1b2c3d4 …`" in ran.err
