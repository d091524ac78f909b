"""The shell parser against bash itself: what it claims to understand, bash must run exactly so."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.permissions.parsed import Command, Opaque, Redirect, Word, parse

BASH = shutil.which("bash")

# Every command bash would start ends here: PATH is empty, so no program is found.
# A file a command: those of a pipeline run side by side, and bash writes a line at a time.
HANDLER = 'command_not_found_handle() { printf \'%s\\0\' "$@" > "$RAN/$BASHPID"; }\n'


def ran(line: str, folder: Path) -> Counter[tuple[str, ...]]:
    """What bash starts for a line: the words of each command."""
    log, place = folder / "ran", folder / "place"
    for used in (log, place):
        shutil.rmtree(used, ignore_errors=True)
        used.mkdir()
    subprocess.run(
        [str(BASH), "-c", HANDLER + line], cwd=place, env={"RAN": str(log), "PATH": "/nowhere", "HOME": "/home/q"},
        stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return Counter(tuple(map(os.fsdecode, one.read_bytes().split(b"\0")[:-1])) for one in log.iterdir())


def words(line: str) -> list[list[str]]:
    """The words of each command of a line that is understood."""
    commands = parse(line)
    assert not isinstance(commands, Opaque), commands
    return [[w.text for w in c.words] for c in commands]


@pytest.mark.skipif(BASH is None, reason="needs bash")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(line=st.text(st.sampled_from("aab '\"\\&|;<>#$(){}*?~=!\n\t-1,[]`:./x"), min_size=1, max_size=14))
def test_bash_starts_nothing_that_an_understood_line_does_not_name(line: str, tmp_path: Path) -> None:
    commands = parse(line)
    if isinstance(commands, Opaque) or not all(w.literal for c in commands for w in c.words):
        return
    if any(r.operator == "<" or not r.target.literal for c in commands for r in c.redirects):
        return
    named = Counter(tuple(w.text for w in c.words) for c in commands if c.words)
    started = ran(line, tmp_path)
    assert not started - named, (line, started, commands)


@pytest.mark.skipif(BASH is None, reason="needs bash")
@pytest.mark.parametrize(
    "line",
    [
        'aa \'b c\' "d\\"e" f\\ g',
        "aa;ab&&ac",
        "aa 2>x 3<>y >&2 b",
        "aa b2>x",
        "aa '2'>x",
        "aa \\\n bb",
        "aa 'x\ny' # comment ; ab\nac",
        "aa\"\"'' '' \"\"",
        "aa HEAD~1 a~ ~'x' b{c}d {} x=y",
        "aa ];ab }x",
        "aa & ab &",
        "aa |& ab",
    ],
)
def test_these_lines_are_understood_as_bash_understands_them(line: str, tmp_path: Path) -> None:
    commands = parse(line)
    assert not isinstance(commands, Opaque)
    named = Counter(tuple(w.text for w in c.words) for c in commands if c.words)
    assert ran(line, tmp_path) == named


def test_a_line_is_taken_apart_at_its_joints() -> None:
    assert words("git status && rm -rf x; ls | wc -l") == [["git", "status"], ["rm", "-rf", "x"], ["ls"], ["wc", "-l"]]


def test_assignments_and_redirections_are_kept_apart_from_the_words() -> None:
    assert parse("A=1 b c 2>>d") == (Command((Word("b"), Word("c")), ("A=1",), (Redirect(">>", Word("d")),)),)


def test_a_word_that_bash_expands_is_not_literal() -> None:
    commands = parse("a *.py x?y [ab] {a,b} ~ ~/x a=~ b:~ '*' \\* HEAD~1 {} {a}")
    assert not isinstance(commands, Opaque)
    flags = [w.literal for w in commands[0].words[1:]]
    assert flags == [False] * 8 + [True] * 5


@pytest.mark.parametrize(
    "line",
    [
        "echo $(rm x)", "echo `rm x`", "echo \"$(rm x)\"", "echo \"`rm x`\"", "$x", "${x}", "a $((1))", "(rm x)",
        "{ rm x; }", "f() { rm x; }", "function f { rm; }", "cat <<E\nE", "cat <<< x", "cat <(rm x)", "a >(rm x)",
        "if a; then b; fi", "while a; do b; done", "for x in a; do b; done", "case a in a) b;; esac", "! a", "[[ a ]]",
        "coproc a", "time a", "a 'b", "a \"b", "a \\", "a &&", "| a", "a ;; b", "a > ", "a\x00b", "a\rb", "a\u200bb",
        "a\u00a0b", "a\u2028b", "a && && b", "a=(b)", "select x in a; do b; done", "until a; do b; done", "$'rm'",
        "$\"a\"",
        "a \x1b[31m",
    ],
)  # fmt: skip
def test_what_is_not_surely_known_is_not_understood(line: str) -> None:
    assert isinstance(parse(line), Opaque)


def test_blanks_and_comments_are_no_commands() -> None:
    assert parse(" \n\t# rm -rf x\n") == ()
