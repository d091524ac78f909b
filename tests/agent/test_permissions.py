"""What may run without a question, and what must never."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.permissions import PLANNING, Allow, Ask, Deny, Verdict, judge
from agent.permissions.rules import BadRule, Rule, Rules, granted, remember, remembered
from agent.places import here
from agent.tools import Need, Workspace
from agent.wire import Mode
from tests.agent.adversarial_lines import ALLOWED, LINES, WRITTEN_INSIDE

MODES: tuple[Mode, ...] = ("plan", "ask", "edits", "auto")


@dataclass(frozen=True)
class Bench:
    """A workspace with a few files, a folder outside it, and a link that leads there."""

    ws: Workspace
    outside: Path

    def line(self, command: str, mode: Mode = "ask", rules: Rules | None = None) -> Verdict:
        return judge(Need("run", command=command), "bash", mode, rules or Rules(), self.ws)

    def path(self, kind: str, name: str, mode: Mode = "ask", rules: Rules | None = None) -> Verdict:
        path = self.ws.path(name)
        need = Need("write", (path,)) if kind == "write" else Need("read", (path,))
        return judge(need, "edit" if kind == "write" else "read", mode, rules or Rules(), self.ws)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder, outside = tmp_path / "project", tmp_path / "elsewhere"
    for made in (folder / "sub", folder / "secrets", folder / ".git/hooks", outside):
        made.mkdir(parents=True)
    (folder / "a.py").write_text("a\n")
    (folder / "link").symlink_to(outside)
    (folder / "leak").symlink_to(outside / "x")
    return Bench(Workspace(folder), outside)


def rules(allow: list[str] | None = None, ask: list[str] | None = None, deny: list[str] | None = None) -> Rules:
    made, wrong = Rules.of(allow or (), ask or (), deny or ())
    assert wrong == ()
    return made


def test_there_are_at_least_two_hundred_adversarial_lines() -> None:
    assert len(set(LINES)) == len(LINES) >= 200


@pytest.mark.parametrize("line", LINES)
def test_no_adversarial_line_skips_the_question(line: str, bench: Bench) -> None:
    careless = rules([f"bash({prefix})" for prefix in ALLOWED])
    for mode in ("ask", "edits"):
        verdict = bench.line(line, mode, careless)
        # Accept-edits mode lets a redirection write inside the folder, where that is all there is to ask about.
        written = mode == "edits" and line in WRITTEN_INSIDE
        assert isinstance(verdict, Allow) == written, (mode, line)
    assert not isinstance(bench.line(line, "plan", careless), Allow)


@pytest.mark.parametrize("line", LINES)
def test_without_rules_no_adversarial_line_is_taken_for_reading(line: str, bench: Bench) -> None:
    assert isinstance(bench.line(line), Ask)


@pytest.mark.parametrize(
    "line",
    [
        "git status", "git status -sb", "git diff --stat", "git log --oneline -5", "git diff HEAD~1",
        "git show HEAD:a.py",
        "ls -la", "ls sub", "cat a.py", "head -n 5 a.py", "wc -l a.py | sort -n", "grep -rn 'x y' .", "rg -n foo sub",
        "find . -name '*.py' -type f", "pwd", "echo hello", "cd sub && ls", "git status 2>/dev/null",
        "git log 2>&1 | head -3",
        "cat a.py; cat a.py", "cat 'a.py'", "grep /api/users a.py", "ls # all",
    ],
)  # fmt: skip
def test_reading_commands_run_without_a_question_even_when_planning(line: str, bench: Bench) -> None:
    assert bench.line(line) == Allow()
    assert bench.line(line, "plan") == Allow()


@pytest.mark.parametrize(
    "line",
    [
        "cat leak", "cat link/x", "cat ../elsewhere/x", "cat /etc/passwd", "ls link", "cat ~/x", "cat *",
        "head -n 5 /etc/x",
        "tail -f a.py", "grep -R x .", "grep -f /etc/x a.py", "grep --fi=x a", "find . -newer x -delete", "find /etc",
        "find -L .", "cd sub && git status", "cd link && ls", "cd nowhere; cat ../a.py", "cat a.py > b",
        "sort -oa.py a.py",
        "uniq a.py b.py", "diff -r sub link", "date -s 1", "git branch x", "git tag x", "git stash", "rg --files /etc",
        "git log --output=a.py", "git -C sub status", "cat a.py | tee b", "tree -o x", "cd sub | cat a.py", "printf x",
        "cd .. && cat a.py", "ls\\ -la", "wc --files0-from=x", "cat -- -x /etc/passwd", "rg -f x", "pushd sub && ls",
    ],
)  # fmt: skip
def test_what_may_write_or_look_outside_is_not_reading(line: str, bench: Bench) -> None:
    assert isinstance(bench.line(line), Ask), line


def test_after_a_cd_that_may_fail_nobody_knows_where_a_command_reads(bench: Bench) -> None:
    allowed = rules(["bash(cd)"])
    assert bench.line("cd sub; cat ../a.py", "ask", allowed) == Allow()
    for line in ("cd nowhere; cat ../x", "cd sub & cat ../a.py", "true || cd sub; cat ../x", "cd sub extra; cat ../x"):
        assert isinstance(bench.line(line, "ask", allowed), Ask), line


def test_the_shell_standing_elsewhere_makes_git_a_question(bench: Bench) -> None:
    bench.ws.cwd = bench.ws.folder / "sub"
    assert isinstance(bench.line("git status"), Ask)
    assert bench.line("ls ..") == Allow()
    assert isinstance(bench.line("ls ../.."), Ask)


@pytest.mark.parametrize(
    ("mode", "read_in", "read_out", "write_in", "write_out", "command"),
    [
        ("plan", Allow, Ask, Deny, Deny, Deny),
        ("ask", Allow, Ask, Ask, Ask, Ask),
        ("edits", Allow, Ask, Allow, Ask, Ask),
        ("auto", Allow, Allow, Allow, Ask, Allow),
    ],
)
def test_each_mode_does_what_its_row_says(
    mode: Mode, read_in: type, read_out: type, write_in: type, write_out: type, command: type, bench: Bench
) -> None:
    assert type(bench.path("read", "a.py", mode)) is read_in
    assert type(bench.path("read", "/etc/hosts", mode)) is read_out
    assert type(bench.path("write", "a.py", mode)) is write_in
    assert type(bench.path("write", "/etc/hosts", mode)) is write_out
    assert type(bench.line("make all", mode)) is command


def test_a_link_out_of_the_folder_is_outside(bench: Bench) -> None:
    assert isinstance(bench.path("read", "leak"), Ask)
    assert isinstance(bench.path("write", "link/new", "edits"), Ask)
    unresolved = Need("write", (bench.ws.folder / "link/new",))
    assert isinstance(judge(unresolved, "write", "edits", Rules(), bench.ws), Ask)


@pytest.mark.parametrize("mode", ["edits", "auto"])
def test_places_that_other_programs_obey_are_asked_about(mode: Mode, bench: Bench) -> None:
    for name in (".git/hooks/pre-commit", ".ullage/config.toml", "sub/.git/config", ".GIT/config"):
        assert isinstance(bench.path("write", name, mode), Ask), name


def test_keys_are_asked_about_in_every_mode(bench: Bench) -> None:
    key = Path(os.path.expanduser("~/.ssh/id_ed25519"))
    for mode in MODES:
        assert isinstance(bench.path("read", str(key), mode), Ask)
        assert isinstance(judge(Need("read", (key.parents[1],)), "grep", mode, Rules(), bench.ws), Ask)


def test_auto_asks_before_a_plain_write_outside(bench: Bench) -> None:
    for line in (
        "rm -rf /etc/x",
        "sudo rm /etc/x",
        "cp a.py /usr/x",
        "echo x > /etc/x",
        "dd if=a of=/etc/x",
        "tee /etc/x",
    ):
        assert isinstance(bench.line(line, "auto"), Ask), line
    for line in ("rm -rf sub", "echo x > sub/y", "rm /tmp/some-file", "python build.py", "for x in a; do b; done"):
        assert bench.line(line, "auto") == Allow(), line


def test_edits_mode_lets_a_reading_command_write_inside(bench: Bench) -> None:
    assert bench.line("git diff > sub/patch", "edits") == Allow()
    assert isinstance(bench.line("git diff > link/patch", "edits"), Ask)
    assert isinstance(bench.line("git diff > sub/patch", "ask"), Ask)


# ── rules ──


def test_a_prefix_rule_allows_what_begins_with_its_words(bench: Bench) -> None:
    allowed = rules(["bash(git commit)", "bash(npm test)", "bash(python -m pytest)", "bash(timeout 60 make)"])
    for line in (
        "git commit -m 'a b'", "git 'commit' -m x", "npm test -- -u", "python -m pytest -q tests",
        "git status && git commit -am x", "timeout 60 make all", "git commit -m '$(rm x)'",
        "git status && git commit *.py", "npm test 2>&1 | tail -5",
    ):  # fmt: skip
        assert bench.line(line, "ask", allowed) == Allow(), line
    for line in (
        "git com",
        "git",
        "gitcommit",
        "git commit-tree x",
        "npm testing",
        "python -m pytestx",
        "timeout 60 rm",
    ):
        assert isinstance(bench.line(line, "ask", allowed), Ask), line


def test_a_rule_for_a_quoted_star_is_not_about_what_the_star_finds(bench: Bench) -> None:
    allowed = rules(["bash('a*' b)"])
    assert bench.line("'a*' b", "ask", allowed) == Allow()
    assert isinstance(bench.line("a* b", "ask", allowed), Ask)


def test_an_exact_rule_allows_the_line_and_no_other(bench: Bench) -> None:
    line = "for f in a b; do echo $f; done"
    allowed = Rules().with_session(*granted("bash", f"= {line}"))
    assert bench.line(line, "ask", allowed) == Allow()
    assert isinstance(bench.line(line + "; rm x", "ask", allowed), Ask)
    assert isinstance(bench.line(line, "plan", allowed), Deny)


@pytest.mark.parametrize(
    "line",
    [
        "rm x", "/bin/rm x", "\\rm x", "'rm' x", "sudo rm x", "env A=1 rm x", "A=1 rm x", "ls; rm x", "ls && rm x",
        "xargs rm",
        "nohup rm x", "timeout 5 rm x", "find . -exec rm {} +", "ls | rm x", "> y rm x", "command rm x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_a_deny_rule_holds_in_every_mode_and_behind_wrappers(mode: Mode, line: str, bench: Bench) -> None:
    assert isinstance(bench.line(line, mode, rules(["bash(rm)", "bash"], deny=["bash(rm)"])), Deny)


@pytest.mark.parametrize(
    "line",
    [
        "bash -c 'rm x'", "$(rm x)", "git rm x", "ssh host 'rm x'", "python -c 'rm'", "eval 'rm x'",
        "{rm,-x}", "r? x", "alias q=rm", "for f in a; do rm x; done", "unknown rm x",
    ],
)  # fmt: skip
def test_a_deny_rule_makes_auto_ask_where_it_cannot_see(line: str, bench: Bench) -> None:
    assert isinstance(bench.line(line, "auto", rules(deny=["bash(rm)"])), Ask), line
    assert isinstance(bench.line(line, "auto", rules(ask=["bash(rm)"])), Ask), line


def test_a_denied_path_is_denied_to_every_tool_and_to_commands_that_name_it(bench: Bench) -> None:
    denied = rules(["read", "write", "bash"], deny=["read(secrets/**)", "write(.env)"])
    for mode in MODES:
        assert isinstance(bench.path("read", "secrets/key", mode, denied), Deny)
        assert isinstance(bench.path("read", "./sub/../secrets/key", mode, denied), Deny)
        assert isinstance(bench.path("write", "sub/.env", mode, denied), Deny)
        for line in ("cat secrets/key", "cp secrets/key x", "x --file=secrets/key", "cat < secrets/key", "echo > .env"):
            assert isinstance(bench.line(line, mode, denied), Deny), line
    assert isinstance(bench.line("grep -r x .", "auto", denied), Ask)
    hidden = denied.hides(bench.ws.folder)
    assert hidden(bench.ws.folder / "secrets/key")
    assert not hidden(bench.ws.folder / "a.py")


def test_a_rule_for_a_folder_covers_what_is_in_it(bench: Bench) -> None:
    allowed = rules(["write(sub)", "read(/etc/hosts)"])
    assert bench.path("write", "sub/deep/x.py", "ask", allowed) == Allow()
    assert isinstance(bench.path("write", "subway/x.py", "ask", allowed), Ask)
    assert bench.path("read", "/etc/hosts", "ask", allowed) == Allow()
    assert isinstance(bench.path("read", "/etc/hostsx", "ask", allowed), Ask)


def test_an_ask_rule_wins_over_an_allow_rule_and_over_auto(bench: Bench) -> None:
    mixed = rules(["bash(git push)", "write(sub/**)"], ask=["bash(git push)", "write(sub/x)"])
    assert isinstance(bench.line("git push", "auto", mixed), Ask)
    assert isinstance(bench.line("git -c a=b push", "auto", mixed), Ask)
    assert isinstance(bench.path("write", "sub/x", "auto", mixed), Ask)


def test_allow_rules_do_not_widen_plan_mode(bench: Bench) -> None:
    everything = rules(["bash", "write", "bash(make)"])
    assert isinstance(bench.line("make", "plan", everything), Deny)
    assert isinstance(bench.path("write", "a.py", "plan", everything), Deny)


@pytest.mark.parametrize(
    ("mode", "reads", "rules", "expected"),
    [
        ("ask", False, Rules(), Ask("a tool of an MCP server", "*")),
        ("edits", True, Rules(), Ask("a tool of an MCP server, which says that it only reads", "*")),
        ("auto", False, Rules(), Allow()),
        ("auto", False, Rules(ask=(Rule.of("mcp__time__*"),)), Ask("a tool of an MCP server", "*")),
        ("plan", False, Rules(allow=(Rule.of("mcp__time__*"),)), Deny(PLANNING)),
        ("plan", True, Rules(), Ask("a tool of an MCP server, which says that it only reads", "*")),
        ("ask", False, Rules(allow=(Rule.of("mcp__time__*"),)), Allow()),
        ("ask", False, Rules(allow=(Rule.of("mcp__other__*"),)), Ask("a tool of an MCP server", "*")),
        ("ask", False, Rules(allow=granted("mcp__time__convert", "*")), Allow()),
        ("auto", False, Rules(deny=(Rule.of("mcp__*"),)), Deny("refused by the rule deny mcp__*")),
    ],
)
def test_a_server_s_tool_is_judged_by_its_name_and_by_what_the_server_says(
    bench: Bench, mode: Mode, reads: bool, rules: Rules, expected: object
) -> None:
    assert judge(Need("server", reads=reads), "mcp__time__convert", mode, rules, bench.ws) == expected


def test_a_rule_for_a_server_s_tool_that_cannot_be_read_still_closes_it() -> None:
    rules, wrong = Rules.of(allow=["mcp__Time__x(y)"], deny=["mcp__Time__x(y)"])
    assert (rules.allow, rules.deny) == ((), (Rule("mcp__Time__x"),)) and len(wrong) == 2


def test_a_tool_of_somebody_else_is_asked_about_by_name(bench: Bench) -> None:
    need = Need("run")
    assert judge(need, "mcp_x", "ask", Rules(), bench.ws) == Ask("mcp_x is not one of our own tools", "*")
    allowed = Rules().with_session(*granted("mcp_x", "*"))
    assert judge(need, "mcp_x", "ask", allowed, bench.ws) == Allow()
    assert isinstance(judge(need, "mcp_y", "ask", allowed, bench.ws), Ask)
    assert isinstance(judge(need, "mcp_x", "auto", rules(deny=["mcp_x"]), bench.ws), Deny)


def test_recall_is_never_asked_about(bench: Bench) -> None:
    for mode in MODES:
        assert judge(Need("recall"), "recall", mode, Rules(), bench.ws) == Allow()


# ── what is offered to be remembered ──


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("git commit -m x", "git commit"), ("npm run build -- -x", "npm run build"),
        ("python -m pytest -q", "python -m pytest"),
        ("pytest -q tests", "pytest"), ("python manage.py test", "python manage.py"), ("make all", "make all"),
        ("git add . && git commit -m x", "git add && git commit"), ("git status && cargo test", "cargo test"),
        ("rm -rf x", "= rm -rf x"), ("curl x | bash", "= curl x | bash"), ("sudo make", "= sudo make"),
        ("echo $(date)", "= echo $(date)"), ("A=1 make", "= A=1 make"), ("pytest > log", "= pytest > log"),
        ("git push -f", "= git push -f"), ("bash -c 'x'", "= bash -c 'x'"), ("uv run pytest", "uv run pytest"),
        ("uv run bash x", "= uv run bash x"), ("npx tsc", "= npx tsc"), ("a\nb $x", ""), ("x $" + "y" * 400, ""),
    ],
)  # fmt: skip
def test_a_question_offers_the_prefix_that_would_have_answered_it(line: str, prefix: str, bench: Bench) -> None:
    verdict = bench.line(line)
    assert isinstance(verdict, Ask)
    assert verdict.prefix == prefix
    if prefix:
        allowed = Rules().with_session(*granted("bash", prefix))
        assert bench.line(line, "ask", allowed) == Allow() or ">" in line


def test_a_question_about_a_file_offers_that_file(bench: Bench) -> None:
    verdict = bench.path("write", "sub/x.py")
    assert verdict == Ask("write sub/x.py", "sub/x.py")
    allowed = Rules().with_session(*granted("edit", "sub/x.py"))
    assert bench.path("write", "sub/x.py", "ask", allowed) == Allow()
    assert isinstance(bench.path("write", "sub/y.py", "ask", allowed), Ask)


def test_project_rules_are_kept_in_their_file_and_read_back(tmp_path: Path) -> None:
    file, project = tmp_path / "data" / "rules.json", tmp_path / "project"
    remember(file, project, *granted("bash", "git commit"))
    remember(file, project, *granted("bash", "= echo $(x) 'y'"), *granted("edit", "src/a b.py"), *granted("mcp_x", "*"))
    assert remembered(file) == (
        Rules((Rule("bash", prefix=("git", "commit")), Rule("bash", exact="echo $(x) 'y'"), Rule("edit",
        path="src/a b.py"), Rule("mcp_x"))),
        (),
    )  # fmt: skip
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_damaged_rules_file_allows_nothing_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    for text in ("{", "[]", '{"allow": "bash"}', '{"allow": [1]}', "\x00"):
        file.write_text(text)
        found, wrong = remembered(file)
        assert (found, len(wrong)) == (Rules(), 1)
    assert remembered(tmp_path / "none.json") == (Rules(), ())


@pytest.mark.parametrize(
    "text", ["", "(", "bash(a && b)", "bash($x)", "bash(a > b)", "bash(A=1 b)", "bash(a*)", "b ash"]
)
def test_a_rule_that_cannot_be_read_is_a_sentence(text: str) -> None:
    with pytest.raises(BadRule):
        Rule.of(text)


def test_a_slip_in_a_deny_rule_closes_the_tool(bench: Bench) -> None:
    made, wrong = Rules.of(["bash($x)"], [], ["bash(a && b)"])
    assert len(wrong) == 2
    assert made == Rules(deny=(Rule("bash"),))
    assert isinstance(bench.line("ls", "auto", made), Deny)


@pytest.mark.parametrize(
    "text", ["bash", "bash(git commit)", "write(src/**)", "bash(= a; b)", "mcp_x", "bash('a b' c)", "*"]
)
def test_a_rule_reads_back_as_it_is_written(text: str) -> None:
    assert str(Rule.of(text)) == text


def test_other_agents_spellings_are_understood() -> None:
    assert Rule.of("Bash(git commit:*)") == Rule.of("bash(git commit *)") == Rule.of("bash(git commit)")
    assert Rule.of("Edit(src/**)") == Rule("edit", path="src/**")


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_our_own_file_of_keys_is_asked_for_wherever_it_is(bench: Bench, mode: Mode) -> None:
    verdict = bench.path("read", str(here().keys), mode)
    assert isinstance(verdict, Ask) and "keys are kept in" in verdict.why


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
def test_our_own_agreements_are_not_written_unasked_though_the_workspace_holds_them(mode: Mode) -> None:
    """Who opens their home as a workspace has not agreed that a model may trust a project in their name."""
    home = Bench(Workspace(Path(os.path.realpath(here().state)).parent), Path("/"))
    for place in (here().state / "trust.json", here().settings, here().sessions / "x" / "session.jsonl"):
        verdict = home.path("write", str(place), mode)
        assert isinstance(verdict, Ask) and "Ullage keeps its settings" in verdict.why
        redirected = home.line(f"echo x > {place}", mode)
        assert not isinstance(redirected, Allow)
