"""Counting in a process of its own: the same numbers, whatever becomes of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.counting import count, rule_of_thumb
from agent.counting.child import MOST_CHARACTERS, MOST_TEXTS, CountChild
from agent.counting.pipe import HEAD, SIZE, Greeting, answer, ask, counts_of, greet, greeting_of, texts_of

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # surrogates included

# A child without a vocabulary that answers with lengths; what it does after so many questions is the test's.
LENGTHS = """
import os, sys
from agent.counting.pipe import *
source, sink = 0, 1
os.write(sink, greet(Greeting({exact}, "nothing to count with")))
def read(size):
    data = b""
    while len(data) < size:
        more = os.read(source, size - len(data))
        if not more: os._exit(0)
        data += more
    return data
for left in range({questions}):
    number, size = HEAD.unpack(read(HEAD.size))
    os.write(sink, answer([len(t) for t in texts_of(number, read(number * SIZE.size + size))]))
{then}
"""


def child(questions: int = 1_000, then: str = "", exact: bool = True, patience: float = 30.0) -> CountChild:
    script = LENGTHS.format(questions=questions, then=then, exact=exact)
    return CountChild((sys.executable, "-P", "-c", script), patience)


@contextmanager
def closing(counted: CountChild) -> Iterator[CountChild]:
    try:
        yield counted
    finally:
        counted.close()


def gone(pid: int) -> bool:
    """Whether the process has ended: not there, or waiting only to be read by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@given(st.lists(ANY_TEXT, max_size=20))
@settings(max_examples=100, deadline=None)
def test_what_is_asked_is_what_arrives_and_so_is_the_answer(texts: list[str]) -> None:
    data = ask(texts)
    number, size = HEAD.unpack_from(data)
    rest = data[HEAD.size :]
    assert len(rest) == number * SIZE.size + size
    assert texts_of(number, rest) == texts
    assert counts_of(answer([len(t) for t in texts])) == [len(t) for t in texts]
    assert greeting_of(greet(Greeting(False, "é"))[SIZE.size :]) == Greeting(False, "é")


def test_the_process_counts_what_this_one_would() -> None:
    texts = ["", "hello world", "你好，世界", "\ud800 alone", " " * 300_000, "<|endoftext|>", *map(str, range(3_000))]
    with closing(CountChild()) as counted:
        assert counted.many(texts) == [count(text) for text in texts]
        assert counted("hello world") == 2
        assert (counted.name, counted.trouble()) == ("o200k_base", "")


def test_many_texts_and_large_ones_go_in_questions_of_bounded_size() -> None:
    texts = ["x" * (MOST_CHARACTERS // 2 + 1)] * 3 + ["y"] * (MOST_TEXTS + 1)
    with closing(child(questions=5)) as counted:
        assert counted.many(texts) == [len(text) for text in texts]
        assert counted.many([]) == []
        first = counted.pid
        counted("z")  # the fifth: had there been more questions before, the process would have been started again
        assert counted.pid == first


def test_a_process_that_ends_is_started_once_more_and_then_the_rule_of_thumb_says_so_once() -> None:
    with closing(child(questions=1)) as counted:
        assert counted("four") == 4
        first = counted.pid
        assert counted("three") == 5
        assert counted.pid != first
        assert counted.trouble() == ""
        assert counted("x" * 300) == rule_of_thumb("x" * 300) == 100
        assert counted.name == "heuristic"
        assert "ended twice" in counted.trouble()
        assert counted.trouble() == ""
        assert counted.pid is None


def test_a_process_that_only_guesses_is_not_asked() -> None:
    with closing(child(exact=False)) as counted:
        assert counted("x" * 300) == 100
        assert "nothing to count with" in counted.trouble()


def test_a_process_that_hangs_or_talks_nonsense_or_cannot_start_is_survived() -> None:
    hangs = child(questions=0, then="import time; time.sleep(60)", patience=0.2)
    nonsense = CountChild((sys.executable, "-c", "print('hello' * 99, flush=True); input()"), 0.2)
    missing = CountChild((str(Path(__file__).with_name("no such program")),))
    for counted in (hangs, nonsense, missing):
        with closing(counted):
            counted.start()
            assert counted.many(["x" * 300, ""]) == [100, 0]
            assert counted.trouble()


def test_closing_ends_the_process_and_counting_goes_on_without_one() -> None:
    counted = child()
    counted.start()
    counted.start()
    pid = counted.pid
    assert pid is not None
    counted.close()
    counted.close()
    assert not Path(f"/proc/{pid}").exists()
    assert counted("x" * 300) == 100
    counted.start()
    assert counted.pid is None
    assert counted.trouble() == ""


def test_the_process_ends_with_its_parent_even_when_that_is_killed() -> None:
    script = """
from agent.counting.child import CountChild
counted = CountChild()
counted.start()
print(counted.pid, counted("hello world"), flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
    ) as parent:  # fmt: skip
        assert parent.stdout is not None
        pid, tokens = map(int, parent.stdout.readline().split())
        assert tokens == 2
        assert os.getsid(pid) == pid, "a terminal's Ctrl+C would reach it"
        assert not gone(pid)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    end = time.monotonic() + 120
    while not gone(pid):
        assert time.monotonic() < end
        time.sleep(0.01)
