"""`ullage --inline` in a real pseudo-terminal against a scripted provider, read as a person reads: off the screen."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pexpect
import pyte
import pytest

from tests.architecture.tree import ROOT
from tui.front import SETTLE

# Longer than any of these takes on a busy machine; only what hangs meets it. Seconds.
HANGING = 120

NOTES = "## Goal\nCount.\n\n## Constraints\nNone.\n\n## Done\n- counted\n\n## Decisions\nNone.\n\n## Next\n- stop\n"
STEPS = [
    {"when": "You write the notes", "text": NOTES},
    {"when": "hangs", "text": "It goes on", "chunk": 4, "hang": "middle"},
    {"text": "I count first.", "calls": [{"name": "bash", "arguments": {"command": "seq 1 900"}}]},
    {"text": "Counted to **three thousand** 三千."},
]

MAIN = "from tui.cli import main; raise SystemExit(main())"


@dataclass
class Terminal:
    """A pseudo-terminal with the program in it, and what its screen shows."""

    process: pexpect.spawn
    rows: int
    columns: int
    screen: pyte.HistoryScreen = field(init=False)
    raw: str = ""

    def __post_init__(self) -> None:
        self.screen = pyte.HistoryScreen(self.columns, self.rows, history=2_000, ratio=0.5)
        self._stream = pyte.Stream(self.screen)

    def read(self) -> bool:
        """What comes within a moment; False at its end."""
        try:
            text = self.process.read_nonblocking(65_536, timeout=0.1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += text
        self._stream.feed(text)
        return True

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.screen.display]

    @property
    def text(self) -> str:
        """Scrollback and screen."""
        above = ["".join(line[x].data for x in range(self.columns)).rstrip() for line in self.screen.history.top]
        return "\n".join([*above, *self.lines])

    def until(self, seen: str | Callable[[], object]) -> None:
        true = (lambda: seen in self.text) if isinstance(seen, str) else seen
        limit = time.monotonic() + HANGING
        while not true():
            assert time.monotonic() < limit and (self.read() or true()), f"never {seen}:\n{self.text}"

    def send(self, text: str) -> None:
        self.process.send(text)

    def send_when_read(self, key: str, gone: str) -> None:
        """A key for a guarded question, once it has stood for longer than its guard; `gone` stands while it does.

        It is pressed once: a second, sent before the first was seen to be heard, would be typed into the prompt.
        """
        stood = time.monotonic() + 2 * SETTLE
        while time.monotonic() < stood:
            self.read()
        self.send(key)
        self.until(lambda: not any(gone in line for line in self.lines))

    def end(self) -> int:
        self.until(lambda: not self.read())
        self.process.close()
        return self.process.exitstatus if self.process.exitstatus is not None else 128 + self.process.signalstatus


@dataclass
class Machine:
    """A folder to work in, with homes of its own, and the address of a provider."""

    home: Path
    base: str
    open: list[Terminal] = field(default_factory=list)

    def start(
        self, *arguments: str, rows: int = 24, columns: int = 80, full: bool = False, **environ: str
    ) -> Terminal:  # fmt: skip
        homes = {f"XDG_{name}_HOME": str(self.home / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        work = self.home / "work"
        work.mkdir(exist_ok=True)
        settings = self.home / "config" / "ullage" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("[context]\nprune_minimum = 500\n")  # else one small result is not worth a broken cache
        kept = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "ULLAGE_PLAIN")}
        process = pexpect.spawn(
            sys.executable,
            [
                "-c",
                MAIN,
                *([] if full else ["--inline"]),
                "--model",
                "openai/stub",
                "--api-base",
                self.base,
                "--window",
                "40000",
                *arguments,
            ],
            cwd=str(work),
            env={**kept, **homes, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environ},
            dimensions=(rows, columns),
            encoding="utf-8",
            codec_errors="replace",
        )
        self.open.append(Terminal(process, rows, columns))
        return self.open[-1]


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"steps": STEPS, "default": {"text": "Done."}}))
    command = [sys.executable, "-m", "agent.models.stub_server", str(script), "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        made = Machine(tmp_path, server.stdout.readline().split()[-1])
        yield made
        for terminal in made.open:
            terminal.process.close(force=True)
        server.terminate()


def test_a_session_is_asked_approved_pruned_undone_compacted_looked_at_and_left(machine: Machine) -> None:
    terminal = machine.start()
    terminal.until("ask first ›")
    terminal.send("count please\r")
    terminal.until("y yes, once")
    assert "? bash seq 1 900?" in terminal.lines
    terminal.send_when_read("y", "yes, once")
    terminal.until("Counted to three thousand 三")
    terminal.until(lambda: "esc stops" not in terminal.text)
    assert any(line.startswith("✓ bash seq 1 900") for line in terminal.text.splitlines())
    terminal.until(lambda: any(line.startswith("ctx ▕") and "of 32k budget" in line for line in terminal.lines))

    terminal.send("/prune 4\r")
    terminal.until("enter does exactly this")
    terminal.send_when_read("\r", "enter does exactly this")
    terminal.until("── pruned 1 result")
    terminal.send("/undo\r")
    terminal.until("── undone:")
    terminal.send("/compact the counting\r")
    terminal.until("focus: the counting")
    terminal.send("/context\r")
    terminal.until("in every request:")
    terminal.until("enter closes")
    assert any("summary" in line for line in terminal.lines)
    terminal.send("\r")
    terminal.until(lambda: not any("enter closes" in line for line in terminal.lines))
    terminal.send("\x04")
    assert terminal.end() == 0
    assert "go on with: ullage --resume " in terminal.text
    assert not any(line.startswith(("ctx ", "cache ", "ask ")) for line in terminal.lines)


def test_case_57_forty_columns_and_twelve_rows_hold_the_question_and_its_choices(machine: Machine) -> None:
    terminal = machine.start("count please", rows=12, columns=40)
    terminal.until("y yes, once")
    assert "? bash seq 1 900?" in terminal.lines
    assert any(line.startswith("? ›") for line in terminal.lines)
    terminal.send_when_read("s", "yes, once")
    terminal.until("Counted to")
    terminal.send("\x04")
    assert terminal.end() == 0


def test_case_58_esc_stops_an_answer_and_sigterm_gives_the_terminal_back(machine: Machine) -> None:
    terminal = machine.start()
    before = termios.tcgetattr(terminal.process.child_fd)
    terminal.until("ask first ›")
    terminal.send("this hangs\r")
    terminal.until("It go")
    terminal.send("\x1b")
    terminal.until("Stopped.")
    terminal.process.kill(signal.SIGTERM)
    terminal.until("go on with: ullage --resume ")
    after = termios.tcgetattr(terminal.process.child_fd)
    assert terminal.end() == 143
    assert after[:4] == before[:4]
    assert terminal.raw.count("\x1b[?2004h") == terminal.raw.count("\x1b[?2004l")


def test_without_colour_nothing_is_coloured(machine: Machine) -> None:
    terminal = machine.start(NO_COLOR="1")
    terminal.until("cache ○ cold")
    assert {char.fg for line in terminal.screen.buffer.values() for char in line.values()} == {"default"}
    terminal.send("\x04")
    assert terminal.end() == 0


def test_another_alphabet_gets_ascii_alone(machine: Machine) -> None:
    terminal = machine.start(LC_ALL="C", LANG="C")
    terminal.until("ask first >")
    terminal.until("cold")
    assert terminal.text.isascii()
    terminal.send("\x04")
    assert terminal.end() == 0


@pytest.mark.parametrize(("environ", "full"), [({"TERM": "dumb"}, True), ({"ULLAGE_PLAIN": "1"}, False)])
def test_plain_lines_are_text_and_newlines_alone_whichever_screen_was_asked_for(
    machine: Machine, environ: dict[str, str], full: bool
) -> None:
    terminal = machine.start(full=full, **environ)
    terminal.until("ask first>")
    terminal.send("count please\n")
    terminal.until("? y yes, once")
    stood = time.monotonic() + 2 * SETTLE
    while time.monotonic() < stood:
        terminal.read()
    terminal.send("y\n")
    terminal.until("three thousand")
    terminal.until(lambda: "\nctx " in terminal.text and terminal.text.rstrip().endswith("ask first>"))
    assert " budget (" in terminal.text and "· window 40k" in terminal.text
    terminal.send("/undo\n")
    terminal.until("Nothing to undo")
    terminal.until(lambda: terminal.text.rstrip().endswith("ask first>"))
    terminal.send("\x04")
    assert terminal.end() == 0
    assert "go on with: ullage --resume " in terminal.text
    assert "\x1b" not in terminal.raw


def test_without_a_terminal_there_is_a_sentence(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "--inline"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_neither_the_full_screens_library_nor_the_providers_is_loaded() -> None:
    code = (
        "import sys, tui.inline.running, tui.inline.prompt; print({'textual', 'litellm', 'openai'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
