"""The commands that read: one question each, JSON or a table, and an exit status."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent.reading import Requests
from agent.wire import Inspected, Plan, Price, Row
from compaction.errors import BadTarget
from compaction.records import Gate
from tests.architecture.tree import ROOT
from tests.tui.headless_play import options_of
from tests.tui.headless_samples import METER, PLAN
from tui import cli
from tui.headless.reading import COMMANDS, is_reading, run_reading

LOG = Path("/data/sessions/p/20250101T000000Z-a1b2c3d4/session.jsonl")
NOTHING = Plan("prune", (), (), 0, 9, 9, None, 0, Price(), why_nothing="all recent")


class Broken(Exception):
    """What a fake log raises when it cannot be read."""


@dataclass(frozen=True)
class Found:
    id: str = "a1b2c3d4"
    path: Path = LOG
    folder: str = "/p"
    title: str = "make it faster"
    model: str = "scripted"
    started: float = 1_700_000_000.0
    used: float = 1_700_000_100.0
    size: int = 61_400


@dataclass(frozen=True)
class Report:
    records: int = 9
    faults: tuple[str, ...] = ()
    code: int = 0

    def lines(self) -> Sequence[str]:
        return tuple(f"fault: {fault}" for fault in self.faults)


@dataclass(frozen=True)
class Agreed:
    path: str = "/p/.ullage/config.toml"
    trusted: bool = True
    code: int = 0
    sentence: str = "/p/.ullage/config.toml is trusted"
    says: Sequence[str] = ("sets theme to x",)
    text: str = "theme = 'x'\n# \x1b[2J\n"


@dataclass
class FakeReading:
    """Answers from its fields and notes what it was asked."""

    report: Report = Report()
    plan: Plan = PLAN
    notices: Sequence[str] = ()
    found: Sequence[Found] = (Found(),)
    hits: Sequence[Mapping[str, Any]] = ({"record": 4, "kind": "tool", "title": "read a.py", "text": "…port 8080…"},)
    learned: bool = True
    agreed: Agreed = Agreed()
    trouble: Exception | None = None
    since: Sequence[str] = ()
    damage: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    asked: list[object] = field(default_factory=list)

    @property
    def troubles(self) -> tuple[type[Exception], ...]:
        return (Broken,)

    def find(self, wanted: str) -> Path:
        if wanted == "xyz":
            raise LookupError("no session 'xyz'")
        self.asked.append(wanted)
        return LOG

    def _note(self, *what: object) -> None:
        if self.trouble:
            raise self.trouble
        self.asked.append(what)

    def listing(self, all: bool) -> Sequence[Found]:
        self._note("listing", all)
        return self.found

    def inspected(self, path: Path) -> Inspected:
        self._note("inspected", path)
        return Inspected(
            METER, (Row(57, "tool", "read src/app.py", 3_412, 4, "live", True),), (("tool schemas", 1_300),)
        )

    def prune_plan(self, path: Path, records: tuple[int, ...], every: bool, force: bool) -> Plan:
        self._note("prune", records, every, force)
        return self.plan

    def compact_plan(self, path: Path) -> Plan:
        self._note("compact")
        return self.plan

    def timeline(self, path: Path) -> Requests:
        self._note("timeline")
        sizes = {"size": 61_400, "uncached": 400, "cache_read": 58_000, "cache_write": 3_000, "output": 120}
        causes = {"breaks": "pruned at #14", "rewrites": ["asked.pruned"], "gate": Gate.ASKED}
        row: Any = {"record": 5, "at": 0.0, **sizes, "cost": 0.03, **causes}
        return Requests((row,), tuple(self.since))

    def request_body(self, path: Path, prompt: str | None) -> Mapping[str, Any]:
        self._note("request", prompt)
        return {"model": "m", "messages": [{"role": "user", "content": prompt}]}

    def verify(self, path: Path) -> Report:
        self._note("verify")
        return self.report

    def recall(self, path: Path, query: str) -> Sequence[Mapping[str, Any]]:
        self._note("recall", query)
        return self.hits

    def exported(self, path: Path, format: str) -> str:
        self._note("exported", format)
        return f"the session as {format}\n"

    def settings_shown(self) -> Sequence[tuple[str, Any, str]]:
        return (("model", "m", "default"), ("context.budget", "160k", "flag --budget"))

    def fork(self, path: Path, before: int | None) -> Found:
        self._note("fork", path, before)
        return Found(id="0f0f0f0f", title="make it faster (fork)")

    def settings_check(self) -> Sequence[str]:
        return self.notices

    def settings_path(self) -> Path:
        return Path("/config/config.toml")

    def agree(self, *, withdraw: bool) -> Agreed:
        self._note("agree", withdraw)
        return self.agreed

    def models(self) -> Sequence[Mapping[str, Any]]:
        return [{"model": "m", "window": 200_000, "source": "catalogue", "max_output": None, "prices": {"input": 3.0}}]

    def forget(self, name: str) -> bool:
        self._note("forget", name)
        return self.learned

    def doctor(self, model: str = "") -> Sequence[Mapping[str, Any]]:
        return [{"what": "sandbox", "found": True, "detail": "bwrap 0.9"}]


@dataclass
class Read:
    code: int
    out: str
    err: str
    asked: list[object]

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def read(line: str, **answers: Any) -> Read:
    reading, out, err = FakeReading(**answers), io.StringIO(), io.StringIO()
    code = run_reading(options_of(line), reading, out, err)
    return Read(code, out.getvalue(), err.getvalue(), reading.asked)


def test_an_answer_that_reaches_nobody_is_a_failure_and_said() -> None:
    err = io.StringIO()
    assert run_reading(options_of("sessions"), FakeReading(), None, err) == 1
    assert err.getvalue() == "ullage: the output cannot be written: it is closed\n"


def test_a_fork_is_named_with_its_place() -> None:
    ran = read("fork last --before 12 --json")
    assert json.loads(ran.out) == {
        "session": "0f0f0f0f", "path": str(LOG), "title": "make it faster (fork)", "from": str(LOG)
    }  # fmt: skip
    assert ran.asked == ["last", ("fork", LOG, 12)]
    assert read("fork last", trouble=Broken("torn")).code == 1
    assert read("fork last").out.splitlines()[0] == "0f0f0f0f  make it faster (fork)"


def test_whoever_misspelt_a_setting_hears_of_it_where_its_numbers_are_shown() -> None:
    ran = read("context last --json", notices=("unknown setting `contxt`",))
    assert "unknown setting `contxt`" in ran.err
    assert json.loads(ran.out)["items"]


def test_whoever_reads_a_damaged_log_hears_of_each_line_that_is_missing_from_the_answer() -> None:
    ran = read("context last --json", damage={LOG: ("line 4: not a whole line of JSON \x1b[2J",), LOG.parent: ("x",)})
    assert json.loads(ran.out)["items"] and ran.code == 0
    assert ran.err == "ullage: line 4: not a whole line of JSON \n"
    ran = read("request last", damage={LOG: ("line 1: torn",)}, trouble=Broken("no request can be made of it"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == ["ullage: no request can be made of it", "ullage: line 1: torn"]


def test_every_reading_command_is_here_and_every_plan() -> None:
    assert set(COMMANDS) == {*cli.READING, "prune", "compact"}
    assert [is_reading(options_of(line)) for line in ("prune s --dry-run", "compact s --preview", "models")] == [
        True
    ] * 3
    assert [is_reading(options_of(line)) for line in ("prune s", "compact s", "undo s", "exec go")] == [False] * 4


def test_context_json_is_the_contracts() -> None:
    ran = read("context last --json")
    assert ran.json["items"] == [
        {
            "record": 57,
            "kind": "tool",
            "title": "read src/app.py",
            "tokens": 3_412,
            "age": 4,
            "state": "live",
            "cached": True,
        }
    ]
    assert ran.json["meter"]["used"] == 61_400
    assert ran.json["largest_fixed"] == [{"name": "tool schemas", "tokens": 1_300}]
    assert (ran.code, ran.asked) == (0, ["last", ("inspected", LOG)])


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("prune s --dry-run --json", ("prune", (), False, False)),
        ("prune s 12 14-15 --dry-run --force --json", ("prune", (12, 14, 15), False, True)),
        ("prune s --all --dry-run --json", ("prune", (), True, False)),
        ("compact s --preview --json", ("compact",)),
    ],
)
def test_a_plan_is_the_contracts_object(line: str, asked: object) -> None:
    ran = read(line)
    assert ran.asked == ["s", asked]
    assert ran.code == 0
    assert (ran.json["committed"], ran.json["tag"]) == (False, None)
    assert ran.json["plan"].items() >= {
        "records": [14, 17],
        "freed": 12_800,
        "before": 61_400,
        "after": 48_600,
        "breaks_at": 14,
        "reread": 40_000,
        "price": {"keep": 0.03, "rewrite": 0.12, "breakeven_turns": 9},
    }.items()  # fmt: skip


def test_a_plan_of_nothing_has_its_own_status() -> None:
    ran = read("prune s --dry-run --json", plan=NOTHING)
    assert (ran.code, ran.json["plan"]["records"], ran.json["plan"]["why_nothing"]) == (4, [], "all recent")


def test_a_record_that_cannot_be_pruned_is_refused_with_its_reason() -> None:
    ran = read("prune s 3 --dry-run", trouble=BadTarget(3, "it is not a tool result"))
    assert (ran.code, ran.out, ran.err) == (4, "", "ullage: record 3: it is not a tool result\n")


@pytest.mark.parametrize("line", ["context xyz", "verify xyz --json", "export xyz", "prune xyz --dry-run"])
def test_a_session_that_is_not_there_is_a_mistake(line: str) -> None:
    ran = read(line)
    assert (ran.code, ran.out, ran.err) == (2, "", "ullage: no session 'xyz'\n")


@pytest.mark.parametrize("line", ["context s", "timeline s --json", "request s", "export s", "recall s x"])
def test_a_session_that_cannot_be_read_has_failed(line: str) -> None:
    ran = read(line, trouble=Broken("session.jsonl: cannot be read"))
    assert (ran.code, ran.out, ran.err) == (1, "", "ullage: session.jsonl: cannot be read\n")


def test_sessions_are_listed() -> None:
    ran = read("sessions --all --json")
    assert ran.asked == [("listing", True)]
    assert ran.json == [
        {
            "id": "a1b2c3d4",
            "path": str(LOG),
            "folder": "/p",
            "title": "make it faster",
            "model": "scripted",
            "started": 1_700_000_000.0,
            "used": 1_700_000_100.0,
            "size": 61_400,
        }
    ]
    head, row = read("sessions").out.splitlines()
    assert head.split() == ["SESSION", "LAST", "USED", "SIZE", "MODEL", "TITLE"]
    assert row.startswith("a1b2c3d4  2023-11-1")


def test_no_sessions_is_an_empty_list_or_a_sentence() -> None:
    assert read("sessions --json", found=()).json == []
    assert read("sessions", found=()).out == "no sessions in this folder yet; --all lists every folder's\n"


def test_verify_gives_the_reports_status() -> None:
    assert read("verify s").out == "the log is whole\n"
    bad = Report(faults=("record 7: replaces record 3 again",), code=1)
    ran = read("verify s --json", report=bad)
    assert (ran.code, ran.json["ok"], ran.json["faults"]) == (1, False, ["record 7: replaces record 3 again"])
    assert read("verify s", report=bad).out == "fault: record 7: replaces record 3 again\n"


def test_recall_takes_all_its_words_and_finds_or_does_not() -> None:
    ran = read("recall s port number --json")
    assert (ran.code, ran.asked[-1], ran.json[0]["record"]) == (0, ("recall", "port number"), 4)
    assert read("recall s port").out == "#4 tool: read a.py\n…port 8080…\n"
    none = read("recall s nothing", hits=())
    assert (none.code, none.out) == (4, "nothing in this session matches 'nothing'\n")


def test_recall_without_words_is_a_mistake_of_usage() -> None:
    options = options_of("recall s x")
    options.query = [" "]
    reading, out, err = FakeReading(), io.StringIO(), io.StringIO()
    assert (run_reading(options, reading, out, err), out.getvalue(), reading.asked) == (2, "", ["s"])
    assert err.getvalue() == "ullage: write the words to look for\n"


def test_recall_of_a_record_that_is_not_there_says_so() -> None:
    ran = read("recall s 99 --json", trouble=LookupError("there is no record 99"))
    assert (ran.code, ran.out, ran.err) == (4, "[]\n", "ullage: there is no record 99\n")
    assert read("recall s 99", trouble=LookupError("there is no record 99")).out == ""


def test_timeline_is_a_row_a_request() -> None:
    assert read("timeline s --json").json[0]["gate"] == "asked"
    assert read("timeline s").out == (
        "#  WHEN    SIZE  UNCACHED    READ  WRITTEN  OUTPUT  COST   CACHE BROKEN   BEFORE IT\n"
        "5        61,400       400  58,000    3,000     120  $0.03  pruned at #14  asked.pruned\n"
    )


def test_a_rewrite_that_no_request_followed_stands_below_the_timeline() -> None:
    after = "after #5: asked.compacted (the next request shows what it did)"
    assert read("timeline s", since=("asked.compacted",)).out.splitlines()[-1] == after
    assert len(read("timeline s --json", since=("asked.compacted",)).json) == 1


def test_the_request_is_one_line_of_json() -> None:
    ran = read("request s --prompt next")
    assert ran.json == {"model": "m", "messages": [{"role": "user", "content": "next"}]}
    assert ran.out.count("\n") == 1


def test_an_export_goes_to_standard_output_or_into_a_file(tmp_path: Path) -> None:
    assert read("export s --format html").out == "the session as html\n"
    place = tmp_path / "session.md"
    ran = read(f"export s -o {place}")
    assert (ran.code, ran.out, place.read_text()) == (0, "", "the session as md\n")
    ran = read(f"export s -o {tmp_path / 'nowhere' / 'x'}")
    assert ran.code == 1
    assert "cannot be written" in ran.err


def test_settings_are_shown_with_where_they_come_from() -> None:
    ran = read("config show --json")
    assert ran.json[1] == {"key": "context.budget", "value": "160k", "source": "flag --budget"}
    assert "context.budget  160k   flag --budget" in read("config").out
    assert read("config path").out == "/config/config.toml\n"


def test_settings_with_something_wrong_are_a_mistake() -> None:
    assert (read("config check").code, read("config check").out) == (0, "nothing is wrong with the settings\n")
    ran = read("config check --json", notices=("unknown key budgte; did you mean budget?",))
    assert (ran.code, ran.json) == (2, {"notices": ["unknown key budgte; did you mean budget?"]})


def test_models_are_listed_and_forgotten() -> None:
    assert read("models --json").json[0]["window"] == 200_000
    assert read("models").out.splitlines()[1].split() == ["m", "200,000", "catalogue", "input", "3"]
    assert (read("models --forget m").code, read("models --forget m", learned=False).code) == (0, 4)


def test_the_doctor_reports() -> None:
    assert read("doctor --json").json == [{"what": "sandbox", "found": True, "detail": "bwrap 0.9"}]
    assert read("doctor").out == "WHAT     FOUND  DETAIL\nsandbox  yes    bwrap 0.9\n"


def test_headless_loads_no_screen_and_no_model_runtime() -> None:
    heavy = {"textual", "rich", "prompt_toolkit", "litellm", "openai", "pydantic", "markdown_it", "xllamacpp"}
    code = "import sys, tui.headless.writing, tui.headless.reading; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    assert {name.partition(".")[0] for name in done.stdout.split()} & heavy == set()


def test_config_trust_prints_what_is_trusted_and_exits_with_how_it_ended() -> None:
    ran = read("config trust")
    assert (ran.code, ran.asked) == (0, [("agree", False)])
    assert ran.out == "/p/.ullage/config.toml is trusted\n  · sets theme to x\n  │ theme = 'x'\n  │ # \n"
    ran = read("config trust --withdraw --json", agreed=Agreed(code=4, trusted=False))
    assert (ran.code, ran.asked, ran.json["trusted"], ran.json["says"]) == (
        4, [("agree", True)], False, ["sets theme to x"],
    )  # fmt: skip
