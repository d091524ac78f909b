"""Which command a line of words means, wherever its options stand."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tui.headless_play import options_of
from tui.cli import parse

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


def refused(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What is said of a line that cannot be read."""
    with pytest.raises(SystemExit) as left:
        options_of(line)
    assert left.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("line", "usage", "meant"),
    [
        ("exec hello --jsn", "usage: ullage exec", "did you mean --json?"),
        ("fork last 12 --befor", "usage: ullage fork", "[--before RECORD]"),
        ("fork last 12", "usage: ullage fork", "did you mean --before 12?"),
        ("exec --resume hello", "usage: ullage exec", "did you mean --session?"),
        ("prune last --dryrun", "usage: ullage prune", "did you mean --dry-run?"),
        ("--inlyne hello there", "usage: ullage [-h]", "did you mean --inline?"),
    ],
)
def test_a_misspelt_option_is_told_with_the_usage_of_its_command(
    line: str, usage: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(line, capsys)
    assert said.startswith(usage) and meant in said


@pytest.mark.parametrize("line", ["context", "prune --dry-run", "undo", "pin", "rewind", "recall"])
def test_a_session_that_is_not_named_is_asked_for_with_what_names_one(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(line, capsys)
    assert said.startswith(f"usage: ullage {line.split()[0]}")
    assert said.endswith("SESSION is an id, a unique part of one, a path, or 'last'")


@pytest.mark.parametrize(("word", "meant"), [("sesions", "sessions"), ("contxt", "context"), ("model", "models")])
def test_a_misspelt_command_is_no_message_that_costs_money(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"did you mean `ullage {meant}`?" in refused(word, capsys)


@pytest.mark.parametrize("line", ["hello", "continue", "fix", "sesions please", "what model"])
def test_a_message_is_no_misspelt_command(line: str) -> None:
    assert options_of(line).prompt == line


@pytest.mark.parametrize("command", [["exec", "hello"], []])
def test_an_empty_session_is_no_new_one(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse([*command, "--session", ""])
    assert left.value.code == 2 and "--session: it is empty" in " ".join(capsys.readouterr().err.split())


def test_ctrl_c_while_the_program_starts_ends_it_without_a_traceback() -> None:
    script = """
import sys
from tui.cli import main

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "tui.wiring":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
sys.exit(main(["hello"]))
"""
    ended = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
