"""Going back: the conversation, the files, both; offered where files changed; taken back; nothing erased."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from agent.models.scripted import Scripted
from agent.verify import verify
from agent.wire import Drafted, Idle, Interrupt, Pin, Rewind, RewindOffered, Shell, Undo
from compaction.records import Noted, Rewound, UserSaid
from tests.agent.loop.harness import PATIENCE, Story, call, calls, spoken


def edits() -> list[Scripted]:
    """A turn that writes, one that runs a command, one that only reads."""
    return [
        calls(call("write", path="a.txt", content="two\n")),
        "Written.",
        calls(call("bash", command="echo three > a.txt; echo made > b.txt")),
        "Run.",
        calls(call("read", path="a.txt")),
        "Read.",
    ]


def said(story: Story, text: str) -> int:
    return next(r.id for r in story.records if isinstance(r.body, UserSaid) and r.body.text == text)


async def test_where_files_changed_it_is_asked_what_should_go_back(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        before = len(story.records)
        finished = await story.wish(Rewind(said(story, "run it"), "ask"))
        (offer,) = story.said(RewindOffered)
        assert (offer.said, offer.taken_back) == ("run it", ())
        assert [(f.path, f.what, f.added, f.removed, f.outside) for f in offer.files] == [
            ("a.txt", "changed", 1, 1, False), ("b.txt", "created", 1, 0, False)
        ]  # fmt: skip
        assert not finished.committed and finished.code == 0
        assert len(story.records) == before


async def test_what_the_user_edits_between_the_question_and_the_answer_is_left_alone(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        record = said(story, "run it")
        await story.wish(Rewind(record, "ask"))
        (story.folder / "a.txt").write_text("my own\n")
        finished = await story.wish(Rewind(record, "files"))
        assert finished.code == 1 and "a.txt: it changed since it was shown" in finished.text
        assert (story.folder / "a.txt").read_text() == "my own\n" and not (story.folder / "b.txt").exists()
        await story.wish(Rewind(record, "ask"))
        assert (await story.wish(Rewind(record, "files"))).code == 0
        assert (story.folder / "a.txt").read_text() == "two\n"


async def test_where_no_file_changed_the_conversation_goes_back_at_once_and_the_message_is_the_draft(
    tmp_path: Path,
) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        bytes_before = story.session.log.path.read_bytes()
        finished = await story.wish(Rewind(said(story, "read it"), "ask"))
        assert finished.committed
        assert story.said(Drafted) == [Drafted("read it")]
        assert story.session.log.path.read_bytes().startswith(bytes_before)
        await story.say("another")
        assert "read it" not in spoken(story.requests[-1])
        assert verify(story.session.log.path).faults == ()


async def test_both_go_back_and_the_files_can_be_taken_back(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        finished = await story.wish(Rewind(said(story, "run it"), "both"))
        assert finished.committed and finished.code == 0
        assert "put back a.txt, b.txt" in finished.text
        assert (story.folder / "a.txt").read_text() == "two\n"
        assert not (story.folder / "b.txt").exists()
        assert story.bodies(Rewound) == [Rewound(said(story, "run it"))]
        await story.wish(Rewind(0, back=True))
        assert (story.folder / "a.txt").read_text() == "three\n"
        assert (story.folder / "b.txt").read_text() == "made\n"
        await story.wish(Rewind(0, back=True))
        assert (story.folder / "a.txt").read_text() == "two\n"
        assert not (story.folder / "b.txt").exists()
        assert verify(story.session.log.path).faults == ()


async def test_files_alone_go_back_and_the_model_is_told(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        assert (await story.wish(Rewind(said(story, "write it"), "files"))).committed
        assert not (story.folder / "a.txt").exists()
        assert story.bodies(Rewound) == []
        await story.say("go on")
        assert "the user made these files hold what they held" in spoken(story.requests[-1])
        assert "read it" in spoken(story.requests[-1])


class Gated:
    """A session's keeper that waits, once it has kept what is about to be replaced."""

    def __init__(self, keeper: Any) -> None:
        self.keeper, self.begun, self.go = keeper, threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.keeper, name)

    def restored(self, record: int, seen: Any) -> None:
        self.keeper.restored(record, seen)
        self.begun.set()
        self.go.wait(PATIENCE)


@pytest.mark.parametrize("what", ["both", "files"])
async def test_esc_while_files_go_back_tells_people_and_the_model_what_was_put_back(
    tmp_path: Path, what: Literal["both", "files"]
) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        gated: Any = Gated(story.session.keeper)
        story.session.keeper = gated
        story.send(Rewind(said(story, "run it"), what))
        assert await asyncio.to_thread(gated.begun.wait, PATIENCE)
        story.send(Interrupt())
        mark = story.mark()
        await asyncio.sleep(0)
        gated.go.set()
        assert (await story.until(Idle, after=mark)).stop == "interrupted"
        # The files are back as a whole; the conversation is not.
        assert (story.folder / "a.txt").read_text() == "two\n" and not (story.folder / "b.txt").exists()
        assert story.bodies(Rewound) == []
        people, model = [body for body in story.bodies(Noted) if body.topic == "files"]
        assert people.text == "put back a.txt, b.txt; /rewind --back takes that back" and not people.to_model
        await story.say("go on")
        assert model.text in spoken(story.requests[-1]) and "a.txt, b.txt" in model.text


