"""Windows and prices with their sources: who is believed, what is kept apart, what is dropped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model import Endpoint
from agent.models.catalogue import EXTRACT, NO_CLAIM, Catalogue, Claim, prices_of
from agent.models.catalogue_extract import extract, row, text
from agent.models.learned import Learned
from agent.models.probe import Probed
from compaction.budget import Window
from compaction.cache import Prices
from compaction.records import WindowSource

CLAUDE = Endpoint("claude", "anthropic/claude-sonnet-4-5")
MINE = Endpoint("mine", "openai/my-model", "http://127.0.0.1:8080/v1")
OTHER = Endpoint("mine", "openai/my-model", "http://127.0.0.1:9090/v1")


def catalogue(path: Path | None = None) -> Catalogue:
    return Catalogue(Learned(path))


def test_a_known_model_has_its_window_and_prices() -> None:
    known = catalogue()
    assert known.window(CLAUDE) == Window(200_000, 64_000, WindowSource.CATALOGUE)
    assert known.prices(CLAUDE) == Prices(3.0, 15.0, 0.3, 3.75)
    assert known.supports_effort(CLAUDE.model)
    assert known.window(Endpoint("gpt", "openai/gpt-5")) == Window(272_000, 128_000, WindowSource.CATALOGUE, True)


@pytest.mark.parametrize(
    "model",
    ["claude-sonnet-4-5", "vertex_ai/claude-sonnet-4-5", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
)
def test_a_model_is_found_under_its_other_names(model: str) -> None:
    assert catalogue().window(Endpoint("x", model)).tokens == 200_000


@pytest.mark.parametrize(
    "model", ["openai/my-model", "ollama/llama3.1", "openrouter/nobody/knows", "gemini/gemini-3-pro-preview", "x"]
)
def test_what_nobody_said_is_unknown(model: str) -> None:
    assert catalogue().window(Endpoint("x", model)) == Window(None)
    assert catalogue().prices(Endpoint("x", model)) is None


def test_trust_falls_from_learned_to_user_to_probed_to_the_list() -> None:
    known, claim = catalogue(), Claim(window=128_000)
    assert known.window(CLAUDE).source is WindowSource.CATALOGUE
    known.note_probe(CLAUDE, Probed(150_000))
    assert known.window(CLAUDE) == Window(150_000, 64_000, WindowSource.PROBED)
    assert known.window(CLAUDE, claim) == Window(128_000, 64_000, WindowSource.USER)
    known.learn(CLAUDE, 100_000, claim)
    assert known.window(CLAUDE, claim) == Window(100_000, 64_000, WindowSource.LEARNED)


def test_a_window_that_contradicts_a_claim_is_kept_for_the_next_session(tmp_path: Path) -> None:
    claim = Claim(window=1_000_000)
    catalogue(tmp_path / "learned.json").learn(MINE, 258_000, claim)
    later = catalogue(tmp_path / "learned.json")
    assert later.window(MINE, claim) == Window(258_000, None, WindowSource.LEARNED)


def test_one_name_at_two_addresses_is_two_models() -> None:
    known = catalogue()
    known.learn(MINE, 8_192)
    assert known.window(MINE).tokens == 8_192
    assert known.window(OTHER) == Window(None)


def test_a_lesson_is_dropped_when_the_claim_it_contradicted_changes() -> None:
    known = catalogue()
    known.learn(MINE, 258_000, Claim(window=1_000_000))
    known.settle(MINE, Claim(window=1_000_000))
    assert known.window(MINE, Claim(window=1_000_000)).source is WindowSource.LEARNED
    assert known.window(MINE, Claim(window=400_000)) == Window(400_000, None, WindowSource.USER)
    known.settle(MINE, Claim(window=400_000))
    assert known.window(MINE, Claim(window=1_000_000)).source is WindowSource.USER


def test_looking_at_a_window_under_another_claim_drops_no_lesson() -> None:
    known = catalogue()
    known.learn(MINE, 258_000, Claim(window=1_000_000))
    assert known.window(MINE, Claim(window=400_000)) == Window(400_000, None, WindowSource.USER)
    assert known.window(MINE, Claim(window=1_000_000)).source is WindowSource.LEARNED


def test_a_lesson_is_dropped_when_the_server_says_something_else_but_not_when_it_is_silent() -> None:
    known = catalogue()
    known.note_probe(MINE, Probed(32_768))
    known.learn(MINE, 30_000)
    known.note_probe(MINE, Probed(None))
    assert known.window(MINE).source is WindowSource.LEARNED
    known.note_probe(MINE, Probed(65_536))
    assert known.window(MINE) == Window(65_536, None, WindowSource.PROBED)


def test_a_lesson_never_widens_what_the_user_says() -> None:
    known, claim = catalogue(), Claim(window=32_000)
    known.learn(MINE, 128_000, claim)
    assert known.window(MINE, claim) == Window(32_000, None, WindowSource.USER)


def test_a_lesson_is_forgotten_by_either_name(tmp_path: Path) -> None:
    known = catalogue(tmp_path / "learned.json")
    known.learn(MINE, 8_192)
    known.learn(OTHER, 16_384)
    known.learn(CLAUDE, 100_000)
    assert known.forget("mine") == 2
    assert known.forget(CLAUDE.model) == 1
    assert known.forget("nobody") == 0
    assert catalogue(tmp_path / "learned.json").window(MINE) == Window(None)


def test_a_server_that_says_zero_says_nothing() -> None:
    known = catalogue()
    known.note_probe(MINE, Probed(0, 0))
    assert known.window(MINE) == Window(None)
    assert known.window(MINE, Claim(window=0)) == Window(None)


def test_the_users_word_on_output_and_prices_counts() -> None:
    mine = Prices(1.0, 2.0, 0.1, 1.0)
    claim = Claim(max_output=4_096, output_apart=True, prices=mine)
    assert catalogue().window(CLAUDE, claim) == Window(200_000, 4_096, WindowSource.CATALOGUE, True)
    assert catalogue().prices(CLAUDE, claim) == mine


def test_prices_that_nobody_states_are_none() -> None:
    assert prices_of(3, 15) == Prices(3.0, 15.0, None, None)
    assert prices_of(3, None) is None


SIZES = st.none() | st.integers(1, 10**7)


@given(claimed=SIZES, probed=SIZES, learned=SIZES)
def test_a_window_is_always_one_that_somebody_said(
    claimed: int | None, probed: int | None, learned: int | None
) -> None:
    known, claim = catalogue(), Claim(window=claimed)
    known.note_probe(MINE, Probed(probed))
    if learned is not None:
        known.learn(MINE, learned, claim)
    found = known.window(MINE, claim)
    said = {WindowSource.LEARNED: learned, WindowSource.USER: claimed, WindowSource.PROBED: probed,
            WindowSource.UNKNOWN: None}  # fmt: skip
    assert found.tokens == said[found.source]
    assert (found.tokens is None) == (claimed is None and probed is None and learned is None)
    assert claimed is None or (found.tokens or 0) <= claimed


# ── the file of lessons ──


@pytest.mark.parametrize(
    "damaged", [b"", b"{", b"[]", b'{"lessons": [{}]}', b'{"lessons": [{"name": 1}]}', b"\xff\xfe"]
)
def test_a_damaged_file_counts_as_empty_and_is_written_anew(tmp_path: Path, damaged: bytes) -> None:
    path = tmp_path / "learned.json"
    path.write_bytes(damaged)
    known = catalogue(path)
    assert known.window(MINE) == Window(None)
    known.learn(MINE, 8_192)
    assert catalogue(path).window(MINE).tokens == 8_192


def test_two_processes_keep_each_others_lessons(tmp_path: Path) -> None:
    one, two = catalogue(tmp_path / "l.json"), catalogue(tmp_path / "l.json")
    one.learn(MINE, 8_192)
    two.learn(OTHER, 16_384)
    later = catalogue(tmp_path / "l.json")
    assert (later.window(MINE).tokens, later.window(OTHER).tokens) == (8_192, 16_384)


def test_a_folder_that_cannot_be_written_loses_the_lesson_at_the_end_only(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    learned = Learned(tmp_path / "file" / "learned.json")
    known = Catalogue(learned)
    known.learn(MINE, 8_192)
    assert known.window(MINE).tokens == 8_192
    assert learned.trouble is not None
    assert "could not be written" in learned.trouble


def test_no_half_written_file_is_left_behind(tmp_path: Path) -> None:
    known = catalogue(tmp_path / "learned.json")
    for window in range(1_000, 1_010):
        known.learn(MINE, window)
    assert [path.name for path in tmp_path.iterdir()] == ["learned.json"]


# ── the extract ──


def listed(**fields: Any) -> dict[str, Any]:
    return {"mode": "chat", "litellm_provider": "x", "max_input_tokens": 1_000, "max_output_tokens": 100,
            "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05} | fields  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [1_000, 100, 3, 15, None, None, 0]),
        ({"max_output_tokens": 2_000}, [1_000, 1_000, 3, 15, None, None, 0]),
        (
            {"cache_read_input_token_cost": 3e-07, "cache_creation_input_token_cost": 3.75e-06},
            [1_000, 100, 3, 15, 0.3, 3.75, 0],
        ),
        ({"input_cost_per_token": 0, "output_cost_per_token": 0}, [1_000, 100, None, None, None, None, 0]),
        ({"supports_reasoning": True, "litellm_provider": "gemini"}, [1_000, 100, 3, 15, None, None, 3]),
        ({"litellm_provider": "openai", "max_input_tokens": 272_000}, [272_000, 100, 3, 15, None, None, 2]),
        ({"mode": "embedding"}, None),
        ({"litellm_provider": "ollama"}, None),
        ({"max_input_tokens": None, "input_cost_per_token": 0, "output_cost_per_token": 0}, None),
    ],
)
def test_a_row_of_the_extract(fields: dict[str, Any], expected: list[Any] | None) -> None:
    assert row("x", listed(**fields)) == expected


def test_wrong_rows_are_left_out() -> None:
    assert extract({"gemini/gemini-3-pro-preview": listed(), "good": listed()}).keys() == {"good"}


def test_the_extract_is_what_the_installed_library_gives_and_is_small() -> None:
    assert EXTRACT.read_text(encoding="utf-8") == text()
    assert EXTRACT.stat().st_size < 400_000


def test_every_row_makes_sense() -> None:
    known = catalogue()
    for name in known.names():
        window = known.window(Endpoint("x", name), NO_CLAIM)
        assert window.tokens is None or 0 < (window.max_output or 1) <= window.tokens, name
        prices = known.prices(Endpoint("x", name))
        assert prices is None or min(prices.input, prices.output, prices.cached or 0, prices.cache_write or 0) >= 0, (
            name
        )


def test_reading_the_extract_needs_no_library() -> None:
    code = (
        "import sys, json\n"
        "from agent.models.catalogue import Catalogue\nfrom agent.models.learned import Learned\n"
        "Catalogue(Learned(None)).names()\nprint(json.dumps('litellm' in sys.modules))\n"
    )
    root = str(EXTRACT.parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=300, check=True
    )
    assert json.loads(done.stdout) is False
