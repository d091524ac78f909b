from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from agent.models.catalogue import Catalogue
from agent.models.learned import Learned
from agent.models.providers import KEY_VARIABLES
from agent.reading.at_hand import SENSIBLE, AtHand, at_hand
from agent.wire import Finished, SetModel, Submit
from compaction.records import UserSaid
from tests.tui.fake_worker import Tape
from tests.tui.pilots import FakeLog, Stage, stage
from tui.full.first_use import TOUR, FirstUse

KEY = AtHand("key", "claude-sonnet-5", "ANTHROPIC_API_KEY is set")
SERVER = AtHand("server", "openai/qwen3", "a server on port 11434", "http://127.0.0.1:11434/v1")
NAMELESS = AtHand("key", "openrouter/", "OPENROUTER_API_KEY is set")


@dataclass
class FreshLog(FakeLog):
    """Nobody has chosen a model yet."""

    offered: Sequence[AtHand] = (KEY, SERVER, NAMELESS)
    chosen: bool = False

    def at_hand(self) -> Sequence[AtHand]:
        return self.offered


async def offered(s: Stage) -> FirstUse:
    await s.play(*Tape().opened())
    panel = s.app.query_one(FirstUse)
    await s.settle(lambda: panel.display)
    await s.pilot.pause()
    return panel


async def test_what_is_at_hand_is_offered_and_typing_is_not_disturbed() -> None:
    async with stage(log=FreshLog()) as s:
        panel = await offered(s)
        shown = s.text("#first-use")
        for row in (KEY, SERVER, NAMELESS):
            assert row.model in shown and row.found in shown
        assert "the tour" in shown
        await s.type("hello")
        assert s.worker.sent == [Submit("hello")]
        await s.play(Tape().said(UserSaid("hello")))
        assert not panel.display


async def test_nothing_is_offered_once_a_model_is_chosen_or_a_session_goes_on() -> None:
    for log, resumed in ((FreshLog(chosen=True), False), (FreshLog(), True)):
        async with stage(log=log) as s:
            await s.play(*Tape().opened(resumed=resumed))
            await s.pilot.pause()
            assert not s.app.query_one(FirstUse).display


async def test_enter_takes_a_model_for_now_and_d_for_good() -> None:
    async with stage(log=FreshLog()) as s:
        panel = await offered(s)
        await s.press("tab", "enter")
        await s.press("tab", "down", "d")
        assert s.worker.sent == [
            SetModel("claude-sonnet-5"),
            SetModel("openai/qwen3", "http://127.0.0.1:11434/v1", remember=True),
        ]
        assert panel.display
        await s.play(Finished("model", True, 0, None, "model openai/qwen3"))
        assert not panel.display


async def test_a_provider_whose_model_is_not_known_is_left_to_the_user_to_name() -> None:
    async with stage(log=FreshLog()) as s:
        await offered(s)
        await s.press("tab", "down", "down", "enter", "x")
        assert s.app.query_one("#prompt").text == "/model openrouter/x"  # type: ignore[attr-defined]
        assert s.worker.sent == []


async def test_letters_typed_into_the_panel_go_to_the_prompt() -> None:
    async with stage(log=FreshLog()) as s:
        await offered(s)
        await s.press("tab", "h", "i")
        assert s.app.query_one("#prompt").text == "hi"  # type: ignore[attr-defined]


async def test_the_tour_is_asked_for_by_how_the_screen_ends() -> None:
    async with stage(log=FreshLog()) as s:
        await offered(s)
        await s.press("tab", "up", "enter")
    assert s.app.return_value == TOUR


async def test_escape_closes_the_panel_and_nothing_else() -> None:
    async with stage(log=FreshLog()) as s:
        panel = await offered(s)
        await s.press("tab", "escape")
        assert not panel.display
        assert s.app.query_one("#prompt").has_focus


async def test_escape_at_the_prompt_closes_the_panel_as_it_says() -> None:
    async with stage(log=FreshLog()) as s:
        panel = await offered(s)
        await s.press("escape")
        await s.settle(lambda: not panel.display)
        assert s.worker.sent == []


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
@pytest.mark.parametrize("ascii", [False, True])
async def test_panel_and_prompt_fit_the_screen(size: tuple[int, int], ascii: bool) -> None:
    many = [AtHand("key", f"provider/model-{n}", f"KEY_{n} is set") for n in range(20)]
    async with stage(size, log=FreshLog(offered=many), ascii=ascii) as s:
        panel = await offered(s)
        prompt = s.app.query_one("#prompt")
        assert panel.region.bottom <= prompt.region.y
        assert prompt.region.bottom <= size[1]
        assert panel.region.height <= size[1] // 2
        assert "No model is chosen yet" in s.text("#first-use")


def refused(url: str) -> bytes:
    raise OSError("refused")


def test_a_key_is_named_and_never_shown() -> None:
    found = at_hand(
        {"ANTHROPIC_API_KEY": "ANTHROPIC_API_KEY is set"}, ["claude-sonnet-5"], embedded=False, fetch=refused
    )
    assert found == [AtHand("key", "claude-sonnet-5", "ANTHROPIC_API_KEY is set")]


def test_a_key_without_a_known_model_offers_its_provider() -> None:
    (found,) = at_hand({"OPENROUTER_API_KEY": "k"}, [], embedded=False, fetch=refused)
    assert found.model == "openrouter/"


def test_servers_are_asked_what_they_serve_and_answers_that_are_none_are_passed_over() -> None:
    answers = {
        "http://127.0.0.1:11434/v1/models": b'{"data": [{"id": "nomic-embed"}, {"id": "a"}, {"id": "b"}, {"id": "c"}]}',
        "http://127.0.0.1:1234/v1/models": b"<html>",
        "http://127.0.0.1:8080/v1/models": b'{"data": null}',
        "http://127.0.0.1:8000/v1/models": b"[1]",
    }
    found = at_hand({}, [], embedded=True, fetch=answers.__getitem__)
    assert [(one.kind, one.model, one.api_base) for one in found] == [
        ("server", "openai/a", "http://127.0.0.1:11434/v1"),
        ("server", "openai/b", "http://127.0.0.1:11434/v1"),
        ("embedded", "embedded/smollm2", None),
    ]
    assert "toy-sized" in found[-1].found


def test_every_sensible_model_has_a_key_and_is_in_the_catalogue(tmp_path: object) -> None:
    from pathlib import Path

    known = set(Catalogue(Learned(Path(str(tmp_path)) / "learned.json")).names())
    assert set(SENSIBLE) <= set(KEY_VARIABLES)
    assert {provider for provider, names in SENSIBLE.items() if not set(names) & known} == set()
