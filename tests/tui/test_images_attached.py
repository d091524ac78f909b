"""Images by paste, by path and from the clipboard: chips in the draft, mentions in the message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from textual import events

from agent.wire import Opened, Submit
from tests.agent.tools.bench import PNG
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import FakeLog, stage
from tui import clipboard
from tui.actions import Attach, AttachClipboard
from tui.attachments import attached, dragged, from_clipboard
from tui.front import Choices
from tui.full.prompt import Prompt
from tui.pastes import Pastes


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "a plan [1].png"
    path.write_bytes(PNG + b"")
    return path


def test_a_dragged_file_is_known_in_every_way_terminals_write_it(picture: Path) -> None:
    escaped = str(picture).replace(" ", "\\ ").replace("[", "\\[").replace("]", "\\]")
    address = "file://" + str(picture).replace(" ", "%20").replace("[", "%5B").replace("]", "%5D")
    for text in (f"'{picture}'", f'"{picture}"', escaped, f"{picture} \n", address, f"{escaped} {escaped}"):
        found = dragged(text, Path("/"))
        assert found
        assert set(found) == {picture}
    assert dragged("./a\\ plan\\ \\[1\\].png", picture.parent) == (picture,)


def test_words_and_other_files_are_pasted_as_they_are(picture: Path) -> None:
    (picture.parent / "notes.txt").write_text("x")
    for text in ("", "a plan [1].png", str(picture.parent / "notes.txt"), f"look at '{picture}'", "/no/such.png", "'"):
        assert dragged(text, picture.parent) == ()


def test_chips_of_one_label_are_numbered_and_stand_for_their_own_file() -> None:
    pastes = Pastes()
    one, two = pastes.chip("image a.png 1 KB", '@"/x/a.png"'), pastes.chip("image a.png 1 KB", '@"/y/a.png"')
    assert (one, two) == ("[image a.png 1 KB]", "[image a.png 1 KB #2]")
    assert pastes.unfold(f"{one} and {two}") == '@"/x/a.png" and @"/y/a.png"'
    assert pastes.chip_before(f"see {two}") == len(two)


async def test_a_pasted_path_becomes_a_chip_and_is_sent_as_a_mention(picture: Path) -> None:
    log = FakeLog()
    async with stage(log=log) as s:
        await s.play(*Tape().opened())
        prompt = s.app.query_one(Prompt)
        await prompt._on_paste(events.Paste(str(picture)))
        await s.settle(lambda: prompt.text)
        assert prompt.text == "[image a plan (1).png 1 KB] "
        await s.type("what is this?")
        assert s.sent(Submit) == [Submit(f'@"{picture}" what is this?')]
        assert log.asked == [("image", picture.name, "claude-sonnet")]


async def test_one_that_cannot_be_sent_is_said_at_once_and_its_path_stays_as_text(tmp_path: Path) -> None:
    broken = tmp_path / "one.png"
    broken.write_bytes(b"\x89")
    async with stage(log=FakeLog()) as s:
        await s.play(*Tape().opened())
        prompt = s.app.query_one(Prompt)
        await prompt._on_paste(events.Paste(str(broken)))
        await s.settle(lambda: prompt.text)
        assert prompt.text == str(broken)
        assert "one.png is not attached: the PNG image is broken (it ends too early)" in s.said("#transcript")


async def test_ctrl_v_pastes_what_was_copied_here_where_there_is_no_image(tmp_path: Path) -> None:
    async with stage(log=FakeLog()) as s:
        await s.play(*Tape().opened())
        s.app.copy_to_clipboard("copied words")
        await s.press("ctrl+v")
        await s.settle(lambda: s.app.query_one(Prompt).text == "copied words")


def test_inline_attaches_the_same_and_says_the_same(picture: Path) -> None:
    broken = picture.with_name("one.png")
    broken.write_bytes(b"\x89")
    play = Play(choices=Choices(log=FakeLog()))
    play.take(Opened("s", "/s/session.jsonl", str(picture.parent), "m", "ask", False))
    play.talk.perform(Attach((picture, broken)))
    assert play.paper.attached[0].chips == (("image a plan (1).png 1 KB", f'@"{picture}"'),)
    assert play.paper.attached[0].text == str(broken)
    assert "one.png is not attached: the PNG image is broken (it ends too early)" in play.text


class Kept(FakeLog):
    def keep_image(self, data: bytes) -> Path:
        path = Path(self.text)
        path.write_bytes(data)
        return path


def test_the_clipboard_s_image_is_kept_in_a_file_and_attached(tmp_path: Path) -> None:
    log = Kept(text=str(tmp_path / "clipboard-1.png"))
    found = from_clipboard(log, AttachClipboard(), "m", {}, lambda environ: PNG)
    assert found.chips == (("image clipboard-1.png 1 KB", f'@"{tmp_path / "clipboard-1.png"}"'),)


def test_without_an_image_the_text_is_pasted_or_the_reason_said() -> None:
    def nothing(environ: Mapping[str, str]) -> bytes | str:
        return clipboard.NOTHING

    assert from_clipboard(FakeLog(), AttachClipboard("words"), "m", {}, nothing).text == "words"
    assert from_clipboard(FakeLog(), AttachClipboard(), "m", {}, nothing).troubles == (clipboard.NOTHING,)
    refused = from_clipboard(FakeLog(), AttachClipboard(), "m", {}, lambda environ: b"x")
    assert refused.troubles == ("The clipboard's image is not attached: not a PNG, JPEG, GIF or WebP image",)
    assert attached(None, Attach(()), "m").chips == ()


@pytest.mark.parametrize(
    ("environ", "platform", "tool"),
    [
        ({"WAYLAND_DISPLAY": "w"}, "linux", "wl-paste"),
        ({"DISPLAY": ":0"}, "linux", "xclip"),
        ({}, "darwin", "pngpaste"),
    ],
)
def test_each_platform_s_own_tool_is_asked(environ: dict[str, str], platform: str, tool: str) -> None:
    ran: list[Sequence[str]] = []

    def run(argv: Sequence[str]) -> bytes | None:
        ran.append(argv)
        return b"text/plain\nimage/png\n" if {"TARGETS", "--list-types"} & set(argv) else PNG

    assert clipboard.image(environ, platform=platform, find=lambda name: f"/bin/{name}", run=run) == PNG
    assert {argv[0] for argv in ran} == {f"/bin/{tool}"}
    missing = clipboard.image(environ, platform=platform, find=lambda name: None, run=run)
    assert isinstance(missing, str)
    assert f"{tool} is not installed" in missing


def test_a_clipboard_that_holds_text_or_no_display_has_no_image() -> None:
    held = clipboard.image({"DISPLAY": ":0"}, platform="linux", find=lambda n: n, run=lambda argv: b"UTF8_STRING\n")
    assert held == clipboard.NOTHING
    assert clipboard.image({}, platform="linux") == clipboard.NO_DISPLAY


def test_a_path_pasted_at_the_inline_prompt_becomes_a_chip(picture: Path) -> None:
    from tui.inline.prompt import Screen

    with create_pipe_input() as pipe:
        play = Play(choices=Choices(log=FakeLog()))
        screen = Screen(lambda: play.talk, input=pipe, output=DummyOutput(), ascii=False, colours=True)
        screen.attach(attached(FakeLog(), Attach((picture,)), "m"))
        assert screen.buffer.text == "[image a plan (1).png 1 KB] "
        assert screen.pastes.unfold(screen.buffer.text) == f'@"{picture}" '
