"""The `recall` tool: the whole log by record and by words, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools import LogRecaller, Refused
from agent.tools.recall import LEAST, cut_pages, rank, record_page, terms_of, words_page
from compaction.records import AssistantSaid, Body, Gate, Noted, Pruned, Record, ToolCall, ToolReturned, UserSaid
from compaction.view import NO_RESULT
from tests.agent.tools.bench import bench_in


def log(*bodies: Body) -> list[Record]:
    return [Record(n, 0.0, body) for n, body in enumerate(bodies, 1)]


def said(text: str, *calls: ToolCall) -> AssistantSaid:
    return AssistantSaid(text, calls, None, "done", "m", 0)


def returned(text: str, tool: str = "bash", spilled: str | None = None) -> ToolReturned:
    return ToolReturned("c", tool, f"{tool} something", text, spilled=spilled)


def no_spill(path: str) -> str:
    raise FileNotFoundError(path)


def found(records: list[Record], query: str, read_spill: Callable[[str], str] = no_spill) -> list[int]:
    """Ids of the hits on the first page, in their order."""
    page = words_page(records, query, 1, 50_000, read_spill)
    return [int(line.split(" ")[0][1:]) for line in page.split("\n") if line.startswith("#")]


@given(st.text(max_size=400), st.integers(1, 60))
def test_the_pages_of_a_text_join_to_the_text(text: str, room: int) -> None:
    pages = list(cut_pages(text, room))
    assert "".join(pages) == text
    assert all(0 < len(p) <= room for p in pages)


@given(st.text(max_size=3_000), st.integers(0, 1_500))
def test_no_page_is_longer_than_the_characters_given(text: str, characters: int) -> None:
    records = log(UserSaid(text))
    page = 1
    while True:
        shown = record_page(records, 1, page, characters, no_spill)
        assert len(shown) <= max(LEAST, characters)
        if "[next: recall" not in shown:
            break
        page += 1


def test_a_record_says_what_it_is_and_how_to_go_on() -> None:
    records = log(UserSaid("x"), returned("line\n" * 200))
    assert record_page(records, 2, 2, 500, no_spill).startswith(
        "[record 2, bash something, page 2 of 4, 1,000 characters in all]\nline\n"
    )
    assert record_page(records, 2, 2, 500, no_spill).endswith('\n[next: recall {"record": 2, "page": 3}]')
    assert record_page(records, 1, 1, 500, no_spill) == "[record 1, user, page 1 of 1, 1 characters in all]\nx"


@pytest.mark.parametrize(
    ("record", "page", "why"),
    [
        (9, 1, "There is no record 9; the log has records 1 to 3."),
        (3, 1, "holds no text"),
        (1, 2, "has 1 page"),
        (-1, 1, "no record -1"),
    ],
)
def test_what_is_not_there_is_refused(record: int, page: int, why: str) -> None:
    records = log(UserSaid("x"), returned("y"), Pruned((2,), "pruned", Gate.ASKED, 2, 1))
    with pytest.raises(Refused, match=r".*") as caught:
        record_page(records, record, page, 500, no_spill)
    assert why in str(caught.value)


def test_a_spilled_result_is_recalled_whole_and_found_by_its_middle() -> None:
    records = log(UserSaid("q"), returned("head … tail", spilled="spill/c.txt"))
    whole = {"spill/c.txt": "head\nzebra\ntail"}.__getitem__
    assert "zebra" in record_page(records, 2, 1, 500, whole)
    assert found(records, "zebra", whole) == [2]


def test_a_spill_that_is_gone_leaves_its_preview() -> None:
    assert "head … tail" in record_page(log(returned("head … tail", spilled="spill/c.txt")), 1, 1, 500, no_spill)


def test_more_words_found_come_first_then_whole_words_then_the_newer() -> None:
    records = log(
        UserSaid("alpha"), UserSaid("alphabet beta"), UserSaid("alpha"), UserSaid("nothing"), UserSaid("beta alpha")
    )
    assert found(records, "Alpha BETA alpha") == [5, 2, 3, 1]


def test_searches_skip_recalls_notices_and_missing_results() -> None:
    records = log(
        said("", ToolCall("1", "recall", '{"query": "zebra"}')),
        returned("zebra", tool="recall"),
        Noted("zebra", "shell", to_model=True),
        returned(NO_RESULT),
        said("let me see", ToolCall("2", "bash", '{"command": "grep zebra"}')),
    )
    assert found(records, "zebra") == [5]
    assert words_page(records, "interrupted", 1, 500, no_spill) == "No record holds interrupted."


@given(st.lists(st.text(max_size=300), max_size=30), st.integers(0, 2_000))
def test_search_pages_are_bounded_and_hold_every_hit_once(texts: list[str], characters: int) -> None:
    records = log(*(UserSaid(f"word {text}") for text in texts))
    if not records:
        return
    ids: list[int] = []
    page = 1
    while True:
        shown = words_page(records, "word", page, characters, no_spill)
        assert len(shown) <= max(LEAST, characters)
        ids += [int(line.split(" ")[0][1:]) for line in shown.split("\n") if line.startswith("#") and " user (" in line]
        total = int(shown.split(" of ")[1].split(";")[0])
        if page == total:
            break
        page += 1
    assert sorted(set(ids)) == [r.id for r in records]


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_query_on_any_text_gives_a_page_or_a_refusal(query: str, text: str) -> None:
    try:
        shown = words_page(log(UserSaid(text)), query, 1, 500, no_spill)
    except Refused:
        assert not terms_of(query)
    else:
        assert len(shown) <= 500


def test_words_are_taken_as_they_stand() -> None:
    assert terms_of('"src/app.py", (Foo) foo c++ a.b') == ["src/app.py", "foo", "c++", "a.b"]
    assert rank("c++ and more", ["c++"]) > rank("c+ and more", ["c++"]) == 0


async def test_the_tool_asks_the_log(tmp_path: Path) -> None:
    bench = bench_in(tmp_path)
    assert (await bench.call("recall", query="x")).text == "There is no session log to recall from."
    bench.ws.recaller = LogRecaller(lambda: log(UserSaid("needle in hay")), no_spill, 500)
    assert "needle in hay" in (await bench.call("recall", query="needle")).text
    assert "needle in hay" in (await bench.call("recall", record=1)).text
    for args in ({}, {"query": "a", "record": 1}, {"query": "   "}, {"record": 99}, {"record": 1, "page": 9}):
        assert (await bench.call("recall", **args)).failed
