"""The list of models on both screens: the likely ones first, found by a few letters, with the price of switching."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from textual.widgets import Input, OptionList

from agent.reading import ModelRow
from agent.wire import Answer, Asking, Choice, Meter, Metered, SetModel
from tests.tui.fake_worker import Tape
from tests.tui.inline_play import Play
from tests.tui.pilots import Stage, stage
from tests.tui.steady import HANGING
from tui.actions import PickModel
from tui.front import Choices
from tui.full.dialogs import Approval
from tui.full.pickers import Picker
from tui.model_words import facts, switching
from tui.picks import NAMES, Pick

METER = Meter(used=61_400, budget=160_000, trigger=143_616, landing=127_232, window=200_000, model="big")


def row(name: str, group: str = "other", ready: bool | None = False, **more: object) -> ModelRow:
    given = {
        "window": 200_000, "source": "catalogue", "max_output": 64_000, "input": 3.0, "output": 15.0, "write": 3.75,
        "limit": 190_000, "way": "needs A_KEY", **more,
    }  # fmt: skip
    return ModelRow(name, group, ready=ready, **given)  # type: ignore[arg-type]


BIG = row("big", "current", True, way="A_KEY is set")
SERVER = row(
    "openai/qwen", "server", True, window=32_768, source="probed", max_output=None, input=None, output=None, write=None,
    limit=28_672, way="a server on port 8080", api_base="http://127.0.0.1:8080/v1",
)  # fmt: skip
MANY = [row(f"provider/model-{n:04}") for n in range(3_000)]


def choices(*rows: ModelRow) -> Choices:
    return Choices(models=lambda current: iter(rows))


async def opened(s: Stage) -> Picker:
    await s.play(*Tape().opened(), Metered(METER))
    await s.type("/model")
    picker = await s.on(Picker)
    await s.settle(lambda: picker.query_one(OptionList).option_count)
    return picker


def test_a_row_says_what_a_model_takes_costs_and_needs() -> None:
    assert facts(BIG) == "200k catalogue  out 64k   $3/$15      key"
    assert facts(SERVER).split() == ["32.8k", "probed", "out", "?", "$?", "server"]
    assert facts(row("x", window=None, input=0.25, output=1.5)).startswith("?  ")
    assert switching(BIG, 61_400) == "A_KEY is set · in use now"
    assert (
        switching(row("x"), 61_400)
        == "needs A_KEY (/key saves one) · 61.4k tokens to be read again, uncached, for $0.23"
    )
    assert "does not fit its limit of 28.7k" in switching(SERVER, 61_400)
    assert "at a price nobody knows" in switching(SERVER, 61_400)


async def test_the_marked_row_tells_what_switching_costs_and_enter_switches_with_the_server_it_needs() -> None:
    async with stage((100, 30), choices=choices(BIG, SERVER)) as s:
        await opened(s)
        assert "in use now" in s.said("#picker-foot")
        await s.press("down")
        await s.settle(lambda: "61.4k tokens to be read again" in s.said("#picker-foot"))
        assert "a server on port 8080" in s.said("#picker-foot")
        await s.press("enter")
        assert s.sent(SetModel) == [SetModel("openai/qwen", "http://127.0.0.1:8080/v1")]


async def test_three_thousand_models_are_found_by_letters_and_few_are_drawn() -> None:
    async with stage((80, 24), choices=choices(BIG, SERVER, *MANY, row("provider/a-model-2999", "key", True))) as s:
        picker = await opened(s)
        assert picker.query_one(OptionList).option_count == NAMES
        await s.press(*"2999")
        await s.settle(lambda: picker.query_one(OptionList).option_count == 2)
        await s.press("enter")
        assert s.sent(SetModel) == [SetModel("provider/a-model-2999")], (
            "of those that fit alike, the one that can be asked"
        )


async def test_rows_that_come_late_join_the_list_without_moving_the_mark() -> None:
    there = threading.Event()

    def rows() -> Iterator[Pick]:
        yield Pick("big", SetModel("big"), key="big", name=True)
        yield Pick("mine", SetModel("mine"), key="mine", name=True)
        there.wait(HANGING)
        yield Pick("mine", SetModel("mine", "http://127.0.0.1:1/v1"), "server", key="mine", name=True)

    async with stage((80, 24)) as s:
        picker = Picker("Switch the model", rows, "none", batch=0.0)
        s.pilot.threads = False
        s.app.push_screen(picker)
        await s.settle(lambda: picker.is_mounted and picker.query_one(OptionList).option_count == 2)
        await s.press("down")
        there.set()
        await s.settle(lambda: "server" in s.text("OptionList"))
        assert picker.query_one(OptionList).highlighted == 1
        assert picker.query_one(Input).has_focus
        await s.press("enter")
        assert s.sent(SetModel) == [SetModel("mine", "http://127.0.0.1:1/v1")]


async def test_no_row_wraps_at_eighty_columns() -> None:
    wide = [row("a-provider/with-a-very-long-name-of-a-model-that-nobody-can-type", write=3.75), BIG, SERVER]
    async with stage((80, 24), choices=choices(*wide)) as s:
        picker = await opened(s)
        assert picker.query_one(OptionList).virtual_size.height == 3
        assert "catalogue" in s.text("OptionList") and "no key" in s.text("OptionList")


def test_the_inline_list_prices_each_row_and_says_once_what_is_read_again() -> None:
    play = Play(choices=choices(BIG, SERVER, row("other")))
    play.take(*Tape().opened(), Metered(METER))
    play.talk.wish(PickModel())
    assert "in use now" in play.text and "61.4k tokens would be read again, uncached" in play.text
    assert "200k catalogue · out 64k · $3/$15 · no key · ≈ $0.23" in play.text
    play.talk.enter("2")
    assert play.worker.sent == [SetModel("openai/qwen", "http://127.0.0.1:8080/v1")]


BUSY = Asking(
    3, "", "fallback", "big is overloaded; go on with small", "window 200k (user) · prices unknown", about="model"
)


@pytest.mark.parametrize(("key", "choice"), [("y", "once"), ("s", "session"), ("n", "refuse")])
async def test_the_question_about_another_model_takes_a_letter_and_no_reason(key: str, choice: Choice) -> None:
    async with stage() as s:
        await s.play(*Tape().opened(), BUSY)
        panel = s.app.query_one(Approval)
        assert "big is overloaded; go on with small?" in s.said("#approval #title")
        assert "yes, for this project" not in s.said("#approval #choices")
        panel._now = lambda: float("inf")
        await s.press(key)
        assert s.sent(Answer) == [Answer(3, choice)]
    play = Play()
    play.take(*Tape().opened(), BUSY)
    play.look()
    play.talk.key(key)
    assert play.worker.sent == [Answer(3, choice)]
    assert "big is overloaded; go on with small?" in play.text
