"""The panel about a project's file: seen at once, in nobody's way, answered by a letter that was meant."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from agent.wire import Asking, Busy, Finished, Proposed, SetTrust, ShowTrust, Submit
from tests.tui.fake_worker import FakeWorker, Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import Stage
from tests.tui.steady import steady
from tui.commands import parse
from tui.full.app import UllageApp
from tui.full.prompt import Prompt
from tui.full.trust_panel import TrustPanel

FILE = "/home/ada/project/.ullage/config.toml"
TEXT = "".join(f'[models."m{n}"]\nwindow = {n + 5000}\n' for n in range(40)) + "last = 'line'\n"
SAYS = ("starts the MCP server x, which runs the command: sh -c evil", "sets [red]x[/] to 1", "ignored: line 3: mode")
FOUND = Proposed(FILE, "d1", TEXT, SAYS)
ASKED = Proposed(FILE, "d1", TEXT, SAYS, asked=True)


@dataclass
class Clock:
    at: float = 100.0

    def __call__(self) -> float:
        return self.at


class Shown:
    """The app with a clock of the test's own."""

    def __init__(self, size: tuple[int, int] = (80, 30)) -> None:
        self.clock, self.worker = Clock(), FakeWorker()
        self.app = UllageApp(self.worker.send, now=self.clock)
        self.worker.emit = self.app.post_event
        self._running = steady(self.app, size)

    async def __aenter__(self) -> Shown:
        pilot = await self._running.__aenter__()
        self.stage = Stage(self.app, self.worker, pilot)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._running.__aexit__(*error)  # type: ignore[arg-type]

    async def found(self, event: Proposed = FOUND) -> TrustPanel:
        await self.stage.play(*Tape().opened(), event)
        panel = self.app.query_one(TrustPanel)
        assert panel.display
        return panel


async def test_it_quotes_the_file_and_typing_goes_on() -> None:
    async with Shown() as s:
        panel = await s.found()
        said = s.stage.said("#trust-body")
        assert FILE in s.stage.said("#trust-title")
        assert "sh -c evil" in said and "[red]x[/]" in said and "ignored: line 3: mode" in said
        assert "window = 5000" in said
        await s.stage.type("yes x n")
        assert s.worker.sent == [Submit("yes x n")]
        assert panel.display


async def test_a_key_pressed_before_it_was_seen_for_a_moment_trusts_nothing() -> None:
    async with Shown() as s:
        await s.found(ASKED)
        await s.stage.press("y", "enter", "x", "n", "escape")
        assert s.worker.sent == []
        for _ in range(5):  # typing on begins the wait anew
            s.clock.at += 0.2
            await s.stage.press("y")
        assert s.worker.sent == []
        s.clock.at += 0.31
        await s.stage.press("enter")
        assert s.worker.sent == []
        await s.stage.press("y")
        assert s.worker.sent == [SetTrust(FILE, "d1", "trust")]
        assert isinstance(s.app.focused, Prompt)


@pytest.mark.parametrize(("key", "choice"), [("y", "trust"), ("n", "later"), ("escape", "later"), ("x", "never")])
async def test_tab_goes_to_it_and_a_letter_answers(key: str, choice: str) -> None:
    async with Shown() as s:
        panel = await s.found()
        await s.stage.press("tab")
        assert s.app.focused is panel
        s.clock.at += 1
        await s.stage.press(key)
        assert s.worker.sent == [SetTrust(FILE, "d1", choice)]  # type: ignore[arg-type]
        assert not panel.display and isinstance(s.app.focused, Prompt)


async def test_a_file_that_changed_is_shown_anew_and_a_hostile_one_is_shown_at_once() -> None:
    async with Shown() as s:
        panel = await s.found(ASKED)
        s.clock.at += 1
        await s.stage.press("y")
        huge = Proposed(FILE, "d2", "\n" * 60_000 + "end = 1\n", ("sets end to 1",), asked=True)
        await s.stage.play(huge, Finished("trust", False, 1, None, "it changed since it was shown"))
        assert panel.display and s.app.focused is panel
        await s.stage.press("end")
        assert "end = 1" in s.stage.text("#trust-body")


async def test_another_letter_begins_a_message() -> None:
    async with Shown() as s:
        await s.found()
        await s.stage.press("tab")
        s.clock.at += 1
        await s.stage.press("h", "i", "enter")
        assert s.worker.sent == [Submit("hi")]


@pytest.mark.parametrize("rows", [12, 16, 24, 40])
async def test_all_of_the_file_can_be_scrolled_to_and_the_choices_stay_in_view(rows: int) -> None:
    async with Shown((60, rows)) as s:
        panel = await s.found()
        assert s.app.query_one(Prompt).region.height > 0
        await s.stage.press("tab")
        body = panel.query_one("#trust-body")
        assert body.region.height >= 3
        seen = set()
        await s.stage.press("home")
        for _ in range(200):
            top = body.scroll_offset.y
            seen |= set(range(top, top + body.size.height))
            await s.stage.press("pagedown")
            if body.scroll_offset.y == top:
                break
        assert seen >= set(range(body.virtual_size.height))
        keys = panel.query_one("#trust-keys")
        assert 0 < keys.region.bottom <= rows and "trust this content" in s.stage.said("#trust-keys")


@pytest.mark.parametrize("rows", [12, 20, 24, 30])
async def test_a_list_of_completions_and_the_prompt_have_room_beside_it(rows: int) -> None:
    async with Shown((80, rows)) as s:
        await s.found()
        await s.stage.press("/")
        assert s.app.query_one(Prompt).region.bottom <= rows - 1
        assert s.app.screen.max_scroll_y == 0


async def test_a_tools_question_comes_first_and_the_panel_after_it() -> None:
    async with Shown() as s:
        panel = await s.found()
        await s.stage.play(Busy("turn"), Asking(7, "c", "bash", "Run it", "no rule", command="ls"))
        assert panel.region.height == 0
        await s.stage.play(Tape().idle())
        assert panel.region.height > 0
        await s.stage.play(Finished("trust", True, 0, None, "trusted"))
        assert not panel.display


def test_the_slash_table_opens_it() -> None:
    assert parse("/trust") == ShowTrust()


def test_inline_it_is_printed_when_found_and_asked_when_asked_for() -> None:
    play = Play()
    play.take(*Tape().opened(), FOUND)
    assert play.talk.question is None
    assert FILE in play.text and "sh -c evil" in play.text and "window = 5000" in play.text
    assert "/trust" in play.text
    play.talk.enter("hello")
    assert play.worker.sent == [Submit("hello")]
    play.take(ASKED)
    play.talk.key("y")
    assert len(play.worker.sent) == 1
    play.look(0.2)
    play.talk.key("y")
    assert len(play.worker.sent) == 1
    play.look(0.31)
    play.talk.key("enter")
    assert len(play.worker.sent) == 1
    assert "window = 5025" not in play.text
    play.talk.key("v")
    assert "window = 5025" in play.text
    play.talk.key("x")
    assert play.worker.sent[1:] == [SetTrust(FILE, "d1", "never")]
    assert play.talk.question is None


def test_inline_without_keys_a_word_answers() -> None:
    for word, choice in (("yes", "trust"), ("n", "later"), ("x", "never")):
        play = Play()
        play.take(*Tape().opened(), ASKED)
        play.look()
        play.talk.enter(word)
        assert play.worker.sent == [SetTrust(FILE, "d1", choice)]  # type: ignore[arg-type]
