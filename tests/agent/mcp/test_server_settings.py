"""Servers in settings files: what is read, what is refused, what is never shown; and what their tools are called."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent.mcp.names import LONGEST, server_of, server_part, tool_name
from agent.mcp.offered import Damaged, Lists, offered
from agent.mcp.server import Server, Unset, servers_of
from agent.places import under
from agent.settings import Settings, SettingsError, load
from agent.trust import Trust

OWN = """
[mcp.time]
command = "uvx 'mcp-server-time' --local-timezone"
args = ["Etc/UTC"]
env = { KEY = "$API_KEY", PLAIN = "s3cr3t" }
cwd = "tools"

[mcp.docs]
url = "https://me:pass@docs.example/mcp?key=abc"
headers = { Authorization = "Bearer ${TOKEN}" }
enabled = false
timeout = "5m"
"""


def settings(tmp_path: Path, own: str, theirs: str = "") -> Settings:
    places, folder = under(tmp_path / "home"), tmp_path / "project"
    (folder / ".ullage").mkdir(parents=True)
    places.config.mkdir(parents=True)
    places.settings.write_text(own)
    if theirs:
        file = folder / ".ullage" / "config.toml"
        file.write_text(theirs)
        Trust(places).grant(file, file.read_bytes())
    return load(folder, places, {})


def test_servers_are_read_from_both_files_in_order_and_the_users_own_stands(tmp_path: Path) -> None:
    theirs = '[mcp.docs]\nurl = "http://evil.example"\n[mcp.local]\ncommand = ["./serve"]\n'
    found = settings(tmp_path, OWN, theirs)
    folder = tmp_path / "project"
    time, docs, local = servers_of(found, folder)
    env = {"KEY": "$API_KEY", "PLAIN": "s3cr3t"}
    words = ("uvx", "mcp-server-time", "--local-timezone", "Etc/UTC")
    assert time == Server("time", words, env, str(folder / "tools"))
    url = "https://me:pass@docs.example/mcp?key=abc"
    assert docs == Server(
        "docs", url=url, headers={"Authorization": "Bearer ${TOKEN}"}, enabled=False, timeout=300.0
    )  # fmt: skip
    assert local == Server("local", ("./serve",), cwd=str(folder))
    assert [n for n in found.notices if "the server mcp.docs is not taken; your own settings have one" in n]


def test_no_value_of_a_variable_or_header_is_ever_shown(tmp_path: Path) -> None:
    found = settings(tmp_path, OWN)
    shown = {key: value for key, value, _ in found.shown() if key.startswith("mcp.")}
    assert (shown['mcp."time".env'], shown['mcp."docs".headers']) == (("KEY", "PLAIN"), ("Authorization",))
    time, docs = servers_of(found, tmp_path)
    assert (time.given, docs.given) == (("API_KEY",), ("TOKEN",))
    assert docs.shown == "https://docs.example/mcp"


def test_variables_are_put_in_when_the_server_is_started() -> None:
    server = Server("x", ("true",), {"A": "$ONE and ${TWO}", "B": "$$ONE"})
    assert server.spelled({"ONE": "1", "TWO": "2"})["env"] == {"A": "1 and 2", "B": "$ONE"}
    with pytest.raises(Unset, match="TWO"):
        server.spelled({"ONE": "1"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[mcp.x]\n", "line 1: mcp.x needs command (a program) or url (an address)"),
        ('[mcp.x]\ncommand = "a"\nurl = "http://b"\n', "mcp.x needs either command or url, not both"),
        ('[mcp.x]\ncommand = "a \'b"\n', "line 2: mcp.x.command cannot be cut into words"),
        ('[mcp.x]\ncommand = [""]\n', "line 2: mcp.x.command must name a program"),
        ('[mcp.x]\nurl = "ftp://b"\n', "line 2: mcp.x.url must be an address that begins with http"),
        ('[mcp.x]\ncommand = "a"\nenv = { A = 1 }\n', "line 3: mcp.x.env must be a table of texts"),
        ('[mcp.x]\ncommand = "a"\ntimeout = "0s"\n', "line 3: mcp.x.timeout must be more than nothing"),
        ('[mcp]\nx = "a"\n', "mcp must be tables, one a server: [mcp.NAME]"),
    ],
)
def test_a_server_that_cannot_be_is_an_error_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as raised:
        settings(tmp_path, text)
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[mcp.x]\ncommand = "a"\ntimout = "1s"\n', "line 3: unknown key mcp.x.timout; did you mean mcp.x.timeout?"),
        ('[mpc.x]\ncommand = "a"\n', "unknown key mpc; did you mean mcp?"),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest(tmp_path: Path, text: str, says: str) -> None:
    assert [n for n in settings(tmp_path, text).notices if says in n]


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("time", "get_current_time", "mcp__time__get_current_time"),
        ("my server", "x", "mcp__my_server-59f7cc__x"),
        ("a__b", "c", "mcp__a_b-a4b3f1__c"),
        ("a", "b__c", "mcp__a__b__c"),
        ("ö", "", "mcp__c1e2ac__e3b0c4"),
    ],
)
def test_a_tool_is_called_by_server_and_name_in_letters_everybody_takes(server: str, tool: str, name: str) -> None:
    made = tool_name(server, tool)
    assert (
        re.fullmatch(r"mcp__[A-Za-z0-9_-]+", made) and len(made) <= LONGEST and server_of(made) == server_part(server)
    )
    assert re.sub(r"[0-9a-f]{6}(?=__|$)", "*", made) == re.sub(r"[0-9a-f]{6}(?=__|$)", "*", name)


def test_names_that_differ_stay_different_however_long_or_strange() -> None:
    names = [
        tool_name(s, t) for s in ("a", "a_", "a__", "a" * 80, "a" * 81, "ä") for t in ("x" * 90, "x" * 91, "é", "è")
    ]
    assert len(set(names)) == len(names) and max(map(len, names)) <= LONGEST


def test_no_server_can_be_named_to_pass_for_another_whose_name_was_mended() -> None:
    for mended in (server_part("my__server"), server_part("ö")):
        assert server_part(mended) != mended and len(server_part(mended)) <= 24
    assert server_part("my-server") == "my-server"


def test_a_list_is_the_same_bytes_in_whatever_order_it_came_and_is_kept(tmp_path: Path) -> None:
    one = {
        "name": "a",
        "description": "A.",
        "schema": {"type": "object", "properties": {"y": {}, "x": {}}},
        "reads": True,
    }
    other = {"name": "b", "title": "B", "schema": {"$schema": "s", "required": [], "properties": None}}
    tools, left = offered("s", [other, {**one, "schema": {"properties": {"x": {}, "y": {}}, "type": "object"}}])
    assert (tools, left) == (offered("s", [one, other])[0], ())
    assert [tool.parameters for tool in tools] == [
        '{"properties":{"x":{},"y":{}},"type":"object"}', '{"properties":{},"required":[],"type":"object"}'
    ]  # fmt: skip
    lists = Lists(tmp_path)
    lists.keep("digest", tools)
    assert (lists.load("s", "digest"), lists.load("s", "other")) == (tools, None)
    (tmp_path / "digest.json").write_text('[{"server": 1}]')
    with pytest.raises(Damaged, match=r"digest\.json holds something else"):
        lists.load("s", "digest")


def test_a_schema_that_no_provider_would_take_is_left_out_and_said() -> None:
    wrong = (
        {"properties": {"a": {"maximum": float("inf")}}},
        {"properties": {"a": {"default": float("nan")}}},
        {"properties": ["a"]},
        {"properties": {"a": "text"}},
    )
    listed = [{"name": f"t{number}", "schema": schema} for number, schema in enumerate(wrong)]
    tools, left = offered("s", [*listed, {"name": "right", "schema": {"properties": {"a": True, "b": {}}}}])
    assert [tool.tool for tool in tools] == ["right"]
    assert left == tuple(f"t{number}: its schema is no JSON Schema" for number in range(4))


def test_more_tools_than_providers_take_are_left_out_and_said() -> None:
    tools, left = offered("s", [{"name": f"t{n:03}"} for n in range(103)])
    assert (len(tools), left) == (100, ("3 more: a server may bring 100 tools",))
    tools, left = offered("s", [{"name": "same"}, {"name": "same"}])
    assert (len(tools), left) == (1, ("same: another of its tools has the same name",))
