"""The inline prompt driven by keys through a pipe: writing, completing, pasting, answering, leaving."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from agent.wire import Answer, Asking, Busy, Command, Idle, Inspect, Interrupt, SetMode, Steer, Submit, Undo, Unqueue
from tests.tui.fake_worker import FakeWorker
from tui.front import Choices
from tui.inline.desk import InlineDesk
from tui.inline.prompt import Screen
from tui.inline.talk import Talk
from tui.recall import Recall

ENTER, ESC, NEWLINE, UP, TAB = "\r", "\x1b", "\n", "\x1b[A", "\t"


class Sheet(DummyOutput):
    """An output of a fixed size that keeps what is written."""

    def __init__(self) -> None:
        self.written = ""

    def get_size(self) -> Size:
        return Size(rows=24, columns=80)

    def write(self, data: str) -> None:
        self.written += data

    def write_raw(self, data: str) -> None:
        self.written += data


class Typed:
    """A running prompt."""

    def __init__(self, keys: PipeInput, output: Sheet, folder: Path, recalled: list[str]) -> None:
        self.keys, self.output, self.time = keys, output, 100.0
        self.worker = FakeWorker()
        self.screen = Screen(lambda: self.talk, input=keys, output=output, ascii=False, colours=False)
        self.talk = Talk(self.screen, self.worker.send, recall=Recall(recalled), now=lambda: self.time)
        self.talk.folder = str(folder)
        self.talk.perform = InlineDesk(self.talk, self.screen, Choices()).perform
        self.running = asyncio.ensure_future(self.screen.run(self.talk))

    @property
    def sent(self) -> list[Command]:
        return self.worker.sent

    @property
    def draft(self) -> str:
        return self.screen.buffer.text

    async def type(self, text: str) -> None:
        self.keys.send_text(text)
        await self.settled()

    async def settled(self) -> None:
        """What was typed is read, and then drawn."""
        for _ in range(2):
            drawn = self.screen.app.render_counter
            self.screen.app.invalidate()
            await self.until(lambda: self.screen.app.render_counter > drawn or self.running.done())  # noqa: B023

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(120):
            while not true():  # noqa: ASYNC110 - what is waited for is no event of ours
                await asyncio.sleep(0.01)


@asynccontextmanager
async def typing(folder: Path, recalled: list[str] | None = None) -> AsyncIterator[Typed]:
    output = Sheet()
    with create_pipe_input() as keys, create_app_session(input=keys, output=output):
        typed = Typed(keys, output, folder, recalled or [])
        await typed.until(lambda: typed.screen.app.is_running)
        await typed.settled()
        yield typed
        if not typed.running.done():
            typed.screen.leave(0)
        await typed.running


async def test_enter_sends_and_the_prompt_stands_empty(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type(f"fix it{ENTER}")
        assert typed.sent == [Submit("fix it")]
        assert typed.draft == ""


async def test_ctrl_j_alt_enter_and_a_backslash_begin_a_line(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type(f"a{NEWLINE}b{ESC}{ENTER}c\\{ENTER}d{ENTER}")
        assert typed.sent == [Submit("a\nb\nc\nd")]


async def test_a_paste_is_never_sent_by_its_newlines_and_folds_when_long(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        lines = "\n".join(f"line {n}" for n in range(84))
        await typed.type(f"see \x1b[200~{lines}\x1b[201~")
        assert typed.draft == "see [pasted 84 lines]"
        await typed.type(ENTER)
        assert typed.sent == [Submit(f"see {lines}")]


async def test_a_slash_command_is_completed_fuzzily_and_sent_at_once(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type("/ctx")
        assert [candidate.label for candidate in typed.screen.menu.candidates] == ["/context"]
        await typed.type(ENTER)
        assert typed.sent == [Inspect()]


async def test_paths_are_completed_but_for_what_git_ignores(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)  # noqa: ASYNC221 - nothing else runs yet
    (tmp_path / ".gitignore").write_text("secret.py\n")
    for name in ("secret.py", "retry.py"):
        (tmp_path / name).write_text("")
    async with typing(tmp_path) as typed:
        await typed.type("look at @ry")
        await typed.until(lambda: typed.screen.menu.open)
        assert [candidate.label for candidate in typed.screen.menu.candidates] == ["retry.py"]
        await typed.type(f"{TAB}please{ENTER}")
        assert typed.sent == [Submit("look at @retry.py please")]


async def test_esc_closes_the_list_first_then_stops_and_keeps_the_draft(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        typed.talk.take_all([Busy("turn")])
        await typed.type("/un")
        await typed.type(ESC)
        await typed.until(lambda: not typed.screen.menu.open)
        assert typed.sent == []
        await typed.type(ESC)
        await typed.until(lambda: typed.sent)
        assert typed.sent == [Interrupt()]
        assert typed.draft == "/un"


async def test_up_and_ctrl_r_bring_earlier_messages_back(tmp_path: Path) -> None:
    async with typing(tmp_path, ["first thing", "second thing"]) as typed:
        await typed.type(f"draft{UP}{UP}")
        assert typed.draft == "first thing"
        await typed.type("\x1b[B\x1b[B")
        assert typed.draft == "draft"
        await typed.type("\x15sec\x12")
        await typed.type(f"{TAB}")
        assert typed.draft == "second thing"


async def test_keys_queue_steer_take_back_and_change_the_mode(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        typed.talk.take_all([Busy("turn")])
        await typed.type(f"later{ENTER}now\x13\x1b[1;3A\x1b[Z/undo{ENTER}")
        assert typed.sent == [Submit("later"), Steer("now"), Unqueue(), SetMode("edits"), Undo()]


async def test_the_draft_steps_aside_for_a_question_and_no_key_reaches_it(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type("half a sentence ")
        typed.talk.take_all([Busy("turn"), Asking(3, "c", "bash", "Run", "", command="rm -r build")])
        assert typed.draft == ""
        await typed.settled()
        await typed.type("y")
        assert typed.sent == []
        typed.time += 1
        await typed.type(f"x\x1b[200~y\x1b[201~{NEWLINE}{TAB}")
        assert (typed.sent, typed.draft) == ([], "")
        await typed.type("y")
        assert typed.sent == [Answer(3, "once")]
        assert typed.draft == "half a sentence "


async def test_escape_at_a_question_stops_the_turn_and_from_the_reason_goes_back(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        typed.talk.take_all([Busy("turn"), Asking(3, "c", "bash", "Run", "", command="rm -r build")])
        await typed.settled()
        typed.time += 1
        await typed.type("n")
        assert not typed.screen.keyed
        await typed.type(ESC)
        await typed.until(lambda: typed.screen.keyed)
        assert typed.sent == []
        await typed.type(ESC)
        await typed.until(lambda: typed.sent)
        assert typed.sent == [Interrupt()]


async def test_a_refusal_is_written_and_the_draft_comes_back(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type("draft")
        typed.talk.take_all([Busy("turn"), Asking(3, "c", "bash", "Run", "", command="rm -r build")])
        await typed.settled()
        typed.time += 1
        await typed.type(f"nnot that{ENTER}")
        assert typed.sent == [Answer(3, "refuse", "not that")]
        assert typed.draft == "draft"


async def test_ctrl_c_clears_the_draft_and_twice_at_rest_leaves(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type("draft\x03")
        assert (typed.draft, typed.running.done()) == ("", False)
        await typed.type(UP)
        assert typed.draft == "draft"
        typed.time += 5
        await typed.type("\x15\x03")
        assert "once more to quit" in typed.output.written
        await typed.type("\x03")
        await typed.until(typed.running.done)
        assert typed.running.result() == 0


async def test_ctrl_d_leaves_when_nothing_is_written(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        await typed.type("a\x01\x04")
        assert (typed.draft, typed.running.done()) == ("", False)
        await typed.type("\x04")
        await typed.until(typed.running.done)


async def test_what_is_printed_goes_above_the_prompt(tmp_path: Path) -> None:
    async with typing(tmp_path) as typed:
        typed.talk.take_all([Idle("s", "/s/session.jsonl", "failed", "the model said no")])
        assert "✗ The model said no.\r\n" in typed.output.written
