"""What hooks are read from settings, which calls they fit, and what their output means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent.hooks.answers import BLOCKABLE, MOST_CONTEXT, MOST_REASON, Answer, answer_of
from agent.hooks.process import MOST_OUTPUT, Ran
from agent.hooks.words import DESCRIBED, effect, page
from agent.places import under
from agent.settings import SettingsError, load
from agent.settings.hooks import EVENTS, Event, Hook, read_hooks
from agent.settings.keys import Wrong
from agent.settings.projects import quoted_settings
from agent.tools import Need, Workspace
from agent.trust import Trust

TEXT = """
[[hooks]]
event = "before_tool"
match = "bash(git push)"
command = "scripts/may-push"
timeout = "5s"

[[hooks]]
event = "prompt"
command = "true"
"""


def settings(root: Path, own: str = "", theirs: str = "") -> tuple[Hook, ...]:
    places, folder = under(root / "home"), root / "work"
    (folder / ".ullage").mkdir(parents=True)
    places.config.mkdir(parents=True)
    places.settings.write_text(own)
    file = folder / ".ullage" / "config.toml"
    if theirs:
        file.write_text(theirs)
        Trust(places).grant(file, file.read_bytes())
    return load(folder, places, {}).hooks


def test_hooks_come_from_the_users_file_and_then_a_trusted_projects(tmp_path: Path) -> None:
    found = settings(tmp_path, TEXT, '[[hooks]]\nevent = "turn_end"\ncommand = "x"\n')
    own, theirs = (str(tmp_path / p) for p in ("home/config/config.toml", "work/.ullage/config.toml"))
    assert found == (
        Hook("before_tool", "scripts/may-push", "bash(git push)", 5.0, own),
        Hook("prompt", "true", "", 30.0, own),
        Hook("turn_end", "x", "", 30.0, theirs),
    )


def test_an_untrusted_projects_hook_does_not_exist_and_is_told_in_plain_words(tmp_path: Path) -> None:
    places, folder = under(tmp_path / "home"), tmp_path / "work"
    (folder / ".ullage").mkdir(parents=True)
    file = folder / ".ullage" / "config.toml"
    file.write_text(TEXT)
    assert load(folder, places, {}).hooks == ()
    quoted = quoted_settings(file)
    assert quoted is not None and quoted.says == (
        "runs the command scripts/may-push before calls of bash(git push)",
        "runs the command true on every message you send, which it reads",
    )


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"event": "before_tols", "command": "x"}, "event must be one of before_tool"),
        ({"event": "prompt"}, "command must be"),
        ({"event": "prompt", "command": "  "}, "command must be"),
        ({"event": "prompt", "command": "a\0b"}, "command must be"),
        ({"event": "prompt", "command": "x", "match": "bash"}, "match is about calls"),
        ({"event": "before_tool", "command": "x", "match": "bash(a | b)"}, "match cannot be read"),
        ({"event": "before_tool", "command": "x", "match": 3}, "match must be a text"),
        ({"event": "before_tool", "command": "x", "timeout": "soon"}, "timeout must be a time"),
        ({"event": "before_tool", "command": "x", "timeout": "0s"}, "above 0"),
        ({"event": "before_tool", "command": "x", "timeout": "2h"}, "at most 600"),
    ],
)
def test_a_hook_that_cannot_be_read_is_an_error_with_its_number(table: dict[str, Any], said: str) -> None:
    with pytest.raises(Wrong, match=r"number 2\)") as caught:
        read_hooks([{"event": "prompt", "command": "x"}, table], "f")
    assert said in str(caught.value)


def test_an_error_names_the_file_and_an_unknown_key_is_a_notice(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.toml line 1: hooks .number 1.: event"):
        settings(tmp_path / "a", '[[hooks]]\nevent = "x"\n')
    with pytest.raises(SettingsError, match="must be tables"):
        settings(tmp_path / "b", 'hooks = "x"\n')
    assert read_hooks([{"event": "prompt", "command": "x", "comand": "y"}], "f")[1] == (
        "unknown key hooks.comand; did you mean command?",
    )


@pytest.mark.parametrize(
    ("match", "tool", "need", "fits"),
    [
        ("", "anything", Need("recall"), True),
        ("edit", "edit", Need("write"), True),
        ("edit", "write", Need("write"), False),
        ("mcp__*", "mcp__docs__find", Need("server"), True),
        ("mcp__*", "read", Need("read"), False),
        ("*", "read", Need("read"), True),
        ("bash(git push)", "bash", Need("run", command="git push -f"), True),
        ("bash(git push)", "bash", Need("run", command="cd x && env A=1 git push"), True),
        ("bash(git push)", "bash", Need("run", command="sh -c 'git push'"), True),
        ("bash(git push)", "bash", Need("run", command="git pull"), False),
        ("bash(git push)", "bash", Need("run", command="$(whatever"), True),
        ("bash(= make; ls)", "bash", Need("run", command="make; ls"), True),
        ("bash(git push)", "read", Need("read"), False),
        ("write(src/**)", "edit", Need("write", (Path("/p/src/a.py"),)), True),
        ("write(src/**)", "edit", Need("write", (Path("/p/doc/a.py"),)), False),
        ("write(src/**)", "read", Need("read", (Path("/p/src/a.py"),)), False),
    ],
)
def test_which_calls_a_hook_is_about(match: str, tool: str, need: Need, fits: bool, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.folder = Path("/p")
    assert Hook("before_tool", "x", match).fits(tool, need, workspace) is fits


def out(**said: Any) -> Ran:
    return Ran(0, json.dumps(said))


@pytest.mark.parametrize("event", EVENTS)
def test_blocking_is_a_no_where_there_is_something_to_block_and_trouble_elsewhere(event: Event) -> None:
    for ran in (out(decision="block", reason="no\x1b[31m way"), Ran(2, "ignored", "no way\n")):
        answer = answer_of(event, ran)
        assert answer.blocked == ("no way" if event in BLOCKABLE else "")
        assert bool(answer.trouble) is (event not in BLOCKABLE)
    assert answer_of(event, Ran(0)) == answer_of(event, Ran(0, "all files formatted\n")) == Answer()


@pytest.mark.parametrize("event", EVENTS)
def test_there_is_no_word_by_which_a_hook_allows(event: Event) -> None:
    assert answer_of(event, out(decision="allow")) == Answer()
    assert "not known" in answer_of(event, out(decision="approve")).trouble
    assert "not known" in answer_of(event, out(decision=True)).trouble


@pytest.mark.parametrize(
    ("key", "value", "events"),
    [
        ("arguments", {"a": 1}, {"before_tool"}),
        ("context", "more", {"prompt", "after_tool", "session_start"}),
        ("summary", "## Goal", {"before_compaction"}),
    ],
)
def test_each_gift_is_taken_at_its_events_and_named_elsewhere(key: str, value: Any, events: set[str]) -> None:
    for event in EVENTS:
        answer = answer_of(event, out(**{key: value}))
        assert answer.trouble == answer.blocked == ""
        assert bool(getattr(answer, key)) is (event in events)
        assert bool(answer.ignored) is (event not in events)
        assert (key in answer.ignored) is (event not in events)


HOSTILE: Mapping[str, Ran] = {
    "crash": Ran(1, "", "boom"),
    "signal": Ran(-9),
    "stopped": Ran(None, stopped="it took longer"),
    "half": Ran(0, '{"decision": "bl'),
    "deep": Ran(0, '{"a":' * 5_000),
    "twice": Ran(0, '{"decision": "block"}{}'),
    "long": Ran(0, '{"context": "' + "x" * MOST_OUTPUT + '"}'),
    "kinds": Ran(0, '{"context": 1, "summary": [], "arguments": "x"}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_understood_is_trouble(name: str) -> None:
    assert answer_of("before_tool", HOSTILE[name]).trouble


def test_what_is_said_is_clean_and_bounded() -> None:
    assert len(answer_of("prompt", Ran(2, "", "x" * 10_000)).blocked) <= MOST_REASON + 1
    context = answer_of("prompt", out(context="yyyyyyyy\x1b]0;t\x07\ud800" * 4_000)).context
    assert len(context) <= MOST_CONTEXT and "\x1b" not in context and "removed" in context
    context.encode()


def test_the_page_lists_hooks_with_origin_and_last_result_and_documents_every_event() -> None:
    hook = Hook("after_tool", "fmt\x1b[2J", "edit", 5.0, "/c/config.toml")
    text = page([hook], lambda _: "went on")
    for part in ("after_tool edit, at most 5 s", "fmt\\x1b[2J", "from /c/config.toml", "last: went on"):
        assert part in text
    assert "There are no hooks." in page([], lambda _: "")
    assert all(event in DESCRIBED for event in EVENTS)
    assert max(map(len, DESCRIBED.split("\n"))) <= 92
    assert all(effect(Hook(event, "c")).startswith("runs the command c ") for event in EVENTS)
