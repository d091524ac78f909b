"""Going back on both screens: the messages offered, what is asked where files changed, and what was left behind."""

from __future__ import annotations

from agent.wire import Drafted, FileChange, Finished, Rewind, RewindOffered
from compaction.records import AssistantSaid, Rewound, UserSaid
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import stage
from tui import going_back
from tui.block import Block
from tui.full.palette import Palette
from tui.full.pickers import Picker
from tui.full.strips import Piece, draw
from tui.full.transcript import Transcript
from tui.inline.print import rows, text_of

OFFER = RewindOffered(
    2, "fix\x1b[31m it",
    (FileChange("src/a.py", "changed", 12, 3, False), FileChange("made.bin", "created", None, None, True)), ("b.py",),
)  # fmt: skip


def talk(tape: Tape) -> list[object]:
    return [
        *tape.opened(),
        tape.said(UserSaid("first")),
        tape.said(AssistantSaid("One.", (), None, "done", "m", 1)),
        tape.said(UserSaid("second")),
        tape.said(AssistantSaid("Two.", (), None, "done", "m", 3)),
        tape.said(Rewound(3)),
        tape.said(UserSaid("third")),
    ]


async def test_what_was_left_behind_fades_and_is_offered_no_more() -> None:
    async with stage() as s:
        await s.play(*talk(Tape()))  # type: ignore[arg-type]
        transcript = s.app.query_one(Transcript)
        faded = [b.record for b in (p.block for p in transcript._rows.pieces) if b.faded]
        assert faded == [3, 4]
        assert "rewound to before “second”" in s.text("#transcript")
        assert "1 message left behind above" in s.text("#transcript")
        assert [pick.wish for pick in going_back.messages(transcript.blocks("user"))] == [
            Rewind(6, "ask"), Rewind(1, "ask")
        ]  # fmt: skip
        assert transcript.last_answer() == "One."


async def test_it_is_asked_what_should_go_back() -> None:
    async with stage((120, 30)) as s:
        await s.play(OFFER)
        shown = await s.on(Picker)
        await s.settle(lambda: "src/a.py" in s.text("#picker-preview"))
        assert "\x1b" not in s.text(".sheet--title")
        assert "no text  created  made.bin  (changed by somebody else too)" in s.said("#picker-preview").replace(
            "created made", "created  made"
        ).replace("text created", "text  created").replace("bin (", "bin  (")
        assert [pick.label for pick in shown._shown] == [
            "Conversation and files", "Conversation only", "Files only", "Take back the last putting back of files",
            "Cancel",
        ]  # fmt: skip
        await s.press("down", "down", "enter")
        await s.settle(lambda: s.worker.sent == [Rewind(2, "files")])


def test_inline_it_is_asked_what_should_go_back() -> None:
    play = Play()
    play.take(OFFER)
    assert "   +12 -3  changed  src/a.py" in play.paper.lines
    play.talk.enter("1")
    assert play.worker.sent == [Rewind(2, "both")]
    play.take(OFFER)
    play.talk.enter("4")
    assert play.worker.sent[1:] == [Rewind(2, back=True)]
    play.take(OFFER)
    play.talk.enter("5")
    assert len(play.worker.sent) == 2


def test_inline_messages_in_force_are_offered() -> None:
    play = Play()
    play.take(*talk(Tape()))  # type: ignore[arg-type]
    assert [pick.label for pick in going_back.said(play.talk.records.values())] == ["third", "first"]
    assert any("rewound to before “second”" in line for line in play.paper.lines)


def test_inline_a_resumed_session_marks_what_was_left_behind() -> None:
    play, tape = Play(), Tape()
    events = [e if not hasattr(e, "replay") else type(e)(e.record, True) for e in talk(tape)]  # type: ignore[attr-defined]
    play.take(*events, tape.idle())  # type: ignore[arg-type]
    lines = play.paper.lines
    assert "┊ ▌ second" in lines and "┊ Two." in lines
    assert "▌ first" in lines and "▌ third" in lines


def test_a_draft_comes_back_into_the_prompt() -> None:
    play = Play()
    play.take(Finished("rewind", True, 0, None, "going on"), Drafted("fix it"))
    assert play.paper.drafts == ["fix it"]


def test_faded_blocks_are_drawn_in_one_quiet_style_and_as_wide() -> None:
    block = Block("k", "user", body="a long message " * 20, record=3)
    palette = Palette()
    plain = [strip.text for strip in draw(Piece(block, block.body), 40, palette)]
    faded = draw(Piece(Block("k", "user", body=block.body, record=3, faded=True), block.body), 40, palette)
    assert [strip.text for strip in faded] == plain
    assert {segment.style for strip in faded for segment in strip if segment.text.strip()} == {palette.quiet}
    printed = rows(Block("k", "user", body=block.body, record=3, faded=True), 40)
    assert max(len(text_of(one)) for one in printed) <= 40
