"""A session as Markdown, HTML and JSON: everything is there, and nothing in it acts."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.export import Format, exported
from agent.export.entries import Block, entries, session_of
from agent.export.markdown import closed, fenced
from agent.session_log import as_json
from compaction.records import (
    AssistantSaid,
    Body,
    CompactionFailed,
    Gate,
    Noted,
    Outcome,
    Record,
    Reloaded,
    SettingsChanged,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
    WindowLearned,
)
from tests.agent.record_examples import BODIES
from tests.compaction.build_log import calls, compacted, log, pinned, pruned, returned, reverted, rewound, says, user

FORMATS: tuple[Format, ...] = ("md", "html", "json")

EVERYTHING = log(
    user("make it faster"),
    AssistantSaid(
        "I look.",
        (ToolCall("c1", "bash", json.dumps({"command": "ls\npwd", "timeout": 5})), ToolCall("c2", "read", "{broken")),
        Usage(100, 50, 10, 20),
        "calls",
        "scripted",
        2,
        cost=0.01,
    ),
    ToolReturned("c1", "bash", "bash ls", "a.py\n" * 20, exit_status=1),
    says("Done: **twice** as fast.", usage=Usage(5, 150, 0, 9)),
    pruned(4),
    compacted(5, summary="## Goal\nspeed", fact_sheet="a.py", focus="the numbers"),
    reverted(7),
    pinned(2),
    rewound(5),
    SettingsChanged(model="other", name="Speed"),
    Reloaded("s", ("x",), ()),
    WindowLearned("m", "e", 8_000, None, 9_000, detail="too long"),
    CompactionFailed(Gate.PROACTIVE, Outcome.NOT_SMALLER, "it was larger", 9_000),
    Noted("the provider is down", "error"),
    UserSaid("I ran `ls`:\n\nb.py", how="shell"),
    UserSaid("also this", how="steered", admitted=4),
    UserSaid("Review it.", typed="/review it"),
)


class Page(HTMLParser):
    """What a browser would be told: tags, addresses to fetch, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.handled: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "srcset", "action", "data")]
        self.handled += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("format", FORMATS)
def test_everything_that_was_said_is_in_it(format: Format) -> None:
    text = exported(EVERYTHING, format)
    words = ("make it faster", "I look.", "a.py", "pwd", "{broken", "fast", "speed", "8,000", "the provider is down",
             "b.py", "also this", "it was larger", "Speed")  # fmt: skip
    if format == "json":
        words = tuple(word.replace("8,000", "8000") for word in words)
    assert [word for word in words if word not in text] == []


def test_json_holds_every_record_as_its_line_has_it() -> None:
    value = json.loads(exported(EVERYTHING, "json"))
    assert value["records"] == [as_json(record) for record in EVERYTHING]
    assert (value["session"], value["title"], value["requests"], value["cost"]) == ("s1", "Speed", 2, 0.01)


def test_every_record_gives_an_entry() -> None:
    assert sorted({entry.record for entry in entries(EVERYTHING)}) == [r.id for r in EVERYTHING[1:]]


def test_a_call_stands_with_its_result_and_one_without_says_so() -> None:
    tools = [entry for entry in entries(EVERYTHING) if entry.voice == "tool"]
    assert [(entry.title, entry.meta) for entry in tools] == [("read", ("no result",)), ("bash ls", ("exit 1",))]
    assert tools[1].blocks[:2] == (Block("", "timeout: 5"), Block("command", "ls\npwd"))
    assert tools[0].blocks == (Block("arguments", "{broken"),)


def test_arguments_that_the_title_says_are_not_said_again() -> None:
    made = calls("c1", arguments=json.dumps({"path": "a.py", "offset": 100, "content": "x\ny"}))
    (tool,) = (
        entry for entry in entries(log(made, returned("c1", "found", title="read a.py"))) if entry.voice == "tool"
    )
    assert tool.blocks == (Block("", "offset: 100"), Block("content", "x\ny"), Block("output", "found"))


def test_an_empty_log_is_an_empty_session() -> None:
    assert json.loads(exported((), "json"))["records"] == []
    assert exported((), "md").startswith("# Session")
    assert "<h1>Session</h1>" in exported((), "html")


def test_prices_that_add_up_to_no_number_are_no_price() -> None:
    huge = AssistantSaid("", (), None, "done", "m", 1, cost=1.7e308)
    assert json.loads(exported(log(huge, huge), "json"))["cost"] is None