async def test_esc_while_that_is_taken_back_is_told_too_and_no_folder_is_left_over(tmp_path: Path) -> None:
    steps: list[Scripted] = [calls(call("bash", command="rm -r d")), "Gone.", "Hm."]
    async with Story(tmp_path, steps) as story:
        (story.folder / "d").mkdir()
        (story.folder / "d" / "x.txt").write_text("x")
        await story.say("remove it")
        await story.wish(Rewind(said(story, "remove it"), "files"))
        assert (story.folder / "d" / "x.txt").read_text() == "x"
        gated: Any = Gated(story.session.keeper)
        story.session.keeper = gated
        story.send(Rewind(0, back=True))
        assert await asyncio.to_thread(gated.begun.wait, PATIENCE)
        story.send(Interrupt())
        mark = story.mark()
        await asyncio.sleep(0)
        gated.go.set()
        assert (await story.until(Idle, after=mark)).stop == "interrupted"
        assert not (story.folder / "d").exists()
        assert [body.to_model for body in story.bodies(Noted) if body.topic == "files"] == [False, True] * 2


async def test_the_next_rewind_offers_what_was_put_back(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        await story.wish(Rewind(said(story, "run it"), "files"))
        await story.wish(Rewind(said(story, "read it"), "ask"))
        assert story.said(RewindOffered)[-1].taken_back == ("a.txt", "b.txt")


async def test_a_command_of_the_users_own_is_kept_too(tmp_path: Path) -> None:
    async with Story(tmp_path, ["Hello.", "Fine."]) as story:
        (story.folder / "a.txt").write_text("one\n")
        await story.say("hi")
        await story.do(Shell("echo two > a.txt"))
        await story.say("more")
        await story.wish(Rewind(said(story, "hi"), "both"))
        assert (story.folder / "a.txt").read_text() == "one\n"


async def test_after_a_restart_everything_is_still_known(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
    async with story.again() as later:
        assert (await later.wish(Rewind(said(later, "write it"), "both"))).committed
        assert list(later.folder.iterdir()) == []


async def test_one_cannot_go_back_to_what_is_no_message_or_was_left_behind(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One.", "Two."]) as story:
        await story.say("first")
        await story.say("second")
        assert (await story.wish(Rewind(1))).code == 4
        second = said(story, "second")
        await story.wish(Rewind(said(story, "first")))
        finished = await story.wish(Rewind(second))
        assert finished.code == 4 and "left behind" in finished.text
        assert (await story.wish(Rewind(0, back=True))).code == 4


async def test_a_message_with_a_file_comes_back_without_the_files_text(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        (story.folder / "a.txt").write_text("the text of it\n")
        await story.say("look at @a.txt please")
        message = next(r.id for r in story.records if isinstance(r.body, UserSaid))
        await story.wish(Rewind(message))
        assert story.said(Drafted) == [Drafted("look at @a.txt please")]


async def test_what_only_reads_makes_no_snapshot(tmp_path: Path) -> None:
    replies = [calls(call("bash", command="ls -la; cat a.txt"), call("read", path="a.txt")), "Seen."]
    async with Story(tmp_path, replies) as story:
        (story.folder / "a.txt").write_text("one\n")
        await story.say("look")
        assert not (story.session.log.folder / "shadow").exists()


async def test_files_put_back_are_told_in_the_log_to_people(tmp_path: Path) -> None:
    async with Story(tmp_path, edits()) as story:
        for text in ("write it", "run it", "read it"):
            await story.say(text)
        await story.wish(Rewind(said(story, "run it"), "both"))
        notes = [n for n in story.bodies(Noted) if n.topic == "files"]
        assert [n.to_model for n in notes] == [False]
        assert "--back" in notes[0].text


async def test_a_pin_says_the_sizes_around_it(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One."]) as story:
        await story.say("first")
        finished = await story.wish(Pin(said(story, "first")))
        assert finished.committed and 0 < finished.before == finished.after == story.meter.used


async def test_what_changed_nothing_says_the_size_too_and_a_rewind_the_sizes_around_it(tmp_path: Path) -> None:
    async with Story(tmp_path, ["One.", "Two."]) as story:
        for text in ("first", "second"):
            await story.say(text)
        used = story.meter.used
        for idle in (Undo(), Pin(999), Rewind(999)):
            finished = await story.wish(idle)
            assert (finished.code, finished.before, finished.after) == (4, used, used)
        finished = await story.wish(Rewind(said(story, "second")))
        assert (finished.before, finished.after) == (used, story.meter.used) and finished.after < used


async def test_what_was_put_back_is_not_taken_for_somebody_elses_change(tmp_path: Path) -> None:
    replies = [*edits()[:4], calls(call("bash", command="echo four > a.txt")), "Again."]
    async with Story(tmp_path, replies) as story:
        for text in ("write it", "run it"):
            await story.say(text)
        await story.wish(Rewind(said(story, "run it"), "files"))
        await story.wish(Rewind(said(story, "write it"), "ask"))
        assert [(f.path, f.outside) for f in story.said(RewindOffered)[-1].files] == [("a.txt", False)]
        await story.say("once more")
        await story.wish(Rewind(said(story, "write it"), "ask"))
        assert [(f.path, f.outside) for f in story.said(RewindOffered)[-1].files] == [("a.txt", False)]
