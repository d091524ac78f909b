"""Public reports about other agents' screens: markup in foreign text, huge answers, small terminals, odd characters."""

from __future__ import annotations

import signal
import termios

import pytest
from rich.cells import cell_len
from textual import events

from agent.wire import Answer, Asking, Busy, Meter, Metered, Opened, Queued, Streaming, Submit, Told
from compaction.records import AssistantSaid, ToolReturned, UserSaid
from tests.agent.cases.test_reported_growth import Calls
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.test_full_screen import Screen, screen
from tests.tui.test_inline_terminal import Machine, Terminal, machine
from tui.full.dialogs import Approval
from tui.pastes import cleaned

__all__ = ["machine"]

# ── 55: brackets ──

BRACKETS = [
    "[/] [red]x[/blue]",
    "[@click=app.bell]y[/]",
    "a[0] = b[i][j]",
    "[link=file:///etc]here[/link]",
    "\\[x] [[y]]",
]


@pytest.mark.parametrize("text", BRACKETS)
async def test_case_55_brackets_of_model_tool_and_user_are_shown_as_they_are(text: str) -> None:
    async with screen((100, 30)) as s:
        tape = Tape()
        said = f"```\n{text}\n```"  # in a fence nothing is Markdown either
        await s.play(
            *tape.opened(),
            tape.said(UserSaid(text)),
            tape.said(AssistantSaid(said, (), None, "done", "m", 1)),
            tape.said(ToolReturned("c", "bash", text, text)),
            Told(text),
        )
        await s.pilot.pause()
        assert s.text().count(text) >= 3
    play = Play(columns=100)
    play.take(*tape.opened(), tape.said(UserSaid(text)), tape.said(AssistantSaid(said, (), None, "done", "m", 1)))
    play.take(tape.said(ToolReturned("c", "bash", text, text)), Told(text))
    assert play.text.count(text) >= 3


# ── 56: an answer of 400 KB ──

HUGE = {
    "one line": "x" * 400_000,
    "words": "word " * 80_000,
    "a fence": "```python\n" + "print('a line of code')\n" * 17_000,
    "a list": "".join(f"- item {n} with some words\n" for n in range(14_000)),
    "a table": "| a | b |\n|---|---|\n" + "| one | two |\n" * 28_000,
    "wide": "宽字符 " * 45_000,
}


# Keys pressed while it arrives: enough parts to tell work that grows with the whole from work that does not.
KEYS = 16


@pytest.mark.parametrize("kind", HUGE)
async def test_case_56_while_an_answer_of_400_kb_arrives_and_stands_keys_are_answered(kind: str) -> None:
    answer = HUGE[kind]
    assert len(answer.encode()) >= 390_000
    pieces = [answer[at : at + 4_000] for at in range(0, len(answer), 4_000)]
    typed = "".join(chr(ord("a") + n % 26) for n in range(KEYS))
    calls, work = Calls(), []
    async with screen() as s:
        tape = Tape()
        await s.play(*tape.opened(), tape.said(UserSaid("go")), Busy("turn"))
        for n, letter in enumerate(typed):
            height = s.transcript.virtual_size.height
            with calls.counting():
                for piece in pieces[n * len(pieces) // KEYS : (n + 1) * len(pieces) // KEYS]:
                    s.app.post_event(Streaming(piece))
                await s.pilot.press(letter)
                await s.settle(lambda: s.transcript.virtual_size.height > height)  # noqa: B023 - awaited here
            work.append(calls.count)
            assert s.prompt.text == typed[: n + 1]
        # A key that waits for all that has arrived before is answered ever later: the work would grow with it.
        assert min(work[-4:]) < 2 * max(work[:4]), work
        await s.play(tape.said(AssistantSaid(answer, (), None, "done", "m", 1)), tape.idle())
        await s.pilot.press("pageup", "!", "enter")
        assert s.prompt.text == "" and s.worker.sent


# ── 57: approvals on twelve lines ──


@pytest.mark.parametrize("size", [(80, 12), (40, 12), (30, 12)])
async def test_case_57_a_long_approval_scrolls_with_its_choices_in_view(size: tuple[int, int]) -> None:
    command = "\n".join(f"echo line {n}" for n in range(40))
    async with screen(size) as s:
        ask = Asking(7, "c", "bash", "Run a command", "no rule", command=command, prefix="echo")
        await s.play(*Tape().opened(), Busy("turn"), ask)
        await s.pilot.pause()
        s.clock.at += 1
        choices, body = s.app.query_one("#choices"), s.app.query_one("#body")
        before = body.scroll_y
        for _ in range(3):
            await s.pilot.press("pagedown")
            await s.pilot.pause()
            assert choices.region.height > 0 and choices.region.bottom <= size[1]
            assert choices.region.y >= body.region.bottom
        assert body.max_scroll_y > 0
        await s.settle(lambda: body.scroll_y > before)
        await s.pilot.press("y")
        assert s.worker.sent == [Answer(7, "once")]


# ── 58: killed by SIGTERM ──

# What a full screen switches on and has to switch off: another screen, a hidden cursor, pasting in brackets, the mouse.
SWITCHED = [("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[?2004h", "\x1b[?2004l"),
            ("\x1b[?1000h", "\x1b[?1000l"), ("\x1b[?1003h", "\x1b[?1003l")]  # fmt: skip


def in_full(machine: Machine) -> Terminal:
    """The full screen in a pseudo-terminal, at rest."""
    terminal = machine.start(full=True)
    terminal.until("? keys")
    return terminal


def restored(terminal: Terminal, before: list[object]) -> None:
    """The terminal is as it was, in its modes and in what was switched on."""
    after = termios.tcgetattr(terminal.process.child_fd)
    assert after[:4] == before[:4]
    for on, off in SWITCHED:
        if on in terminal.raw:
            assert terminal.raw.rindex(off) > terminal.raw.rindex(on), repr(on)


@pytest.mark.parametrize(("number", "busy"), [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, False)])
def test_case_58_a_full_screen_that_is_killed_gives_the_terminal_back(
    machine: Machine, number: signal.Signals, busy: bool
) -> None:
    terminal = machine.start(full=True)
    before = termios.tcgetattr(terminal.process.child_fd)
    terminal.until(lambda: "\x1b[?1049h" in terminal.raw and "? keys" in terminal.text)
    if busy:
        terminal.send("this hangs\r")
        terminal.until("It go")
    terminal.process.kill(number)
    terminal.until(lambda: "\x1b[?1049l" in terminal.raw)
    terminal.until(lambda: "go on with: ullage --resume " in terminal.text or not terminal.read())
    restored(terminal, before)
    assert terminal.end() == 128 + number


