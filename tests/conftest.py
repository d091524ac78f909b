"""How the suite is run: how many processes, which files first, and examples that are the same in every run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A run is the same twice, on whatever machine and however busy: no time limit for an example, none drawn by chance,
# none kept from an earlier run. `pytest --hypothesis-profile explore` looks further.
SLOW_MACHINE = (HealthCheck.too_slow,)
settings.register_profile("same", deadline=None, derandomize=True, database=None, suppress_health_check=SLOW_MACHINE)
settings.register_profile("explore", deadline=None, suppress_health_check=SLOW_MACHINE)
settings.load_profile("same")

# Beyond the cores: half of the suite waits for a child process, a terminal or a clock.
WAITING = 2

# A process takes up to 300 MB with what it starts.
MOST_PROCESSES = 8

# The files that take longest (10 seconds and more on two cores), longest first: a long one that begins last would keep
# one process busy while the others are done. A file that is not named here only ends a little later.
LONGEST = (
    "agent/embedded/test_embedded_cache.py",
    "agent/cases/test_reported_compactions.py",
    "agent/loop/test_loop_processes.py",
    "tui/test_reported_screens.py",
    "tui/test_inline_terminal.py",
    "tui/test_headless_process.py",
    "agent/embedded/test_real_embedded_model.py",
    "agent/mcp/test_odd_server.py",
    "agent/mcp/test_prompts_and_resources.py",
    "agent/loop/test_loop_mends_a_project.py",
    "agent/cache/test_marked_provider.py",
    "agent/loop/test_loop_jobs.py",
    "agent/models/test_remote_failures.py",
    "agent/loop/test_loop_any_moment.py",
    "agent/mcp/test_real_server.py",
    "tui/test_context_in_hand.py",
    "tui/test_looking_screens.py",
    "architecture/test_import_contracts.py",
    "tui/test_full_screen.py",
    "agent/cases/test_reported_prefixes.py",
    "agent/cases/test_reported_windows.py",
)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means."""
    return min(MOST_PROCESSES, (os.cpu_count() or 1) + WAITING)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the others as they were."""
    here = Path(__file__).parent
    rank = {here / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path, len(LONGEST)))
