"""/diff, /memory and /init on both screens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.reading import Changed, Memory
from agent.wire import FileChange, Init
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import FakeLog, stage
from tui import diff_lines
from tui.actions import Say, ShowChanges, ShowMemory
from tui.commands import parse
from tui.full.desk import Choices
from tui.full.diff_screen import DiffLines, DiffScreen
from tui.full.memory_screen import MemoryScreen

DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n same\n-old\x1b[31m\n+new\n"
FILES = (
    FileChange("src/a.py", "changed", 1, 1, False, DIFF),
    FileChange("b.txt", "created", 60, 0, True, "--- /dev/null\n+++ b/b.txt\n" + "+line\n" * 60),
)


@dataclass
class Log(FakeLog):
    """A log with changed files and a memory."""

    held: str = "- the port is 8080\n"
    kept: tuple[str, str] | None = None

    def changed_files(self, path: Path, only: str = "") -> Changed:
        self._asked("changed", str(path), only)
        return Changed(tuple(f for f in FILES if not only or f.path == only), "changed by this session")

    def memory(self) -> Memory:
        return Memory(Path("/home/ada/memory.md"), self.held)

    def keep_memory(self, before: str, after: str) -> str:
        self.kept = (before, after)
        self.held = after
        return "it is written"


def test_what_is_typed_becomes_one_wish() -> None:
    assert parse("/diff") == ShowChanges("")
    assert parse("/diff src/a.py") == ShowChanges("src/a.py")
    assert parse("/init") == Init()
    assert parse("/memory") == ShowMemory()
    assert parse("/memory edit") == ShowMemory(edit=True)
    assert isinstance(parse("/memory other"), Say)


def test_every_line_is_told_by_what_it_is() -> None:
    found = list(diff_lines.lines(FILES[:1]))
    assert found == [
        ("head", "+1 -1  changed  src/a.py"), ("place", "@@ -1,2 +1,2 @@"), ("", " same"), ("removed", "-old"),
        ("added", "+new"), ("", ""),
    ]  # fmt: skip
    assert diff_lines.title(Changed(FILES, "")) == "2 files, +61 -1"
    assert [text for kind, text in diff_lines.lines(FILES) if kind == "head"] == [
        "+1 -1  changed  src/a.py", "+60 -0  created  b.txt  (changed by somebody else too)"
    ]  # fmt: skip


async def test_the_diff_is_shown_scrolled_and_gone_through_by_files() -> None:
    log = Log()
    async with stage((80, 24), log=log) as s:
        await s.play(*Tape().opened())
        await s.type("/diff")
        await s.on(DiffScreen)
        await s.settle(lambda: "+new" in s.text("#page-lines"))
        assert s.text("#page-title").startswith("2 files, +61 -1  changed by this session")
        assert "\x1b" not in s.text("#page-lines")
        await s.press("n")
        await s.press("n")
        await s.settle(lambda: s.text("#page-lines").startswith("+60 -0  created  b.txt"))
        await s.press("p")
        await s.settle(lambda: s.text("#page-lines").startswith("+1 -1  changed  src/a.py"))
        lines = s.app.screen.query_one(DiffLines)
        styles = {line.text.strip()[:4]: next(iter(line)).style for line in map(lines.render_line, range(8))}
        assert styles["+new"] != styles["-old"] != styles["same"]
        await s.press("escape")
        await s.type("/diff b.txt")
        await s.settle(lambda: log.asked[-1] == ("changed", "/s/session.jsonl", "b.txt"))


async def test_why_there_is_no_diff_is_said() -> None:
    async with stage(log=Log(broken=True)) as s:
        await s.play(*Tape().opened())
        await s.type("/diff")
        await s.on(DiffScreen)
        await s.settle(lambda: "Line 7 of the log cannot be read." in s.text("#page-lines"))


async def test_the_memory_is_shown_with_who_reads_it_when() -> None:
    log = Log()
    async with stage((100, 24), log=log) as s:
        await s.play(*Tape().opened())
        await s.type("/memory")
        await s.on(MemoryScreen)
        await s.settle(lambda: "the port is 8080" in s.text("#page-lines"))
        shown = s.said("#page-lines")
        assert "/home/ada/memory.md" in shown and "A later session reads it" in shown and "/reload" in shown


def test_inline_the_diff_is_printed() -> None:
    play = Play(choices=Choices(log=Log()))
    play.take(*Tape().opened())
    play.talk.enter("/diff")
    lines = play.paper.lines
    assert "2 files, +61 -1  changed by this session" in lines
    assert "  +new" in lines and "  -old" in lines
    styles = {text: style for row in play.paper.printed for style, text in row}
    assert (styles["  +new"], styles["  -old"]) == ("class:added", "class:removed")


def test_inline_the_memory_is_printed_and_edited() -> None:
    log = Log()
    play = Play(choices=Choices(log=log))
    play.take(*Tape().opened())
    play.talk.enter("/memory")
    assert "  - the port is 8080" in play.paper.lines
    assert "  /home/ada/memory.md" in play.paper.lines
    play.paper.editor = lambda text: f"{text}- one more"
    play.talk.enter("/memory edit")
    assert log.kept == ("- the port is 8080\n", "- the port is 8080\n- one more\n")
    assert "· It is written." in play.paper.lines
    play.paper.editor = lambda text: text
    log.kept = None
    play.talk.enter("/memory edit")
    assert log.kept is None
