"""The schemas: stable, small, and what HEADLESS.md promises."""

from __future__ import annotations

import json

from agent.counting import count
from agent.tools import TOOLS

# All seven schemas, tokens: what the prompt may not use of the 2,500 and 900 for the fixed part. Long and short form.
MOST = {False: 1_300, True: 480}


def spelled(short: bool) -> list[str]:
    return [json.dumps(t.schema(short), ensure_ascii=False, separators=(",", ":")) for t in TOOLS]


def test_the_tools_are_the_promised_ones_in_a_fixed_order() -> None:
    assert [t.name for t in TOOLS] == ["read", "write", "edit", "bash", "grep", "glob", "recall"]


def test_the_arguments_have_the_promised_names() -> None:
    named = {t.name: list(t.schema(False)["function"]["parameters"]["properties"]) for t in TOOLS}
    assert named == {
        "read": ["path", "offset", "limit"],
        "write": ["path", "content"],
        "edit": ["path", "edits"],
        "bash": ["command", "timeout", "background", "job", "stop"],
        "grep": ["pattern", "path", "glob", "context", "limit"],
        "glob": ["pattern", "path"],
        "recall": ["record", "query", "page"],
    }


def test_both_forms_have_the_same_arguments() -> None:
    for tool in TOOLS:
        long, short = (tool.schema(s)["function"]["parameters"] for s in (False, True))
        assert list(long["properties"]) == list(short["properties"])
        assert long.get("required") == short.get("required")


def test_the_schemas_are_small_and_the_same_every_time() -> None:
    for short, most in MOST.items():
        assert spelled(short) == spelled(short)
        assert sum(map(count, spelled(short))) <= most


def test_titles_are_one_clean_line_whatever_the_arguments() -> None:
    for tool in TOOLS:
        for value in ("a", "x\ny\x1b[31m", "q" * 500, ""):
            title = tool.title({"path": value, "command": value, "pattern": value, "query": value})
            assert "\n" not in title
            assert "\x1b" not in title
            assert len(title) <= 80
