from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from agent.export.timeline import timeline


@dataclass(frozen=True)
class Bar:
    record: int
    size: int
    cache_read: int
    output: int = 10
    cost: float | None = None
    breaks: str | None = None
    rewrites: tuple[str, ...] = ()


def picture(*rows: Bar, budget: int | None = 100, window: int | None = 1_000) -> ElementTree.Element:
    return ElementTree.fromstring(timeline(rows, budget, window))


def heights(drawn: ElementTree.Element) -> list[tuple[float, float]]:
    """Cached and uncached height of each bar."""
    return [
        (float(bar[0].get("height", "")), float(bar[1].get("height", "")))
        for bar in ([*group.iter("rect")] for group in drawn.iter("g"))
    ]


def test_every_request_is_one_bar_in_proportion() -> None:
    (read, fresh), (read2, fresh2) = heights(picture(Bar(3, 50, 0), Bar(5, 100, 75)))
    assert read == 0
    assert abs(fresh * 2 - (read2 + fresh2)) < 0.1
    assert abs(read2 - fresh2 * 3) < 0.1


def test_a_level_far_above_is_named_instead_of_drawn() -> None:
    drawn = picture(Bar(3, 90, 0))
    assert [line.get("class") for line in drawn.iter("line") if line.get("class") in ("budget", "window")] == ["budget"]
    assert "window 1,000 (above the picture)" in "".join(drawn.itertext())


def test_rewrites_and_breaks_are_marked_and_listed_with_a_link() -> None:
    drawn = picture(Bar(3, 90, 0), Bar(7, 60, 10, breaks="pruned at #4", rewrites=("asked.pruned",)))
    assert len([*drawn.iter("path")]) == 1
    (entry,) = drawn.iter("li")
    assert "".join(entry.itertext()) == "before #7: asked.pruned · cache broken: pruned at #4"
    assert [link.get("href") for link in entry.iter("a")] == ["#r7"]


def test_no_requests_are_no_section() -> None:
    assert timeline([], 100, None) == ""


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7), st.text(max_size=20)), min_size=1, max_size=60))
def test_it_is_well_formed_and_fetches_nothing_whatever_is_in_it(rows: list[tuple[int, int, str]]) -> None:
    text = "".join(
        timeline([Bar(n, size, read, breaks=clean(why)) for n, (size, read, why) in enumerate(rows)], 100, None)
    )
    drawn = ElementTree.fromstring(text)
    assert len([*drawn.iter("g")]) == len(rows)
    assert all(height >= 0 for bar in heights(drawn) for height in bar)
    assert not re.search(r"<(script|image|use|foreignObject)|https?:|\son\w+=", text)


def clean(why: str) -> str | None:
    """As the engine writes causes: printable."""
    return "".join(c for c in why if c.isprintable() and not 0xD800 <= ord(c) <= 0xDFFF) or None
