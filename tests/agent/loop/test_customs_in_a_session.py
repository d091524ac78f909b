"""Commands of the user's own, sent: the record, the mentions, the yes a project's needs, and what comes back."""

from __future__ import annotations

from pathlib import Path

from agent.trust import Trust
from agent.wire import Finished, Idle, Proposed, Returned, SetTrust, Steer, Submit, ToolRunning
from compaction.records import UserSaid
from tests.agent.loop.harness import Story, call, calls, last_text, scripted


def file(root: Path, name: str, text: str, *, theirs: bool = False) -> Path:
    top = root / "project" / ".ullage" if theirs else root / "home" / "config"
    path = top / "commands" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def test_the_text_is_sent_with_its_mentions_and_the_record_keeps_what_was_typed(tmp_path: Path) -> None:
    file(tmp_path, "db/look.md", "---\ndescription: d\n---\nLook at @a.txt for $1.")
    async with Story(tmp_path, scripted(["ok", "ok"])) as story:
        (story.folder / "a.txt").write_text("the text of a")
        assert (await story.say("/db:look 'two words'")).stop == "done"
        (said,) = story.bodies(UserSaid)
        assert said.typed == "/db:look 'two words'"
        assert said.text.startswith("Look at @a.txt for two words.") and "the text of a" in said.text
        assert last_text(story.requests[0]).startswith("Look at @a.txt")
        await story.say("/tmp is full")
        assert story.bodies(UserSaid)[1] == UserSaid("/tmp is full")
    async with story.again() as later:
        assert later.bodies(UserSaid)[0].typed == "/db:look 'two words'"


async def test_a_projects_command_is_shown_whole_and_sent_after_one_yes_a_content(tmp_path: Path) -> None:
    path = file(tmp_path, "ship.md", "Ship \u202eit.", theirs=True)
    file(tmp_path, "ship.md", "mine")
    async with Story(tmp_path, scripted(["one", "two", "three"])) as story:
        assert (await story.say("/ship now")).stop == "done"
        assert story.requests == [] and story.bodies(UserSaid) == []
        (shown,) = story.said(Proposed)
        assert (shown.path, shown.text, shown.asked, shown.then) == (str(path), "Ship \\u202eit.", True, "/ship now")
        assert any("place of your own" in s for s in shown.says)
        finished = await story.wish(SetTrust(shown.path, shown.digest, "trust", shown.then))
        assert finished.committed
        await story.until(Idle, lambda idle: bool(story.answers), after=finished)
        assert story.bodies(UserSaid) == [UserSaid("Ship \u202eit.\n\nnow", typed="/ship now")]
        await story.say("/ship")
        assert len(story.said(Proposed)) == 1 and story.answers == ["one", "two"]
        path.write_text("Ship it twice.")
        await story.say("/ship")
        assert story.said(Proposed)[1].text == "Ship it twice." and story.answers == ["one", "two"]


async def test_a_no_brings_what_was_typed_back_and_is_asked_again(tmp_path: Path) -> None:
    path = file(tmp_path, "ship.md", "Ship.", theirs=True)
    async with Story(tmp_path, scripted([])) as story:
        await story.say("/ship now")
        shown = story.said(Proposed)[-1]
        finished = await story.wish(SetTrust(shown.path, shown.digest, "later", shown.then))
        assert not finished.committed and story.said(Returned)[-1].text == "/ship now"
        path.write_text("Ship something else.")
        finished = await story.wish(SetTrust(shown.path, shown.digest, "trust", shown.then))
        assert not finished.committed and "changed since" in finished.text
        assert not Trust(story.places).holds(path, path.read_bytes())
        assert story.requests == []


async def test_a_file_that_is_no_command_of_the_project_cannot_be_agreed_to(tmp_path: Path) -> None:
    file(tmp_path, "ship.md", "Ship.", theirs=True)
    other = tmp_path / "other.md"
    other.write_text("Ship.")
    async with Story(tmp_path, scripted([])) as story:
        await story.say("/ship")
        shown = story.said(Proposed)[-1]
        finished = await story.wish(SetTrust(str(other), shown.digest, "trust", "/ship"))
        assert not finished.committed and not Trust(story.places).holds(other, b"Ship.")


async def test_without_anybody_to_ask_a_projects_command_is_refused(tmp_path: Path) -> None:
    path = file(tmp_path, "ship.md", "Ship.", theirs=True)
    async with Story(tmp_path, scripted(["ok"]), interactive=False) as story:
        ended = await story.say("/ship")
        assert (ended.stop, ended.code) == ("refused", 4) and "waits for your yes" in str(ended.error)
        assert story.requests == []
        Trust(story.places).grant(path, path.read_bytes())
        assert (await story.say("/ship")).stop == "done"


async def test_a_quotation_left_open_comes_back(tmp_path: Path) -> None:
    file(tmp_path, "a.md", "$1")
    async with Story(tmp_path, scripted([])) as story:
        ended = await story.say("/a don't")
        assert (ended.stop, ended.code) == ("refused", 2)
        assert story.said(Returned)[-1].text == "/a don't"


async def test_a_command_steers_too_and_one_that_waits_for_a_yes_does_not_join(tmp_path: Path) -> None:
    file(tmp_path, "mine.md", "My text.")
    file(tmp_path, "ship.md", "Ship.", theirs=True)
    wait = call("bash", command="until test -e go; do sleep 0.02; done")
    async with Story(tmp_path, scripted([calls(wait), "done"])) as story:
        await story.until(ToolRunning, sent=Submit("work"))
        story.send(Steer("/ship"), Steer("/mine"))
        (story.folder / "go").write_text("")
        await story.until(Idle, lambda idle: bool(story.answers[1:]))
        assert [(b.text, b.how, b.typed) for b in story.bodies(UserSaid)] == [
            ("work", "typed", None),
            ("My text.", "steered", "/mine"),
        ]
        assert story.said(Proposed)[-1].then == "/ship"
        assert story.said(Finished) == []