# ── Markdown ──


def test_markdown_reads_as_a_conversation() -> None:
    text = exported(log(user("hi\nthere"), calls("c1"), returned("c1", "found"), says("yes")), "md")
    assert "> hi\n> there" in text
    assert "**read c1** · 1970-01-01 00:16:44 UTC · #4\n\noutput:\n\n```text\nfound\n```" in text
    assert text.endswith("\n\nyes\n")


def test_the_models_backticks_do_not_end_a_block() -> None:
    assert fenced(Block("", "a\n````\nb")) == "`````text\na\n````\nb\n`````"


@pytest.mark.parametrize(
    ("prose", "end"),
    [("```py\nx = 1", "\n```"), ("~~~~\n```\n~~~", "\n~~~~"), ("```\nx\n```", ""), ("no fence", ""), ("```\n```", "")],
)
def test_a_fence_left_open_is_closed(prose: str, end: str) -> None:
    assert closed(prose) == prose + end


def test_an_answer_cut_off_in_a_fence_does_not_swallow_what_follows() -> None:
    assert "```py\nx = 1\n```\n\n## You" in exported(log(says("```py\nx = 1", stop="length"), user("go on")), "md")


# ── HTML ──


def test_html_is_one_page_without_scripts_that_fetches_nothing() -> None:
    evil = "<script>alert(1)</script> [x](javascript:alert(2)) ![i](http://elsewhere/i.png) <img src=x onerror=y>"
    everywhere = log(
        user(evil), calls("c1", tool=evil, arguments=json.dumps({evil: evil})), returned("c1", evil, title=evil),
        says(evil), compacted(2, summary=evil, fact_sheet=evil, focus=evil), Noted(evil, evil),
        SettingsChanged(name=evil),
    )  # fmt: skip
    page = Page(exported(everywhere, "html"))
    assert {"script", "iframe", "object", "link", "base", "form"} & set(page.tags) == set()
    assert page.handled == []
    # An image in Markdown keeps its address; the page's policy is what forbids to fetch it.
    assert set(page.fetched) <= {"http://elsewhere/i.png"}
    assert "default-src 'none'; img-src data:" in exported(everywhere, "html")
    assert 'href="javascript' not in exported(everywhere, "html")


def test_html_draws_markdown_and_folds_long_output() -> None:
    page = exported(EVERYTHING, "html")
    assert "<strong>twice</strong>" in page
    assert "<details><summary>output, 20 lines</summary>" in page
    assert page.count('id="r3"') == 1


def test_html_shows_images_that_are_images() -> None:
    png, other = "data:image/png;base64,AAAA", 'data:image/svg+xml;base64,AAAA"><script>'
    page = exported(log(user("see", images=(png, other))), "html")
    assert Page(page).fetched == [png]


@pytest.mark.parametrize("format", FORMATS)
def test_control_characters_are_taken_out_however_they_are_spelled(format: Format) -> None:
    evil = "a\x1b[31mb\x07\x9b1m\u202e\x7f\ud800 &#27;[31m &#x202e;"
    text = exported(log(user(evil), says(evil), calls("c", arguments=evil), returned("c", evil, title=evil)), format)
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text) == []
    text.encode()


@given(text=st.text(), arguments=st.text(), at=st.floats(allow_nan=False, allow_infinity=False))
def test_no_text_breaks_an_export(text: str, arguments: str, at: float) -> None:
    records = log(user(text), calls("c", text=text, arguments=arguments), returned("c", text, title=text), says(text))
    records = tuple(Record(r.id, at, r.body) for r in records)
    for format in FORMATS:
        exported(records, format).encode()


@given(bodies=st.lists(BODIES, max_size=6))
def test_no_record_breaks_an_export_however_impossible(bodies: list[Body]) -> None:
    records = tuple(Record(n, 1_000.0, body) for n, body in enumerate(bodies, 1))
    for format in FORMATS:
        exported(records, format).encode()


def test_a_message_made_by_a_command_says_what_was_typed() -> None:
    record = Record(2, 0.0, UserSaid("The whole text.", typed="/review src"))
    session = session_of([record])
    assert session.title == "/review src"
    assert session.entries[0].meta == ("typed as /review src",) and session.entries[0].prose == "The whole text."
