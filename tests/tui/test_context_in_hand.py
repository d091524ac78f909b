"""The whole way: the real screen over a real worker with a scripted model, and a real log on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from textual.widgets import OptionList, TextArea

from agent.models.scripted import Say
from agent.reading import Reading
from agent.wire import Event, Finished, SetModel
from compaction.records import Compacted, Pinned, Pruned, Reverted, ToolReturned
from tests.agent.loop.harness import Story, call, calls, summary
from tests.tui.fake_worker import FakeWorker
from tests.tui.pilots import Stage
from tests.tui.steady import steady
from tui.full.app import UllageApp
from tui.full.context_screen import ContextScreen
from tui.full.desk import Choices
from tui.full.pages import PageScreen
from tui.full.plans import PlanScreen, ReviewScreen
from tui.full.recall_screen import RecallScreen
from tui.full.timeline import TimelineScreen

FILES = ("alpha.txt", "beta.txt", "gamma.txt")


@dataclass
class Shown(Story):
    """A story that is watched on a screen."""

    show: list[Callable[[Event], None]] = field(default_factory=list)

    def heard(self, event: Event) -> None:
        super().heard(event)
        for show in self.show:
            show(event)


@asynccontextmanager
async def played(tmp_path: Path, *more: Say, size: tuple[int, int] = (100, 30)) -> AsyncIterator[tuple[Stage, Shown]]:
    """Three turns that read a file each, then a screen over the same session."""
    replies = [reply for name in FILES for reply in (calls(call("read", path=name)), Say(f"Read {name}. " * 60))]
    story = Shown(tmp_path, [*replies, *more])
    for name in FILES:
        (story.folder / name).write_text("\n".join(f"line {n} of {name} says little" for n in range(400)))
    app = UllageApp(lambda command: story.send(command), ascii=False,
                    choices=Choices(log=Reading(story.kit(), story.folder)))  # fmt: skip
    story.show.append(app.post_event)
    async with steady(app, size) as pilot, story:
        for name in FILES:
            await story.say(f"read {name}")
        s = Stage(app, FakeWorker(), pilot)
        await s.settle(lambda: not app._inbox)
        yield s, story


def results(story: Story) -> list[int]:
    return [record.id for record in story.records if isinstance(record.body, ToolReturned)]


async def opened(s: Stage) -> ContextScreen:
    await s.type("/context")
    screen = await s.on(ContextScreen)
    await s.settle(lambda: screen.is_mounted and screen.shown)
    await s.pilot.pause()
    return screen


async def test_marked_weighed_pruned_and_taken_back(tmp_path: Path) -> None:
    async with played(tmp_path) as (s, story):
        screen = await opened(s)
        await s.press("a")
        await s.settle(lambda: screen.plan is not None)
        plan = screen.plan
        assert plan is not None and plan.records == tuple(results(story))
        foot = s.said("#context-foot")
        assert f"the cache breaks at #{results(story)[0]}" in foot
        assert "no price known for this model" in foot
        await s.press("enter")
        await s.settle(lambda: story.bodies(Pruned))
        assert [body.records for body in story.bodies(Pruned)] == [plan.records]
        await s.settle(lambda: [row.state for row in screen.event.rows].count("pruned") == 3)
        await s.press("u")
        await s.settle(lambda: story.bodies(Reverted))
        await s.settle(lambda: "pruned" not in [row.state for row in screen.event.rows])
        assert "taken back" in s.said("#context-foot")


async def test_a_pruned_result_is_found_viewed_and_put_back(tmp_path: Path) -> None:
    async with played(tmp_path) as (s, story):
        target = results(story)[1]
        await s.type(f"/prune {target} --force")
        await s.on(PlanScreen)
        await s.press("enter")
        await s.settle(lambda: story.bodies(Pruned))
        await s.type("/recall beta.txt says little")
        await s.on(RecallScreen)
        await s.settle(lambda: s.app.screen.query_one(OptionList).option_count)
        assert f"#{target} read beta.txt" in s.said("#recall-hits")
        assert "pruned" in s.said("#recall-hits")
        await s.press("enter")
        await s.on(PageScreen)
        await s.settle(lambda: "line 1 of beta.txt" in s.text("#page-lines"))
        assert "pruned" in s.text("#page-title")
        await s.press("escape")
        await s.on(RecallScreen)
        await s.press("p")
        await s.settle(lambda: story.bodies(Pinned))
        assert [body.target for body in story.bodies(Pinned)] == [target]
        await s.settle(lambda: f"Record {target} is pinned." in s.said("#recall-foot"))
        item = next(item for item in story.session.view.items if item.record == target)
        assert "line 399 of beta.txt" in item.text


async def test_what_a_compaction_swallowed_comes_back_as_a_quote(tmp_path: Path) -> None:
    async with played(tmp_path, Say(summary())) as (s, story):
        target = results(story)[0]
        screen = await opened(s)
        wanted = next(n for n, row in enumerate(screen.shown) if row.title == "read gamma.txt")
        await s.press("home", *["down"] * wanted, "c")
        preview = await s.on(PlanScreen)
        await s.press("enter")
        await s.settle(lambda: story.bodies(Compacted))
        (done,) = story.bodies(Compacted)
        assert done.first_kept == preview.plan.first_kept
        await s.settle(lambda: len(s.app.screen_stack) == 1)
        await s.type(f"/recall #{target}")
        await s.on(RecallScreen)
        await s.settle(lambda: "summarised" in s.said("#recall-hits"))
        await s.press("p")
        await s.settle(lambda: story.bodies(Pinned))
        sent = "\n".join(item.text for item in story.session.view.items)
        assert f'<pinned record="{target}" title="read alpha.txt">' in sent
        assert "line 1 of alpha.txt" in sent


async def test_an_edited_summary_is_what_the_next_request_carries(tmp_path: Path) -> None:
    async with played(tmp_path, Say(summary()), Say("Fine.")) as (s, story):
        await s.type("/compact --review the port")
        await s.on(ReviewScreen)
        editor = s.app.screen.query_one(TextArea)
        editor.text = editor.text.replace("the work", "the port is 4711")
        await s.press("ctrl+s")
        await s.settle(lambda: story.bodies(Compacted))
        await story.say("go on")
        assert any("the port is 4711" in str(message["content"]) for message in story.turns[-1].messages)


async def test_a_dropped_summary_changes_nothing(tmp_path: Path) -> None:
    async with played(tmp_path, Say(summary())) as (s, story):
        await s.type("/compact --review")
        await s.on(ReviewScreen)
        await s.press("escape", "escape")
        await s.settle(lambda: any(e.wish == "compact" for e in story.said(Finished)))
        assert story.bodies(Compacted) == []


async def test_the_timeline_is_drawn_from_the_log(tmp_path: Path) -> None:
    async with played(tmp_path) as (s, _):
        await s.type("/timeline")
        screen = await s.on(TimelineScreen)
        await s.settle(lambda: screen.drawn is not None)
        await s.pilot.pause()
        assert screen.drawn is not None and screen.drawn.count == 6
        assert "█" in s.text("#timeline-plot") and "▒" in s.text("#timeline-plot")
        assert "6 requests" in s.said("#timeline-legend")


async def test_an_export_is_written_once_and_never_over_another(tmp_path: Path) -> None:
    async with played(tmp_path) as (s, story):
        place = story.folder / "out.html"
        await s.type("/export html out.html")
        await s.settle(place.exists)
        assert "<svg" in place.read_text()
        place.write_text("mine")
        await s.type("/export html out.html")
        await s.settle(lambda: "is there already" in s.said("#transcript"))
        assert place.read_text() == "mine"


async def test_a_model_of_ones_own_server_is_kept_with_its_address(tmp_path: Path) -> None:
    async with Story(tmp_path, "Hello.") as story:
        base = "http://127.0.0.1:9/v1"
        finished = await story.wish(SetModel("openai/own", base, remember=True))
        assert finished.committed and "new sessions start with it" in finished.text
        text = story.places.settings.read_text()
        assert 'model = "openai/own"' in text
        assert f'api_base = "{base}"' in text
        endpoint = story.session.kit.endpoints.resolve("openai/own")
        assert (endpoint.api_base, endpoint.key) == (base, "none")
