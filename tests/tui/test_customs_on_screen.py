"""The user's own commands in both screens: completed, listed in help, told from mistakes, folded in the transcript."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.mcp.prompts import Prompt, Resource, Wanted
from agent.places import under
from agent.reading import CustomCommand, Reading
from agent.wire import Busy, Proposed, SetTrust, Submit
from compaction.records import UserSaid
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import FakeLog, stage
from tui.actions import Say
from tui.block import plain
from tui.commands import TABLE
from tui.completion import Token, slashes, token_at
from tui.customs import Customs
from tui.full.popup import Popup
from tui.full.trust_panel import TrustPanel
from tui.help_page import help_text
from tui.present import user


def command(name: str, description: str = "", arguments: str = "", *, theirs: bool = False) -> CustomCommand:
    return CustomCommand(name, description, arguments, "text", Path("/x.md"), b"text", theirs, theirs)


@dataclass
class Source:
    """Files as they are now; counts how often they were read."""

    rows: list[CustomCommand] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reads: int = 0

    def commands(self, taken: Collection[str]) -> tuple[Sequence[CustomCommand], Sequence[str]]:
        self.reads += 1
        return list(self.rows), list(self.problems)

    def serves(self, command: str) -> bool:
        return command.startswith("slow:")

    def resources(self) -> list[Resource]:
        return []


def test_they_are_completed_with_hint_description_and_whose_they_are() -> None:
    rows = [command("db:migrate", "Move [the] schema", "[to]"), command("dbg", theirs=True)]
    found = {c.label: c for c in slashes("db", rows)}
    assert found["/db:migrate [to]"].hint == "Move [the] schema (yours)"
    assert found["/dbg"].hint == "(the project's, instead of yours)"
    assert found["/db:migrate [to]"].run and not slashes("x", [command("x", arguments="file")])[0].run
    token = token_at("/db:mi", 6)
    assert token is not None and token.query == "db:mi"
    assert len(slashes("", rows)) == len(TABLE) + 2


def test_a_known_name_is_sent_and_an_unknown_one_is_looked_for_once_more() -> None:
    source = Source()
    customs = Customs(source)
    wish = customs.parse("/deploy now")
    assert isinstance(wish, Say) and source.reads == 1
    source.rows.append(command("deploy"))
    assert customs.parse("/deploy now") == Submit("/deploy now")
    assert customs.parse("/Deploy now") == Submit("/Deploy now")
    reads = source.reads
    assert customs.parse("/deploy") == Submit("/deploy") and source.reads == reads
    assert customs.parse("/Slow:plan it") == Submit("/Slow:plan it"), "its server may still be starting"
    wish = customs.parse("/deplyo")
    assert isinstance(wish, Say) and "/deploy?" in wish.text


def test_a_built_in_name_is_refused_with_a_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "config" / "commands"
    folder.mkdir(parents=True)
    (folder / "help.md").write_text("x")
    (folder / "mine.md").write_text("x")

    @dataclass
    class Kit:
        places = under(tmp_path / "home")
        servers = None

    rows, problems = Reading(Kit(), tmp_path).commands(TABLE)  # type: ignore[arg-type]
    assert [row.name for row in rows] == ["mine"]
    assert len(problems) == 1 and "help.md" in problems[0] and "program's own" in problems[0]
    assert Customs(Source([command("help")])).parse("/help") != Submit("/help")


def test_help_has_a_section_of_its_own_for_them() -> None:
    customs = Customs(Source([command("db:migrate", "Move the schema", "[to]")]))
    customs.read()
    before, _, after = help_text(customs.help()).partition("Your own commands\n")
    assert "/db:migrate [to]" in after and "Move the schema (yours)" in after and "/quit" in before
    assert "commands/NAME.md" in help_text()


def test_the_transcript_shows_what_was_typed_and_folds_what_was_sent() -> None:
    block = user("k", 3, UserSaid("Line one.\nLine two.\nLine three.", typed="/go x"))
    assert plain(block).split("\n")[-2:] == ["/go x", "… 4 more lines"]
    assert "Line two." in plain(block, open=True)


async def test_a_new_file_appears_when_the_list_opens_and_bad_ones_are_named_once() -> None:
    log = FakeLog(problems=["/x/bad.md: no command, for it is empty"])
    async with stage(log=log) as s:
        await s.play(*Tape().opened())
        await s.settle(lambda: "bad.md" in s.said("#transcript"))
        log.customs = [command("zebra", "Count stripes")]
        popup = s.app.query_one(Popup)
        await s.press("/")
        await s.settle(lambda: any(c.label == "/zebra" for c in popup.candidates))
        await s.press("z", "e", "b")
        assert popup.current() is not None and popup.current().label == "/zebra"  # type: ignore[union-attr]
        await s.press("enter")
        assert s.worker.sent == [Submit("/zebra")]
        # Typed faster than the list is read, what is new opens it.
        log.customs = [Prompt("docs", "plan", "docs:plan", "Plan it", (Wanted("what", True),))]
        await s.press("/")
        popup.offer(Token("slash", "docs:", 0), [])
        popup.read()
        await s.settle(lambda: any(c.label == "/docs:plan what" for c in popup.candidates))
        assert popup.current() is not None and popup.current().hint == "Plan it (MCP server docs)"  # type: ignore[union-attr]
        # Closed, it stays closed.
        popup.close()
        popup.on_popup_listed(Popup.Listed(()))
        assert not popup.open


@pytest.mark.parametrize(("key", "choice"), [("y", "trust"), ("n", "later"), ("escape", "later")])
async def test_the_panel_for_a_projects_command_sends_it_or_not(key: str, choice: str) -> None:
    shown = Proposed("/p/.ullage/commands/ship.md", "d", "Ship it.", ("sends this",), asked=True, then="/ship now")
    async with stage() as s:
        await s.play(*Tape().opened(), Busy("turn"), shown, Tape().idle())
        panel = s.app.query_one(TrustPanel)
        assert s.app.focused is panel and "Ship it." in s.text("#trust-body")
        assert "never" not in s.said("#trust-keys")
        panel._seen_at = -1e9  # seen long ago
        await s.press("x")
        assert s.worker.sent == []
        await s.press(key)
        assert s.worker.sent == [SetTrust(shown.path, "d", choice, "/ship now")]  # type: ignore[arg-type]


def test_inline_they_are_sent_and_a_projects_asked_about() -> None:
    play = Play()
    play.talk.customs = Customs(Source([command("ship")], ["/x/bad.md: no command, for it is empty"]))
    play.talk.mistakes(play.talk.customs.read())
    play.talk.mistakes(play.talk.customs.read())
    assert play.text.count("bad.md") == 1
    play.talk.enter("/ship now")
    assert play.worker.sent == [Submit("/ship now")]
    play.take(Proposed("/p/ship.md", "d", "Ship it.", ("sends this",), asked=True, then="/ship now"))
    play.look()
    play.talk.key("x")
    assert len(play.worker.sent) == 1
    play.talk.key("y")
    assert play.worker.sent[1:] == [SetTrust("/p/ship.md", "d", "trust", "/ship now")]
    play.talk.enter("/help")
    assert "Your own commands" in play.text and "/ship" in play.text
