"""`ullage keys` and `/key`: a key goes in unseen, and comes out nowhere."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual.widgets import Input

from agent import places
from agent.keys import Keys
from agent.wire import SaveKey
from agent.wishes.saving_keys import SavedKeys
from tests.agent.test_keys import SECRET, Ring
from tests.tui.fake_worker import Tape
from tests.tui.headless_play import options_of
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui.actions import AskKey, Say
from tui.commands import parse
from tui.front import Choices
from tui.full.key_screen import KeyScreen
from tui.headless.keys import run_keys
from tui.inline.desk import InlineDesk
from tui.inline.prompt import Screen
from tui.inline.talk import Talk


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(tmp_path: Path, line: str, stdin: io.StringIO, ring: Ring, hidden: str = "") -> tuple[int, str, str]:
    place = places.under(tmp_path)
    out, err = io.StringIO(), io.StringIO()
    saved = SavedKeys(place, {}, (), Keys(place.keys, ring))
    code = run_keys(options_of(line), saved, stdin, out, err, lambda prompt: hidden)
    return code, out.getvalue(), err.getvalue()


def test_a_key_comes_from_the_hidden_prompt_or_from_a_pipe_and_is_listed_by_name(tmp_path: Path) -> None:
    ring = Ring()
    typed = run(tmp_path, "keys set openai", Terminal(), ring, SECRET)
    piped = run(tmp_path, "keys set anthropic", io.StringIO(f"{SECRET}\nmore\n"), ring)
    assert (typed[0], piped[0]) == (0, 0)
    assert ring.held == {"OPENAI_API_KEY": SECRET, "ANTHROPIC_API_KEY": SECRET}
    code, listed, _ = run(tmp_path, "keys list --json", Terminal(), ring)
    assert (code, [row["provider"] for row in json.loads(listed)]) == (0, ["anthropic", "openai"])
    assert run(tmp_path, "keys forget openai", Terminal(), ring)[:2] == (0, "the key for openai is forgotten\n")
    assert run(tmp_path, "keys forget openai", Terminal(), ring)[0] == 4
    again = run(tmp_path, "keys forget openai --json", Terminal(), ring)
    assert (again[0], json.loads(again[1])) == (4, {"provider": "openai", "said": None})
    shown = run(tmp_path, "keys", Terminal(), ring)
    assert "anthropic  ANTHROPIC_API_KEY  keyring" in shown[1]
    assert SECRET not in "".join(map(str, (typed, piped, listed, shown)))


def test_a_key_as_an_argument_is_refused_and_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options_of(f"keys set openai {SECRET}")
    assert run(tmp_path, f"keys set {SECRET}", Terminal(), Ring())[0] == 2
    assert run(tmp_path, "keys set", Terminal(), Ring())[0] == 2
    said = capsys.readouterr()
    assert "never an argument" in said.err and SECRET not in said.err + said.out
    assert SECRET not in "".join(map(str, run(tmp_path, f"keys set {SECRET}", Terminal(), Ring())))


async def test_the_screen_asks_for_a_key_without_showing_it() -> None:
    async with stage() as s:
        await s.play(*Tape().opened())
        await s.type("/key openai")
        screen = await s.on(KeyScreen)
        assert screen.query_one(Input).password
        await s.press(*"sk-1", "enter")
        assert s.sent(SaveKey) == [SaveKey("openai", "sk-1")]


def test_a_key_typed_behind_the_command_is_not_kept_and_not_repeated() -> None:
    said = parse(f"/key {SECRET}")
    assert isinstance(said, Say) and SECRET not in said.text
    assert parse("/key openai") == AskKey("openai")
    play = Play()
    play.take(*Tape().opened())
    play.paper.hides = False
    play.talk.enter("/key openai")
    assert "`ullage keys set openai`" in play.text and play.remembered == []


async def test_inline_a_key_is_asked_for_unseen_and_leaves_no_trace() -> None:
    written: list[str] = []

    class Seen(DummyOutput):
        def write(self, data: str) -> None:
            written.append(data)

    async def settled(screen: Screen, text: str) -> None:
        if text:
            screen.app.input.send_text(text)  # type: ignore[attr-defined]
        for _ in range(3):
            drawn = screen.app.render_counter
            screen.app.invalidate()
            async with asyncio.timeout(30):
                while screen.app.render_counter == drawn:  # noqa: ASYNC110 - another task draws
                    await asyncio.sleep(0.001)

    with create_pipe_input() as pipe:
        play = Play()
        screen = Screen(lambda: play.talk, input=pipe, output=Seen(), ascii=False, colours=False)
        play.talk = Talk(screen, play.worker.send, remember=play.remembered.append)
        play.talk.perform = InlineDesk(play.talk, screen, Choices()).perform
        play.take(*Tape().opened())
        running = asyncio.ensure_future(screen.run(play.talk))
        try:
            await settled(screen, "")
            await settled(screen, "a draft")
            play.talk.perform(AskKey("openai"))
            await settled(screen, f"{SECRET}\x15{SECRET}")
            assert screen.buffer.text == SECRET
            await settled(screen, "\r")
            assert SaveKey("openai", SECRET) in play.worker.sent
            assert screen.buffer.text == "a draft"
            for key in ("\x19", *("\x1f",) * 8, "\x15", "\x1b[A"):  # yank, undo, delete, earlier messages
                await settled(screen, key)
                assert SECRET not in screen.buffer.text
            play.talk.perform(AskKey("openai"))
            await settled(screen, f"{SECRET}\x03")
            play.talk.stop()
            await settled(screen, "\x1b[A\x1b[A\x1b[A")
            assert SECRET not in screen.buffer.text
        finally:
            screen.leave(0)
            async with asyncio.timeout(30):
                await running
    shown = "".join(written)
    assert SECRET not in shown and "*****" in shown and play.remembered == []
