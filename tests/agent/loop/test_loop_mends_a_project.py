"""A small project with three bugs, mended by a scripted model over real HTTP with the real tools, in all four modes.

The same play on a released library is `tests/bench/bench_task.py`.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.models.remote import RemoteModel
from tests.bench.task_play import FATES, REASON, SAID, Played, expected, play
from tests.bench.task_script import STEPS, Bug, NotThere, Repository, plant

PRICES = '''"""Prices in whole cents."""


def discount(cents, pieces):
    """A tenth less from ten pieces on."""
    return cents * 9 // 10 if pieces >= 10 else cents


def between(value, low, high):
    """Whether low <= value <= high."""
    return low <= value <= high


def total(cents, pieces):
    """The price of all, at least one cent and at most a million."""
    whole = discount(cents, pieces) * pieces
    return whole if between(whole, 1, 100_000_000) else None
'''

ORDERS = '''"""Orders as people write them: `12 x screw M4 @ 5`."""

import re

from prices import total

LINE = re.compile(r"(?P<pieces>\\d+) x (?P<name>.+) @ (?P<cents>\\d+)")


def order(text):
    """(name, total in cents) of one line. Raises ValueError."""
    found = LINE.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return found["name"], total(int(found["cents"]), int(found["pieces"]))
'''

TESTS = """import unittest

from orders import order
from prices import between, discount


class Shop(unittest.TestCase):
    def test_ten_pieces_are_cheaper(self):
        self.assertEqual([discount(100, n) for n in (9, 10, 11)], [100, 90, 90])

    def test_both_ends_belong_to_a_range(self):
        self.assertEqual([between(n, 1, 3) for n in (0, 1, 3, 4)], [False, True, True, False])

    def test_an_order_is_read_and_priced(self):
        self.assertEqual(order("12 x screw M4 @ 5"), ("screw M4", 48))

    def test_an_order_without_a_price_is_refused(self):
        self.assertRaises(ValueError, order, "12 x screw")
"""

REPOSITORY = Repository(
    "shop",
    (
        Bug("prices.py", "a wrong boundary", "if pieces >= 10 else", "if pieces > 10 else", "def discount"),
        Bug(
            "prices.py", "swapped arguments", "between(whole, 1, 100_000_000)", "between(1, whole, 100_000_000)",
            "100_000_000",
        ),
        Bug("orders.py", "a broken expression", r"(?P<name>.+) @", r"(?P<name>\w+) @", "re.compile"),
    ),
    "python -m unittest -q",
    "total",
)  # fmt: skip


async def _all_modes(root: Path, outside: Path) -> dict[str, Played]:
    source = root / "source"
    source.mkdir()
    for name, text in {"prices.py": PRICES, "orders.py": ORDERS, "test_shop.py": TESTS}.items():
        (source / name).write_text(text)
    (source / ".gitignore").write_text("__pycache__/\n")
    model = RemoteModel(log=root / "host.log")
    model.start()
    try:
        return {mode: await play(root / mode, source, REPOSITORY, mode, model, outside) for mode in SAID}
    finally:
        await model.aclose()


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Played]]:
    # In auto mode temporary folders count as inside: what is outside must be elsewhere.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as outside:
        yield asyncio.run(_all_modes(tmp_path_factory.mktemp("shop"), Path(outside)))


@pytest.mark.parametrize("mode", SAID)
def test_each_call_runs_is_asked_about_or_is_refused_as_the_mode_says(mode: str, shops: dict[str, Played]) -> None:
    played = shops[mode]
    assert played.wrong == []
    # With the third bug in a file of its own, "for the session" of the second file does not cover it.
    fates = FATES[played.mode].split()
    if mode == "ask":
        fates[STEPS.index("edit 3")] = "once"
    assert played.fates == fates


@pytest.mark.parametrize("mode", SAID)
def test_the_bugs_are_gone_or_in_plan_mode_still_there(mode: str, shops: dict[str, Played]) -> None:
    played = shops[mode]
    assert played.before.startswith("FAILED (")
    changed = sorted(played.changed)
    if mode == "plan":
        assert (changed, played.after) == ([], played.before)
    else:
        assert played.after == "OK"
        assert [line[0] for line in changed] == ["+"] * 3 + ["-"] * 3
        assert all(any(bug.right in line for line in changed[:3]) for bug in REPOSITORY.bugs)
        assert all(any(bug.wrong in line for line in changed[3:]) for bug in REPOSITORY.bugs)


def test_questions_say_what_would_happen_and_what_a_lasting_yes_would_allow(shops: dict[str, Played]) -> None:
    asked = [(a.tool, a.prefix, bool(a.diff), a.command) for a in shops["ask"].asked]
    test = REPOSITORY.test
    assert [a for a in asked if a[0] != "write"] == [
        ("bash", "python -m unittest", False, test), ("edit", "prices.py", True, ""), ("edit", "prices.py", True, ""),
        ("bash", "python -m unittest", False, test), ("edit", "orders.py", True, ""),
        ("bash", "git commit", False, "git commit -q -am 'Mend three bugs'"),
    ]  # fmt: skip
    assert shops["edits"].remembered == ("bash(python -m unittest)",)
    assert [a.tool for a in shops["auto"].asked] == ["write"]
    assert shops["plan"].asked == []


def test_the_model_reads_why_something_was_not_done(shops: dict[str, Played]) -> None:
    assert shops["ask"].told["git commit"] == f"refused by the user: {REASON}"
    assert shops["ask"].told["write outside"] == "refused by the user"
    assert "matches 3 places in orders.py" in shops["auto"].told["edit 3, vague"]
    assert all(
        shops["plan"].told[step].startswith("refused: plan mode only reads") for step in ("edit 1", "git commit")
    )
    assert all(bug.right in shops["auto"].told["git diff"] for bug in REPOSITORY.bugs)


def test_a_repository_without_the_text_of_a_bug_is_a_loud_failure(tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text(PRICES)
    plant(tmp_path, REPOSITORY.bugs[:1])
    with pytest.raises(NotThere):
        plant(tmp_path, REPOSITORY.bugs[:1])
    with pytest.raises(NotThere):
        plant(tmp_path, [replace(REPOSITORY.bugs[1], right="between(")])


def test_an_answer_that_nobody_asked_for_would_be_seen(tmp_path: Path) -> None:
    assert len(expected(REPOSITORY, "ask")[1]) == len(SAID["ask"]) + 1
