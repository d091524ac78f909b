"""Which command a line of words means, wherever its options stand."""

from __future__ import annotations

import pytest

from tests.tui.headless_play import options_of

OPTIONS = "-C /p --model openai/x --mode auto --budget 12k --session exec"


@pytest.mark.parametrize("line", [f"{OPTIONS} exec hello", f"exec {OPTIONS} hello", f"exec hello {OPTIONS}"])
def test_options_stand_before_or_after_the_command(line: str) -> None:
    options = options_of(line)
    assert (options.command, options.prompt) == ("exec", ["hello"])
    assert (options.directory, options.model, options.mode) == ("/p", "openai/x", "auto")
    assert (options.budget, options.session) == ("12k", "exec")


def test_the_value_of_an_option_is_no_command() -> None:
    options = options_of("-C exec say hello")
    assert (options.command, options.directory, options.prompt) == ("screen", "exec", "say hello")