# ── 59: lone surrogates ──


@pytest.mark.parametrize(
    ("pasted", "shown"),
    [("a\ud800b", "a\ufffdb"), ("\udfff", "\ufffd"), ("\ud83d\ude00 fine \ud83d", "😀 fine \ufffd")],
)
async def test_case_59_pasted_surrogates_become_replacement_characters_in_draft_and_message(
    pasted: str, shown: str
) -> None:
    async with screen() as s:
        s.prompt.post_message(events.Paste(pasted))
        await s.settle(lambda: bool(s.prompt.text))
        assert s.prompt.text == shown
        await s.pilot.press("enter")
        assert s.worker.sent == [Submit(shown)]
        tape = Tape()
        await s.play(*tape.opened(), tape.said(UserSaid(shown)))
        assert shown in s.text()
    assert cleaned(pasted) == shown  # the one door of the inline prompt and of plain lines


# ── 60: wide characters ──

WIDE = ["宽字符在边上" * 12, "a" + "漢字" * 40, "👩‍👩‍👧‍👦" * 20, "é" * 90, "ｆｕｌｌ ｗｉｄｔｈ " * 9, "x\u200by" * 40]


def too_wide(s: Screen) -> list[tuple[str | None, int]]:
    """Widgets with a line that is not within them, and which."""
    shown = (w for w in s.app.screen.query("*") if w.size.area and w.display and not w.children)
    rows = ((w, y) for w in shown for y in range(min(w.size.height, 24)))
    return [(w.id, y) for w, y in rows if w.render_line(y).cell_length > w.size.width]


@pytest.mark.parametrize("text", WIDE)
@pytest.mark.parametrize("width", [20, 21, 39, 40, 80])
async def test_case_60_wide_characters_at_the_edge_and_in_the_foot_keep_every_line_within_the_screen(
    text: str, width: int
) -> None:
    async with screen((width, 24)) as s:
        tape = Tape()
        opened, *_ = tape.opened()
        assert isinstance(opened, Opened)
        wide = Opened(f"名前{text[:6]}", opened.path, f"/家/{text[:20]}", f"模型{text[:9]}", "ask", False)
        await s.play(
            wide,
            Metered(
                Meter(used=61_400, budget=160_000, trigger=143_616, landing=127_232, window=200_000, model=text[:9])
            ),
            tape.said(UserSaid(text)),
            tape.said(AssistantSaid(f"{text}\n\n- {text}\n\n`{text}`", (), None, "done", "m", 1)),
            tape.said(ToolReturned("c", "bash", text, text)),
            Busy("turn"),
            Queued((text,)),
            Asking(1, "c", "bash", text, text, command=text, prefix=text[:4]),
        )
        await s.pilot.pause()
        assert s.app.query_one(Approval).display
        await s.pilot.press("escape")
        s.prompt.paste(text)
        await s.pilot.pause()
        await s.settle(lambda: too_wide(s) == [])
    play = Play(columns=width)
    play.take(wide)
    opening = len(play.paper.lines)
    play.take(tape.said(UserSaid(text)), tape.said(AssistantSaid(text, (), None, "done", "m", 1)))
    assert opening < len(play.paper.lines)
    assert [line for line in play.paper.lines[opening:] if cell_len(line) > width] == []


# ── 61: keys in flight ──


@pytest.mark.parametrize("keys", [("y",), ("enter",), ("s", "p"), ("y", "y", "y"), ("down", "enter"), ("n",)])
async def test_case_61_whatever_was_typed_before_an_approval_opened_answers_nothing(keys: tuple[str, ...]) -> None:
    async with screen() as s:
        await s.play(*Tape().opened(), Busy("turn"))
        ask = Asking(7, "c", "bash", "Run a command", "no rule", command="rm -rf build", prefix="rm")
        s.app.post_event(ask)
        await s.pilot.press(*keys)
        await s.pilot.pause()
        assert [c for c in s.worker.sent if isinstance(c, Answer)] == []
        assert s.app.query_one(Approval).display
